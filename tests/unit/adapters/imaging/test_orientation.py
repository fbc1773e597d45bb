"""From intake on the upright frame is the only one."""

from __future__ import annotations

import numpy as np
import pytest

from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.formats.exif import orientation_of_exif
from openvlharness_core.pictures import ImageLimits
from tests.unit.adapters.imaging.drawing import EXIF_TO_STORED, exif, opened, quarter, saved, stored_with_orientation


@pytest.mark.parametrize("orientation", EXIF_TO_STORED)
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
def test_every_orientation_comes_out_upright(orientation: int, kind: str) -> None:
    upright = quarter(48, 32)
    data = stored_with_orientation(upright, orientation, kind)
    codec = PillowCodec()
    header = codec.probe(data)
    assert (header.size_hw, header.orientation) == ((32, 48), orientation)
    picture = codec.take_in(data, ImageLimits())
    assert picture.full.size_hw == (32, 48)
    close = np.abs(codec.pixels(picture.full).astype(int) - np.asarray(upright).astype(int)).mean()
    assert close < 6
    assert (picture.full.data is data) == (orientation == 1 and kind in ("JPEG", "PNG", "WEBP"))
    if picture.full.data is not data:
        assert not opened(picture.full.data).getexif()


def test_the_red_quarter_of_a_sideways_photo() -> None:
    # 40x20 as stored, tag 6: upright it is 20 wide and 40 high, and what lay at the lower left is at the upper left.
    stored = quarter(40, 20).transpose(1)  # red at the lower left
    data = saved(stored, "JPEG", exif=exif(6), quality=95, subsampling=0)
    codec = PillowCodec()
    assert codec.probe(data).size_hw == (40, 20)
    picture = codec.take_in(data, ImageLimits())
    pixels = codec.pixels(picture.full).astype(int)
    assert pixels.shape == (40, 20, 3)
    red, rest = pixels[2:18, 2:8], pixels[24:]
    assert (red[..., 0] > 220).all()
    assert (red[..., 1:] < 40).all()
    assert (rest > 220).all()
    assert opened(picture.full.data).getexif().get(0x0112) is None
    assert codec.pixels(picture.sent).shape == (40, 20, 3)


@pytest.mark.parametrize(
    "block", [b"", b"Exif\0\0", b"II*\0", b"II*\0\xff\xff\xff\xff", b"MM\0*\0\0\0\x08\xff\xff", b"junk" * 9]
)
def test_a_broken_block_has_no_say(block: bytes) -> None:
    assert orientation_of_exif(block) == 1


@pytest.mark.parametrize("value", [0, 9, 65535])
def test_an_orientation_that_does_not_exist_has_no_say(value: int) -> None:
    block = exif(1).replace(b"\x01\x00\x00\x00\x00\x00\x00\x00", b"\0" * 8) if value == 0 else exif(value)
    assert orientation_of_exif(block) == 1


def test_both_byte_orders_are_read() -> None:
    big = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
    little = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x08\0\0\0\0\0\0\0"
    assert (orientation_of_exif(big), orientation_of_exif(little)) == (6, 8)
