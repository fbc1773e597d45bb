"""What a grounding backend found: boxes with scores, and masks where it has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_core.arrays import locked_floats, size_hw
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.masks import runs_of_all

OUTSIDE_LIMIT = 0.25
"""How much of a mask may lie outside its box, widened by a pixel; more means row-by-row data."""


def _boxes(values: object) -> NDArray[np.float32]:
    return locked_floats(values, "pred_boxes", (None, 4))


def _scores(values: object) -> NDArray[np.float32]:
    return locked_floats(values, "pred_scores", (None,))


def _size(value: object) -> tuple[int, int]:
    return size_hw(value, "size")


def _masks(values: object) -> tuple[Mapping[str, Any], ...] | None:
    if values is not None and not isinstance(values, list | tuple):
        raise MalformedResultError("pred_masks", f"a list of RLE masks or null, got {type(values).__name__}")
    return None if values is None else tuple(dict(mask) if isinstance(mask, Mapping) else mask for mask in values)


@attrs.frozen(kw_only=True)
class Detections:
    """Objects of one query in one picture, N of them; N = 0 means that it looked and found none.

    Attributes:
        boxes_xyxy_px: float32 (N, 4), x1, y1, x2, y2 in pixels of the picture.
        scores: float32 (N,), 0 to 1.
        masks: N masks as COCO RLE with the picture's size, or `None` when the backend gives boxes only.
        size_hw: (height, width) of the picture.
        unnamed: regions it saw and could not name, such as shapes cut by the edge; `None` if it does not tell.

    Raises:
        MalformedResultError: lengths that differ, booleans, numbers out of range, corners out of order, masks that are
            no COCO RLE or of another size, or more than a quarter of a mask outside its box.
    """

    boxes_xyxy_px: NDArray[np.float32] = attrs.field(
        converter=_boxes, eq=attrs.cmp_using(eq=np.array_equal), hash=False
    )
    scores: NDArray[np.float32] = attrs.field(converter=_scores, eq=attrs.cmp_using(eq=np.array_equal), hash=False)
    masks: tuple[Mapping[str, Any], ...] | None = attrs.field(default=None, converter=_masks, hash=False)
    size_hw: tuple[int, int] = attrs.field(converter=_size)
    unnamed: int | None = None

    def __len__(self) -> int:
        return len(self.boxes_xyxy_px)

    def __attrs_post_init__(self) -> None:
        count = len(self)
        if self.unnamed is not None and (type(self.unnamed) is not int or self.unnamed < 0):
            raise MalformedResultError("unnamed", f"a count of at least 0 or null, got {self.unnamed!r:.40}")
        if len(self.scores) != count:
            raise MalformedResultError("pred_scores", f"one for each of {count} boxes, got {len(self.scores)}")
        if count and not ((self.scores >= 0) & (self.scores <= 1)).all():
            raise MalformedResultError("pred_scores", "numbers from 0 to 1")
        self._check_boxes()
        if self.masks is not None:
            if len(self.masks) != count:
                raise MalformedResultError("pred_masks", f"one for each of {count} boxes, got {len(self.masks)}")
            self._check_masks(self.masks)

    def _check_boxes(self) -> None:
        height, width = self.size_hw
        x1, y1, x2, y2 = self.boxes_xyxy_px.T
        if not ((x1 <= x2) & (y1 <= y2)).all():
            raise MalformedResultError("pred_boxes", "[x1, y1, x2, y2] with x1 <= x2 and y1 <= y2")
        if not ((x1 >= -1) & (y1 >= -1) & (x2 <= width + 1) & (y2 <= height + 1)).all():
            raise MalformedResultError("pred_boxes", f"corners inside {width}x{height} pixels")

    def _check_masks(self, masks: tuple[Mapping[str, Any], ...]) -> None:
        widened = self.boxes_xyxy_px + np.array([-1, -1, 1, 1], np.float32)
        outside = runs_of_all(masks, self.size_hw, "pred_masks").shares_outside(widened)
        if (outside > OUTSIDE_LIMIT).any():
            worst = int(np.argmax(outside))
            found = f"{outside[worst]:.0%} outside (row by row?)"
            raise MalformedResultError(f"pred_masks[{worst}]", f"a mask inside its box, got {found}")
