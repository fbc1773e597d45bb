"""Draws the evidence pictures that tests compare with, and stores small copies of them.

    python -m tests.support.draw_evidence

writes tests/data/evidence/*.png anew. Look at them before they are committed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from openvlharness_adapters.imaging.depth_view import draw_depth
from openvlharness_adapters.imaging.overlays import draw_overlay
from openvlharness_adapters.imaging.trajectory_view import draw_trajectory
from openvlharness_core.depth import DepthMap
from openvlharness_core.ports.imaging import Colormap
from tests.support import evidence_scenes as scenes

FOLDER = Path(__file__).resolve().parents[1] / "data" / "evidence"
_SIDE = 320  # pixels of the longer side of what is stored


def _overlay(count: int, height: int, width: int, *, has_masks: bool = True, share: float = 0.5) -> Image.Image:
    boxes = scenes.ellipses(count, (height, width), share=share)
    detections = scenes.detected(boxes, (height, width), has_masks=has_masks)
    return draw_overlay(scenes.painted(boxes, (height, width)), detections)


def _nested() -> Image.Image:
    """Objects in one another, and one in the corner."""
    boxes = [(0.0, 0.0, 160.0, 120.0), (20.0, 20.0, 100.0, 90.0), (40.0, 30.0, 70.0, 60.0), (130.0, 80.0, 160.0, 120.0)]
    detections = scenes.detected(boxes, (120, 160))
    return draw_overlay(scenes.backdrop(120, 160), detections)


def _ramp(colormap: Colormap, *, is_metric: bool = True) -> Image.Image:
    values = np.tile(np.linspace(0.5, 12, 120)[:, None], (1, 160))
    return draw_depth(DepthMap(values=values, is_metric=is_metric), colormap)


def _steep() -> Image.Image:
    """Three cameras that move; the last two look straight down and up."""
    axes = [scenes.turned(0), scenes.turned(30, 90), scenes.turned(0, -90)]
    return draw_trajectory(
        scenes.travelled(np.array([[0, 0, 0], [1, 0, 1], [2, 0, 0.5]]), axes, is_metric=False), scenes.handles(3)
    )


def _headings() -> Image.Image:
    """Four cameras, two of them without a known translation."""
    axes = [scenes.turned(yaw) for yaw in (0, 40, -60, 170)]
    centres = np.array([[0, 0, 0], [0.4, 0, 1.0], [0, 0, 0], [0, 0, 0]])
    return draw_trajectory(scenes.travelled(centres, axes, known=[True, True, False, False]), scenes.handles(4))


DRAWN: dict[str, Callable[[], Image.Image]] = {
    "overlay_1": lambda: _overlay(1, 120, 160),
    "overlay_12": lambda: _overlay(12, 120, 160),
    "overlay_12_boxes": lambda: _overlay(12, 120, 160, has_masks=False),
    "overlay_134": lambda: _overlay(134, 480, 640, share=0.6),
    "overlay_nested": _nested,
    "overlay_strip": lambda: _overlay(5, 6, 200),
    "depth_inferno": lambda: _ramp("inferno"),
    "depth_grayscale": lambda: _ramp("grayscale", is_metric=False),
    "depth_viridis": lambda: _ramp("viridis"),
    "depth_turbo": lambda: _ramp("turbo"),
    "depth_flat": lambda: draw_depth(DepthMap(values=np.full((120, 160), 3.2), is_metric=True), "inferno"),
    "trajectory_2": lambda: draw_trajectory(scenes.along_an_arc(2), scenes.handles(2)),
    "trajectory_12": lambda: draw_trajectory(scenes.along_an_arc(12), scenes.handles(12)),
    "trajectory_steep": _steep,
    "trajectory_headings": _headings,
}


def small(picture: Image.Image) -> Image.Image:
    """What is stored of a drawing: every pixel the mean of a block."""
    factor = max(1, max(picture.size) // _SIDE)
    return picture.reduce(factor)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWN.items():
        small(draw()).save(FOLDER / f"{name}.png", optimize=True)
        print(FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
