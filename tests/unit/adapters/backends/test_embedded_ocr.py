"""The embedded reader around a recogniser that is a double, and, a few times, around the real one."""

from __future__ import annotations

import asyncio
import builtins
import logging
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from openvlharness_adapters.backends.embedded import recogniser
from openvlharness_adapters.backends.embedded.ocr import EmbeddedOcr
from openvlharness_adapters.backends.embedded.reading_order import Cell
from openvlharness_adapters.backends.embedded.recogniser import DETECTOR_PIXELS, detector_scale, padded
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.runtime import ThreadOffload
from openvlharness_core.errors import CapabilityUnavailableError, ToolExecutionError, UnreadableImageError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing.time import InlineOffload

IMAGE = EncodedImage(data=b"page", media_type="image/png", size_hw=(100, 200))
RECEIPT = Path(__file__).resolve().parents[4] / "examples" / "data" / "receipt.jpg"


def _pixels(image: EncodedImage) -> np.ndarray:
    return np.zeros((*image.size_hw, 3), np.uint8)


def _cell(text: str, score: float, y: float = 10) -> Cell:
    return Cell(text=text, corners=np.array([[10, y], [90, y], [90, y + 20], [10, y + 20]], float), score=score)


def _reader(*cells: Cell) -> EmbeddedOcr:
    return EmbeddedOcr(pixels=_pixels, offload=InlineOffload(), recogniser=lambda: lambda pixels: list(cells))


async def test_what_scores_low_is_left_out_and_counted() -> None:
    answered = await _reader(_cell("sure", 0.95), _cell("texture", 0.49, 40), _cell("just", 0.5, 70)).read(
        IMAGE, timeout_seconds=1
    )
    assert answered.value.text == "sure\njust"
    assert [line.score for line in answered.value.lines] == [0.95, 0.5]
    assert answered.value.left_out == 1
    assert answered.backend == "embedded_ocr"
    assert answered.sidecars == {"cells": 3, "left_out_below_floor": 1, "score_floor": 0.5}


async def test_a_blank_picture_has_an_empty_text_and_no_lines() -> None:
    value = (await _reader().read(IMAGE, timeout_seconds=1)).value
    assert (value.text, value.lines) == ("", ())


async def test_a_recogniser_that_breaks_is_a_failed_call_without_its_paths() -> None:
    def broken(pixels: np.ndarray) -> list[Cell]:
        raise RuntimeError("/some/where/model.onnx: bad dimension")

    with pytest.raises(ToolExecutionError, match="failed with RuntimeError") as caught:
        await EmbeddedOcr(pixels=_pixels, offload=InlineOffload(), recogniser=lambda: broken).read(
            IMAGE, timeout_seconds=1
        )
    assert "/some/where" not in str(caught.value)


async def test_pixels_that_cannot_be_decoded_are_told_before_anything_is_loaded() -> None:
    def damaged(image: EncodedImage) -> np.ndarray:
        raise UnreadableImageError("damaged")

    def unwanted() -> recogniser.Recogniser:
        raise AssertionError("nothing has to be loaded for a picture that cannot be decoded")

    with pytest.raises(UnreadableImageError):
        await EmbeddedOcr(pixels=damaged, offload=InlineOffload(), recogniser=unwanted).read(IMAGE, timeout_seconds=1)


async def test_only_so_many_read_at_a_time() -> None:
    running, most, lock, both = 0, 0, threading.Lock(), threading.Barrier(2, timeout=20)

    def slow(pixels: np.ndarray) -> list[Cell]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        both.wait()
        with lock:
            running -= 1
        return []

    offload = ThreadOffload(threads=6)
    reader = EmbeddedOcr(pixels=_pixels, offload=offload, recogniser=lambda: slow, at_a_time=2)
    await asyncio.gather(*(reader.read(IMAGE, timeout_seconds=1) for _ in range(6)))
    offload.close()
    assert most == 2


def test_a_missing_extra_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: object, **fields: object) -> object:
        if name.split(".")[0] in {"cv2", "rapidocr"}:
            raise ModuleNotFoundError(f"No module named {name!r}")
        return real(name, *args, **fields)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr(recogniser, "_loaded", [])
    with pytest.raises(CapabilityUnavailableError, match=r"pip install 'openvlharness\[embedded\]'"):
        recogniser.shared_recogniser()


def test_it_is_loaded_once_however_many_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[int] = []

    def load() -> recogniser.Recogniser:
        loads.append(1)
        return lambda pixels: []

    monkeypatch.setattr(recogniser, "_loaded", [])
    monkeypatch.setattr(recogniser, "_load", load)
    threads = [threading.Thread(target=recogniser.shared_recogniser) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1


@pytest.mark.parametrize(("height", "width", "scale"), [(768, 1024, 1.0), (100, 200, 2.0), (100, 2000, 1.0)])
def test_the_detector_sees_pictures_as_they_are_where_it_can(height: int, width: int, scale: float) -> None:
    assert detector_scale(height, width) == scale


@pytest.mark.parametrize(("height", "width"), [(3000, 4000), (5, 10_000_000), (20_000, 4000)])
def test_the_detector_never_sees_more_than_its_area(height: int, width: int) -> None:
    scale = detector_scale(height, width)
    assert height * width * scale**2 <= DETECTOR_PIXELS * 1.001


@pytest.mark.parametrize(
    ("height", "width", "shape"), [(1, 1, (32, 32, 3)), (32, 64, (32, 64, 3)), (33, 63, (64, 64, 3))]
)
def test_padding_repeats_the_edge(height: int, width: int, shape: tuple[int, int, int]) -> None:
    pixels = np.arange(height * width * 3, dtype=np.uint8).reshape(height, width, 3)
    result = padded(pixels)
    assert result.shape == shape
    assert (result[:height, :width] == pixels).all()
    assert (result[-1, :width] == pixels[-1]).all()


@pytest.fixture(scope="module")
def real() -> recogniser.Recogniser:
    pytest.importorskip("rapidocr", reason="needs the extra: pip install 'openvlharness[embedded]'")
    return recogniser.shared_recogniser()


async def test_the_sample_receipt_is_read_row_by_row_also_upside_down(real: recogniser.Recogniser) -> None:
    photo = Image.open(RECEIPT).convert("RGB").crop((150, 570, 760, 820))
    expected = ["Subtotal    24.90", "Tax 9%    2.24", "TOTAL    27.14"]
    for turned in (photo, photo.rotate(180)):
        reader = EmbeddedOcr(
            pixels=lambda image, shown=turned: np.asarray(shown), offload=InlineOffload(), recogniser=lambda: real
        )
        size = EncodedImage(data=b"", media_type="image/png", size_hw=(turned.height, turned.width))
        assert (await reader.read(size, timeout_seconds=60)).value.text.split("\n")[-3:] == expected


def test_loading_says_nothing(real: recogniser.Recogniser, capfd: pytest.CaptureFixture[str]) -> None:
    real(np.full((64, 64, 3), 255, np.uint8))
    assert logging.getLogger("RapidOCR").level == logging.CRITICAL
    assert capfd.readouterr() == ("", "")


def test_pictures_without_text_of_any_shape_are_read_as_nothing(real: recogniser.Recogniser) -> None:
    for shape in ((1, 1), (3, 3), (33, 1), (40, 2100)):
        assert real(np.full((*shape, 3), 200, np.uint8)) == []


def test_the_codec_gives_the_pixels_that_the_reader_takes() -> None:
    data = RECEIPT.read_bytes()
    pixels = PillowCodec().pixels(EncodedImage(data=data, media_type="image/jpeg", size_hw=(1100, 900)))
    assert (pixels.shape, pixels.dtype) == ((1100, 900, 3), np.uint8)
