from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from openvlharness_adapters.imaging import overlays
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.enlarging import whole_factor
from openvlharness_adapters.imaging.lettering import Lettering
from openvlharness_adapters.imaging.overlays import draw_overlay
from openvlharness_adapters.imaging.palette import ink_of
from openvlharness_adapters.imaging.renderer import PillowRenderer
from openvlharness_core.detections import Detections
from openvlharness_core.errors import UnreadableImageError
from openvlharness_core.geometry import map_box
from openvlharness_core.pictures import EncodedImage
from tests.support import evidence_scenes as scenes
from tests.support.overlay_reading import Tag, noting_tags
from tests.unit.adapters.imaging.drawing import saved


@pytest.fixture
def tags(monkeypatch: pytest.MonkeyPatch) -> list[Tag]:
    """Number and rectangle of every tag that is drawn."""
    return noting_tags(monkeypatch)


def encoded(pixels: np.ndarray, kind: str = "PNG") -> EncodedImage:
    height, width, _ = pixels.shape
    data = saved(Image.fromarray(pixels), kind)
    return EncodedImage(data=data, media_type=f"image/{kind.lower()}", size_hw=(height, width))


@settings(max_examples=60)
@given(
    st.sampled_from([(1, 1), (3, 300), (300, 3), (32, 32), (90, 639), (640, 7), (500, 700), (1100, 20)]),
    st.integers(0, 300),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_any_number_of_objects_on_any_picture(size_hw: tuple[int, int], count: int, has_masks: bool, seed: int) -> None:
    height, width = size_hw
    chance = np.random.default_rng(seed)
    low = chance.uniform(-1, 1, (count, 2)).clip(-1, None) + chance.uniform(0, 1, (count, 2)) * (width, height)
    high = np.minimum(low + chance.exponential(max(size_hw) / 8, (count, 2)), (width + 1, height + 1))
    low = np.minimum(low, high)
    boxes = [tuple(box) for box in np.concatenate([low, high], axis=1).tolist()]
    if has_masks:
        boxes = [(max(0, x1), max(0, y1), min(width, x2), min(height, y2)) for x1, y1, x2, y2 in boxes[:40]]
        boxes = [box for box in boxes if box[0] < box[2] and box[1] < box[3]]
    with pytest.MonkeyPatch.context() as patch:
        drawn = noting_tags(patch)
        canvas = draw_overlay(scenes.backdrop(*size_hw), scenes.detected(boxes, size_hw, has_masks=has_masks))
    factor = whole_factor(size_hw)
    assert canvas.size == (width * factor, height * factor)
    assert [number for number, _ in drawn] == list(range(1, len(boxes) + 1))
    for _, (x1, y1, x2, y2) in drawn:
        assert (x1 >= 0, y1 >= 0, x2 <= canvas.width, y2 <= canvas.height) == (True,) * 4 or min(canvas.size) < 8


def test_a_jpeg_stays_a_jpeg_and_everything_else_becomes_a_png() -> None:
    renderer = PillowRenderer(codec=PillowCodec())
    pixels = scenes.backdrop(60, 80)
    detections = scenes.detected([(10.0, 10.0, 40.0, 40.0)], (60, 80))
    for kind, wanted in (("JPEG", "image/jpeg"), ("PNG", "image/png"), ("WEBP", "image/png")):
        drawn = renderer.overlay(encoded(pixels, kind), detections)
        assert drawn.image.media_type == wanted
        with Image.open(BytesIO(drawn.image.data)) as opened:
            assert opened.format == wanted.removeprefix("image/").upper()
            assert opened.size == (640, 480)
        assert map_box((0, 0, 640, 480), drawn.to_source) == (0, 0, 80, 60)


def test_number_i_is_detection_i(tags: list[Tag]) -> None:
    boxes = scenes.ellipses(30, (480, 640))
    draw_overlay(scenes.backdrop(480, 640), scenes.detected(boxes, (480, 640)))
    for number, (x1, y1, x2, y2) in tags:
        bx1, by1, bx2, by2 = boxes[number - 1]
        assert max(x1 - bx2, bx1 - x2, y1 - by2, by1 - y2) < 4, f"{number} is away from its object"


@pytest.mark.parametrize("size_hw", [(480, 640), (768, 1024), (10, 1000), (1000, 10)])
@pytest.mark.parametrize("count", [12, 134, 300])
def test_labels_do_not_overlap_where_there_is_room(tags: list[Tag], count: int, size_hw: tuple[int, int]) -> None:
    boxes = scenes.ellipses(count, size_hw, share=1.0)
    draw_overlay(scenes.backdrop(*size_hw), scenes.detected(boxes, size_hw, has_masks=False))
    covered = np.zeros(size_hw, dtype=int)
    for _, (x1, y1, x2, y2) in tags:
        covered[y1:y2, x1:x2] += 1
    has_room = min(size_hw) > 10 or count == 12  # a strip of 1000 x 10 holds some sixty numbers
    assert (covered.max() == 1) == has_room


def test_a_crowd_gets_lines_to_its_objects() -> None:
    boxes = [(300.0 + n % 6, 200.0 + n // 6, 309.0 + n % 6, 209.0 + n // 6) for n in range(60)]
    canvas = draw_overlay(scenes.backdrop(480, 640), scenes.detected(boxes, (480, 640), has_masks=False))
    _, spots = overlays._labels(np.array(boxes), canvas.size)
    far = [number for number, spot in enumerate(spots) if spot.is_far]
    assert len(far) > 30
    changed = (scenes.opened(canvas) != scenes.backdrop(480, 640)).any(axis=2)
    for number in far:  # halfway between the label and its object something is drawn
        x, y = spots[number].corner_xy
        width, height = Lettering(size=14).number_wh(number + 1)
        middle_x, middle_y = (x + width / 2 + boxes[number][0]) / 2, (y + height / 2 + boxes[number][1]) / 2
        assert changed[int(middle_y) - 6 : int(middle_y) + 7, int(middle_x) - 6 : int(middle_x) + 7].any()


def test_masks_are_filled_translucently_and_edged_in_full_colour() -> None:
    pixels = np.zeros((640, 640, 3), np.uint8)
    pixels[:, ::2] = 200
    box = (100.0, 200.0, 400.0, 500.0)
    drawn = scenes.opened(draw_overlay(pixels, scenes.detected([box], (640, 640)))).astype(int)
    middle = drawn[340:360, 240:260]
    assert (
        abs(middle[:, 1::2].mean(axis=(0, 1)) - middle[:, ::2].mean(axis=(0, 1))).min() > 100
    )  # the stripes shine through
    fill = np.array(ink_of(0))
    assert np.abs(middle[:, 1::2] - fill * 96 / 255).max() <= 2
    assert (drawn[200:203, 250] == fill).all(axis=1).any()
    assert (drawn[350, 100:103] == fill).all(axis=1).any()
    outside = np.ones((640, 640), dtype=bool)
    outside[170:502, 98:402] = False
    assert (drawn[outside] == pixels[outside]).all()


def test_small_objects_stay_visible_on_large_ones() -> None:
    boxes = [(200.0, 200.0, 260.0, 260.0), (50.0, 50.0, 600.0, 600.0)]
    drawn = scenes.opened(draw_overlay(np.zeros((640, 640, 3), np.uint8), scenes.detected(boxes, (640, 640))))
    assert np.abs(drawn[230, 230] - np.array(ink_of(0)) * 96 / 255).max() <= 2
    assert np.abs(drawn[400, 400] - np.array(ink_of(1)) * 96 / 255).max() <= 2


def test_touching_objects_of_one_colour_have_an_edge_between_them() -> None:
    boxes = [(100.0 + 20 * n, 100.0, 120.0 + 20 * n, 300.0) for n in range(7)]
    masks = []
    for x1, y1, x2, y2 in boxes:
        mask = np.zeros((640, 640), dtype=bool)
        mask[int(y1) : int(y2), int(x1) : int(x2)] = True
        masks.append(scenes.encode_mask(mask))
    order = [0, 6, 1, 2, 3, 4, 5]  # the first and the seventh share an ink; here they touch
    detections = Detections(
        boxes_xyxy_px=np.array([boxes[order.index(n)] for n in range(7)]),
        scores=np.ones(7),
        masks=[masks[order.index(n)] for n in range(7)],
        size_hw=(640, 640),
    )
    drawn = scenes.opened(draw_overlay(np.zeros((640, 640, 3), np.uint8), detections)).astype(int)
    fill = np.array(ink_of(0))
    assert ink_of(6) == ink_of(0)
    assert (drawn[200, 119] == fill).all()
    assert (drawn[200, 120] == fill).all()
    assert (drawn[200, 110] != fill).any()


def test_an_empty_mask_is_outlined_by_its_box() -> None:
    nothing = scenes.encode_mask(np.zeros((640, 640), dtype=bool))
    detections = Detections(
        boxes_xyxy_px=np.array([[100, 200, 300, 400]]), scores=np.ones(1), masks=[nothing], size_hw=(640, 640)
    )
    drawn = scenes.opened(draw_overlay(np.zeros((640, 640, 3), np.uint8), detections))
    assert (drawn[200:202, 110:290] == ink_of(0)).all()


def test_lines_grow_with_the_picture_and_thin_in_a_crowd() -> None:
    widths = [overlays._line_width((side, side // 2), 10) for side in (640, 1024, 8000)]
    assert widths == sorted(widths)
    assert widths[0] >= 1
    assert widths[2] >= 15
    assert overlays._line_width((8000, 8000), 300) < widths[2]


def test_strips_of_a_large_picture_meet_without_a_seam() -> None:
    size_hw = (2500, 1200)  # more than the painter takes at a time
    box = (100.0, 100.0, 1100.0, 2400.0)
    drawn = scenes.opened(draw_overlay(np.zeros((*size_hw, 3), np.uint8), scenes.detected([box], size_hw)))
    assert (drawn[200:2300, 600] == drawn[1250, 600]).all()


def test_pixels_are_left_alone() -> None:
    pixels = scenes.backdrop(700, 700)
    kept = pixels.copy()
    draw_overlay(pixels, scenes.detected([(10.0, 10.0, 300.0, 300.0)], (700, 700)))
    assert (pixels == kept).all()


def test_damage_is_found_when_pixels_are_wanted() -> None:
    image = encoded(scenes.backdrop(60, 80))
    broken = EncodedImage(data=image.data[:-20], media_type="image/png", size_hw=(60, 80))
    with pytest.raises(UnreadableImageError):
        PillowRenderer(codec=PillowCodec()).overlay(broken, scenes.detected([(1.0, 1.0, 9.0, 9.0)], (60, 80)))


def test_another_size_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="expected 80x60 pixels as the detections say, got 60x80"):
        draw_overlay(scenes.backdrop(80, 60), scenes.detected([(1.0, 1.0, 9.0, 9.0)], (60, 80)))
