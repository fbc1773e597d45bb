"""Camera pose: what is called salient, how numbers are signed, what is said without a scale, and the binding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.capabilities.camera_pose import CameraPoseCapability, signed
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.errors import MalformedResultError, ToolExecutionError, ToolFailure
from openvlharness_core.testing import FakeCodec, FakeZoom
from openvlharness_core.usage import Spent
from tests.unit.core.capabilities.stage import Backend, Renderer, Stage
from tests.unit.core.capabilities.test_motion import K, Matrix, turned

TWO = {"image_ids": ["input_image_1", "input_image_2"]}
SIZE = (40, 60)


def moved(
    *cameras: tuple[Sequence[float], Matrix],
    is_metric: bool = True,
    known: Sequence[bool] | None = None,
    notes: tuple[str, ...] = (),
) -> CameraTrajectory:
    """The first camera in the world's origin, then these centres and axes."""
    every = [((0.0, 0.0, 0.0), np.eye(3)), *cameras]
    return CameraTrajectory(
        intrinsics=[K] * len(every),
        extrinsics_w2c=[np.hstack([axes.T, (-axes.T @ np.array(centre, float))[:, None]]) for centre, axes in every],
        sizes_hw=[SIZE] * len(every),
        is_metric=is_metric,
        translation_known=list(known or [True] * len(every)),
        notes=notes,
    )


def pose(value: Any, **fields: Any) -> CameraPoseCapability:
    make = value if callable(value) else lambda images: value
    return CameraPoseCapability(backend=Backend(make), **({"renderer": Renderer()} | fields))


def two() -> Stage:
    return Stage(sizes=(SIZE, SIZE))


async def line(value: CameraTrajectory) -> str:
    """What is said of the second camera."""
    shown = await two().use(pose(value), **TWO)
    return next(row for row in shown.text.splitlines() if row.startswith("camera line image=input_image_2"))


STILL = np.eye(3)


async def test_everything_about_two_pictures() -> None:
    stage, renderer = two(), Renderer()
    value = moved(((1.5, -0.25, 2.0), turned(30, -10, 0)), notes=("focal length assumed",))
    shown = await stage.use(pose(value, renderer=renderer), image_ids=["INPUT_IMAGE_1", "'input_image_2'"])
    data = shown.data
    assert {k: data[k] for k in ("image_ids", "num_images", "reference_image_id", "is_metric", "notes", "binding")} == {
        "image_ids": ["input_image_1", "input_image_2"],
        "num_images": 2,
        "reference_image_id": "input_image_1",
        "is_metric": True,
        "notes": ["focal length assumed"],
        "binding": "camera_trajectory_result",
    }
    first, second = data["cameras"]
    assert (first["image_id"], first["distance"], first["angle"]) == ("input_image_1", 0, 0)
    assert second["centre"] == pytest.approx([1.5, -0.25, 2], abs=1e-6)
    assert (second["yaw"], second["pitch"], second["roll"]) == pytest.approx((30, -10, 0), abs=1e-4)
    moved_and_turned = (
        "camera line image=input_image_2 translation=camera translation salient direction=forward (+2.00) "
        "details=right (+1.50), up (-0.25), forward (+2.00) distance=2.51 "
        "rotation=camera rotation salient angle=31.59 forward=+0.49, -0.17, +0.85 yaw=+30.00 pitch=-10.00 roll=+0.00"
    )
    assert shown.text.splitlines() == [
        "camera intro count=2 reference=input_image_1",
        moved_and_turned,
        "camera convention",
        "camera note note=focal length assumed",
        "kept in binding binding=camera_trajectory_result",
        "camera picture handle=tool_generated_image_1",
        "<tool_generated_image_1>",
    ]
    assert renderer.drawn == [(value, ["input_image_1", "input_image_2"])]
    record = stage.workspace.images.resolve("tool_generated_image_1")
    assert (record.parents, record.to_source) == (("input_image_1", "input_image_2"), None)


async def test_the_binding_has_every_field_with_its_type() -> None:
    stage = two()
    await stage.use(pose(moved(((1, 0, 0), STILL), known=[True, False])), **TWO)
    binding = stage.binding("camera_trajectory_result")
    assert list(binding) == [
        "image_ids", "num_images", "reference_image_id", "intrinsics", "extrinsics", "sizes", "is_metric",
        "translation_known", "coordinate_system",
    ]  # fmt: skip
    for name, shape in (("intrinsics", (2, 3, 3)), ("extrinsics", (2, 3, 4))):
        assert (binding[name].dtype, binding[name].shape) == (np.float32, shape)
        with pytest.raises(ValueError, match="read-only"):
            binding[name][0] = 0
    assert (binding["sizes"], binding["translation_known"], binding["is_metric"]) == (
        [[40, 60]] * 2,
        [True, False],
        True,
    )
    assert (binding["image_ids"], binding["num_images"]) == (["input_image_1", "input_image_2"], 2)
    assert "+X right, +Y down, +Z forward" in binding["coordinate_system"]
    fields = stage.fields("camera_trajectory_result")
    assert (fields["extrinsics"]["type"], fields["extrinsics"]["shape"]) == ("ndarray float32", [2, 3, 4])
    assert "world-to-camera" in fields["extrinsics"]["note"]
    assert "pixels" in fields["intrinsics"]["note"]


async def test_the_descriptor_tells_a_code_writer_the_axes_and_whose_each_row_is() -> None:
    stage = two()
    await stage.use(pose(moved(((1, 0, 0), STILL))), image_ids=["input_image_2", "input_image_1"])
    fields = stage.fields("camera_trajectory_result")
    assert fields["image_ids"]["note"].endswith("in order: input_image_2, input_image_1")
    for rows in ("intrinsics", "extrinsics", "sizes", "translation_known"):
        assert rows in fields["image_ids"]["note"]
    assert "+X right, +Y down, +Z forward" in fields["coordinate_system"]["note"]
    assert "row 0" in fields["reference_image_id"]["note"]
    assert "R @ x_world + t" in fields["extrinsics"]["note"]


@pytest.mark.parametrize(
    ("centre", "kind", "direction"),
    [
        ((1.0, 0, 0), "salient", "right (+1.00)"),
        ((-1.0, 0, 0), "salient", "left (-1.00)"),
        ((0, 1.0, 0), "salient", "down (+1.00)"),
        ((0, -1.0, 0), "salient", "up (-1.00)"),
        ((0, 0, 1.0), "salient", "forward (+1.00)"),
        ((0, 0, -1.0), "salient", "backward (-1.00)"),
        ((0.999, 0, 0), "small", None),  # printed as 1.00, and not salient all the same
        ((0.6, -0.6, 0.6), "salient", "right (+0.60)"),
        ((0.5, 0.5, -0.5), "small", None),
        ((0, 0, 0), "small", None),
        ((3, -7, 6), "salient", "up (-7.00)"),
    ],
)
async def test_a_translation_is_salient_from_one_metre_on(
    centre: tuple[float, float, float], kind: str, direction: str | None
) -> None:
    said = await line(moved((centre, STILL)))
    assert f"camera translation {kind} d" in said
    assert (f"direction={direction} " in said) is (direction is not None)


@pytest.mark.parametrize("yaw", [0, 33, 77.7, 123.4, 180])
@pytest.mark.parametrize("pitch", [0, -41, 63])
async def test_one_metre_stays_one_metre_whichever_way_the_camera_looks(yaw: float, pitch: float) -> None:
    direction = turned(yaw, pitch, 0)[:, 2]
    assert "camera translation salient" in await line(moved((direction, turned(pitch, yaw / 3, yaw))))
    assert "camera translation small" in await line(moved((direction * 0.9999, turned(pitch, yaw / 3, yaw))))


@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        ((10, 0, 0), "salient"), ((0, -10, 0), "salient"), ((0, 0, 10), "salient"), ((9.99, 0, 0), "small"), ((0, 0, 9.99), "small"),
        ((7.2, 7.2, 0), "salient"), ((7, 7, 0), "small"), ((0, 0, 0), "small"), ((180, 0, 0), "salient"),
    ],
)  # fmt: skip
async def test_a_rotation_is_salient_from_ten_degrees_in_all_on(turn: tuple[float, float, float], kind: str) -> None:
    assert f"camera rotation {kind} angle=" in await line(moved(((0, 0, 0), turned(*turn))))


async def test_zero_has_a_plus_and_no_direction_of_its_own() -> None:
    said = await line(moved(((-0.001, 0.004, -0.0), turned(-0.001, 0, -0.002))))
    assert "-0.00" not in said
    assert "details=right (+0.00), down (+0.00), forward (+0.00) distance=0.00" in said
    assert "yaw=+0.00 pitch=+0.00 roll=+0.00" in said
    assert "angle=0.00 " in said


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "+0.00"), (-0.0, "+0.00"), (-0.004, "+0.00"), (0.006, "+0.01"), (-0.006, "-0.01"), (12.3456, "+12.35"), (-3, "-3.00")],
)  # fmt: skip
def test_signed_numbers(value: float, text: str) -> None:
    assert signed(value) == text


async def test_without_a_scale_nothing_is_claimed_about_lengths() -> None:
    shown = await two().use(pose(moved(((0, 0, -5), turned(20, 0, 0)), is_metric=False)), **TWO)
    assert (
        "camera translation unscaled direction=backward (-5.00) details=right (+0.00), down (+0.00), backward (-5.00)"
        in shown.text
    )
    assert "camera scale unknown" in shown.text
    assert "translation salient" not in shown.text
    assert "translation small" not in shown.text
    assert "camera rotation salient" in shown.text


async def test_without_a_scale_and_without_a_movement_there_is_no_direction() -> None:
    said = await line(moved(((0, 0, 0), turned(20, 0, 0)), is_metric=False))
    assert "translation=camera translation unmoved details=right (+0.00), down (+0.00), forward (+0.00)" in said


@pytest.mark.parametrize("is_metric", [True, False])
async def test_an_unknown_translation_is_called_that(is_metric: bool) -> None:
    value = moved(((4, 0, 0), turned(20, 0, 0)), known=[True, False], is_metric=is_metric)
    said = await line(value)
    assert "translation=camera translation unknown rotation=camera rotation salient" in said
    assert "right" not in said


async def test_every_further_picture_has_a_line_against_the_first() -> None:
    stage = Stage(sizes=(SIZE,) * 4)
    value = moved(*[((step, 0, 0), turned(5 * step, 0, 0)) for step in (1, 2, 3)])
    handles = [f"input_image_{number}" for number in (3, 1, 4, 2)]
    shown = await stage.use(pose(value), image_ids=handles)
    lines = [row for row in shown.text.splitlines() if row.startswith("camera line")]
    assert [row.split()[2] for row in lines] == [f"image={handle}" for handle in handles[1:]]
    assert [row.rpartition("yaw=")[2].split()[0] for row in lines] == ["+5.00", "+10.00", "+15.00"]
    assert shown.data["reference_image_id"] == "input_image_3"


async def test_pictures_go_to_the_backend_in_the_order_named() -> None:
    stage = Stage(sizes=((40, 60), (60, 40)))
    backend = Backend(lambda images: moved(((1, 0, 0), STILL)))
    with pytest.raises(MalformedResultError, match=r"sizes: expected \[\[60, 40\], \[40, 60\]\] like the images"):
        await stage.use(
            CameraPoseCapability(backend=backend, renderer=Renderer()), image_ids=["input_image_2", "input_image_1"]
        )
    assert [image.size_hw for image in backend.asked[0][0]] == [(60, 40), (40, 60)]


async def test_too_few_matches_name_the_pictures_by_their_handles() -> None:
    spent = (Spent(role="vision", usage={"calls": 1.0}),)

    def trace(images: object) -> CameraTrajectory:
        raise ToolExecutionError("stage", "pictures 1 and 2 share 7 matches, 20 are needed", usage=spent)

    stage = Stage(sizes=(SIZE,) * 3)
    with pytest.raises(ToolExecutionError) as raised:
        await stage.use(pose(trace), image_ids=["input_image_3", "input_image_1"])
    assert "share 7 matches, 20 are needed" in raised.value.reason
    assert "1 is input_image_3, 2 is input_image_1" in raised.value.reason
    assert raised.value.usage == spent


async def test_crops_say_which_region_they_are() -> None:
    stage = two()
    zoom = ZoomCapability(backend=FakeZoom(FakeCodec()))
    await stage.use(zoom, image_id="input_image_1", coords=[0, 0, 500, 500])
    value = moved(((1, 0, 0), STILL))
    sized = CameraTrajectory(
        intrinsics=value.intrinsics, extrinsics_w2c=value.extrinsics_w2c, sizes_hw=[(20, 30), SIZE], is_metric=True,
        translation_known=[True, True],
    )  # fmt: skip
    shown = await stage.use(pose(sized), image_ids=["tool_generated_image_1", "input_image_2"])
    note = "region of image handle=tool_generated_image_1 region=[0, 0, 500, 500] source=input_image_1"
    assert shown.text.count("region of image") == 1
    assert note in shown.text


async def test_without_bindings_nothing_points_to_one() -> None:
    shown = await Stage(sizes=(SIZE, SIZE), modules=("image",)).use(pose(moved(((1, 0, 0), STILL))), **TWO)
    assert shown.data["binding"] is None
    assert "binding" not in shown.text


@pytest.mark.parametrize("ids", [[], ["input_image_1"], "input_image_1", [1, 2], ["", ""], None])
async def test_two_pictures_are_needed(ids: object) -> None:
    with pytest.raises(ToolFailure, match="image_ids") as raised:
        await two().use(pose(moved(((1, 0, 0), STILL))), image_ids=ids)
    assert raised.value.code == "invalid_tool_arguments"


async def test_an_unknown_picture_is_named() -> None:
    with pytest.raises(ToolFailure, match="input_image_7") as raised:
        await two().use(pose(moved(((1, 0, 0), STILL))), image_ids=["input_image_1", "input_image_7"])
    assert raised.value.code == "unknown_reference"
