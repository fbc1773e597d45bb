"""Scenes that evidence is drawn of: pictures with objects on them, depth maps, camera trajectories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.detections import Detections
from openvlharness_core.geometry import Box
from openvlharness_core.masks import encode_mask

Pixels = NDArray[np.uint8]


def backdrop(height: int, width: int) -> Pixels:
    """A calm picture, uint8 (height, width, 3): two colours that flow into each other."""
    across, down = np.linspace(0, 1, width), np.linspace(0, 1, height)[:, None]
    channels = [120 + 60 * across + 0 * down, 110 + 50 * down + 0 * across, 100 + 20 * (across + down)]
    return np.stack(channels, axis=2).astype(np.uint8)


def ellipses(count: int, size_hw: tuple[int, int], *, seed: int = 1, share: float = 0.5) -> list[Box]:
    """Boxes of that many ellipses, sorted as detections are; `share` says how much of its cell each may take."""
    height, width = size_hw
    chance = np.random.default_rng(seed)
    columns = max(1, round((count * width / height) ** 0.5))
    rows = -(-count // columns)
    boxes = []
    for nth in range(count):
        cell_w, cell_h = width / columns, height / rows
        w, h = (max(1.0, cell * share * chance.uniform(0.5, 1)) for cell in (cell_w, cell_h))
        x = (nth % columns) * cell_w + chance.uniform(0, max(0.0, cell_w - w))
        y = (nth // columns) * cell_h + chance.uniform(0, max(0.0, cell_h - h))
        boxes.append((x, y, min(width, x + w), min(height, y + h)))
    return sorted(boxes)


def detected(boxes: Sequence[Box], size_hw: tuple[int, int], *, has_masks: bool = True) -> Detections:
    """Detections in these boxes; their masks are the ellipses that fit into them."""
    height, width = size_hw
    return Detections(
        boxes_xyxy_px=np.array(boxes, np.float32).reshape(-1, 4),
        scores=np.full(len(boxes), 0.9, np.float32),
        masks=[encode_mask(ellipse(box, height, width)) for box in boxes] if has_masks else None,
        size_hw=size_hw,
    )


def ellipse(box: Box, height: int, width: int) -> NDArray[np.bool_]:
    """The ellipse in a box, bool (height, width); the pixel in its middle at least."""
    x1, y1, x2, y2 = box
    inside = np.zeros((height, width), dtype=bool)
    left, top = int(x1), int(y1)
    rows, columns = np.mgrid[top : min(height, int(y2) + 1), left : min(width, int(x2) + 1)]
    across = (columns + 0.5 - (x1 + x2) / 2) / max(x2 - x1, 0.5) * 2
    down = (rows + 0.5 - (y1 + y2) / 2) / max(y2 - y1, 0.5) * 2
    inside[top : top + rows.shape[0], left : left + rows.shape[1]] = across**2 + down**2 <= 1
    inside[min(height - 1, int((y1 + y2) / 2)), min(width - 1, int((x1 + x2) / 2))] = True
    return inside


def painted(boxes: Sequence[Box], size_hw: tuple[int, int], *, seed: int = 2) -> Pixels:
    """The backdrop with those ellipses on it, each of one colour."""
    pixels = backdrop(*size_hw)
    chance = np.random.default_rng(seed)
    for box in boxes:
        pixels[ellipse(box, *size_hw)] = chance.integers(40, 216, 3)
    return pixels


def jpeg_like(pixels: Pixels, seed: int = 5) -> Pixels:
    """With the noise of a camera, so that a JPEG of it is as large as one of a photo."""
    noise = np.random.default_rng(seed).normal(0, 5, pixels.shape[:2])[:, :, None]
    return np.clip(pixels + noise, 0, 255).astype(np.uint8)


def turned(yaw_degrees: float, pitch_degrees: float = 0.0) -> NDArray[np.float64]:
    """Camera axes in the world, (3, 3): yaw turns right, pitch looks down."""
    yaw, pitch = np.radians(yaw_degrees), np.radians(pitch_degrees)
    about_y = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(pitch), np.sin(pitch)], [0, -np.sin(pitch), np.cos(pitch)]])
    return about_y @ about_x


def travelled(
    centres: NDArray[np.float64],
    axes: Sequence[NDArray[np.float64]],
    *,
    is_metric: bool = True,
    known: Sequence[bool] = (),
    focal: float = 700.0,
) -> CameraTrajectory:
    """Cameras at `centres`, (N, 3) in the world, with `axes` of `turned`."""
    extrinsics = [np.column_stack([axis.T, -axis.T @ centre]) for axis, centre in zip(axes, centres, strict=True)]
    intrinsics = np.array([[focal, 0, 512], [0, focal, 384], [0, 0, 1]])
    return CameraTrajectory(
        intrinsics=np.stack([intrinsics] * len(centres)),
        extrinsics_w2c=np.stack(extrinsics),
        sizes_hw=[(768, 1024)] * len(centres),
        is_metric=is_metric,
        translation_known=list(known) or [True] * len(centres),
    )


def along_an_arc(count: int, *, radius: float = 2.0, is_metric: bool = True) -> CameraTrajectory:
    """Cameras on a circle to the right of the first, each looking along it."""
    angles = np.linspace(0, 1.2 * np.pi, count)
    centres = radius * np.stack([1 - np.cos(angles), np.zeros(count), np.sin(angles)], axis=1)
    return travelled(centres, [turned(np.degrees(angle)) for angle in angles], is_metric=is_metric)


def handles(count: int) -> list[str]:
    """Labels as the agent gives them."""
    return [f"input_image_{number}" for number in range(1, count + 1)]


def opened(picture: Image.Image | Pixels) -> Pixels:
    """uint8 (height, width, 3) of a drawing."""
    return np.asarray(picture if not isinstance(picture, Image.Image) else picture.convert("RGB"))
