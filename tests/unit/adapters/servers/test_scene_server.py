"""`/depth` and `/poses`: Depth Anything 3 and VGGT behind doubles of their own classes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from openvlharness_adapters.backends.raw_scene import SceneCameraBackend, SceneDepthBackend
from openvlharness_adapters.servers.models import depth_anything, vggt
from openvlharness_adapters.servers.models.depth_anything import DepthAnything
from openvlharness_adapters.servers.scenes import Cameras
from openvlharness_adapters.servers.sources import Weights, WeightsUnavailableError
from openvlharness_adapters.wire.raw_servers import depth_from_wire
from openvlharness_core.errors import ToolExecutionError, ToolFailure
from openvlharness_core.testing.time import InlineOffload
from tests.support.raw_servers import FakeDepthAnything3, Served, blank, data_url, scene_models, served

Make = Callable[..., Served]


@pytest.fixture
def make() -> Iterator[Make]:
    running: list[Served] = []

    def one(model: object, **limits: Any) -> Served:
        running.append(served("scene", model, **limits))
        return running[-1]

    yield one
    for each in running:
        each.server.close()


@pytest.mark.parametrize("name", ["depth_anything", "vggt"])
async def test_depth_travels_at_the_models_size_and_arrives_at_the_pictures(make: Make, name: str) -> None:
    image = blank(300, 1200)
    running = make(scene_models()[name], max_side=600)
    async with running.client as client:
        raw = depth_from_wire((await client.post("/depth", json={"image": data_url(image)})).json())
    assert raw.size_hw == (300, 1200)
    assert max(raw.values.shape) in {504, 518}
    backend = SceneDepthBackend(caller=running.caller("/depth", "depth_estimation"), offload=InlineOffload())
    answered = await backend.estimate(image, timeout_seconds=30.0)
    values = answered.value.values
    assert values.shape == (300, 1200)
    assert (values.min(), values.max()) == (pytest.approx(1, abs=0.05), pytest.approx(9, abs=0.05))
    assert (np.diff(values[150]) >= 0).all(), "the ramp runs along the columns, as the model gave it"
    assert answered.value.is_metric is False
    assert answered.sidecars["worked_size"] == list(raw.values.shape)


@pytest.mark.parametrize(
    ("flag", "metric"), [(1, True), (np.int64(1), True), (True, True), ({}, False), (0, False), (None, False)]
)
async def test_only_a_one_claims_metres(make: Make, flag: object, metric: bool) -> None:
    running = make(DepthAnything(network=FakeDepthAnything3(is_metric=flag)))
    backend = SceneDepthBackend(caller=running.caller("/depth", "depth_estimation"), offload=InlineOffload())
    assert (await backend.estimate(blank(20, 30), timeout_seconds=30.0)).value.is_metric is metric


@pytest.mark.parametrize("name", ["depth_anything", "vggt"])
async def test_cameras_of_pictures_of_several_sizes_are_each_in_its_own_pixels(make: Make, name: str) -> None:
    views = [blank(300, 400), blank(200, 100), blank(1200, 1600)]
    running = make(scene_models()[name], max_side=800)
    backend = SceneCameraBackend(caller=running.caller("/poses", "camera_trajectory"))
    path = (await backend.trace(views, timeout_seconds=30.0)).value
    for matrix, (height, width) in zip(path.intrinsics, path.sizes_hw, strict=True):
        assert matrix[0, 2] == pytest.approx(width / 2, rel=0.01)
        assert matrix[1, 2] == pytest.approx(height / 2, rel=0.01)
    # All stood unscaled on one canvas of 600 by 800, but the last, which had been shrunk to half.
    focal = path.intrinsics[:, 0, 0]
    assert focal[0] == pytest.approx(800, rel=0.02)
    assert focal[1] == pytest.approx(focal[0], rel=1e-4)
    assert focal[2] == pytest.approx(2 * focal[0], rel=1e-4)
    assert path.extrinsics_w2c[:, 0, 3].tolist() == [0, -0.5, -1]
    assert all(path.translation_known)


async def test_rotations_of_half_precision_are_made_exact(make: Make) -> None:
    running = make(DepthAnything(network=FakeDepthAnything3(skew=0.01)))
    backend = SceneCameraBackend(caller=running.caller("/poses", "camera_trajectory"))
    path = (await backend.trace([blank(20, 30), blank(20, 30)], timeout_seconds=30.0)).value
    rotations = path.extrinsics_w2c[:, :, :3].astype(float)
    assert np.abs(rotations @ rotations.transpose(0, 2, 1) - np.eye(3)).max() < 1e-6
    assert np.abs(rotations - np.eye(3)).max() < 0.01, "the nearest rotation, not another one"


async def test_too_many_pictures_are_refused_before_they_are_decoded(make: Make) -> None:
    network = FakeDepthAnything3()
    backend = SceneCameraBackend(
        caller=make(DepthAnything(network=network), max_images=2).caller("/poses", "camera_trajectory")
    )
    with pytest.raises(ToolFailure, match="images: expected at most 2 pictures at a time, got 3"):
        await backend.trace([blank(20, 30)] * 3, timeout_seconds=30.0)
    assert network.seen == []


class Broken:
    """A model whose numbers are none."""

    def depth(self, image: Any) -> tuple[np.ndarray, bool]:
        return np.full((4, 4), np.nan, np.float32), False

    def cameras(self, images: Any) -> Cameras:
        bad = np.full((len(images), 3, 4), np.nan, np.float32)
        return Cameras(intrinsics=bad[:, :, :3], extrinsics_w2c=bad, is_metric=False)


async def test_numbers_that_are_none_fail_the_call(make: Make) -> None:
    running = make(Broken())
    depth = SceneDepthBackend(caller=running.caller("/depth", "depth_estimation"), offload=InlineOffload())
    with pytest.raises(ToolExecutionError, match="no finite depth"):
        await depth.estimate(blank(20, 30), timeout_seconds=30.0)
    camera = SceneCameraBackend(caller=running.caller("/poses", "camera_trajectory"))
    with pytest.raises(ToolExecutionError, match="no finite numbers"):
        await camera.trace([blank(20, 30)] * 2, timeout_seconds=30.0)


async def test_depth_below_zero_at_the_horizon_is_zero(make: Make) -> None:
    class Dips(Broken):
        def depth(self, image: Any) -> tuple[np.ndarray, bool]:
            return np.array([[-0.01, 2.0]], np.float32), True

    backend = SceneDepthBackend(caller=make(Dips()).caller("/depth", "depth_estimation"), offload=InlineOffload())
    depth = (await backend.estimate(blank(1, 2), timeout_seconds=30.0)).value
    assert depth.values.tolist() == [[0.0, 2.0]]
    assert depth.is_metric is True


@pytest.mark.parametrize(("load", "package"), [(depth_anything.load, "depth_anything_3"), (vggt.load, "VGGT")])
def test_a_missing_package_is_named_with_where_to_read_on(load: Any, package: str) -> None:
    with pytest.raises(WeightsUnavailableError, match=rf"nowhere: expected .*{package}.*docs/deployment\.md"):
        load(Weights(place="nowhere"), None)


def test_the_package_is_imported_without_its_exporters_where_moviepy_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "depth_anything_3"
    (package / "utils" / "export").mkdir(parents=True)
    for folder in (package, package / "utils"):
        (folder / "__init__.py").write_text("", encoding="utf-8")
    (package / "utils" / "export" / "__init__.py").write_text("import moviepy\n", encoding="utf-8")
    (package / "api.py").write_text(_API, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("depth_anything_3")]:
        monkeypatch.delitem(sys.modules, name)
    try:
        model = depth_anything.load(Weights(place="a/b"), SimpleNamespace(name="cpu"))
        assert model.network.told == ["a/b", {"local_files_only": False}, "cpu", "eval"]
    finally:
        for name in [name for name in sys.modules if name.startswith("depth_anything_3")]:
            del sys.modules[name]


_API = """
from depth_anything_3.utils.export import export

class DepthAnything3:
    @classmethod
    def from_pretrained(cls, place, **options):
        made = cls()
        made.told = [place, options]
        return made

    def to(self, device):
        self.told.append(device)
        return self

    def eval(self):
        self.told.append("eval")
        return self
"""
