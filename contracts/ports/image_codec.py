"""What every ImageCodec promises.

Subclass `ImageCodecContract` in a test module as `Test…` and supply two fixtures: `codec`, and `pixels`, a function from
an `EncodedImage` to its uint8 pixels (height, width, 3), RGB, through a decoder that is not the codec's own.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from openvlharness_core.errors import UnreadableImageError
from openvlharness_core.pictures import SENDABLE_MEDIA_TYPES, EncodedImage, ImageLimits, digest_of
from openvlharness_core.ports.imaging import ImageCodec

from .pictures import numbered, png_of

Pixels = Callable[[EncodedImage], NDArray[np.uint8]]
NO_LIMITS = ImageLimits()


class ImageCodecContract:
    """See the module."""

    def test_the_header_tells_height_before_width(self, codec: ImageCodec) -> None:
        header = codec.probe(png_of(numbered(3, 7)))
        assert (header.media_type, header.size_hw) == ("image/png", (3, 7))
        assert (header.orientation, header.frames, header.sendable) == (1, 1, True)

    def test_bytes_stay_where_nothing_has_to_change(self, codec: ImageCodec) -> None:
        data = png_of(numbered(5, 9))
        picture = codec.take_in(data, NO_LIMITS)
        assert picture.full.data == picture.sent.data == data
        assert picture.full.size_hw == (5, 9)
        assert picture.digest == digest_of(data)
        assert picture.notes == ()

    def test_transparency_lies_on_white(self, codec: ImageCodec, pixels: Pixels) -> None:
        drawn = np.zeros((2, 4, 4), np.uint8)
        drawn[:, 2:] = (10, 20, 30, 255)
        data = png_of(drawn)
        assert not codec.probe(data).sendable
        picture = codec.take_in(data, NO_LIMITS)
        shown = pixels(picture.full)
        assert (shown[:, :2] == 255).all()
        assert (shown[:, 2:] == (10, 20, 30)).all()
        assert picture.digest == digest_of(data)

    def test_the_sent_copy_keeps_the_limits_and_the_full_one_its_size(self, codec: ImageCodec, pixels: Pixels) -> None:
        limits = ImageLimits(max_side=60, min_side=8, max_ratio=6.0)
        for height, width in ((100, 50), (1, 1), (4, 300), (60, 10)):
            picture = codec.take_in(png_of(numbered(height, width)), limits)
            assert picture.full.size_hw == (height, width)
            sides = picture.sent.size_hw
            assert pixels(picture.sent).shape[:2] == sides
            assert max(sides) <= 60
            assert min(sides) >= 8
            assert max(sides) <= 6.0 * min(sides)
            assert picture.sent.media_type in SENDABLE_MEDIA_TYPES

    def test_the_same_bytes_give_the_same_picture(self, codec: ImageCodec) -> None:
        data, limits = png_of(numbered(30, 40)), ImageLimits(max_side=20)
        assert codec.take_in(data, limits) == codec.take_in(data, limits)

    def test_a_crop_is_its_region_pixel_for_pixel(self, codec: ImageCodec, pixels: Pixels) -> None:
        drawn = numbered(20, 30)
        image = codec.take_in(png_of(drawn), NO_LIMITS).full
        crop = codec.crop(image, (4, 5, 25, 11))
        assert (crop.media_type, crop.size_hw) == ("image/png", (6, 21))
        assert (pixels(crop) == drawn[5:11, 4:25]).all()
        assert (pixels(codec.crop(image, (29, 19, 30, 20))) == drawn[19:, 29:]).all()

    @pytest.mark.parametrize("data", [b"", b"no picture", b"<svg xmlns='http://www.w3.org/2000/svg'/>"])
    def test_what_is_no_picture_is_refused(self, codec: ImageCodec, data: bytes) -> None:
        for refuse in (codec.probe, lambda data: codec.take_in(data, NO_LIMITS)):
            with pytest.raises(UnreadableImageError) as refusal:
                refuse(data)
            assert refusal.value.problem

    def test_a_picture_whose_end_is_missing_is_refused_by_the_probe(self, codec: ImageCodec) -> None:
        data = png_of(numbered(20, 30))
        for length in (8, 20, 40, len(data) // 2, len(data) - 12, len(data) - 1):
            with pytest.raises(UnreadableImageError):
                codec.probe(data[:length])

    @pytest.mark.parametrize("size", [(100_000, 100_000), (0, 5), (5, 0)])
    def test_impossible_sizes_are_refused_by_the_probe(self, codec: ImageCodec, size: tuple[int, int]) -> None:
        data = png_of(numbered(1, 1))
        with pytest.raises(UnreadableImageError):
            codec.probe(data[:16] + struct.pack(">II", *size) + data[24:])

    def test_damage_inside_is_found_at_the_latest_when_pixels_are_wanted(self, codec: ImageCodec) -> None:
        data = bytearray(png_of(numbered(20, 30)))
        data[data.index(b"IDAT") + 12] ^= 0xFF
        with pytest.raises(UnreadableImageError):
            codec.crop(codec.take_in(bytes(data), NO_LIMITS).full, (0, 0, 5, 5))

    def test_the_type_that_a_data_url_declares_does_not_count(self, codec: ImageCodec) -> None:
        data = png_of(numbered(2, 3))
        text = base64.b64encode(data).decode()
        for head in ("data:image/jpeg;base64,", "DATA:image/jpg;name=a;BASE64,", "data:;base64,"):
            assert codec.data_of_url(head + text) == data
            assert codec.take_in(codec.data_of_url(head + text), NO_LIMITS).sent.media_type == "image/png"

    @pytest.mark.parametrize(
        "url", ["", "http://localhost/a.png", "data:image/png;base64", "data:image/png;base64,***"]
    )
    def test_what_is_no_data_url_is_refused(self, codec: ImageCodec, url: str) -> None:
        with pytest.raises(UnreadableImageError):
            codec.data_of_url(url)
