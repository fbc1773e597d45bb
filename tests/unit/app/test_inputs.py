"""A picture from whatever a caller has at hand."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_app import image_input
from openvlharness_core import ImageInput, InvalidQuestionError
from openvlharness_core.pictures import ImageLimits


def pixels_of(given: ImageInput) -> np.ndarray:
    codec = PillowCodec()
    assert isinstance(given.value, bytes)
    return codec.pixels(codec.take_in(given.value, ImageLimits()).full)


def test_each_kind_of_source(tmp_path: Path, picture: bytes) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(picture)
    assert image_input(path) == image_input(str(path)) == ImageInput.from_path(path)
    assert image_input("HTTPS://example.org/a.png").kind == "url"
    assert image_input("data:image/png;base64,AAAA").kind == "data_url"
    assert image_input(bytearray(picture)).value == picture
    with path.open("rb") as stream:
        assert image_input(stream).value == picture
    assert image_input(image_input(path)) == image_input(path)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "HSV", "LAB", "YCbCr", "I;16", "F"])
def test_pil_images_of_every_mode(mode: str) -> None:
    assert pixels_of(image_input(Image.new(mode, (5, 3)))).shape == (3, 5, 3)


@pytest.mark.parametrize("shape", [(3, 5), (3, 5, 1), (3, 5, 3), (3, 5, 4)])
def test_arrays_keep_height_first_and_red_first(shape: tuple[int, ...]) -> None:
    array = np.full(shape, 255, np.uint8)
    array[0, 0] = 0 if array.ndim == 2 or shape[2] == 1 else np.array([255, 0, 0, 255][: shape[2]], np.uint8)
    seen = pixels_of(image_input(array))
    assert seen.shape == (3, 5, 3)
    assert seen[0, 0].tolist() == ([255, 0, 0] if len(shape) == 3 and shape[2] > 1 else [0, 0, 0])
    assert seen[2, 4].tolist() == [255, 255, 255]


def test_wider_integers_are_scaled() -> None:
    assert pixels_of(image_input(np.array([[0, 65535, 32768]], np.uint16)))[0, :, 0].tolist() == [0, 255, 128]
    assert pixels_of(image_input(np.array([[False, True]])))[0, :, 0].tolist() == [0, 255]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (3, "got int"),
        (None, "got NoneType"),
        (np.zeros((3, 5), np.float32), "got float32"),
        (np.zeros((3,), np.uint8), "got (3,)"),
        (np.zeros((0, 5), np.uint8), "got (0, 5)"),
        (np.zeros((3, 5, 2), np.uint8), "got (3, 5, 2)"),
        (io.StringIO("text"), "binary"),
    ],
)
def test_anything_else_is_refused_by_what_it_is(source: object, said: str) -> None:
    with pytest.raises(InvalidQuestionError, match=r"^image: expected") as caught:
        image_input(source)
    assert said in str(caught.value)
