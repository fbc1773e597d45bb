"""Decoded pixels: one decode for many askers, in bounded room; crops and zoom."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from openvlharness_adapters.imaging.cache import DecodedPictures, Pixels
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.zoom import InProcessZoom
from openvlharness_adapters.runtime import ThreadOffload
from openvlharness_core.errors import ToolExecutionError
from openvlharness_core.pictures import EncodedImage, ImageLimits
from tests.unit.adapters.imaging.drawing import BLUE, RED, WHITE, Image, noise, one_of_each, opened, saved, smooth


def _taken(codec: PillowCodec, image: Image.Image, kind: str = "PNG") -> EncodedImage:
    return codec.take_in(saved(image, kind), ImageLimits()).full


def test_pixels_are_locked_and_drawings_are_the_callers_own() -> None:
    codec = PillowCodec()
    image = _taken(codec, noise(6, 4))
    pixels = codec.pixels(image)
    assert (pixels.dtype, pixels.shape) == (np.uint8, (4, 6, 3))
    with pytest.raises(ValueError, match="read-only"):
        pixels[0, 0, 0] = 1
    codec.decoded(image).paste(RED, (0, 0, 6, 4))
    assert (codec.pixels(image) == np.asarray(noise(6, 4))).all()


def test_the_same_picture_is_decoded_once() -> None:
    codec = PillowCodec()
    image = _taken(codec, smooth(50, 40), "JPEG")
    assert codec.pixels(image) is codec.pixels(
        EncodedImage(data=bytes(bytearray(image.data)), media_type="image/jpeg", size_hw=(40, 50))
    )


@pytest.mark.parametrize("name", sorted(one_of_each()))
def test_kept_pixels_are_those_of_the_full_picture(name: str) -> None:
    codec = PillowCodec()
    full = codec.take_in(one_of_each()[name], ImageLimits(max_side=16)).full
    assert (codec.pixels(full) == PillowCodec().pixels(full)).all()


def test_the_room_is_bounded() -> None:
    room = 3 * 20 * 20 * 3
    codec = PillowCodec(decoded_cache_bytes=room)
    images = [_taken(codec, noise(20, 20, seed=seed)) for seed in range(8)]
    for image in images:
        codec.pixels(image)
        assert codec.held_bytes <= room
    assert codec.held_bytes == room
    assert codec.pixels(images[-1]) is codec.pixels(images[-1])
    large = _taken(codec, noise(21, 60))
    assert codec.pixels(large).shape == (60, 21, 3)
    assert codec.held_bytes == room  # too large to keep, and nothing else had to leave for it


def test_the_picture_used_last_stays() -> None:
    kept = DecodedPictures(max_bytes=24)
    pixels = [np.full((2, 2, 3), i, np.uint8) for i in range(3)]
    kept.put("a", pixels[0])
    kept.put("b", pixels[1])
    assert kept.get("a", lambda: pixels[2]) is pixels[0]
    kept.put("c", pixels[2])
    assert kept.get("a", lambda: pixels[2]) is pixels[0]
    assert kept.get("b", lambda: pixels[2]) is pixels[2]


def test_threads_that_want_the_same_picture_wait_for_one_decode() -> None:
    kept, started, release, calls = DecodedPictures(max_bytes=1000), threading.Event(), threading.Event(), []

    def decode() -> Pixels:
        calls.append(1)
        started.set()
        assert release.wait(10)
        return np.zeros((1, 1, 3), np.uint8)

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(kept.get, "a", decode)
        assert started.wait(10)
        others = [pool.submit(kept.get, "a", decode) for _ in range(3)]
        release.set()
        assert all(other.result(10) is first.result(10) for other in others)
    assert len(calls) == 1


def test_a_failed_decode_is_told_to_all_and_tried_again() -> None:
    kept = DecodedPictures(max_bytes=1000)

    def fail() -> Pixels:
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            kept.get("a", fail)
    assert kept.get("a", lambda: np.zeros((1, 1, 3), np.uint8)).shape == (1, 1, 3)


def test_many_threads_on_one_codec() -> None:
    codec = PillowCodec(decoded_cache_bytes=40_000)
    files = list(one_of_each().values())
    expected = [codec.take_in(data, ImageLimits(max_side=16)) for data in files]

    def work(turn: int) -> bool:
        picture = codec.take_in(files[turn % len(files)], ImageLimits(max_side=16))
        codec.pixels(picture.full)
        return picture == expected[turn % len(files)]

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(150)))
    assert codec.held_bytes <= 40_000


@pytest.mark.parametrize(("kind", "expected"), [("JPEG", "image/jpeg"), ("PNG", "image/png"), ("WEBP", "image/png")])
def test_a_crop_is_jpeg_from_jpeg_else_png(kind: str, expected: str) -> None:
    codec = PillowCodec()
    crop = codec.crop(_taken(codec, smooth(40, 30), kind), (10, 5, 30, 25))
    assert (crop.media_type, crop.size_hw) == (expected, (20, 20))
    off = np.abs(np.asarray(opened(crop.data)).astype(int) - np.asarray(smooth(40, 30))[5:25, 10:30]).mean()
    assert off < 4


@pytest.mark.parametrize("region", [(0, 0, 0, 5), (5, 0, 4, 5), (-1, 0, 4, 5), (0, 0, 41, 5), (0, 0, 5, 31)])
def test_a_region_outside_is_a_bug_of_the_caller(region: tuple[int, int, int, int]) -> None:
    codec = PillowCodec()
    with pytest.raises(ValueError, match="expected pixels inside 40x30"):
        codec.crop(_taken(codec, smooth(40, 30)), region)


async def test_zoom_on_a_very_wide_picture_takes_grid_numbers_for_grid_numbers() -> None:
    picture = Image.new("RGB", (2000, 100), WHITE)
    picture.paste(BLUE, (200, 0, 400, 100))
    codec = PillowCodec()
    zoom = InProcessZoom(codec=codec, offload=ThreadOffload(threads=1))
    answered = await zoom.crop(_taken(codec, picture), (100, 0, 200, 1000), 0, timeout_seconds=1.0)
    assert answered.backend == "zoom_in_image_by_bbox"
    assert answered.value.region_xyxy_px == (200, 0, 400, 100)
    assert (codec.pixels(answered.value.image) == BLUE).all()
    padded = await zoom.crop(_taken(codec, picture), (100, 0, 200, 1000), 7, timeout_seconds=1.0)
    assert padded.value.region_xyxy_px == (193, 0, 407, 100)
    assert (codec.pixels(padded.value.image)[:, 6:8] == [WHITE, BLUE]).all()


async def test_zoom_finds_the_red_quarter_of_a_sideways_photo() -> None:
    from tests.unit.adapters.imaging.drawing import quarter, stored_with_orientation

    codec = PillowCodec()
    data = stored_with_orientation(quarter(20, 40), 6, quality=95, subsampling=0)
    full = codec.take_in(data, ImageLimits()).full
    answered = await InProcessZoom(codec=codec, offload=ThreadOffload(threads=1)).crop(
        full, (0, 0, 500, 500), 0, timeout_seconds=1.0
    )
    assert answered.value.region_xyxy_px == (0, 0, 10, 20)
    assert np.abs(codec.pixels(answered.value.image)[1:-3, 1:-3].astype(int) - RED).max() < 30


@pytest.mark.parametrize("box", [(0, 0, 0, 10), (0, 0, 10, 1001), (float("nan"), 0, 1, 1), (5, 5, 1, 9)])
async def test_zoom_refuses_a_bad_box_in_words(box: tuple[float, float, float, float]) -> None:
    codec = PillowCodec()
    zoom = InProcessZoom(codec=codec, offload=ThreadOffload(threads=1))
    with pytest.raises(ToolExecutionError, match="coords: expected"):
        await zoom.crop(_taken(codec, smooth(20, 20)), box, 0, timeout_seconds=1.0)
    with pytest.raises(ToolExecutionError, match="padding: expected"):
        await zoom.crop(_taken(codec, smooth(20, 20)), (0, 0, 10, 10), -1, timeout_seconds=1.0)


def test_probing_a_photo_against_decoding_it() -> None:
    """Prints; asserts only that the probe decoded nothing."""
    data = saved(smooth(4000, 3000), "JPEG", quality=92)
    codec = PillowCodec()

    start = time.perf_counter()
    header = codec.probe(data)
    probed = time.perf_counter() - start
    assert codec.held_bytes == 0
    codec.pixels(EncodedImage(data=data, media_type=header.media_type, size_hw=header.size_hw))
    decoded = time.perf_counter() - start - probed
    assert (header.size_hw, codec.held_bytes) == ((3000, 4000), 36_000_000)
    print(f"12 megapixels, {len(data)} bytes: probe {probed * 1e3:.2f} ms, decode {decoded * 1e3:.0f} ms")
