"""The copy that a model is sent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_core.pictures import ImageLimits
from tests.unit.adapters.imaging.drawing import RED, WHITE, Image, exif, noise, opened, saved, smooth


def _sent(image: Image.Image, kind: str = "PNG", **limits: float) -> np.ndarray:
    picture = PillowCodec().take_in(saved(image, kind), ImageLimits(**limits))  # type: ignore[arg-type]
    assert picture.full.size_hw == (image.height, image.width)  # tools keep the full picture
    pixels = np.asarray(opened(picture.sent.data).convert("RGB"))
    assert pixels.shape[:2] == picture.sent.size_hw
    return pixels


def test_a_large_picture_is_shrunk_to_the_longest_side() -> None:
    sent = _sent(smooth(300, 200), max_side=150)
    assert sent.shape == (100, 150, 3)
    assert np.abs(sent.astype(int) - np.asarray(smooth(150, 100)).astype(int)).mean() < 2


def test_a_picture_within_the_limits_is_sent_as_it_came() -> None:
    data = saved(smooth(300, 200), "WEBP")
    picture = PillowCodec().take_in(data, ImageLimits(max_side=300, min_side=200, max_ratio=1.5, max_pictures=1))
    assert picture.sent.data is data


def test_a_small_picture_is_padded_and_keeps_the_upper_left_corner() -> None:
    sent = _sent(Image.new("RGB", (10, 4), RED), min_side=28)
    assert sent.shape == (28, 28, 3)
    assert (sent[:4, :10] == RED).all()
    assert (sent[4:] == WHITE).all()
    assert (sent[:, 10:] == WHITE).all()


@pytest.mark.parametrize(
    ("size", "expected"), [((1000, 1), (1000, 10)), ((1, 1000), (10, 1000)), ((1001, 1), (1001, 11))]
)
def test_a_long_picture_is_padded_to_the_ratio(size: tuple[int, int], expected: tuple[int, int]) -> None:
    sent = _sent(Image.new("RGB", size, RED), max_ratio=100)
    assert sent.shape[1::-1] == expected
    assert (sent[: size[1], : size[0]] == RED).all()


def test_one_pixel() -> None:
    assert _sent(Image.new("RGB", (1, 1), RED)).tolist() == [[list(RED)]]
    assert _sent(Image.new("RGB", (1, 1), RED), max_side=1, min_side=1, max_ratio=1).tolist() == [[list(RED)]]


def test_an_extreme_strip_keeps_a_pixel_of_its_short_side() -> None:
    assert _sent(Image.new("RGB", (20_000, 2), RED), max_side=500).shape == (1, 500, 3)


def test_grey_is_sent_as_grey() -> None:
    picture = PillowCodec().take_in(saved(noise(60, 60, "L"), "PNG"), ImageLimits(max_side=20))
    assert opened(picture.sent.data).mode == "L"


def test_formats_of_shrunk_copies() -> None:
    for kind, expected in (("JPEG", "image/jpeg"), ("PNG", "image/png"), ("WEBP", "image/png"), ("BMP", "image/png")):
        picture = PillowCodec().take_in(saved(smooth(60, 60), kind), ImageLimits(max_side=20))
        assert picture.sent.media_type == expected


def test_a_shrunk_copy_of_a_turned_photo_stands_upright_without_a_tag() -> None:
    data = saved(smooth(40, 20), "JPEG", exif=exif(8))
    picture = PillowCodec().take_in(data, ImageLimits(max_side=20))
    assert (picture.full.size_hw, picture.sent.size_hw) == ((40, 20), (20, 10))
    assert not opened(picture.sent.data).getexif()


@settings(max_examples=80, deadline=None)
@given(
    width=st.integers(1, 120),
    height=st.integers(1, 120),
    max_side=st.integers(20, 100),
    min_side=st.integers(1, 20),
    max_ratio=st.floats(1, 8),
)
def test_the_limits_always_hold(width: int, height: int, max_side: int, min_side: int, max_ratio: float) -> None:
    limits = ImageLimits(max_side=max_side, min_side=min_side, max_ratio=max_ratio)
    picture = PillowCodec().take_in(saved(Image.new("L", (width, height), 9), "PNG"), limits)
    sides = picture.sent.size_hw
    assert max(sides) <= max_side
    assert min(sides) >= min_side
    assert max(sides) <= min(sides) * max_ratio + 1e-9
