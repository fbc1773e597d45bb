"""What our raw model servers are asked and answer, where that differs from the router's wire.

``POST /segment`` and ``/detect`` take ``{image, query, threshold?}`` and answer as grounding does. ``POST /depth`` takes
``{image}`` and answers ``{depth, size, is_metric}``, where `depth` may be smaller than the picture whose `size` it comes
with: the reader resamples, so that megabytes which say nothing new do not travel. ``POST /poses`` takes ``{images}`` and
answers as camera pose does.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.wire.arrays import array_from_wire, array_to_wire
from openvlharness_adapters.wire.fields import Fields, got
from openvlharness_adapters.wire.images import TakeIn, bytes_from_wire, image_to_wire
from openvlharness_core.arrays import size_hw
from openvlharness_core.detections import Detections
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Answered


class ServedDetector(Protocol):
    """What a server of `/segment` or `/detect` asks."""

    def detect(self, image: EncodedImage, query: str, threshold: float | None) -> Awaitable[Answered[Detections]]: ...


@attrs.frozen(kw_only=True)
class DetectionCall:
    """What a caller asks; `image` holds the encoded bytes; `threshold` is the least score, `None` for the server's own."""

    image: bytes = attrs.field(repr=False)
    query: str
    threshold: float | None = None

    async def ask(self, backend: ServedDetector, take_in: TakeIn, timeout_seconds: float) -> Answered[Detections]:
        return await backend.detect(await take_in(self.image), self.query, self.threshold)


def detection_to_wire(image: EncodedImage, query: str, threshold: float | None) -> dict[str, object]:
    """Arguments of `/segment` and `/detect`."""
    args: dict[str, object] = {"image": image_to_wire(image), "query": query}
    return args if threshold is None else args | {"threshold": threshold}


def detection_from_wire(args: object) -> DetectionCall:
    """Raises MalformedResultError."""
    fields = Fields.of(args, "").only("image", "query", "threshold")
    threshold = fields.values.get("threshold")
    if threshold is not None and (
        isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1
    ):
        raise MalformedResultError("threshold", f"a number from 0 to 1, got {got(threshold)}")
    return DetectionCall(
        image=bytes_from_wire(fields.value("image"), "image"),
        query=fields.filled_text("query"),
        threshold=None if threshold is None else float(threshold),
    )


@attrs.frozen(kw_only=True)
class RawDepth:
    """Depth as a model gave it.

    Attributes:
        values: float32 (height, width) of any size, covering the whole picture; larger is farther.
        size_hw: (height, width) of the picture.
        is_metric: whether `values` are metres.
    """

    values: NDArray[np.float32] = attrs.field(repr=lambda values: f"<{values.shape}>", eq=False)
    size_hw: tuple[int, int]
    is_metric: bool


def depth_to_wire(depth: RawDepth) -> dict[str, object]:
    """The result of `/depth`."""
    return {"depth": array_to_wire(depth.values), "size": list(depth.size_hw), "is_metric": depth.is_metric}


def depth_from_wire(result: object) -> RawDepth:
    """Raises MalformedResultError."""
    fields = Fields.of(result, "")
    values = array_from_wire(fields.value("depth"), "depth")
    size = size_hw(fields.value("size"), "size")
    if values.ndim != 2 or values.size == 0:
        raise MalformedResultError("depth.shape", f"[height, width] above 0, got {list(values.shape)}")
    if not np.isfinite(values).all():
        raise MalformedResultError("depth", "finite numbers, got NaN or infinity")
    return RawDepth(values=values, size_hw=size, is_metric=fields.flag("is_metric"))
