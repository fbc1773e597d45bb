"""What is no picture, or not a whole one, is refused in words, and by one error only."""

from __future__ import annotations

import random
import struct
import zlib
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_core.errors import UnreadableImageError
from openvlharness_core.pictures import EncodedImage, ImageLimits
from tests.unit.adapters.imaging.drawing import noise, one_of_each, saved, smooth

SAMPLES = one_of_each()
WITH_END_MARKER = [name for name in SAMPLES if name.startswith(("jpeg", "png", "apng", "gif", "webp"))]


def _refusal(data: bytes, codec: PillowCodec | None = None) -> str:
    with pytest.raises(UnreadableImageError) as caught:
        (codec or PillowCodec()).probe(data)
    return caught.value.problem


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no bytes"),
        (b"hello", "b'hello'"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- x -->\n<svg/>", "SVG"),
        (b"<!DOCTYPE html><html>", "HTML"),
        (b"%PDF-1.7", "PDF"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "HEIC"),
        (b"\xff\xd8\xff", "truncated JPEG"),
        (b"\xff\xd8\xff\xd9", "JPEG"),
        (b"\x89PNG\r\n\x1a\n", "truncated PNG"),
        (b"GIF89a", "truncated GIF"),
        (b"RIFF\x04\0\0\0WEBP", "truncated WebP"),
        (b"BM", "truncated BMP"),
        (b"II*\0", "truncated"),
        (b"\0\0\1\0", "truncated"),
        (b"\0\0\1\0\0\0", "ICO"),
    ],
)
def test_the_refusal_says_what_came(data: bytes, words: str) -> None:
    assert words in _refusal(data)


def _png_header(width: int, height: int) -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


def test_a_header_that_claims_ten_thousand_million_pixels() -> None:
    data = _png_header(100_000, 100_000)
    assert "100000x100000" in _refusal(data)
    with pytest.raises(UnreadableImageError, match="at most 89478485 pixels"):
        PillowCodec().take_in(data, ImageLimits())


@pytest.mark.parametrize("size", [(0, 5), (5, 0), (0, 0)])
def test_no_pixels_at_all(size: tuple[int, int]) -> None:
    assert "expected a picture with pixels" in _refusal(_png_header(*size))


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_the_bound_is_checked_for_every_format(name: str) -> None:
    height, width = PillowCodec().probe(SAMPLES[name]).size_hw
    assert PillowCodec(max_pixels=height * width).probe(SAMPLES[name])
    assert "at most" in _refusal(SAMPLES[name], PillowCodec(max_pixels=height * width - 1))


def test_a_bound_above_that_of_the_library_gives_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("PIL.Image.MAX_IMAGE_PIXELS", 100)
    codec = PillowCodec()
    for name in ("jpeg", "png", "bmp", "avif"):
        picture = codec.take_in(SAMPLES[name], ImageLimits(max_side=20))
        assert codec.crop(picture.full, (0, 0, 20, 15)).size_hw == (15, 20)
    for name in ("gif", "tiff_lzw", "webp_lossless"):
        with pytest.raises(UnreadableImageError, match=r"decoder of image/.* takes at most [12]00 pixels, got 408"):
            codec.take_in(SAMPLES[name], ImageLimits())


@pytest.mark.parametrize("name", WITH_END_MARKER)
def test_every_cut_is_refused_by_the_probe(name: str) -> None:
    data = SAMPLES[name]
    for length in range(len(data)):
        with pytest.raises(UnreadableImageError):
            PillowCodec().probe(data[:length])


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(["JPEG", "PNG", "GIF", "WEBP", "BMP"]), share=st.floats(0, 0.999), seed=st.integers(0, 5))
def test_larger_pictures_cut_anywhere_are_refused_by_the_probe(kind: str, share: float, seed: int) -> None:
    data = saved(noise(90, 70, seed=seed), kind)
    with pytest.raises(UnreadableImageError):
        PillowCodec().probe(data[: int(len(data) * share)])


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - set(WITH_END_MARKER)))
def test_formats_without_an_end_marker_are_refused_at_the_latest_by_decoding(name: str) -> None:
    data = SAMPLES[name]
    refused = 0
    for length in range(0, len(data) - 1, 7):
        try:
            PillowCodec().take_in(data[:length], ImageLimits())
        except UnreadableImageError:
            refused += 1
    # What follows the pixels (a TIFF directory's slack, an icon's mask) may be missing without harm.
    assert refused >= len(range(0, len(data) - 1, 7)) * 0.95


def test_damage_that_only_decoding_shows() -> None:
    data = bytearray(SAMPLES["png"])
    data[data.index(b"IDAT") + 20] ^= 0xFF
    codec = PillowCodec()
    header = codec.probe(bytes(data))
    picture = codec.take_in(bytes(data), ImageLimits())  # nothing had to change, so nothing was decoded
    assert picture.full.size_hw == header.size_hw
    for _ in range(2):  # a failure is not kept
        with pytest.raises(UnreadableImageError, match="damaged image/png"):
            codec.pixels(picture.full)
    with pytest.raises(UnreadableImageError, match="damaged image/png"):
        codec.crop(picture.full, (0, 0, 2, 2))
    with pytest.raises(UnreadableImageError, match="damaged image/png"):
        codec.take_in(bytes(data), ImageLimits(max_side=8))


def test_a_picture_that_is_not_of_the_size_it_is_said_to_be() -> None:
    image = EncodedImage(data=saved(smooth(8, 6), "PNG"), media_type="image/png", size_hw=(8, 6))
    with pytest.raises(UnreadableImageError, match="expected 6x8 pixels, got 8x6"):
        PillowCodec().pixels(image)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_mutated_bytes_raise_nothing_else(name: str) -> None:
    chance = random.Random(name)
    data = SAMPLES[name]
    for _ in range(200):
        mutated = bytearray(data)
        for _ in range(chance.randint(1, 6)):
            mutated[chance.randrange(len(mutated))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        codec = PillowCodec(max_pixels=1_000_000)
        with suppress(UnreadableImageError):
            header = codec.probe(bytes(mutated))
            picture = codec.take_in(bytes(mutated), ImageLimits())
            assert picture.full.size_hw == header.size_hw
            assert codec.pixels(picture.full).shape[:2] == header.size_hw


@settings(max_examples=200, deadline=None)
@given(start=st.sampled_from(sorted({data[:12] for data in SAMPLES.values()})), rest=st.binary(max_size=200))
def test_a_known_start_with_anything_after_it(start: bytes, rest: bytes) -> None:
    with suppress(UnreadableImageError):
        PillowCodec(max_pixels=1_000_000).probe(start + rest)
