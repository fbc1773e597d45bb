"""Which format the bytes are, and what they say of their picture."""

from __future__ import annotations

import struct
from collections.abc import Callable

from openvlharness_adapters.imaging.formats import avif, bmp, gif, ico, jpeg, png, tiff, webp
from openvlharness_adapters.imaging.formats.layout import Layout
from openvlharness_core.errors import UnreadableImageError

READABLE = "JPEG, PNG, WebP, GIF, BMP, TIFF, ICO or AVIF"
_BY_START: tuple[tuple[bytes, Callable[[bytes], Layout]], ...] = (
    (b"\xff\xd8\xff", jpeg.read),
    (png.MAGIC, png.read),
    (b"GIF87a", gif.read),
    (b"GIF89a", gif.read),
    (b"BM", bmp.read),
    (b"II*\0", tiff.read),
    (b"MM\0*", tiff.read),
    (b"II+\0", tiff.read),
    (b"MM\0+", tiff.read),
    (b"\0\0\1\0", ico.read),
)
_OTHERS = (
    (b"%PDF", "a PDF"),
    (b"PK\3\4", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip file"),
    (b"8BPS", "a Photoshop file"),
)

MAX_SIDE = 1 << 20
"""Pixels of the longer side. No camera or scanner makes more, and of what is longer decoders and encoders give up with a
line of 2^31 bits, or spend gigabytes on lists of lines, after it was taken in."""


def scan(data: bytes, max_pixels: int) -> Layout:
    """What `data` says of its picture; nothing is decoded.

    Raises:
        UnreadableImageError: empty, unknown format, SVG, truncated, damaged, zero size, more than `max_pixels` pixels,
            a side of more than `MAX_SIDE`.
    """
    if not data:
        raise UnreadableImageError(f"expected {READABLE}, got no bytes at all")
    read = _reader_of(data)
    if read is None:
        raise UnreadableImageError(f"expected {READABLE}, got {_what_it_is(data)}")
    try:
        layout = read(data)
    except UnreadableImageError:
        raise
    except struct.error as error:
        raise UnreadableImageError(f"truncated: expected a whole header, got {len(data)} bytes ({error})") from error
    except Exception as error:  # the one parser that is not ours may raise anything about bytes it dislikes
        raise UnreadableImageError(f"damaged: its header cannot be read ({type(error).__name__}: {error})") from error
    height, width = layout.size_hw
    if not (height and width):
        raise UnreadableImageError(f"expected a picture with pixels, got {width}x{height}")
    if max(height, width) > MAX_SIDE:
        raise UnreadableImageError(f"expected at most {MAX_SIDE} pixels a side, got {width}x{height}")
    if height * width > max_pixels:
        raise UnreadableImageError(f"expected at most {max_pixels} pixels, got {width}x{height} = {width * height}")
    return layout


def _reader_of(data: bytes) -> Callable[[bytes], Layout] | None:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return webp.read
    if avif.brands(data) & {b"avif", b"avis"}:
        return avif.read
    return next((read for start, read in _BY_START if data.startswith(start)), None)


def _what_it_is(data: bytes) -> str:
    """A guess in words, for the person who sent it."""
    text = data[:2048].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith(b"<") and b"<svg" in text:
        return "SVG, which is a drawing and not a picture of pixels"
    if text.startswith((b"<!doctype html", b"<html")):
        return "a web page (HTML)"
    if avif.brands(data) & {b"heic", b"heix", b"hevc", b"mif1"}:
        return "HEIC, for which there is no decoder here"
    for start, name in _OTHERS:
        if data.startswith(start):
            return name
    return f"{len(data)} bytes that start with {data[:12]!r}"
