"""Reading all text of a picture or of a named part of it.

A part is cut out and read; a line that reaches the cut may be half a line, so then a wider part is read, and only lines
that stand inside as a whole count.
"""

from __future__ import annotations

from openvlharness_adapters.models.planner.evidence import Row
from openvlharness_adapters.models.planner.looks import Answer, Cannot, Plan, look, look_closer, whole
from openvlharness_adapters.models.planner.places import Region
from openvlharness_adapters.models.planner.questions import ReadText
from openvlharness_core.geometry import GRID, Box

_AT_EDGE = 4.0  # on the grid of a crop: a line this close to its edge may have been cut
_REACH = 150.0  # on the grid: how much wider the second look is
_MOST_INSIDE = 0.9  # of a line's box, to count as standing in a region


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
    """The lines that stand in a region. If one may have been cut, a wider look tells which lines stand inside."""
    reading = whole((yield from look_closer(picture, region.box_xyxy_grid, _cutting(picture, region.name))), picture)
    if all(row.box_xyxy_grid is not None for row in reading.rows):
        if not any(_touches_cut(row, region.box_xyxy_grid) for row in reading.rows):
            return [row.text for row in reading.rows]
    elif reading.rows:
        raise Cannot("the reader tells no places, so lines at the edge of the region may be cut")
    x1, y1, x2, y2 = region.box_xyxy_grid
    wide = (max(0.0, x1 - _REACH), max(0.0, y1 - _REACH), min(GRID, x2 + _REACH), min(GRID, y2 + _REACH))
    reason = f"Some text may be cut at the edge of the {region.name}, so I look at a wider part of {picture}."
    reading = whole((yield from look_closer(picture, wide, reason)), picture)
    inside = []
    for row in reading.rows:
        share = _share_inside(_on_source(row, wide), region.box_xyxy_grid)
        if share >= _MOST_INSIDE:
            inside.append(row.text)
        elif share > 1 - _MOST_INSIDE:
            raise Cannot(f"“{row.text}” stands partly in the {region.name} and partly outside")
    return inside


def _cutting(picture: str, name: str) -> str:
    return f"Cutting the {name} out of {picture}."


def _touches_cut(row: Row, region: Box) -> bool:
    """Whether a line reaches an edge of the crop that is not an edge of the picture."""
    assert row.box_xyxy_grid is not None
    x1, y1, x2, y2 = row.box_xyxy_grid
    near = (x1 <= _AT_EDGE, y1 <= _AT_EDGE, x2 >= GRID - _AT_EDGE, y2 >= GRID - _AT_EDGE)
    cut = (region[0] > 0, region[1] > 0, region[2] < GRID, region[3] < GRID)
    return any(is_near and is_cut for is_near, is_cut in zip(near, cut, strict=True))


def _on_source(row: Row, region: Box) -> Box:
    if row.box_xyxy_grid is None:
        raise Cannot("the reader tells no places, so lines at the edge of the region may be cut")
    width, height = (region[2] - region[0]) / GRID, (region[3] - region[1]) / GRID
    x1, y1, x2, y2 = row.box_xyxy_grid
    return region[0] + x1 * width, region[1] + y1 * height, region[0] + x2 * width, region[1] + y2 * height


def _share_inside(box: Box, region: Box) -> float:
    width = min(box[2], region[2]) - max(box[0], region[0])
    height = min(box[3], region[3]) - max(box[1], region[1])
    area = max(1e-9, (box[2] - box[0]) * (box[3] - box[1]))
    return max(0.0, width) * max(0.0, height) / area
