"""EmbeddedGrounding: what it finds in drawn pictures, and what it refuses."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from io import BytesIO
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from openvlharness_adapters.backends.embedded.grounding import EmbeddedGrounding
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_core.detections import Detections
from openvlharness_core.errors import (
    CapabilityUnavailableError,
    ToolExecutionError,
    UnreadableImageError,
    UnsupportedQueryError,
)
from openvlharness_core.masks import decode_mask
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Answered, Transcription
from openvlharness_core.testing.backends import FakeOcr
from openvlharness_core.testing.time import InlineOffload

Pixels = NDArray[np.uint8]
Draw = Callable[[Pixels], object]

WHITE, RED, BLUE, GREEN, GREY = (255, 255, 255), (220, 30, 35), (35, 70, 210), (30, 150, 50), (128, 128, 128)


def paper(height: int, width: int, *drawn: Draw, ground: tuple[int, int, int] = WHITE) -> Pixels:
    pixels = np.full((height, width, 3), ground, np.uint8)
    for draw in drawn:
        draw(pixels)
    return pixels


def disc(x: float, y: float, radius: float, colour: tuple[int, int, int], thickness: int = -1) -> Draw:
    at, size = (round(x * 16), round(y * 16)), round(radius * 16)
    return lambda pixels: cv2.circle(pixels, at, size, colour, thickness, cv2.LINE_AA, 4)


def block(x1: int, y1: int, x2: int, y2: int, colour: tuple[int, int, int]) -> Draw:
    return lambda pixels: cv2.rectangle(pixels, (x1, y1), (x2 - 1, y2 - 1), colour, -1)


def image_of(pixels: Pixels, kind: str = "PNG", quality: int = 75) -> EncodedImage:
    packed = BytesIO()
    Image.fromarray(pixels).save(packed, kind, quality=quality)
    return EncodedImage(data=packed.getvalue(), media_type=f"image/{kind.lower()}", size_hw=pixels.shape[:2])


def backend(ocr: Any = None) -> EmbeddedGrounding:
    return EmbeddedGrounding(pixels=PillowCodec().pixels, offload=InlineOffload(), ocr=ocr)


async def found(pixels: Pixels, query: str, ocr: Any = None) -> Detections:
    return (await backend(ocr).ground(image_of(pixels), query, timeout_seconds=9.0)).value


def overlap(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    return float((one & other).sum() / (one | other).sum())


def nearer(pixels: Pixels, colour: tuple[int, int, int], other: tuple[int, int, int]) -> NDArray[np.bool_]:
    """The pixels that are more like one colour than the other: what a person would give to it."""
    unlike = [np.abs(pixels.astype(int) - each).sum(axis=2) for each in (colour, other)]
    return np.asarray(unlike[0] < unlike[1])


def box_of(mask: NDArray[np.bool_]) -> list[int]:
    rows, columns = np.nonzero(mask)
    return [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]


async def test_boxes_are_tight_and_masks_are_real() -> None:
    drawn = paper(240, 320, disc(100, 80, 40.5, RED))
    truth = nearer(drawn, RED, WHITE)
    block(200, 100, 260, 160, RED)(drawn)
    detections = await found(drawn, "red circle")
    assert len(detections) == 1
    assert detections.boxes_xyxy_px[0].tolist() == box_of(truth)
    assert detections.masks is not None
    assert overlap(decode_mask(detections.masks[0]), truth) > 0.99
    assert detections.unnamed == 0


@pytest.mark.parametrize("side", [1300, 2400])
async def test_a_large_picture_is_masked_to_the_pixel(side: int) -> None:
    drawn = paper(side, side + 300, disc(side / 2, side / 3, side / 5, BLUE), block(10, 10, 333, 200, RED))
    detections = await found(drawn, "shapes")
    assert len(detections) == 2
    assert detections.unnamed == 0
    masks = [decode_mask(mask) for mask in detections.masks or ()]
    assert overlap(masks[0], (drawn == RED).all(axis=2)) > 0.999
    drawn[:250, :400] = WHITE
    assert overlap(masks[1], nearer(drawn, BLUE, WHITE)) > 0.999
    assert detections.boxes_xyxy_px[0].tolist() == [10, 10, 333, 200]


async def test_rectangle_includes_square_and_ellipse_includes_circle() -> None:
    drawn = paper(200, 300, block(20, 20, 80, 80, RED), block(120, 20, 220, 60, RED), disc(60, 140, 30, RED))
    counts = {
        query: len(await found(drawn, query)) for query in ("squares", "rectangles", "circles", "ellipses", "shapes")
    }
    assert counts == {"squares": 1, "rectangles": 2, "circles": 1, "ellipses": 1, "shapes": 3}


async def test_tones_are_told_within_a_colour() -> None:
    drawn = paper(
        200, 300, disc(60, 60, 30, (0, 0, 110)), disc(160, 60, 30, (30, 60, 255)), disc(60, 150, 30, (160, 200, 240))
    )
    counts = {
        query: len(await found(drawn, query)) for query in ("blue circles", "dark blue circles", "light blue circles")
    }
    assert counts == {"blue circles": 3, "dark blue circles": 1, "light blue circles": 1}


async def test_the_largest_is_one_and_equals_are_not_told_apart() -> None:
    drawn = paper(200, 300, disc(60, 60, 40, RED), disc(160, 60, 20, RED), disc(230, 150, 20, RED))
    largest, smallest = await found(drawn, "largest circle"), await found(drawn, "smallest circle")
    assert (len(largest), largest.unnamed) == (1, 0)
    assert (len(smallest), smallest.unnamed) == (2, 1)


async def test_outlines_count_as_what_they_outline_and_are_not_filled() -> None:
    detections = await found(paper(200, 300, disc(100, 100, 50, BLUE, thickness=4)), "blue circles")
    assert (len(detections), detections.unnamed) == (1, 0)
    mask = decode_mask((detections.masks or ())[0])
    assert not mask[100, 100]
    assert mask[100, 50]


async def test_a_shape_upon_another_is_a_second_one() -> None:
    drawn = paper(200, 300, block(50, 30, 200, 180, GREEN), disc(125, 105, 40, RED))
    assert [len(await found(drawn, query)) for query in ("green squares", "red circles", "shapes")] == [1, 1, 2]


async def test_what_another_hides_is_named_only_if_the_rest_tells() -> None:
    bitten = await found(paper(200, 300, disc(120, 100, 60, RED), block(160, 60, 230, 130, BLUE)), "red circles")
    assert (len(bitten), bitten.unnamed) == (1, 0)
    wall = paper(200, 300, block(60, 70, 120, 130, RED), block(100, 20, 200, 180, BLUE))  # a square behind a wall?
    halved = await found(wall, "red squares")
    assert halved.unnamed == 1 or len(halved) == 1
    assert (await found(wall, "red triangles")).unnamed in (0, 1)


async def test_one_colour_run_together_is_unnamed() -> None:
    blob = await found(paper(200, 300, disc(120, 100, 40, RED), block(140, 90, 240, 150, RED)), "red shapes")
    assert (len(blob), blob.unnamed) == (0, 1)
    assert (
        await found(paper(200, 300, disc(120, 100, 40, RED), block(140, 90, 240, 150, RED)), "blue shapes")
    ).unnamed == 0


async def test_a_photograph_is_not_read_as_shapes() -> None:
    dice = np.random.default_rng(3)
    texture = sum(cv2.GaussianBlur(dice.normal(0, 1, (200, 280, 3)), (0, 0), sigma) * sigma * 60 for sigma in (1, 3, 9))
    detections = await found(np.clip(texture + 120, 0, 255).astype(np.uint8), "shapes")
    assert detections.unnamed
    assert len(detections) == 0


@pytest.mark.parametrize("size", [(1, 1), (1, 50), (2, 2), (3, 400)])
async def test_the_smallest_pictures_are_looked_at(size: tuple[int, int]) -> None:
    assert len(await found(paper(*size), "red circles")) == 0


async def test_an_empty_picture_shows_nothing_for_sure() -> None:
    empty = await found(paper(200, 300), "shapes")
    assert (len(empty), empty.unnamed, empty.masks) == (0, 0, ())


async def test_a_face_has_a_box_and_no_mask() -> None:
    faces = await found(_portrait(), "faces")
    assert len(faces) == 1
    assert faces.masks is None
    x1, y1, x2, y2 = faces.boxes_xyxy_px[0]
    assert x1 < 125 < x2
    assert y1 < 124 < y2
    assert 0.5 < faces.scores[0] <= 1
    assert len(await found(paper(200, 300), "face")) == 0


def _portrait() -> Pixels:
    """A drawn face, 160 pixels high, its middle at (140, 110)."""
    skin, dark, shade = (225, 190, 165), (60, 40, 30), (150, 110, 95)
    pixels = paper(300, 400, ground=(90, 120, 150))

    def oval(x: int, y: int, a: int, b: int, colour: tuple[int, int, int], start: int = 0, end: int = 360) -> None:
        cv2.ellipse(pixels, (x, y), (a, b), 0, start, end, colour, -1)

    oval(140, 110, 57, 80, skin)
    oval(140, 49, 60, 25, dark, 180, 360)
    for x in (116, 164):
        oval(x, 97, 16, 9, shade)
        oval(x, 97, 11, 5, (245, 245, 245))
        oval(x, 97, 5, 5, dark)
        oval(x, 83, 16, 4, dark, 180, 360)
    oval(140, 129, 9, 4, (180, 140, 120))
    oval(140, 151, 20, 5, (150, 70, 70))
    return np.asarray(cv2.GaussianBlur(pixels, (0, 0), 2), np.uint8)


async def test_text_is_found_through_the_reader_and_nothing_else_asks_it() -> None:
    ocr = FakeOcr(("Coffee 2.50", "Grand total 7.50"))
    everything = await found(paper(100, 400), "text", ocr)
    assert (len(everything), everything.masks, everything.unnamed) == (2, None, None)
    assert len(await found(paper(100, 400), '"TOTAL"', ocr)) == 1
    assert len(await found(paper(100, 400), '"grand total"', ocr)) == 1
    assert len(await found(paper(100, 400), '"tot"', ocr)) == 0
    assert ocr.calls == 4
    await found(paper(100, 400), "red circles", ocr)
    assert ocr.calls == 4


async def test_a_word_has_its_own_part_of_the_line() -> None:
    drawn = paper(100, 400)
    for text, x in (("Grand", 10), ("total", 130), ("7.50", 320)):
        cv2.putText(drawn, text, (x, 80), cv2.FONT_HERSHEY_SIMPLEX, 1.0, (0, 0, 0), 2)
    inked = np.flatnonzero((drawn[:, 110:260] < 128).any(axis=(0, 2))) + 110
    box = (await found(drawn[50:], "'total'", FakeOcr(("Grand total 7.50",)))).boxes_xyxy_px[0]
    assert abs(box[0] - inked[0]) <= 2
    assert abs(box[2] - inked[-1]) <= 3


async def test_without_a_reader_text_is_unavailable() -> None:
    with pytest.raises(CapabilityUnavailableError, match="reader"):
        await found(paper(100, 400), "text")


async def test_a_reader_that_tells_no_places_does_not_serve() -> None:
    class Placeless:
        async def read(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[Transcription]:
            return Answered(value=Transcription(text="Total"), backend="placeless")

    with pytest.raises(ToolExecutionError, match="placeless"):
        await found(paper(100, 400), '"Total"', Placeless())


async def test_an_unknown_word_is_named_with_what_is_understood() -> None:
    with pytest.raises(UnsupportedQueryError, match=r"“bicycle”.*colours red.*shapes circle"):
        await found(paper(100, 400), "red bicycle")


async def test_pixels_that_cannot_be_decoded() -> None:
    image = EncodedImage(data=b"no picture", media_type="image/png", size_hw=(10, 10))
    with pytest.raises(UnreadableImageError):
        await backend().ground(image, "red circle", timeout_seconds=9.0)


@pytest.mark.parametrize("query", ["red circle", "face"])
async def test_without_the_extra_it_names_what_to_install(monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    real = builtins.__import__

    def without_cv2(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "cv2":
            raise ImportError("No module named 'cv2'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_cv2)
    with pytest.raises(CapabilityUnavailableError, match=r"pip install 'openvlharness\[embedded\]'"):
        await found(paper(50, 50), query)


async def test_one_picture_is_looked_at_once() -> None:
    decoded: list[EncodedImage] = []
    codec = PillowCodec()
    image = image_of(paper(200, 300, disc(100, 100, 50, RED)))

    def pixels(asked: EncodedImage) -> Pixels:
        decoded.append(asked)
        return codec.pixels(asked)

    one = EmbeddedGrounding(pixels=pixels, offload=InlineOffload())
    answers = [(await one.ground(image, query, timeout_seconds=9.0)).value for query in ("red circle", "circles")]
    assert answers[0] == answers[1]
    assert len(one._scenes._kept) == 1
