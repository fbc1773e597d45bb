"""Serving detectors: from what a model found to boxes and masks in pixels of the caller's picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.imaging.planes import enlarged_mask
from openvlharness_adapters.servers.host import ModelHost
from openvlharness_adapters.servers.pictures import PilImage, Preparing
from openvlharness_core.detections import OUTSIDE_LIMIT, Detections
from openvlharness_core.errors import ToolExecutionError
from openvlharness_core.masks import encode_mask
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Answered

Floats = NDArray[np.float32]


@attrs.frozen(kw_only=True)
class Found:
    """What a model found, in pixels of the picture that it was shown.

    Attributes:
        boxes_xyxy_px: (N, 4), float32.
        scores: (N,), float32.
        masks: N of shape (height, width) of that picture; `None` for a model of boxes only.
    """

    boxes_xyxy_px: Floats
    scores: Floats
    masks: Sequence[NDArray[np.bool_]] | None = None


class DetectionModel(Protocol):
    """A loaded detector."""

    def found(self, image: PilImage, query: str, threshold: float | None) -> Found:
        """Objects that `query` names, of at least this score; `None` is the model's own threshold."""
        ...


@attrs.frozen(kw_only=True)
class Detecting:
    """See `wire.raw_servers.ServedDetector`."""

    host: ModelHost[DetectionModel]
    preparing: Preparing

    async def detect(self, image: EncodedImage, query: str, threshold: float | None) -> Answered[Detections]:
        """Raises what `ModelHost.run` raises, and UnreadableImageError."""
        shown = await self.preparing.prepared(image)
        found = await self.host.run(lambda model: model.found(shown, query, threshold))
        size_hw = (shown.height, shown.width)
        value = await self.preparing.offload.run(lambda: detections_of(found, size_hw, image.size_hw, self.host.name))
        return Answered(value=value, backend=self.host.name)


def detections_of(found: Found, shown_hw: tuple[int, int], size_hw: tuple[int, int], name: str) -> Detections:
    """`found` in pixels of the whole picture, best first.

    Box and mask come from two heads of a network. Where they contradict each other, more than a quarter of the mask lying
    outside the box, the mask is believed: it was drawn pixel by pixel.

    Args:
        found: in pixels of the shown picture.
        shown_hw: its size.
        size_hw: that of the whole picture.
        name: of the server, in errors.

    Raises:
        ToolExecutionError: numbers that are none, as from a model loaded in a precision too small for it.
    """
    if not (np.isfinite(found.boxes_xyxy_px).all() and np.isfinite(found.scores).all()):
        raise ToolExecutionError(name, "the model gave boxes or scores that are no finite numbers")
    order = np.argsort(-found.scores, kind="stable")
    height, width = size_hw
    scale = np.array([width / shown_hw[1], height / shown_hw[0]] * 2, np.float32)
    boxes = np.clip(found.boxes_xyxy_px[order] * scale, 0, np.array([width, height] * 2, np.float32))
    boxes = np.concatenate([np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])], axis=1)
    scores = np.clip(found.scores[order], 0, 1)
    if found.masks is None:
        return Detections(boxes_xyxy_px=boxes, scores=scores, size_hw=size_hw)
    masks = []
    for row, position in enumerate(order.tolist()):  # one at a time: all of them at full size may be gigabytes
        mask = enlarged_mask(np.asarray(found.masks[position], dtype=bool), size_hw)
        boxes[row] = _agreed(boxes[row], mask)
        masks.append(encode_mask(mask))
    return Detections(boxes_xyxy_px=boxes, scores=scores, masks=tuple(masks), size_hw=size_hw)


def _agreed(box: Floats, mask: NDArray[np.bool_]) -> Floats:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        return box
    left, top = np.maximum(np.floor(box[:2]), 0).astype(int)
    right, bottom = np.ceil(box[2:]).astype(int)
    inside = np.count_nonzero(mask[top:bottom, left:right])
    if inside >= (1 - OUTSIDE_LIMIT) * np.count_nonzero(mask):
        return box
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], np.float32)
