"""Reading all text of a picture or of a named part of it.

What a cut runs through is read wrong or not at all, so somewhat more than the part is cut out and read, and only lines
that stand in the part as a whole count; of a part without sharp edges, such as `the top`, those that mostly do. Of a
corner only the outer third is sure: a line that has less than a third of itself there belongs to the middle. A reader
joins what stands side by side, though: where a line reaches out of the part to the side, the part is read for itself,
and if no line touches the cut then, what is outside was another piece.
"""

from __future__ import annotations

from openvlharness_adapters.models.planner.evidence import Row
from openvlharness_adapters.models.planner.looks import Answer, Cannot, Plan, look, look_closer, whole
from openvlharness_adapters.models.planner.places import Region
from openvlharness_adapters.models.planner.questions import ReadText
from openvlharness_core.geometry import GRID, Box

_AT_EDGE = 4.0  # on the grid of a crop: a line this close to its edge may have been cut
_REACH = 100.0  # on the grid: how much more than the part is cut out
_MOST_INSIDE = 0.9  # of a line's length or height, to count as standing inside
_LEAST_IN_CORE = 1 / 3  # of a line's area in the part that everyone means


def read_text(ask: ReadText, pictures: tuple[str, ...]) -> Plan[Answer]:
    texts: dict[str, str] = {}
    for picture in pictures:
        region = ask.place.region
        if region is None:
            texts[picture] = (yield from look(picture)).text
        else:
            texts[picture] = "\n".join((yield from _rows_in(picture, region)))
    where = f" in the {ask.place.region.name} of" if ask.place.region else " in"
    if not any(text.strip() for text in texts.values()):
        return Answer(text=f"No readable text{where} {', '.join(pictures)}.", grounds="I looked and found no text.")
    if len(texts) == 1:
        return Answer(text=texts[pictures[0]], grounds=f"This is what was read{where} {pictures[0]}.")
    joined = "\n\n".join(f"{picture}:\n{text or '(no readable text)'}" for picture, text in texts.items())
    return Answer(text=joined, grounds=f"This is what was read{where} {', '.join(pictures)}.")


def _rows_in(picture: str, region: Region) -> Plan[list[str]]:
    """The lines that stand in a region as a whole. Raises Cannot if one stands across its edge."""
    x1, y1, x2, y2 = region.box_xyxy_grid
    wide = (max(0.0, x1 - _REACH), max(0.0, y1 - _REACH), min(GRID, x2 + _REACH), min(GRID, y2 + _REACH))
    reason = f"Cutting the {region.name} and a little around it out of {picture}."
    reading = whole((yield from look_closer(picture, wide, reason)), picture)
    inside: list[str] = []
    for row in reading.rows:
        box = _on_source(row, wide)
        if _is_elsewhere(box, region):
            continue
        across, along = _shares(box, region.box_xyxy_grid)
        least = 1 - _MOST_INSIDE if region.is_exact else 0.5
        if across <= least or along <= 1 - _MOST_INSIDE:
            continue
        if region.is_exact and across < _MOST_INSIDE:
            raise _standing_across(row, region)
        if along < _MOST_INSIDE:
            return (yield from _rows_of_exact(picture, region))
        inside.append(row.text)
    return inside


def _rows_of_exact(picture: str, region: Region) -> Plan[list[str]]:
    reason = f"Some text reaches out of the {region.name}, so I look at just that part of {picture}."
    reading = whole((yield from look_closer(picture, region.box_xyxy_grid, reason)), picture)
    rows = [row for row in reading.rows if not _is_elsewhere(_on_source(row, region.box_xyxy_grid), region)]
    for row in rows:
        if _touches_cut(row, region.box_xyxy_grid):
            raise _standing_across(row, region)
    return [row.text for row in rows]


def _is_elsewhere(box: Box, region: Region) -> bool:
    """Whether a line belongs to what is beside a corner."""
    across, along = _shares(box, region.core_xyxy_grid)
    return region.core_xyxy_grid != region.box_xyxy_grid and across * along < _LEAST_IN_CORE


def _standing_across(row: Row, region: Region) -> Cannot:
    return Cannot(f"“{row.text}” stands partly in the {region.name} and partly outside")


def _touches_cut(row: Row, region: Box) -> bool:
    """Whether a line reaches an edge of the crop that is not an edge of the picture."""
    x1, y1, x2, y2 = _place(row)
    near = (x1 <= _AT_EDGE, y1 <= _AT_EDGE, x2 >= GRID - _AT_EDGE, y2 >= GRID - _AT_EDGE)
    cut = (region[0] > 0, region[1] > 0, region[2] < GRID, region[3] < GRID)
    return any(is_near and is_cut for is_near, is_cut in zip(near, cut, strict=True))


def _on_source(row: Row, region: Box) -> Box:
    width, height = (region[2] - region[0]) / GRID, (region[3] - region[1]) / GRID
    x1, y1, x2, y2 = _place(row)
    return region[0] + x1 * width, region[1] + y1 * height, region[0] + x2 * width, region[1] + y2 * height


def _place(row: Row) -> Box:
    if row.box_xyxy_grid is None:
        raise Cannot("the reader tells no places, so lines at the edge of the region may be cut")
    return row.box_xyxy_grid


def _shares(box: Box, region: Box) -> tuple[float, float]:
    """How much of a box's height and of its width lies inside a region, 0 to 1 each."""
    width = min(box[2], region[2]) - max(box[0], region[0])
    height = min(box[3], region[3]) - max(box[1], region[1])
    return max(0.0, height) / max(1e-9, box[3] - box[1]), max(0.0, width) / max(1e-9, box[2] - box[0])
