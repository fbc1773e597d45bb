"""Whatever comes in, everybody is shown upright, opaque 8-bit grey or RGB."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageCms

from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_core.pictures import ImageLimits, Picture
from tests.unit.adapters.imaging.drawing import (
    BLUE,
    GREEN,
    RED,
    WHITE,
    noise,
    one_of_each,
    opened,
    quarter,
    saved,
    smooth,
)


def _taken(data: bytes) -> tuple[Picture, np.ndarray]:
    codec = PillowCodec()
    picture = codec.take_in(data, ImageLimits())
    return picture, codec.pixels(picture.full).astype(int)


def _png(header: tuple[int, int, int, int], rows: bytes, *extra: tuple[bytes, bytes]) -> bytes:
    """A PNG by hand: (width, height, depth, colour type), filtered rows, further chunks."""
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", *header, 0, 0, 0)),
        *extra,
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    ]
    packed = (struct.pack(">I", len(b)) + n + b + struct.pack(">I", zlib.crc32(n + b)) for n, b in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


@pytest.mark.parametrize("name", ["jpeg", "jpeg_progressive", "png", "webp"])
def test_bytes_stay_where_nothing_had_to_change(name: str) -> None:
    data = one_of_each()[name]
    picture, _ = _taken(data)
    assert picture.full.data is data
    assert picture.sent is picture.full
    assert picture.notes == ()
    assert PillowCodec().probe(data).sendable


@pytest.mark.parametrize("name", sorted(one_of_each()))
def test_only_three_formats_come_out_and_they_are_what_they_say(name: str) -> None:
    picture, pixels = _taken(one_of_each()[name])
    again = opened(picture.sent.data)
    assert (
        picture.sent.media_type == {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}[again.format or ""]
    )
    assert (again.height, again.width) == picture.sent.size_hw == pixels.shape[:2]
    assert again.mode in ("L", "RGB", "P")


def test_a_fully_opaque_alpha_channel_changes_nothing() -> None:
    image = smooth(30, 20)
    image.putalpha(255)
    data = saved(image, "PNG")
    picture, pixels = _taken(data)
    assert picture.full.data is data
    assert (pixels == np.asarray(smooth(30, 20))).all()


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF"])
def test_transparency_lies_on_white(kind: str) -> None:
    image = Image.new("RGBA", (20, 10), (*RED, 255))
    image.paste((0, 0, 0, 0), (0, 0, 10, 10))
    image.paste((0, 0, 0, 128), (15, 0, 20, 10))
    _, pixels = _taken(saved(image, kind, **({"lossless": True} if kind == "WEBP" else {})))
    assert (pixels[:, :10] == WHITE).all()
    assert (pixels[:, 10:15] == RED).all()
    assert (pixels[:, 15:] == (127, 127, 127)).all()


def test_grey_with_alpha_stays_grey() -> None:
    image = Image.new("LA", (4, 2), (0, 255))
    image.putpixel((0, 0), (0, 0))
    picture, pixels = _taken(saved(image, "PNG"))
    assert opened(picture.full.data).mode == "L"
    assert pixels[..., 0].tolist() == [[255, 0, 0, 0], [0, 0, 0, 0]]


@pytest.mark.parametrize("transparency", [1, bytes([255, 0, 255])])
def test_a_transparent_palette_entry_is_white(transparency: int | bytes) -> None:
    image = Image.new("P", (6, 1))
    image.putpalette([*RED, *GREEN, *BLUE])
    image.putdata([0, 1, 2, 0, 1, 2])
    _, pixels = _taken(saved(image, "PNG", transparency=transparency))
    assert pixels[0].tolist() == [list(c) for c in (RED, WHITE, BLUE) * 2]


@pytest.mark.parametrize(
    ("header", "rows", "key", "expected"),
    [
        ((2, 1, 8, 0), b"\0\x10\x20", b"\0\x20", [16, 255]),
        ((2, 1, 4, 0), b"\0\x3a", b"\0\x0a", [51, 255]),  # 4 bits are stretched by 17
        ((2, 1, 2, 0), b"\0\x60", b"\0\x01", [255, 170]),
        ((2, 1, 1, 0), b"\0\x40", b"\0\x00", [255, 255]),
        ((2, 1, 16, 0), b"\0\x10\x10\x10\x11", b"\x10\x11", [16, 255]),
    ],
)
def test_a_grey_value_that_means_transparent(
    header: tuple[int, int, int, int], rows: bytes, key: bytes, expected: list[int]
) -> None:
    _, pixels = _taken(_png(header, rows, (b"tRNS", key)))
    assert pixels[0, :, 0].tolist() == expected


def test_a_colour_that_means_transparent() -> None:
    _, pixels = _taken(_png((2, 1, 8, 2), b"\0" + bytes((1, 2, 3, 1, 2, 4)), (b"tRNS", b"\0\x01\0\x02\0\x03")))
    assert pixels[0].tolist() == [[255, 255, 255], [1, 2, 4]]


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bits_are_scaled_and_not_cut(kind: str) -> None:
    values = np.array([[0, 128, 257, 32768, 65278, 65535]], dtype=np.uint16)
    picture, pixels = _taken(saved(Image.fromarray(values), kind))
    assert pixels[0, :, 0].tolist() == [0, 0, 1, 128, 254, 255]
    assert opened(picture.full.data).mode == "L"


def test_sixteen_bits_of_rgb() -> None:
    row = b"\0" + struct.pack(">6H", 0, 32768, 65535, 65280, 256, 511)
    _, pixels = _taken(_png((2, 1, 16, 2), row))
    assert pixels[0].tolist() == [[0, 128, 255], [255, 1, 1]]


def test_big_endian_sixteen_bits() -> None:
    image = Image.frombytes("I;16B", (3, 1), struct.pack(">3H", 0, 32768, 65535))
    _, pixels = _taken(saved(image, "TIFF"))
    assert pixels[0, :, 0].tolist() == [0, 128, 255]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([[0, 100, 255]], np.int32), [0, 100, 255]),
        (np.array([[0, 32768, 65535]], np.int32), [0, 128, 255]),
        (np.array([[-1000, 0, 1000]], np.int32), [0, 128, 255]),
        (np.array([[-7, -7]], np.int32), [128, 128]),
        (np.array([[0.0, 0.5, 1.0]], np.float32), [0, 128, 255]),
        (np.array([[0.0, 100.2, 255.0]], np.float32), [0, 100, 255]),
        (np.array([[np.nan, -np.inf, 1.0]], np.float32), [0, 0, 255]),
        (np.array([[-3e38, 0, 3e38]], np.float32), [0, 128, 255]),
    ],
)
def test_thirty_two_bits_are_stretched_to_what_they_can_mean(values: np.ndarray, expected: list[int]) -> None:
    _, pixels = _taken(saved(Image.fromarray(values), "TIFF"))
    assert pixels[0, :, 0].tolist() == expected


def test_black_and_white_becomes_grey() -> None:
    _, pixels = _taken(saved(quarter().convert("1"), "TIFF"))
    assert set(pixels.ravel().tolist()) == {0, 255}


@pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
def test_cmyk_is_not_inverted(kind: str) -> None:
    """JPEG stores Adobe's inverted inks, TIFF true ones; both are the same picture."""
    image = quarter(32, 32).convert("CMYK")
    picture, pixels = _taken(saved(image, kind, **({"quality": 95} if kind == "JPEG" else {})))
    assert np.abs(pixels[2:14, 2:14] - RED).max() < 12
    assert pixels[18:, 18:].min() > 245
    assert opened(picture.full.data).mode == "RGB"


def test_a_broken_cmyk_profile_does_not_cost_the_picture() -> None:
    _, pixels = _taken(saved(quarter(32, 32).convert("CMYK"), "JPEG", icc_profile=b"no profile at all" * 20))
    assert pixels[18:, 18:].min() > 245


def test_a_profile_goes_along_where_it_fits() -> None:
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    rgb, _ = _taken(saved(noise(9, 5, "RGBA"), "PNG", icc_profile=srgb))
    grey, _ = _taken(saved(noise(9, 5, "LA"), "PNG", icc_profile=srgb))
    assert opened(rgb.full.data).info["icc_profile"] == srgb
    assert "icc_profile" not in opened(grey.full.data).info


def test_a_swollen_profile_of_a_png_is_left_out() -> None:
    bomb = b"x\0\0" + zlib.compress(bytes(200 << 20))
    _, pixels = _taken(_png((1, 1, 8, 6), b"\0\1\2\3\x80", (b"iCCP", bomb)))
    assert pixels.shape == (1, 1, 3)


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP"])
def test_the_first_frame_of_an_animation_is_shown_and_said(kind: str) -> None:
    frames = [Image.new("RGB", (16, 12), colour) for colour in (RED, GREEN, BLUE)]
    data = saved(
        frames[0],
        kind,
        save_all=True,
        append_images=frames[1:],
        duration=40,
        **({"lossless": True} if kind == "WEBP" else {}),
    )
    assert PillowCodec().probe(data).frames == 3
    picture, pixels = _taken(data)
    assert picture.notes == ("first of 3 frames of an animation",)
    assert (pixels == RED).all()
    assert getattr(opened(picture.full.data), "n_frames", 1) == 1


def test_a_still_gif_has_no_note() -> None:
    picture, pixels = _taken(saved(Image.new("RGB", (5, 4), BLUE), "GIF"))
    assert (picture.full.media_type, picture.notes) == ("image/png", ())
    assert (pixels == BLUE).all()


def test_a_first_frame_smaller_than_its_canvas_lies_on_white() -> None:
    data = bytearray(saved(Image.new("RGB", (4, 3), RED), "GIF"))
    data[6:10] = struct.pack("<HH", 10, 8)
    place = data.index(b",", 13)
    data[place + 1 : place + 5] = struct.pack("<HH", 5, 2)
    _, pixels = _taken(bytes(data))
    assert pixels.shape == (8, 10, 3)
    assert (pixels[2:5, 5:9] == RED).all()
    pixels[2:5, 5:9] = WHITE
    assert (pixels == WHITE).all()


def test_pages_and_icons_are_counted() -> None:
    pages = saved(quarter(), "TIFF", save_all=True, append_images=[quarter(), quarter()])
    icons = saved(noise(64, 64, "RGBA"), "ICO", sizes=[(16, 16), (64, 64)])
    assert _taken(pages)[0].notes == ("first of 3 pages",)
    assert _taken(icons)[0].notes == ("first of 2 icons, the largest",)
    assert _taken(icons)[0].full.size_hw == (64, 64)


def test_icons_as_bitmaps_keep_their_transparency() -> None:
    image = Image.new("RGBA", (16, 16), (*BLUE, 255))
    image.paste((0, 0, 0, 0), (0, 0, 8, 16))
    _, pixels = _taken(saved(image, "ICO", sizes=[(16, 16)], bitmap_format="bmp"))
    assert (pixels[:, :8] == WHITE).all()
    assert (pixels[:, 8:] == BLUE).all()


def test_an_icon_directory_that_lies_about_the_size() -> None:
    data = bytearray(saved(Image.new("RGBA", (16, 16), (*BLUE, 255)), "ICO", sizes=[(16, 16)], bitmap_format="bmp"))
    data[6:8] = bytes((32, 32))
    picture, pixels = _taken(bytes(data))
    assert picture.full.size_hw == (16, 16)
    assert (pixels == BLUE).all()


def test_metadata_that_breaks_rules_does_not_cost_a_jpeg() -> None:
    broken = b"Exif\0\0II*\0\x08\0\0\0\xff\x7f" + b"\x0f\x01\x02\0\xff\xff\xff\x7f\xff\xff\xff\x7f" * 3
    segment = b"\xff\xe1" + struct.pack(">H", len(broken) + 2) + broken
    data = saved(quarter(), "JPEG")
    _, pixels = _taken(data[:2] + segment + data[2:])
    assert pixels.shape == (20, 40, 3)


def test_what_follows_the_end_of_a_jpeg_does_not_matter() -> None:
    data = saved(quarter(), "JPEG") + b"film" * 100
    assert _taken(data)[0].full.data is data


def test_a_multi_picture_jpeg_is_its_first_picture() -> None:
    sink = BytesIO()
    Image.new("RGB", (8, 8), RED).save(sink, "MPO", save_all=True, append_images=[Image.new("RGB", (9, 9), BLUE)])
    picture, pixels = _taken(sink.getvalue())
    assert picture.full.media_type == "image/jpeg"
    assert pixels.shape == (8, 8, 3)
