"""Pictures of callers as models want them: decoded, RGB, and no larger than the server allows."""

from __future__ import annotations

from typing import Any

import attrs

from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.encoding import fitted
from openvlharness_core.pictures import EncodedImage, ImageLimits
from openvlharness_core.ports.offload import Offload

PilImage = Any
"""A PIL image in mode RGB; transformers take it as it is."""


@attrs.frozen(kw_only=True)
class Preparing:
    """Decodes beside the model's own thread, so that the next call is ready when the model is.

    Attributes:
        codec: decodes.
        offload: where.
        limits: what the model is shown at most and at least.
    """

    codec: PillowCodec
    offload: Offload
    limits: ImageLimits

    async def prepared(self, image: EncodedImage) -> PilImage:
        """The picture within the limits; what was padded lies right and below. Raises UnreadableImageError."""
        return await self.offload.run(lambda: fitted(self.codec.decoded(image), self.limits))
