"""Bodies in pieces of bytes, so that what is large exists once however often it is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pybase64

from openvlharness_core.pictures import EncodedImage

Pieces = tuple[bytes, ...]
Base64 = Callable[[EncodedImage], bytes]
"""Gives the base64 text of a picture, which may be kept."""

_LARGE_BYTES = 4096


def base64_of(image: EncodedImage) -> bytes:
    """The bytes of a picture as base64 text."""
    return pybase64.b64encode(image.data)


def fused(pieces: Sequence[bytes]) -> Pieces:
    """The same bytes in fewer pieces; what is large stays as it is, and is not copied."""
    whole: list[bytes] = []
    small: list[bytes] = []
    for piece in pieces:
        if len(piece) < _LARGE_BYTES:
            small.append(piece)
        else:
            whole += [b"".join(small), piece]
            small = []
    return (*whole, b"".join(small))
