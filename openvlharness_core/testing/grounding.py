"""A fake grounding backend that finds what it was told to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import numpy as np

from openvlharness_core.detections import Detections
from openvlharness_core.errors import UnsupportedQueryError
from openvlharness_core.geometry import Box
from openvlharness_core.masks import encode_mask
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Answered

_SCORE = 0.9


@attrs.define
class FakeGrounding:
    """Finds the same boxes in every picture, with real masks; remembers what it was asked.

    Attributes:
        found: query to boxes, x1, y1, x2, y2 in parts of the picture's width and height, 0 to 1. An empty sequence
            means that it looks and finds none; a query that is not there is refused.
        unnamed: regions it says it could not name.
        with_masks: whether each box comes with a mask, the ellipse that it encloses.
        queries: what it was asked, in order.
    """

    found: Mapping[str, Sequence[Box]] = attrs.field(factory=dict)
    unnamed: int | None = 0
    with_masks: bool = True
    queries: list[str] = attrs.field(factory=list, init=False)

    async def ground(self, image: EncodedImage, query: str, *, timeout_seconds: float) -> Answered[Detections]:
        """The boxes of that query, in pixels of the picture."""
        self.queries.append(query)
        if query not in self.found:
            raise UnsupportedQueryError("fake_grounding", f"“{query}” is not among {sorted(self.found)}")
        height, width = image.size_hw
        shares = np.array(self.found[query], np.float64).reshape(-1, 4)
        boxes = shares * [width, height, width, height]
        detections = Detections(
            boxes_xyxy_px=boxes.astype(np.float32),
            scores=np.full(len(boxes), _SCORE, np.float32),
            masks=[_ellipse(box, image.size_hw) for box in boxes.tolist()] if self.with_masks else None,
            size_hw=image.size_hw,
            unnamed=self.unnamed,
        )
        return Answered(value=detections, backend="fake_grounding")


def _ellipse(box: Sequence[float], size_hw: tuple[int, int]) -> dict[str, object]:
    x1, y1, x2, y2 = box
    rows, columns = np.mgrid[0 : size_hw[0], 0 : size_hw[1]] + 0.5
    across = (columns - (x1 + x2) / 2) / max((x2 - x1) / 2, 0.5)
    down = (rows - (y1 + y2) / 2) / max((y2 - y1) / 2, 0.5)
    return encode_mask(across**2 + down**2 <= 1)
