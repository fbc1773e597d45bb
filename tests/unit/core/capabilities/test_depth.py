"""Depth: the range in words, the array for programs, crops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from openvlharness_core.capabilities.depth import DepthCapability
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.depth import DepthMap
from openvlharness_core.errors import MalformedResultError, ToolFailure
from openvlharness_core.ports.imaging import COLORMAPS
from openvlharness_core.testing import FakeCodec, FakeDepth, FakeZoom
from tests.unit.core.capabilities.stage import IMAGE, Backend, Renderer, Stage


def depth(backend: Any = None, **fields: Any) -> DepthCapability:
    return DepthCapability(backend=backend or FakeDepth(), **({"renderer": Renderer()} | fields))


def showing(values: Any, is_metric: bool = True) -> DepthCapability:
    return depth(Backend(lambda image: DepthMap(values=values, is_metric=is_metric)))


async def test_depth_is_a_range_a_picture_and_an_array() -> None:
    stage = Stage()
    shown = await stage.use(depth(), **IMAGE)
    assert shown.data == {
        "image_id": "input_image_1", "colormap": "inferno", "depth_shape": [40, 60], "size": [40, 60], "is_metric": True,
        "nearest": 1.0, "median": pytest.approx(3.0), "farthest": 5.0, "binding": "depth_result",
    }  # fmt: skip
    assert shown.text == (
        "depth metric image=input_image_1 shape=[40, 60] nearest=1 median=3 farthest=5\n"
        "kept in binding binding=depth_result\n"
        "depth picture handle=tool_generated_image_1\n<tool_generated_image_1>"
    )
    binding = stage.binding("depth_result")
    assert list(binding) == ["depth_meters", "depth_shape", "size", "is_metric", "colormap", "image_id"]
    array = binding.pop("depth_meters")
    assert (array.dtype, array.shape, array[0, 0], array[-1, -1]) == (np.float32, (40, 60), 5, 1)
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 0
    assert binding == {
        "depth_shape": [40, 60], "size": [40, 60], "is_metric": True, "colormap": "inferno", "image_id": "input_image_1",
    }  # fmt: skip


async def test_the_descriptor_says_axes_and_unit() -> None:
    stage = Stage()
    await stage.use(depth(), **IMAGE)
    field = stage.fields("depth_result")["depth_meters"]
    assert (field["type"], field["shape"]) == ("ndarray float32", [40, 60])
    for word in ("[y, x]", "pixels of image_id", "larger is farther", "is_metric"):
        assert word in field["note"]


async def test_without_a_scale_nothing_is_called_metres() -> None:
    stage = Stage()
    shown = await stage.use(depth(FakeDepth(nearest=0.0, farthest=1.0, is_metric=False)), **IMAGE)
    assert "depth relative" in shown.text
    assert "depth metric" not in shown.text
    assert (shown.data["is_metric"], shown.data["nearest"]) == (False, 0.0)
    assert stage.binding("depth_result")["is_metric"] is False


@pytest.mark.parametrize("colormap", COLORMAPS)
async def test_the_colours_are_the_models_choice(colormap: str) -> None:
    renderer = Renderer()
    shown = await Stage().use(depth(renderer=renderer), colormap=colormap, **IMAGE)
    assert (shown.data["colormap"], renderer.drawn[0][1]) == (colormap, colormap)


async def test_unknown_colours_are_refused_with_the_known_ones() -> None:
    with pytest.raises(
        ToolFailure, match="colormap: expected one of inferno, grayscale, viridis, turbo, got"
    ) as raised:
        await Stage().use(depth(), colormap="jet", **IMAGE)
    assert raised.value.code == "invalid_tool_arguments"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([[2.5, 2.5], [2.5, 2.5]], "nearest=2.5 median=2.5 farthest=2.5"),
        ([[0.0, 0.0], [0.0, 0.0]], "nearest=0 median=0 farthest=0"),
        ([[0.00012345, 1.23456], [9.87654, 1234.56]], "nearest=0.0001234 median=5.556 farthest=1235"),
        ([[12345.6, 65535.0], [99999.0, 1e6]], "nearest=12346 median=82767 farthest=1000000"),
        ([[1e20, 3.4e38], [3.4e38, 3.4e38]], "nearest=1e+20 median=3.4e+38 farthest=3.4e+38"),
    ],
    ids=["flat", "zero", "small", "large", "huge"],
)
async def test_ranges_are_said_in_four_digits(values: Any, said: str) -> None:
    shown = await Stage(sizes=((2, 2),)).use(showing(values), **IMAGE)
    assert said in shown.text


async def test_depth_of_a_crop_says_where_it_belongs() -> None:
    stage = Stage()
    zoom = ZoomCapability(backend=FakeZoom(FakeCodec()))
    await stage.use(zoom, image_id="input_image_1", coords=[0, 500, 500, 1000])
    shown = await stage.use(depth(), image_id="tool_generated_image_1")
    assert "region of image handle=tool_generated_image_1 region=[0, 500, 500, 1000] source=input_image_1" in shown.text
    assert shown.text.endswith("handle=tool_generated_image_2\n<tool_generated_image_2>"), (
        "the label is beside its picture"
    )
    to_source = stage.binding("depth_result")["to_source"]
    assert isinstance(to_source, np.ndarray)
    assert to_source.tolist() == [[1, 0, 0], [0, 1, 20]]
    described = stage.fields("depth_result")["to_source"]
    assert (described["type"], described["shape"]) == ("ndarray float64", [2, 3])
    assert "from pixels of tool_generated_image_1 to pixels of input_image_1" in described["note"]


async def test_other_data_gets_another_name() -> None:
    stage = Stage()
    names = [
        (await stage.use(tool, **arguments)).data["binding"]
        for tool, arguments in [
            (depth(), IMAGE), (depth(), IMAGE), (depth(FakeDepth(farthest=6)), IMAGE), (depth(), IMAGE | {"colormap": "turbo"}),
        ]
    ]  # fmt: skip
    assert names == ["depth_result", "depth_result", "depth_result_2", "depth_result_3"]


async def test_without_bindings_nothing_points_to_one() -> None:
    shown = await Stage(modules=("image",)).use(depth(), **IMAGE)
    assert shown.data["binding"] is None
    assert "binding" not in shown.text
    assert "None" not in shown.text


async def test_a_map_of_another_size_is_refused() -> None:
    words = r"depth.values: expected the size of input_image_1, \[40, 60\], got \[60, 40\]"
    with pytest.raises(MalformedResultError, match=words):
        await Stage().use(showing(np.ones((60, 40))), **IMAGE)
