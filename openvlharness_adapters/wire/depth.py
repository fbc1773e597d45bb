"""Depth: ``{image}`` and back one distance a pixel."""

from __future__ import annotations

import attrs

from openvlharness_adapters.wire.arrays import array_from_wire, array_to_wire
from openvlharness_adapters.wire.fields import Fields
from openvlharness_adapters.wire.images import TakeIn, bytes_from_wire, image_to_wire
from openvlharness_core.arrays import size_hw
from openvlharness_core.depth import DepthMap
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.perception import DepthBackend
from openvlharness_core.results import Answered


@attrs.frozen(kw_only=True)
class DepthCall:
    """What a caller asks; `image` holds the encoded bytes."""

    image: bytes = attrs.field(repr=False)

    async def ask(self, backend: DepthBackend, take_in: TakeIn, timeout_seconds: float) -> Answered[DepthMap]:
        return await backend.estimate(await take_in(self.image), timeout_seconds=timeout_seconds)


def args_to_wire(image: EncodedImage) -> dict[str, object]:
    return {"image": image_to_wire(image)}


def args_from_wire(args: object) -> DepthCall:
    """Raises MalformedResultError."""
    return DepthCall(image=bytes_from_wire(Fields.of(args, "").only("image").value("image"), "image"))


def result_to_wire(depth: DepthMap) -> dict[str, object]:
    """`depth` has shape [height, width], as `size` says; larger is farther, metres if `is_metric`."""
    return {"depth": array_to_wire(depth.values), "size": list(depth.size_hw), "is_metric": depth.is_metric}


def result_from_wire(result: object) -> DepthMap:
    """Raises MalformedResultError."""
    fields = Fields.of(result, "")
    values = array_from_wire(fields.value("depth"), "depth")
    size = size_hw(fields.value("size"), "size")
    if values.shape != size:
        raise MalformedResultError("depth.shape", f"{list(size)} like size, got {list(values.shape)}")
    return DepthMap(values=values, is_metric=fields.flag("is_metric"))
