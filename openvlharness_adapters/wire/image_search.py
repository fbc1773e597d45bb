"""Image search: ``{image}`` and back what `found` says."""

from __future__ import annotations

import attrs

from openvlharness_adapters.wire.fields import Fields
from openvlharness_adapters.wire.found import result_from_wire, result_to_wire
from openvlharness_adapters.wire.images import TakeIn, bytes_from_wire, image_to_wire
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.seeking import ImageSearchBackend
from openvlharness_core.results import Answered
from openvlharness_core.seeking import SearchResults

__all__ = ["ImageSearchCall", "args_from_wire", "args_to_wire", "result_from_wire", "result_to_wire"]


@attrs.frozen(kw_only=True)
class ImageSearchCall:
    """What a caller asks; `image` holds the encoded bytes."""

    image: bytes = attrs.field(repr=False)

    async def ask(
        self, backend: ImageSearchBackend, take_in: TakeIn, timeout_seconds: float
    ) -> Answered[SearchResults]:
        return await backend.search(await take_in(self.image), timeout_seconds=timeout_seconds)


def args_to_wire(image: EncodedImage) -> dict[str, object]:
    return {"image": image_to_wire(image)}


def args_from_wire(args: object) -> ImageSearchCall:
    """Raises MalformedResultError."""
    return ImageSearchCall(image=bytes_from_wire(Fields.of(args, "").only("image").value("image"), "image"))
