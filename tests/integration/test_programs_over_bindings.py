"""What generated programs compute over bindings of the tools, in the executor that really runs them."""

from __future__ import annotations

import numpy as np
import pytest

from openvlharness_adapters.executor.local import LocalExecutor
from openvlharness_core.capabilities.camera_pose import CameraPoseCapability
from openvlharness_core.capabilities.depth import DepthCapability
from openvlharness_core.capabilities.grounding import GroundingCapability
from openvlharness_core.capabilities.ocr import OcrCapability
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.depth import DepthMap
from openvlharness_core.detections import Detections
from openvlharness_core.masks import encode_mask
from openvlharness_core.testing import FakeCodec, FakeOcr, FakeZoom
from tests.unit.core.capabilities.stage import Backend, Renderer, Stage
from tests.unit.core.capabilities.test_camera_pose import moved
from tests.unit.core.capabilities.test_motion import turned

SIZE = HEIGHT, WIDTH = (40, 60)
CUPS = [(5, 4, 15, 14), (30, 20, 50, 36)]
MUGS = [(30, 21, 50, 37), (2, 30, 8, 38)]  # the first is the second cup


def blocks(boxes: list[tuple[int, int, int, int]]) -> Detections:
    masks = []
    for x1, y1, x2, y2 in boxes:
        mask = np.zeros(SIZE, bool)
        mask[y1:y2, x1:x2] = True
        masks.append(encode_mask(mask))
    return Detections(boxes_xyxy_px=boxes, scores=[0.9] * len(boxes), masks=masks, size_hw=SIZE)


def depth_plane() -> np.ndarray:
    """Two metres at the first cup, four at the second, ten elsewhere; one wild pixel on the first."""
    plane = np.full(SIZE, 10.0)
    for (x1, y1, x2, y2), metres in zip(CUPS, (2.0, 4.0), strict=True):
        plane[y1:y2, x1:x2] = metres
    plane[5, 6] = 90.0
    return plane


@pytest.fixture
async def stage() -> Stage:
    """A question in which every tool that leaves a binding was called."""
    stage = Stage(sizes=(SIZE, SIZE))
    found = {"cup": blocks(CUPS), "mug": blocks(MUGS), "cat": blocks([])}
    ground = GroundingCapability(backend=Backend(lambda image, query: found[query]), renderer=Renderer())
    for query in found:
        await stage.use(ground, query=query, image_id="input_image_1")
    boxes = Detections(boxes_xyxy_px=[[3, 6, 9, 12]], scores=[1], size_hw=(20, 30))
    await stage.use(
        ZoomCapability(backend=FakeZoom(FakeCodec())), image_id="input_image_1", coords=[500, 500, 1000, 1000]
    )
    only_boxes = GroundingCapability(backend=Backend(lambda image, query: boxes), renderer=Renderer())
    await stage.use(only_boxes, query="spoon", image_id=stage.workspace.images.records[-1].handle)
    depth = DepthCapability(
        backend=Backend(lambda image: DepthMap(values=depth_plane(), is_metric=True)), renderer=Renderer()
    )
    await stage.use(depth, image_id="input_image_1")
    path = moved(((1.5, -0.5, 2.0), turned(30, -10, 5)))
    cameras = CameraPoseCapability(backend=Backend(lambda images: path), renderer=Renderer())
    await stage.use(cameras, image_ids=["input_image_1", "input_image_2"])
    await stage.use(OcrCapability(backend=FakeOcr(("EXIT", "42"))), image_id="input_image_1")
    return stage


async def printed(stage: Stage, program: str) -> str:
    outcome = await LocalExecutor().run(program, stage.workspace.values())
    assert outcome.error is None, outcome.error
    return outcome.stdout.strip()


async def test_values_arrive_as_arrays_dicts_and_plain_values(stage: Stage) -> None:
    program = """
import numpy as np
for name, fields in [("segment_cup", segment_cup), ("depth_result", depth_result),
                     ("camera_trajectory_result", camera_trajectory_result), ("ocr_result", ocr_result)]:
    assert type(fields) is dict, name
    for field, value in fields.items():
        if isinstance(value, np.ndarray):
            assert value.flags.writeable and value.dtype == np.float32, field
            print(name, field, value.shape)
        else:
            print(name, field, type(value).__name__)
segment_cup["pred_boxes"][0] = 0
depth_result["depth_meters"] += 1
print(type(segment_cup["pred_masks"][0]).__name__, segment_spoon["pred_masks"], segment_spoon["num_masks"])
"""
    for _ in range(2):  # what the first run changed is its own
        assert (await printed(stage, program)).splitlines() == [
            "segment_cup pred_boxes (2, 4)", "segment_cup pred_scores (2,)", "segment_cup pred_masks list", "segment_cup num_masks int",
            "segment_cup orig_img_h int", "segment_cup orig_img_w int", "segment_cup label str", "segment_cup image_id str",
            "depth_result depth_meters (40, 60)", "depth_result depth_shape list", "depth_result size list",
            "depth_result is_metric bool", "depth_result colormap str", "depth_result image_id str",
            "camera_trajectory_result image_ids list", "camera_trajectory_result num_images int",
            "camera_trajectory_result reference_image_id str", "camera_trajectory_result intrinsics (2, 3, 3)",
            "camera_trajectory_result extrinsics (2, 3, 4)", "camera_trajectory_result sizes list",
            "camera_trajectory_result is_metric bool", "camera_trajectory_result translation_known list",
            "camera_trajectory_result coordinate_system str",
            "ocr_result text str", "ocr_result lines list", "ocr_result image_id str",
            "dict None None",
        ]  # fmt: skip
    assert stage.binding("segment_cup")["pred_boxes"][0].tolist() == list(CUPS[0])


async def test_the_median_depth_inside_each_mask(stage: Stage) -> None:
    said = await printed(
        stage,
        """
import numpy as np
from openvlharness_core.code_helpers import decode_masks
for mask in decode_masks(segment_cup):
    print(float(np.median(depth_result["depth_meters"][mask])), int(mask.sum()))
""",
    )
    assert said.splitlines() == ["2.0 100", "4.0 320"]


async def test_the_distance_between_two_things_in_metres(stage: Stage) -> None:
    said = await printed(
        stage,
        """
import numpy as np
from openvlharness_core.code_helpers import decode_masks, depth_at, unproject
points = unproject(depth_result, camera_trajectory_result["intrinsics"][0])
centres = [np.median(points[mask], axis=0) for mask in decode_masks(segment_cup)]
print(round(float(np.linalg.norm(centres[0] - centres[1])), 4))
print(depth_at(depth_result, 10, 9), depth_at(depth_result["depth_meters"], 40.5, 28.5))
""",
    )
    first = np.array([(10 - 30) / 50 * 2, (9 - 20) / 50 * 2, 2])
    second = np.array([(40 - 30) / 50 * 4, (28 - 20) / 50 * 4, 4])
    distance, depths = said.splitlines()
    assert float(distance) == pytest.approx(float(np.linalg.norm(first - second)), abs=0.02)
    assert depths == "2.0 4.0"


async def test_two_queries_are_merged_by_overlap(stage: Stage) -> None:
    said = await printed(
        stage,
        """
from openvlharness_core.code_helpers import box_iou, decode_masks, mask_iou
boxes = box_iou(segment_cup["pred_boxes"], segment_mug["pred_boxes"])
masks = mask_iou(decode_masks(segment_cup), decode_masks(segment_mug))
new = [i for i in range(segment_mug["num_masks"]) if masks[:, i].max() < 0.5]
print(len(segment_cup["pred_boxes"]) + len(new), boxes.round(3).tolist(), masks.round(3).tolist())
print(mask_iou(decode_masks(segment_cup), decode_masks(segment_cat)).shape, len(segment_cat["pred_boxes"]))
""",
    )
    overlap = [[0.0, 0.0], [0.0, round(15 / 17, 3)]]  # rows by reading order: the lone mug stands first
    assert said.splitlines() == [f"3 {overlap} {overlap}", "(2, 0) 0"]


async def test_the_second_camera_in_the_frame_of_the_first(stage: Stage) -> None:
    said = await printed(
        stage,
        """
import numpy as np
first, second = camera_trajectory_result["extrinsics"].astype(float)
centre = -second[:, :3].T @ second[:, 3]
print((first[:, :3] @ centre + first[:, 3]).round(4).tolist())
""",
    )
    assert said == "[1.5, -0.5, 2.0]"


async def test_boxes_of_a_crop_on_the_whole_picture(stage: Stage) -> None:
    said = await printed(
        stage,
        """
from openvlharness_core.code_helpers import map_boxes
print(map_boxes(segment_spoon["pred_boxes"], segment_spoon["to_source"]).tolist())
""",
    )
    assert said == "[[33.0, 26.0, 39.0, 32.0]]"


async def test_masks_by_hand_give_what_the_helper_gives(stage: Stage) -> None:
    """The format is COCO's own, so a program that knows it needs no helper."""
    stage.workspace = Stage(sizes=(SIZE,)).workspace
    mask = np.zeros(SIZE, bool)
    mask[3:9, 20:22] = True
    plain = {"size": list(SIZE), "counts": [20 * HEIGHT + 3, 6, HEIGHT - 6, 6, HEIGHT * (WIDTH - 21) - 9]}
    found = Detections(boxes_xyxy_px=[[20, 3, 22, 9]], scores=[1], masks=[plain], size_hw=SIZE)
    await stage.use(
        GroundingCapability(backend=Backend(lambda image, query: found), renderer=Renderer()),
        query="bar",
        image_id="input_image_1",
    )
    said = await printed(
        stage,
        """
import numpy as np
from openvlharness_core.code_helpers import decode_masks
rle = segment_bar["pred_masks"][0]
flat = np.repeat(np.arange(len(rle["counts"])) % 2 == 1, rle["counts"])
by_hand = flat.reshape(rle["size"][::-1]).T
print(bool((by_hand == decode_masks(segment_bar)[0]).all()), int(by_hand.sum()))
""",
    )
    assert said == "True 12"


async def test_a_mistake_is_told_by_what_was_wrong(stage: Stage) -> None:
    program = "from openvlharness_core.code_helpers import decode_masks\ndecode_masks(segment_spoon)"
    outcome = await LocalExecutor().run(program, stage.workspace.values())
    assert outcome.error is not None
    assert "ValueError: pred_masks is None: this backend gives boxes only" in outcome.error
