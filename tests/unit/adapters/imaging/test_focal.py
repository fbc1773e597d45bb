"""Focal lengths that cameras write into their pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.focal import carried_exif, exif_block, focal_px
from openvlharness_core.pictures import EncodedImage, ImageLimits

_ORIENTATION, _ARTIST = 0x0112, 0x013B
_FILM_FOCAL, _FOCAL, _DENSITY, _UNIT, _WIDTH, _HEIGHT = 0xA405, 0x920A, 0xA20E, 0xA210, 0xA002, 0xA003


def _picture(tags: Mapping[int, object], size: tuple[int, int] = (600, 400), kind: str = "JPEG") -> EncodedImage:
    exif = Image.Exif()
    exif.get_ifd(0x8769).update(
        {tag: IFDRational(value) if isinstance(value, float) else value for tag, value in tags.items()}
    )
    sink = BytesIO()
    Image.new("RGB", size).save(sink, kind, exif=exif.tobytes())
    return EncodedImage(data=sink.getvalue(), media_type=f"image/{kind.lower()}", size_hw=(size[1], size[0]))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_the_film_equivalent_is_compared_by_the_diagonal(kind: str) -> None:
    assert focal_px(_picture({_FILM_FOCAL: 36}, kind=kind)) == pytest.approx(600)
    square_ish = focal_px(_picture({_FILM_FOCAL: 26}, (400, 300), kind))
    assert square_ish == pytest.approx(26 * 500 / math.hypot(24, 36))


def test_the_lens_and_the_sensors_density() -> None:
    tags = {_FOCAL: 50.0, _DENSITY: 4000 / 36 * 25.4, _UNIT: 2, _WIDTH: 4000, _HEIGHT: 3000}
    assert focal_px(_picture(tags, (400, 300))) == pytest.approx(400 * 50 / 36, rel=1e-4)
    assert focal_px(_picture(tags | {_UNIT: 3, _DENSITY: 4000 / 3.6}, (400, 300))) == pytest.approx(
        400 * 50 / 36, rel=1e-4
    )
    assert focal_px(_picture({_FOCAL: 50.0}, (400, 300))) is None


def test_a_crop_has_lost_it_and_a_copy_laid_on_its_side_has_not() -> None:
    taken = {_FILM_FOCAL: 36, _WIDTH: 6000, _HEIGHT: 4000}
    assert focal_px(_picture(taken)) == pytest.approx(600)
    assert focal_px(_picture(taken, (400, 600))) == pytest.approx(600)
    assert focal_px(_picture(taken, (500, 400))) is None


_LENS = {_FOCAL: 4.25, _DENSITY: 4032 / 5.6, _UNIT: 4, _WIDTH: 4032, _HEIGHT: 3024}
_NO_LIMITS = ImageLimits()


def _stored(orientation: int, tags: Mapping[int, object], size: tuple[int, int], kind: str, mode: str = "RGB") -> bytes:
    exif = Image.Exif()
    exif[_ORIENTATION] = orientation
    exif[_ARTIST] = "somebody"
    exif.get_ifd(0x8769).update(
        {tag: IFDRational(value) if isinstance(value, float) else value for tag, value in tags.items()}
    )
    sink = BytesIO()
    Image.new(mode, size).save(sink, kind, exif=exif.tobytes())
    return sink.getvalue()


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize(
    ("tags", "pixels"), [({_FILM_FOCAL: 26}, 26 * 500 / math.hypot(24, 36)), (_LENS, 400 * 4.25 / 5.6)]
)
def test_a_picture_that_is_turned_at_intake_keeps_its_focal_length(
    orientation: int, kind: str, tags: dict[int, object], pixels: float
) -> None:
    full = PillowCodec().take_in(_stored(orientation, tags, (400, 300), kind), _NO_LIMITS).full
    assert full.size_hw == ((400, 300) if orientation >= 5 else (300, 400))
    assert focal_px(full) == pytest.approx(pixels, rel=1e-4)
    if orientation > 1:
        assert b"somebody" not in full.data
    assert PillowCodec().probe(full.data).orientation == 1
    assert PillowCodec().pixels(full).shape[:2] == full.size_hw  # not turned a second time


def test_a_crop_that_is_turned_has_still_lost_it() -> None:
    taken = {_FILM_FOCAL: 26, _WIDTH: 4000, _HEIGHT: 3000}
    full = PillowCodec().take_in(_stored(6, taken, (400, 380), "JPEG"), _NO_LIMITS).full
    assert focal_px(full) is None


def test_what_tells_no_focal_length_gets_no_block() -> None:
    for tags in ({}, {_WIDTH: 400}, {_FILM_FOCAL: 0}, {_FOCAL: 4.25}):
        assert carried_exif(_stored(6, tags, (40, 30), "JPEG")) is None
    assert carried_exif(b"") is None


def test_flattened_transparency_costs_no_focal_length() -> None:
    full = PillowCodec().take_in(_stored(1, {_FILM_FOCAL: 36}, (600, 400), "PNG", "RGBA"), _NO_LIMITS).full
    assert focal_px(full) == pytest.approx(600)


@pytest.mark.parametrize("tags", [{}, {_FILM_FOCAL: 0}, {_FOCAL: 0.0, _DENSITY: 0.0}])
def test_zero_means_unknown(tags: dict[int, object]) -> None:
    assert focal_px(_picture(tags)) is None


@given(cut=st.integers(0, 400), at=st.integers(0, 400), byte=st.integers(0, 255))
def test_damage_never_raises(cut: int, at: int, byte: int) -> None:
    image = _picture({_FILM_FOCAL: 36, _FOCAL: 50.0, _DENSITY: 100.0})
    data = bytearray(image.data)
    data[at % len(data)] = byte
    for damaged in (bytes(data), bytes(data[: len(data) - cut])):
        found = focal_px(EncodedImage(data=damaged, media_type="image/jpeg", size_hw=(400, 600)))
        assert found is None or found >= 0


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xd8", b"\xff\xd8\xff\xe1\0\0", b"\x89PNG\r\n\x1a\n", b"RIFF\0\0\0\0WEBP", b"BM"]
)
def test_files_without_a_block(data: bytes) -> None:
    assert exif_block(data) is None
