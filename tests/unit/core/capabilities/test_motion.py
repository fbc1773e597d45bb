"""Camera motion in numbers, against rotations composed by hand and at random."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.capabilities.motion import Motion, motions

Matrix = NDArray[np.float64]
K = [[50.0, 0, 30], [0, 50, 20], [0, 0, 1]]
AXIS = st.floats(-1, 1, width=32)
CENTRES = st.tuples(*[st.floats(-30, 30, width=32)] * 3)


def turned(yaw: float, pitch: float, roll: float) -> Matrix:
    """Axes of a camera (columns: right, down, forward) that turned right, then looked down, then rolled clockwise."""
    y, p, r = (math.radians(angle) for angle in (yaw, pitch, roll))
    about_down = np.array([[math.cos(y), 0, math.sin(y)], [0, 1, 0], [-math.sin(y), 0, math.cos(y)]])
    about_right = np.array([[1, 0, 0], [0, math.cos(p), math.sin(p)], [0, -math.sin(p), math.cos(p)]])
    about_forward = np.array([[math.cos(r), -math.sin(r), 0], [math.sin(r), math.cos(r), 0], [0, 0, 1]])
    axes: Matrix = about_down @ about_right @ about_forward
    return axes


def about(axis: Sequence[float], degrees: float) -> Matrix:
    """A rotation about any axis (Rodrigues)."""
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = math.radians(degrees)
    rotation: Matrix = np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross
    return rotation


def path(cameras: Sequence[tuple[Matrix, Sequence[float]]], known: Sequence[bool] | None = None) -> CameraTrajectory:
    """Cameras from their axes and centres in the world."""
    extrinsics = [np.hstack([axes.T, (-axes.T @ np.array(centre, float))[:, None]]) for axes, centre in cameras]
    return CameraTrajectory(
        intrinsics=[K] * len(cameras),
        extrinsics_w2c=np.array(extrinsics),
        sizes_hw=[(40, 60)] * len(cameras),
        is_metric=True,
        translation_known=list(known or [True] * len(cameras)),
    )


START = (np.eye(3), (0.0, 0.0, 0.0))


def second(axes: Matrix, centre: Sequence[float] = (0, 0, 0)) -> Motion:
    return motions(path([START, (axes, centre)]))[1]


@pytest.mark.parametrize(
    ("yaw", "pitch", "roll", "forward"),
    [
        (30, 0, 0, (0.5, 0, math.sqrt(3) / 2)),  # to the right, which is +x
        (-30, 0, 0, (-0.5, 0, math.sqrt(3) / 2)),
        (0, 30, 0, (0, 0.5, math.sqrt(3) / 2)),  # down, which is +y
        (0, -30, 0, (0, -0.5, math.sqrt(3) / 2)),
        (0, 0, 30, (0, 0, 1)),
        (90, 0, 0, (1, 0, 0)),
        (180, 0, 0, (0, 0, -1)),
    ],
)
def test_turns_about_one_axis(yaw: float, pitch: float, roll: float, forward: tuple[float, float, float]) -> None:
    motion = second(turned(yaw, pitch, roll))
    assert motion.forward == pytest.approx(forward, abs=1e-6)
    assert (abs(motion.yaw), motion.pitch, motion.roll) == pytest.approx((abs(yaw), pitch, roll), abs=1e-4)
    assert abs(yaw) == 180 or motion.yaw == pytest.approx(yaw, abs=1e-4)
    assert motion.angle == pytest.approx(max(map(abs, (yaw, pitch, roll))), abs=1e-4)


def test_a_roll_to_the_right_takes_the_right_side_down() -> None:
    axes = turned(0, 0, 20)
    assert axes[1, 0] > 0, "the camera's right points down a little: clockwise as seen from behind"
    assert second(axes).roll == pytest.approx(20, abs=1e-4)


@given(st.floats(-179, 179), st.floats(-88, 88), st.floats(-179, 179))
def test_composed_turns_come_apart_again(yaw: float, pitch: float, roll: float) -> None:
    motion = second(turned(yaw, pitch, roll))
    assert (motion.yaw, motion.pitch, motion.roll) == pytest.approx((yaw, pitch, roll), abs=2e-3)
    assert np.linalg.norm(motion.forward) == pytest.approx(1, abs=1e-5)


@given(st.tuples(AXIS, AXIS, AXIS).filter(lambda axis: np.linalg.norm(axis) > 0.1), st.floats(0, 180))
def test_the_total_angle_is_that_about_the_axis(axis: tuple[float, float, float], degrees: float) -> None:
    assert second(about(axis, degrees)).angle == pytest.approx(degrees, abs=1e-3)


@settings(max_examples=60)
@given(
    st.tuples(AXIS, AXIS, AXIS).filter(lambda axis: np.linalg.norm(axis) > 0.1), st.floats(0, 180), CENTRES, CENTRES,
    st.floats(-170, 170), st.floats(-80, 80),
)  # fmt: skip
def test_the_world_does_not_matter_only_the_first_camera_does(
    axis: tuple[float, float, float],
    degrees: float,
    where: tuple[float, float, float],
    moved: tuple[float, float, float],
    yaw: float,
    pitch: float,
) -> None:
    world, seen = about(axis, degrees), turned(yaw, pitch, 10)
    first = (world, where)
    other = (world @ seen, np.array(where) + world @ np.array(moved))
    motion = motions(path([first, other]))[1]
    assert motion.centre == pytest.approx(moved, abs=1e-4)
    assert motion.distance == pytest.approx(np.linalg.norm(moved), abs=1e-4)
    assert (motion.yaw, motion.pitch, motion.roll) == pytest.approx((yaw, pitch, 10), abs=5e-3)


def test_the_first_camera_stands_still_and_looks_ahead() -> None:
    first = motions(path([(turned(40, 5, 3), (1, 2, 3)), START]))[0]
    assert first.centre == pytest.approx((0, 0, 0), abs=1e-6)
    assert first.forward == pytest.approx((0, 0, 1), abs=1e-6)
    assert (first.distance, first.angle, first.yaw, first.pitch, first.roll) == pytest.approx((0, 0, 0, 0, 0), abs=1e-4)


def test_an_unknown_translation_is_no_translation() -> None:
    motion = motions(path([START, (turned(20, 0, 0), (3, 4, 5))], known=[True, False]))[1]
    assert (motion.centre, motion.distance, motion.translation_known) == ((0, 0, 0), 0, False)
    assert motion.yaw == pytest.approx(20, abs=1e-4)


@pytest.mark.parametrize("pitch", [90, -90])
def test_looking_straight_up_or_down_has_no_roll(pitch: float) -> None:
    motion = second(turned(0, pitch, 0))
    assert motion.pitch == pytest.approx(pitch, abs=0.1)
    assert math.isfinite(motion.yaw)
    assert math.isfinite(motion.roll)


def test_numbers_survive_the_record() -> None:
    motion = second(turned(10, 20, 30), (1, 2, 3))
    assert Motion.from_data(motion.to_data() | {"image_id": "input_image_2"}) == motion
