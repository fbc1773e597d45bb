"""The embedded camera backend on scenes whose cameras are known."""

from __future__ import annotations

import functools
import math

import attrs
import numpy as np
import pytest
from numpy.typing import NDArray

from contracts.ports.pictures import png_of
from openvlharness_adapters.backends.embedded.camera import EmbeddedCamera
from openvlharness_adapters.backends.embedded.features import opencv
from openvlharness_adapters.backends.embedded.pose_fitting import angle_between, rotation_angle
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.errors import CapabilityUnavailableError, ToolExecutionError, UnreadableImageError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Answered
from openvlharness_core.testing.time import InlineOffload
from tests.support.scenes import Camera, Scene, plane_scene, relative, some_scene, turn

_SIZE = (288, 384)


@functools.lru_cache(maxsize=64)
def _picture(
    seed: int, plane: bool, yaw: float, pitch: float, x: float, y: float, z: float, focal: float, longer: int
) -> EncodedImage:
    scene: Scene = plane_scene(seed) if plane else some_scene(seed)
    size = (longer * 3 // 4, longer)
    pixels = scene.view(Camera(centre=(x, y, z), rotation=turn(yaw=yaw, pitch=pitch), focal=focal, size_hw=size))
    return EncodedImage(data=png_of(pixels), media_type="image/png", size_hw=size)


def _view(
    seed: int,
    *,
    yaw: float = 0.0,
    pitch: float = 0.0,
    at: tuple[float, float, float] = (0.0, 0.0, 0.0),
    focal: float = 1.0,
    longer: int = 384,
    plane: bool = False,
) -> EncodedImage:
    return _picture(seed, plane, yaw, pitch, *at, focal, longer)


async def _traced(*images: EncodedImage, focal: float | None = None) -> Answered[CameraTrajectory]:
    backend = EmbeddedCamera(
        pixels=PillowCodec().pixels,
        offload=InlineOffload(),
        focal=lambda image: None if focal is None else focal * max(image.size_hw),
    )
    return await backend.trace(images, timeout_seconds=30.0)


def _errors(path: CameraTrajectory, *, yaw: float, pitch: float, at: tuple[float, float, float]) -> tuple[float, float]:
    """Degrees by which the second camera's rotation and direction are off."""
    rotation, translation = relative(Camera(), Camera(centre=at, rotation=turn(yaw=yaw, pitch=pitch)))
    told = path.extrinsics_w2c[1].astype(float)
    direction = told[:, 3] / np.linalg.norm(told[:, 3])
    return (
        rotation_angle(rotation.T @ told[:, :3]),
        angle_between(direction, translation / np.linalg.norm(translation)),
    )


@pytest.mark.parametrize(
    ("seed", "yaw", "pitch", "at", "focal"),
    [
        (0, -8.0, 0.0, (0.4, 0.0, 0.1), 1.17),
        (2, 5.0, 3.0, (-0.3, 0.1, 0.0), 0.8),
        (4, 0.0, -6.0, (0.0, 0.3, 0.2), 1.4),
        (9, 3.0, 0.0, (0.1, -0.1, 0.6), 1.0),
        (12, -15.0, 2.0, (0.5, 0.0, 0.0), 0.9),
    ],
)
async def test_rotation_and_direction_with_a_known_focal_length(
    seed: int, yaw: float, pitch: float, at: tuple[float, float, float], focal: float
) -> None:
    first, second = _view(seed, focal=focal), _view(seed, yaw=yaw, pitch=pitch, at=at, focal=focal)
    path = (await _traced(first, second, focal=focal)).value
    assert path.translation_known == (True, True)
    rotation_error, direction_error = _errors(path, yaw=yaw, pitch=pitch, at=at)
    assert rotation_error < 1.0
    assert direction_error < 5.0
    assert np.linalg.norm(path.extrinsics_w2c[1, :, 3]) == pytest.approx(1.0, abs=1e-5)
    assert not path.is_metric
    assert any("scale unknown" in note for note in path.notes)
    assert not any("assumed" in note for note in path.notes)


async def test_the_first_camera_is_the_world() -> None:
    path = (await _traced(_view(0), _view(0, at=(0.4, 0.0, 0.0)), focal=1.0)).value
    assert (path.extrinsics_w2c[0] == np.eye(3, 4)).all()


async def test_a_still_pair_claims_no_movement() -> None:
    path = (await _traced(_view(0), _view(0))).value
    assert path.translation_known[1] is False
    assert (path.extrinsics_w2c[1] == np.eye(3, 4)).all()
    assert any("no movement" in note for note in path.notes)
    assert not any("scale" in note for note in path.notes)


@pytest.mark.parametrize("focal", [0.7, 1.0, 1.6])
@pytest.mark.parametrize("told", [True, False])
async def test_a_mere_turn_is_said_to_be_one_at_any_focal_length(focal: float, told: bool) -> None:
    first, second = _view(2, focal=focal), _view(2, focal=focal, yaw=9.0, pitch=2.0)
    path = (await _traced(first, second, focal=focal if told else None)).value
    assert path.translation_known[1] is False
    assert not path.extrinsics_w2c[1, :, 3].any()
    assert any("turned" in note and "cannot be observed" in note for note in path.notes)
    if told:
        assert rotation_angle(turn(yaw=9.0, pitch=2.0).T @ path.extrinsics_w2c[1, :, :3]) < 0.5


@pytest.mark.parametrize("told", [True, False])
async def test_a_lens_that_bends_lines_makes_no_movement_of_a_turn(told: bool) -> None:
    import cv2

    def bent(pixels: NDArray[np.uint8]) -> EncodedImage:
        height, width = pixels.shape[:2]
        rows, columns = np.mgrid[0:height, 0:width].astype(np.float32)
        x, y = (columns - width / 2) / width, (rows - height / 2) / width
        stretch = 1 - 0.1 * (x * x + y * y)
        places = [(v * stretch * width + side / 2).astype(np.float32) for v, side in ((x, width), (y, height))]
        drawn = np.asarray(cv2.remap(pixels, places[0], places[1], cv2.INTER_LINEAR), np.uint8)
        return EncodedImage(data=png_of(drawn), media_type="image/png", size_hw=(height, width))

    scene = some_scene(5)
    first, second = (bent(scene.view(Camera(rotation=turn(yaw=yaw), focal=0.9, size_hw=_SIZE))) for yaw in (0.0, 10.0))
    if told:  # what the lens leaves over might as well be a movement that the turn has taken in
        with pytest.raises(ToolExecutionError, match="rotation between picture 1 and picture 2 cannot be told"):
            await _traced(first, second, focal=0.9)
    else:
        assert (await _traced(first, second)).value.translation_known[1] is False


@pytest.mark.parametrize("focal", [0.65, 1.5])
@pytest.mark.parametrize(("yaw", "at"), [(4.0, (0.05, 0.0, 0.0)), (-12.0, (0.3, 0.1, 0.0)), (20.0, (0.0, 0.0, 0.4))])
async def test_a_wrong_focal_length_gives_no_wrong_direction(
    focal: float, yaw: float, at: tuple[float, float, float]
) -> None:
    path = (await _traced(_view(5, focal=focal), _view(5, focal=focal, yaw=yaw, at=at))).value
    assert any("assumed for all pictures" in note for note in path.notes)
    assert path.intrinsics[0, 0, 0] == 384
    if path.translation_known[1]:
        assert _errors(path, yaw=yaw, pitch=0.0, at=at)[1] < 10
    else:
        assert any("uncertain" in note or "cannot be observed" in note for note in path.notes)


async def test_a_plane_has_two_poses_and_none_is_claimed_as_the_one() -> None:
    at = (0.5, 0.1, 0.0)
    with pytest.raises(
        ToolExecutionError, match=r"the rotation between picture 1 and picture 2 cannot be told: \d+ matches agree"
    ):
        await _traced(_view(3, plane=True), _view(3, plane=True, at=at, yaw=-6.0), focal=1.0)


@pytest.mark.parametrize("focal", [0.7, 1.85])
async def test_of_a_plane_with_a_guessed_focal_length_no_direction_is_claimed(focal: float) -> None:
    at = (0.6, -0.2, 0.2)
    path = (await _traced(_view(8, plane=True, focal=focal), _view(8, plane=True, focal=focal, at=at, yaw=-4.0))).value
    assert path.translation_known[1] is False


async def test_three_views_share_one_scale_though_their_sizes_differ() -> None:
    views = (
        _view(1),
        _view(1, at=(0.3, 0.0, 0.0), yaw=-2.0, longer=512),
        _view(1, at=(0.9, 0.0, 0.3), yaw=-5.0),
    )
    path = (await _traced(*views, focal=1.0)).value
    assert path.translation_known == (True, True, True)
    assert path.sizes_hw == ((288, 384), (384, 512), (288, 384))
    assert path.intrinsics[1].tolist() == [[512, 0, 256], [0, 512, 192], [0, 0, 1]]
    rotation, shift = path.extrinsics_w2c[2, :, :3].astype(float), path.extrinsics_w2c[2, :, 3].astype(float)
    assert -rotation.T @ shift == pytest.approx([3.0, 0.0, 1.0], abs=0.12)


async def test_a_view_that_turned_only_is_placed_by_another() -> None:
    views = (_view(1), _view(1, at=(0.4, 0.0, 0.0)), _view(1, at=(0.4, 0.0, 0.0), yaw=6.0))
    path = (await _traced(*views, focal=1.0)).value
    assert path.translation_known == (True, True, True)
    rotation, shift = path.extrinsics_w2c[2, :, :3].astype(float), path.extrinsics_w2c[2, :, 3].astype(float)
    assert -rotation.T @ shift == pytest.approx([1.0, 0.0, 0.0], abs=0.1)


async def test_pictures_larger_than_the_working_size() -> None:
    def enlarged(image: EncodedImage) -> EncodedImage:
        pixels = PillowCodec().pixels(image).repeat(3, axis=0).repeat(3, axis=1)
        return EncodedImage(data=png_of(pixels), media_type="image/png", size_hw=(864, 1152))

    first, second = (enlarged(view) for view in (_view(0), _view(0, at=(0.4, 0.0, 0.1), yaw=-4.0)))
    path = (await _traced(first, second, focal=1.0)).value
    assert path.intrinsics[0].tolist() == [[1152, 0, 576], [0, 1152, 432], [0, 0, 1]]
    assert max(_errors(path, yaw=-4.0, pitch=0.0, at=(0.4, 0.0, 0.1))) < 3


async def test_too_few_matches_name_both_pictures() -> None:
    with pytest.raises(ToolExecutionError) as refusal:
        await _traced(_view(0), _view(0, at=(0.2, 0.0, 0.0)), _view(7))
    reason = refusal.value.reason
    assert "picture 3" in reason
    assert "at least 20 are needed" in reason
    found = int(reason.split(": ")[1].split()[0])
    assert 0 <= found < 20


@pytest.mark.parametrize("size", [(1, 1), (8, 200), (64, 64)])
async def test_pictures_without_anything_to_recognise(size: tuple[int, int]) -> None:
    flat = EncodedImage(data=png_of(np.full((*size, 3), 90, np.uint8)), media_type="image/png", size_hw=size)
    with pytest.raises(ToolExecutionError, match="picture 1 and picture 2: 0 agree"):
        await _traced(flat, flat)


async def test_one_picture_is_not_enough() -> None:
    with pytest.raises(ToolExecutionError, match="at least 2, got 1"):
        await _traced(_view(0))


async def test_damaged_pixels_are_the_pictures_fault() -> None:
    broken = EncodedImage(data=_view(0).data[:-40], media_type="image/png", size_hw=_SIZE)
    with pytest.raises(UnreadableImageError):
        await _traced(_view(0), broken)


async def test_without_opencv_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cv2", None)
    with pytest.raises(CapabilityUnavailableError, match=r"pip install 'openvlharness\[embedded\]'"):
        await _traced(_view(0), _view(0))


def test_an_opencv_of_another_age_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import cv2

    for version, fits in (("4.13.0", False), ("5.0.0", False), ("4.14.0", True), ("4.20.1", True)):
        monkeypatch.setattr(cv2, "__version__", version)
        if fits:
            assert opencv("here", "this") is cv2
        else:
            with pytest.raises(CapabilityUnavailableError, match=f"got {version}"):
                opencv("here", "this")


@pytest.mark.parametrize("told", [math.nan, math.inf, 0.0, -5.0, 1e9])
async def test_a_focal_length_that_cannot_be_true_counts_as_none(told: float) -> None:
    backend = EmbeddedCamera(pixels=PillowCodec().pixels, offload=InlineOffload(), focal=lambda _: told)
    path = (await backend.trace((_view(0), _view(0)), timeout_seconds=30.0)).value
    assert path.intrinsics[0, 0, 0] == 384
    assert any("assumed" in note for note in path.notes)


_KINDS = ("boxes", "plane", "floor", "far", "short", "turn")


def _random_pair(kind: str, seed: int) -> tuple[Scene, Camera, Camera]:
    """Two cameras before a scene of that kind, turned by up to 26 degrees against each other."""
    rng = np.random.default_rng([seed, _KINDS.index(kind)])
    scene, focal, length = some_scene(seed), float(rng.uniform(0.65, 1.8)), float(rng.uniform(0.15, 0.8))
    yaw, pitch, roll = rng.uniform(-25, 25), rng.uniform(-8, 8), rng.uniform(-5, 5)
    match kind:
        case "plane" | "floor":
            scene = plane_scene(seed, float(rng.uniform(2.5, 6)))
            if kind == "floor":
                scene = attrs.evolve(scene, floor_y=float(rng.uniform(0.8, 1.8)))
        case "far":
            away = float(rng.uniform(1, 3))
            boxes = scene.boxes + np.array([0.0, 0.0, away])
            scene = attrs.evolve(scene, boxes=boxes, wall_z=scene.wall_z + away, floor_y=scene.floor_y + away / 3)
        case "short":
            length, yaw = float(rng.uniform(0.04, 0.15)), yaw * 0.4
        case "turn":
            length = 0.0
    direction = rng.normal(size=3)
    centre = direction / np.linalg.norm(direction) * length
    first = Camera(focal=focal, size_hw=_SIZE, rotation=turn(pitch=float(rng.uniform(-5, 5))))
    rotation = turn(yaw=float(yaw), pitch=float(pitch), roll=float(roll))
    return scene, first, Camera(focal=focal, size_hw=_SIZE, centre=centre, rotation=rotation)


async def _honest(kind: str, seed: int) -> bool:
    """Whether a pose was told of a pair with a known focal length; then it is as good as promised."""
    scene, first, second = _random_pair(kind, seed)
    images = (
        EncodedImage(data=png_of(scene.view(camera)), media_type="image/png", size_hw=_SIZE)
        for camera in (first, second)
    )
    try:
        path = (await _traced(*images, focal=first.focal)).value
    except ToolExecutionError:
        return False
    rotation, translation = relative(first, second)
    told = path.extrinsics_w2c[1].astype(float)
    assert rotation_angle(rotation.T @ told[:, :3]) < 3, (kind, seed)
    if path.translation_known[1]:
        length = float(np.linalg.norm(translation))
        assert length > 0, (kind, seed)
        assert angle_between(told[:, 3] / np.linalg.norm(told[:, 3]), translation / length) < 10, (kind, seed)
    return True


@pytest.mark.parametrize(("kind", "seed"), [("boxes", 5007), ("boxes", 5017), ("plane", 5021)])
async def test_what_is_told_of_a_random_pair_is_right(kind: str, seed: int) -> None:
    await _honest(kind, seed)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", _KINDS)
async def test_so_it_is_of_many_pairs(kind: str) -> None:
    told = [await _honest(kind, seed) for seed in range(8000, 8040)]
    if kind not in ("plane", "floor"):  # of a plane with two poses none is told
        assert sum(told) >= 30
