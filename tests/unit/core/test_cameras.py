"""Cameras and depth maps: what they promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.depth import DepthMap
from openvlharness_core.errors import MalformedResultError

K = [[50.0, 0, 30], [0, 50, 20], [0, 0, 1]]
STILL = [[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
GOOD: dict[str, Any] = {
    "intrinsics": [K, K],
    "extrinsics_w2c": [STILL, STILL],
    "sizes_hw": [(40, 60), (40, 60)],
    "is_metric": True,
    "translation_known": [True, False],
    "notes": ["a guess"],
}


def test_cameras_are_copied_locked_and_of_the_promised_type() -> None:
    path = CameraTrajectory(**GOOD)
    assert len(path) == 2
    assert (path.intrinsics.dtype, path.extrinsics_w2c.dtype) == (np.float32, np.float32)
    assert (path.sizes_hw, path.translation_known, path.notes) == (((40, 60), (40, 60)), (True, False), ("a guess",))
    with pytest.raises(ValueError, match="read-only"):
        path.extrinsics_w2c[0] = 0
    assert path == CameraTrajectory(**GOOD)
    assert path != CameraTrajectory(**(GOOD | {"is_metric": False}))


@pytest.mark.parametrize("off", [4e-4, 2e-3])
def test_rotations_may_be_off_by_a_thousandth(off: float) -> None:
    bent = [[1 + off, 0, 0, 0], *STILL[1:]]  # its square is off by twice that
    if 2 * off < 1e-3:
        assert len(CameraTrajectory(**(GOOD | {"extrinsics_w2c": [STILL, bent]}))) == 2
    else:
        with pytest.raises(MalformedResultError, match=r"extrinsics: .*0\.004 off"):
            CameraTrajectory(**(GOOD | {"extrinsics_w2c": [STILL, bent]}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"extrinsics_w2c": [STILL, [[-1, 0, 0, 0], *STILL[1:]]]}, "extrinsics: expected rotations, got a mirroring"),
        ({"extrinsics_w2c": [STILL]}, "extrinsics: expected at least 2 cameras, got 1"),
        ({"extrinsics_w2c": []}, "extrinsics: expected at least 2 cameras, got 0"),
        ({"intrinsics": [K]}, "intrinsics: expected one for each of 2 cameras, got 1"),
        ({"intrinsics": [K, np.transpose(K)]}, "intrinsics: expected a last row of 0, 0, 1 in each matrix"),
        ({"intrinsics": [K, [[0, 0, 30], *K[1:]]]}, "intrinsics: expected focal lengths above 0"),
        ({"translation_known": [True, 1]}, "translation_known: expected a list of true and false"),
        ({"notes": "a guess"}, "notes: expected a list of texts, got 'a guess'"),
    ],
    ids=lambda value: f"{value!r:.40}",
)
def test_what_is_no_camera_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(MalformedResultError) as raised:
        CameraTrajectory(**(GOOD | change))
    assert str(raised.value).startswith(words)


def test_a_depth_map_is_locked_and_knows_its_size() -> None:
    depth = DepthMap(values=[[0, 1, 2], [3, 4, 5]], is_metric=False)
    assert (depth.size_hw, depth.values.dtype) == ((2, 3), np.float32)
    with pytest.raises(ValueError, match="read-only"):
        depth.values[0, 0] = 7
    assert depth == DepthMap(values=np.arange(6.0).reshape(2, 3), is_metric=False)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([[1.0, -0.5]], "distances of at least 0, got -0.5"),
        ([], "at least one pixel"),
        (np.zeros((0, 5)), "at least one pixel"),
        ([1.0, 2.0], "numbers of shape (N, N), got (2,)"),
        ([[float("nan")]], "finite numbers"),
    ],
    ids=str,
)
def test_what_is_no_depth_is_named(values: object, words: str) -> None:
    with pytest.raises(MalformedResultError) as raised:
        DepthMap(values=values, is_metric=True)
    assert str(raised.value).startswith(f"depth.values: expected {words}")
