"""What every EvidenceRenderer promises.

Subclass `EvidenceRendererContract` in a test module as `Test…` and supply two fixtures: `renderer`, and `picture`, a
function from height and width to an `EncodedImage` of that size and of one middle grey that `renderer` can draw on. A third,
`pixels`, gives the uint8 pixels (height, width, 3) of an `EncodedImage`, or is `None` where drawings have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.depth import DepthMap
from openvlharness_core.detections import Detections
from openvlharness_core.geometry import Box, map_box
from openvlharness_core.masks import encode_mask
from openvlharness_core.pictures import SENDABLE_MEDIA_TYPES, EncodedImage
from openvlharness_core.ports.imaging import COLORMAPS, Colormap, EvidenceRenderer, RenderedImage

Picture = Callable[[int, int], EncodedImage]
Pixels = Callable[[EncodedImage], NDArray[np.uint8]] | None

READABLE_SIDE = 640
SIZES = ((32, 32), (10, 600), (640, 6), (639, 639), (700, 500))


def found(boxes: Sequence[Box], size_hw: tuple[int, int], *, has_masks: bool = False) -> Detections:
    """Detections with these boxes in pixels, and with masks that fill them."""
    masks = []
    for x1, y1, x2, y2 in boxes:
        mask = np.zeros(size_hw, dtype=bool)
        mask[int(y1) : int(y2), int(x1) : int(x2)] = True
        masks.append(encode_mask(mask))
    return Detections(
        boxes_xyxy_px=np.array(boxes, np.float32).reshape(-1, 4),
        scores=np.full(len(boxes), 0.5, np.float32),
        masks=masks if has_masks else None,
        size_hw=size_hw,
    )


def spread_out(count: int, size_hw: tuple[int, int]) -> list[Box]:
    """Boxes along the diagonal, at least a pixel wide and high."""
    height, width = size_hw
    return [
        (x, y, min(float(width), x + max(1, width // 8)), min(float(height), y + max(1, height // 8)))
        for x, y in ((width * n // (count + 1), height * n // (count + 1)) for n in range(count))
    ]


def cameras(count: int, *, step: float = 0.5, is_metric: bool = True, known: Sequence[bool] = ()) -> CameraTrajectory:
    """Cameras in a row to the right of the first, `step` apart, all looking forward."""
    extrinsics = np.tile(np.eye(3, 4, dtype=np.float32), (count, 1, 1))
    extrinsics[:, 0, 3] = -step * np.arange(count)
    focal = np.array([[500, 0, 320], [0, 500, 240], [0, 0, 1]], np.float32)
    return CameraTrajectory(
        intrinsics=np.tile(focal, (count, 1, 1)),
        extrinsics_w2c=extrinsics,
        sizes_hw=[(480, 640)] * count,
        is_metric=is_metric,
        translation_known=list(known) or [True] * count,
    )


def assert_drawn_over(rendered: RenderedImage, source_hw: tuple[int, int]) -> int:
    """Check size and map of a drawing; returns its whole factor."""
    height, width = source_hw
    factor = rendered.image.size_hw[0] // height
    assert rendered.image.size_hw == (height * factor, width * factor)
    assert factor == 1 if max(source_hw) >= READABLE_SIDE else max(rendered.image.size_hw) >= READABLE_SIDE
    corners = map_box((0, 0, width * factor, height * factor), rendered.to_source)
    assert corners == pytest.approx((0, 0, width, height))
    assert rendered.image.media_type in SENDABLE_MEDIA_TYPES
    return factor


class EvidenceRendererContract:
    """See the module."""

    @pytest.mark.parametrize("size_hw", SIZES)
    def test_an_overlay_keeps_the_aspect_and_leads_back(
        self, renderer: EvidenceRenderer, picture: Picture, size_hw: tuple[int, int]
    ) -> None:
        for count in (1, 3):
            objects = found(spread_out(count, size_hw), size_hw, has_masks=count == 3)
            assert_drawn_over(renderer.overlay(picture(*size_hw), objects), size_hw)

    def test_no_object_and_very_many_are_no_fault(self, renderer: EvidenceRenderer, picture: Picture) -> None:
        for count in (0, 300):
            drawn = renderer.overlay(picture(480, 640), found(spread_out(count, (480, 640)), (480, 640)))
            assert_drawn_over(drawn, (480, 640))

    def test_equal_arguments_give_equal_bytes(self, renderer: EvidenceRenderer, picture: Picture) -> None:
        objects = found(spread_out(5, (90, 120)), (90, 120), has_masks=True)
        first, second = (renderer.overlay(picture(90, 120), objects).image for _ in range(2))
        assert first == second

    def test_other_objects_give_another_drawing(self, renderer: EvidenceRenderer, picture: Picture) -> None:
        one, other = (renderer.overlay(picture(90, 120), found([(x, 10, x + 9, 30)], (90, 120))) for x in (10, 60))
        assert one.image.data != other.image.data

    def test_objects_of_another_size_are_refused(self, renderer: EvidenceRenderer, picture: Picture) -> None:
        with pytest.raises(ValueError, match="90"):
            renderer.overlay(picture(90, 120), found([(1, 1, 9, 9)], (120, 90)))

    def test_objects_are_drawn_where_they_are(
        self, renderer: EvidenceRenderer, picture: Picture, pixels: Pixels
    ) -> None:
        image = picture(100, 160)
        drawn = renderer.overlay(image, found([(40, 30, 80, 60)], (100, 160), has_masks=True))
        factor = assert_drawn_over(drawn, (100, 160))
        if pixels is not None:
            before = np.repeat(np.repeat(pixels(image), factor, axis=0), factor, axis=1).astype(int)
            changed = np.abs(pixels(drawn.image) - before).max(axis=2) > 40
            assert changed[30 * factor : 60 * factor, 40 * factor : 80 * factor].mean() > 0.9
            assert not changed[80 * factor :].any()
            assert not changed[:, 120 * factor :].any()

    @pytest.mark.parametrize("colormap", COLORMAPS)
    def test_closer_is_brighter(self, renderer: EvidenceRenderer, pixels: Pixels, colormap: Colormap) -> None:
        away = np.tile(np.linspace(1, 9, 90, dtype=np.float32)[:, None], (1, 120))
        for values in (away, away[::-1]):
            drawn = renderer.depth_view(DepthMap(values=values, is_metric=True), colormap)
            assert_drawn_over(drawn, (90, 120))
            if pixels is not None:
                # Left of the middle, where no scale is inset; the luma of ITU-R BT.601.
                light = pixels(drawn.image)[:, : drawn.image.size_hw[1] // 8] @ np.array([0.299, 0.587, 0.114])
                rows = light.mean(axis=1)
                assert (np.diff(rows if values[0, 0] > values[-1, 0] else rows[::-1]) >= -1).all()
                assert np.ptp(rows) > 100

    @pytest.mark.parametrize("size_hw", SIZES)
    def test_a_depth_view_keeps_the_aspect(self, renderer: EvidenceRenderer, size_hw: tuple[int, int]) -> None:
        values = np.linspace(0, 5, size_hw[0] * size_hw[1], dtype=np.float32).reshape(size_hw)
        assert_drawn_over(renderer.depth_view(DepthMap(values=values, is_metric=False), "inferno"), size_hw)

    def test_a_flat_map_is_of_one_colour(self, renderer: EvidenceRenderer, pixels: Pixels) -> None:
        drawn = renderer.depth_view(DepthMap(values=np.full((50, 80), 2.5), is_metric=True), "viridis")
        assert_drawn_over(drawn, (50, 80))
        if pixels is not None:
            shown = pixels(drawn.image)
            assert (shown[: len(shown) // 2] == shown[0, 0]).all()
            assert 60 < shown[0, 0].mean() < 190

    def test_an_unknown_colour_map_is_refused(self, renderer: EvidenceRenderer) -> None:
        with pytest.raises(ValueError, match="inferno"):
            renderer.depth_view(DepthMap(values=np.ones((4, 4)), is_metric=True), "jet")  # type: ignore[arg-type]

    @pytest.mark.parametrize("count", [2, 12, 50])
    def test_trajectories_are_drawn(self, renderer: EvidenceRenderer, count: int) -> None:
        labels = [f"input_image_{number}" for number in range(1, count + 1)]
        for trajectory in (
            cameras(count),
            cameras(count, step=0.0),
            cameras(count, step=1e-7, is_metric=False),
            cameras(count, step=1e9),
            cameras(count, step=0.0, known=[True] + [False] * (count - 1)),
        ):
            drawn = renderer.trajectory_view(trajectory, labels)
            assert drawn.media_type in SENDABLE_MEDIA_TYPES
            assert max(drawn.size_hw) >= READABLE_SIDE
            assert drawn == renderer.trajectory_view(trajectory, labels)

    def test_a_label_for_every_camera_is_asked_for(self, renderer: EvidenceRenderer) -> None:
        with pytest.raises(ValueError, match="3"):
            renderer.trajectory_view(cameras(3), ["a", "b"])
