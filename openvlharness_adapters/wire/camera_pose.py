"""Camera pose: ``{images}`` and back one camera a picture."""

from __future__ import annotations

import asyncio

import attrs

from openvlharness_adapters.wire.arrays import numbers_from_wire
from openvlharness_adapters.wire.fields import Fields
from openvlharness_adapters.wire.images import TakeIn, bytes_from_wire, image_to_wire
from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.perception import CameraBackend
from openvlharness_core.results import Answered


@attrs.frozen(kw_only=True)
class CameraCall:
    """What a caller asks; `images` hold the encoded bytes, at least two."""

    images: tuple[bytes, ...] = attrs.field(repr=False)

    async def ask(self, backend: CameraBackend, take_in: TakeIn, timeout_seconds: float) -> Answered[CameraTrajectory]:
        images = await asyncio.gather(*map(take_in, self.images))
        return await backend.trace(images, timeout_seconds=timeout_seconds)


def args_to_wire(images: tuple[EncodedImage, ...]) -> dict[str, object]:
    return {"images": [image_to_wire(image) for image in images]}


def args_from_wire(args: object) -> CameraCall:
    """Raises MalformedResultError."""
    images = Fields.of(args, "").only("images").items("images")
    if len(images) < 2:
        raise MalformedResultError("images", f"at least 2 data URLs, got {len(images)}")
    return CameraCall(images=tuple(bytes_from_wire(url, f"images[{place}]") for place, url in enumerate(images)))


def result_to_wire(path: CameraTrajectory) -> dict[str, object]:
    """Intrinsics (N, 3, 3) in each picture's pixels, extrinsics (N, 3, 4) world to camera, sizes [height, width]."""
    return {
        "intrinsics": path.intrinsics.tolist(),
        "extrinsics": path.extrinsics_w2c.tolist(),
        "sizes": [list(size) for size in path.sizes_hw],
        "is_metric": path.is_metric,
        "notes": list(path.notes),
        "translation_known": list(path.translation_known),
    }


def result_from_wire(result: object) -> CameraTrajectory:
    """A server that says nothing of `translation_known` knows all of them. Raises MalformedResultError."""
    fields = Fields.of(result, "")
    extrinsics = numbers_from_wire(fields.value("extrinsics"), "extrinsics")
    sizes = fields.items("sizes")
    known = fields.values.get("translation_known")
    return CameraTrajectory(
        intrinsics=numbers_from_wire(fields.value("intrinsics"), "intrinsics"),
        extrinsics_w2c=extrinsics,
        sizes_hw=sizes,
        is_metric=fields.flag("is_metric"),
        translation_known=[True] * len(sizes) if known is None else known,
        notes=fields.texts("notes"),
    )
