"""Scenes of textured planes and boxes, seen by cameras whose pose and focal length are known exactly."""

from __future__ import annotations

import functools
import math

import attrs
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_TEXTURE = 768  # wide enough that no wall shows a part of it twice


def turn(*, yaw: float = 0.0, pitch: float = 0.0, roll: float = 0.0) -> Floats:
    """World-to-camera rotation of a camera turned right by yaw, down by pitch, clockwise by roll; degrees."""
    a, b, c = (math.radians(angle) for angle in (yaw, pitch, roll))
    about_y = np.array([[math.cos(a), 0, math.sin(a)], [0, 1, 0], [-math.sin(a), 0, math.cos(a)]])
    about_x = np.array([[1, 0, 0], [0, math.cos(b), math.sin(b)], [0, -math.sin(b), math.cos(b)]])
    about_z = np.array([[math.cos(c), -math.sin(c), 0], [math.sin(c), math.cos(c), 0], [0, 0, 1]])
    return (about_y @ about_x @ about_z).T  # camera to world, transposed


@attrs.frozen(kw_only=True)
class Camera:
    """Where a camera stands in the world (x right, y down, z forward) and how it looks.

    Attributes:
        centre: (3,) position.
        rotation: (3, 3) world to camera.
        focal: focal length over the longer side.
        size_hw: (height, width) of its picture.
    """

    centre: Floats = attrs.field(factory=lambda: np.zeros(3), converter=lambda v: np.asarray(v, float))
    rotation: Floats = attrs.field(factory=lambda: np.eye(3))
    focal: float = 1.0
    size_hw: tuple[int, int] = (360, 480)

    @property
    def focal_px(self) -> float:
        return self.focal * max(self.size_hw)


@attrs.frozen(kw_only=True)
class Scene:
    """A back wall and a floor, boxes in front of them (N, 2, 3) as low and high corners; every face has its texture."""

    boxes: Floats
    wall_z: float
    floor_y: float
    seed: int

    def view(self, camera: Camera) -> NDArray[np.uint8]:
        """The picture, uint8 (height, width, 3), ray by ray."""
        height, width = camera.size_hw
        rows, columns = np.mgrid[0:height, 0:width] + 0.5
        rays = (
            np.stack(
                [
                    (columns - width / 2) / camera.focal_px,
                    (rows - height / 2) / camera.focal_px,
                    np.ones((height, width)),
                ],
                axis=-1,
            ).reshape(-1, 3)
            @ camera.rotation
        )
        rays = np.where(np.abs(rays) < 1e-9, 1e-9, rays)
        inverse = 1 / rays
        nearest, grey = np.full(len(rays), np.inf), np.full(len(rays), 40.0)
        for face, (axis, place) in enumerate(((2, self.wall_z), (1, self.floor_y))):
            away = (place - camera.centre[axis]) / rays[:, axis]
            seen = (away > 1e-6) & (away < nearest)
            places = camera.centre + rays[seen] * away[seen, None]
            grey[seen] = _looked_up(_texture(self.seed * 3 + face), *_on_face(places, axis))
            nearest[seen] = away[seen]
        for number, (low, high) in enumerate(self.boxes):
            one, other = (low - camera.centre) * inverse, (high - camera.centre) * inverse
            near, far = np.minimum(one, other).T, np.maximum(one, other).T
            enter = np.maximum(np.maximum(near[0], near[1]), near[2])
            hit = enter < np.minimum(np.minimum(far[0], far[1]), far[2])
            hit &= (enter > 1e-6) & (enter < nearest)
            for axis in range(3):
                seen = np.flatnonzero(hit & (near[axis] == enter))
                places = camera.centre + rays[seen] * enter[seen, None] - low
                column, row = divmod(number * 3 + axis, 6)  # every face has a part of the texture to itself
                u, v = _on_face(places, axis)
                grey[seen] = _looked_up(_texture(self.seed * 3 + 2), u + 128 * column, v + 128 * row)
                nearest[seen] = enter[seen]
        picture = grey.reshape(height, width)
        return np.repeat(np.clip(picture, 0, 255).astype(np.uint8)[..., None], 3, axis=2)


def some_scene(seed: int) -> Scene:
    """A scene of its own for every seed."""
    rng = np.random.default_rng(seed)
    boxes = []
    for _ in range(7):
        z = rng.uniform(2.6, 6.5)
        middle = np.array([rng.uniform(-0.5, 0.5) * z, rng.uniform(-0.4, 0.35) * z, z])
        half = rng.uniform(0.2, 0.75, 3)
        boxes.append([middle - half, middle + half])
    return Scene(boxes=np.array(boxes), wall_z=rng.uniform(7, 9), floor_y=rng.uniform(1.3, 2.2), seed=seed)


def plane_scene(seed: int, distance: float = 4.0) -> Scene:
    """Nothing but one wall."""
    return Scene(boxes=np.zeros((0, 2, 3)), wall_z=distance, floor_y=1e6, seed=seed)


def relative(first: Camera, second: Camera) -> tuple[Floats, Floats]:
    """Rotation and translation of `x2 = R x1 + t`."""
    rotation = second.rotation @ first.rotation.T
    return rotation, second.rotation @ (first.centre - second.centre)


def _on_face(places: Floats, axis: int) -> tuple[Floats, Floats]:
    """Texture coordinates of points on a face across `axis`: 45 texture pixels to a unit of length."""
    return places[:, (axis + 1) % 3] * 45, places[:, (axis + 2) % 3] * 45


@functools.lru_cache(maxsize=32)
def _texture(seed: int) -> Floats:
    """Smooth noise of three sizes and some sharp spots, (768, 768)."""
    rng = np.random.default_rng(seed)
    total = np.zeros((_TEXTURE, _TEXTURE))
    for cells, weight in ((48, 1.0), (144, 1.0), (300, 0.7)):
        knots = rng.uniform(-1, 1, (cells, cells))
        at = np.arange(_TEXTURE) * cells / _TEXTURE
        low, part = np.floor(at).astype(int), at - np.floor(at)
        part = part * part * (3 - 2 * part)
        high = (low + 1) % cells
        rows = knots[low] * (1 - part[:, None]) + knots[high] * part[:, None]
        total += weight * (rows[:, low] * (1 - part) + rows[:, high] * part)
    return 128 + 75 * total / 1.4


def _looked_up(texture: Floats, u: Floats, v: Floats) -> Floats:
    low_u, low_v = np.floor(u), np.floor(v)
    part_u, part_v = u - low_u, v - low_v
    a, b = low_u.astype(np.int64) % _TEXTURE, low_v.astype(np.int64) % _TEXTURE
    c, d = (a + 1) % _TEXTURE, (b + 1) % _TEXTURE
    top = texture[a, b] * (1 - part_v) + texture[a, d] * part_v
    bottom = texture[c, b] * (1 - part_v) + texture[c, d] * part_v
    return top * (1 - part_u) + bottom * part_u
