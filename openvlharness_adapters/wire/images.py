"""Pictures as data URLs whose declared type is that of the bytes; what comes in is believed by its bytes alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pybase64

from openvlharness_adapters.imaging.data_urls import data_of_url
from openvlharness_adapters.wire.fields import Fields, got, text_at
from openvlharness_core.errors import MalformedResultError, UnreadableImageError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.imaging import ImageCodec

TakeIn = Callable[[bytes], Awaitable[EncodedImage]]
"""Makes an upright, opaque picture out of encoded bytes; raises UnreadableImageError."""


def image_to_wire(image: EncodedImage) -> str:
    """The picture as a data URL."""
    return url_of(image.data, image.media_type)


def url_of(data: bytes, media_type: str) -> str:
    """Bytes as a data URL."""
    return f"data:{media_type};base64,{pybase64.b64encode(data).decode('ascii')}"


def bytes_from_wire(value: object, place: str) -> bytes:
    """The bytes of a data URL.

    Raises:
        MalformedResultError: no text, or no data URL in base64; an address is none, whatever stands behind it.
    """
    url = text_at(value, place)
    if not url[:5].lower() == "data:":
        raise MalformedResultError(place, f"a data URL, got {got(value)}")
    try:
        return data_of_url(url)
    except UnreadableImageError as error:
        raise MalformedResultError(place, f"a data URL of a picture: {error}") from None


def image_from_wire(fields: Fields, name: str, codec: ImageCodec) -> EncodedImage:
    """A picture of a result, as `codec` sees it.

    Raises:
        MalformedResultError: no data URL, or bytes that are no picture.
    """
    data = bytes_from_wire(fields.value(name), f"{fields.place}{name}")
    try:
        header = codec.probe(data)
    except UnreadableImageError as error:
        raise MalformedResultError(f"{fields.place}{name}", f"a picture: {error}") from None
    return EncodedImage(data=data, media_type=header.media_type, size_hw=header.size_hw)
