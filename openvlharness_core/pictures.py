"""A picture as it came, in full, and as it is sent to a model."""

from __future__ import annotations

import hashlib
from functools import cached_property

import attrs

SENDABLE_MEDIA_TYPES = ("image/jpeg", "image/png", "image/webp")
"""What models are sent; every other format is encoded anew as PNG."""


def digest_of(data: bytes) -> str:
    """SHA-256 of `data`, in hex: the identity of a picture is that of its original bytes."""
    return hashlib.sha256(data).hexdigest()


@attrs.frozen(kw_only=True)
class EncodedImage:
    """An encoded picture whose pixels stand upright.

    Attributes:
        data: the encoded bytes.
        media_type: what the bytes are, such as `image/jpeg`; never what somebody declared.
        size_hw: (height, width) in pixels, as decoded.
    """

    data: bytes = attrs.field(repr=lambda data: f"<{len(data)} bytes>")
    media_type: str
    size_hw: tuple[int, int]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the bytes, in hex."""
        return digest_of(self.data)


@attrs.frozen(kw_only=True)
class Picture:
    """One picture in the two shapes that anybody is shown.

    Attributes:
        full: upright, opaque, 8-bit RGB or grey, at its full size: what tools work on.
        sent: `full`, shrunk or padded to the limits of the model: what the model is sent.
        digest: SHA-256 of the bytes as they came, in hex.
        notes: what had to be said about it, such as `first of 12 frames of an animation`.
    """

    full: EncodedImage
    sent: EncodedImage
    digest: str
    notes: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class RemotePicture:
    """A picture that the model is shown by its URL; its bytes are fetched when a tool first needs them."""

    url: str


@attrs.frozen(kw_only=True)
class ImageHeader:
    """What the first bytes and the end of a file tell, without decoding.

    Attributes:
        media_type: by the bytes.
        size_hw: (height, width) after the orientation tag.
        orientation: EXIF orientation, 1 to 8.
        frames: number of frames.
        sendable: whether the bytes can be shown as they are (sendable format, upright, opaque, 8-bit, one frame).
    """

    media_type: str
    size_hw: tuple[int, int]
    orientation: int = 1
    frames: int = 1
    sendable: bool = True


@attrs.frozen(kw_only=True)
class ImageLimits:
    """What a model takes. `None` means no limit.

    Attributes:
        max_side: longest side of a sent picture, in pixels.
        min_side: shortest side of a sent picture, in pixels; smaller ones are padded.
        max_ratio: longer side over shorter side; longer pictures are padded.
        max_pictures: pictures in one request.
    """

    max_side: int | None = None
    min_side: int | None = None
    max_ratio: float | None = None
    max_pictures: int | None = None
