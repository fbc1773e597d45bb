"""Pictures of callers, made fit for backends: upright, opaque, 8-bit, whoever sent them."""

from __future__ import annotations

import attrs

from openvlharness_core.pictures import EncodedImage, ImageLimits
from openvlharness_core.ports.imaging import ImageCodec
from openvlharness_core.ports.offload import Offload

_AS_IT_IS = ImageLimits()


@attrs.frozen(kw_only=True)
class Taking:
    """A `TakeIn`: bytes that are fit already, as an agent sends them, are only looked at.

    Attributes:
        codec: looks and converts.
        offload: where it converts.
    """

    codec: ImageCodec
    offload: Offload

    async def __call__(self, data: bytes) -> EncodedImage:
        """The picture. Raises UnreadableImageError."""
        header = self.codec.probe(data)
        if header.sendable:
            return EncodedImage(data=data, media_type=header.media_type, size_hw=header.size_hw)
        return (await self.offload.run(lambda: self.codec.take_in(data, _AS_IT_IS))).full
