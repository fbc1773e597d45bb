"""`/segment` and `/detect` over the whole application, sockets left out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from openvlharness_adapters.servers.detecting import Found, detections_of
from openvlharness_core.errors import ToolExecutionError
from openvlharness_core.masks import decode_mask
from openvlharness_core.pictures import EncodedImage
from tests.support.raw_servers import ColourDetector, Served, blank, data_url, picture, served

Make = Callable[..., Served]


@pytest.fixture
def make() -> Iterator[Make]:
    running: list[Served] = []

    def one(kind: str, model: object, **limits: Any) -> Served:
        running.append(served(kind, model, **limits))
        return running[-1]

    yield one
    for each in running:
        each.server.close()


def _wedge(height: int = 40, width: int = 90) -> tuple[EncodedImage, np.ndarray]:
    """A red triangle: read row by row, its mask would be another one."""
    rows, columns = np.mgrid[0:height, 0:width]
    mask = (columns >= 20) & (columns < 60) & (rows < (columns - 18) / 2)
    pixels = np.full((height, width, 3), 255, np.uint8)
    pixels[mask] = (220, 30, 40)
    return picture(pixels), mask


async def test_what_is_found_travels_in_pixels_with_masks_column_by_column(make: Make) -> None:
    image, mask = _wedge()
    model = ColourDetector()
    async with make("segment", model).client as client:
        reply = await client.post("/segment", json={"image": data_url(image), "query": "red", "threshold": 0.25})
    assert reply.status_code == 200
    told = reply.json()
    assert told["pred_boxes"] == [[20.0, 0.0, 60.0, 21.0]]
    assert (told["orig_img_h"], told["orig_img_w"], told["num_masks"]) == (40, 90, 1)
    assert (decode_mask(told["pred_masks"][0]) == mask).all()
    assert model.shown == [((40, 90), 0.25)]


async def test_a_model_of_boxes_tells_no_masks_and_no_count(make: Make) -> None:
    image, _ = _wedge()
    async with make("detect", ColourDetector(masks=False)).client as client:
        told = (await client.post("/detect", json={"image": data_url(image), "query": "red"})).json()
    assert told["pred_masks"] is None
    assert told["num_masks"] is None
    assert len(told["pred_boxes"]) == 1


async def test_a_large_picture_is_shrunk_and_the_result_is_in_its_own_pixels(make: Make) -> None:
    pixels = np.full((100, 400, 3), 255, np.uint8)
    pixels[20:60, 40:120] = (220, 30, 40)
    model = ColourDetector()
    async with make("segment", model, max_side=200).client as client:
        reply = await client.post("/segment", json={"image": data_url(picture(pixels)), "query": "red"})
    told = reply.json()
    assert model.shown[0][0] == (50, 200)
    assert np.abs(np.array(told["pred_boxes"]) - [[40, 20, 120, 60]]).max() <= 4
    mask = decode_mask(told["pred_masks"][0])
    assert mask.shape == (100, 400)
    assert mask[25:55, 45:115].all()


BAD = [
    ({"query": "red"}, "image"),
    ({"image": "http://elsewhere.example/a.png", "query": "red"}, "image"),
    ({"image": "data:image/png;base64,AAAA", "query": "red"}, ""),
    ({"image": data_url(blank(4, 4))}, "query"),
    ({"image": data_url(blank(4, 4)), "query": "  "}, "query"),
    ({"image": data_url(blank(4, 4)), "query": 7}, "query"),
    ({"image": data_url(blank(4, 4)), "query": "red", "threshold": 1.5}, "threshold"),
    ({"image": data_url(blank(4, 4)), "query": "red", "threshold": True}, "threshold"),
    ({"image": data_url(blank(4, 4)), "query": "red", "server_url": "http://x"}, "server_url"),
]


@pytest.mark.parametrize(("args", "field"), BAD, ids=[str(place) for place in range(len(BAD))])
async def test_bad_arguments_are_refused_by_name(make: Make, args: dict[str, Any], field: str) -> None:
    model = ColourDetector()
    async with make("segment", model).client as client:
        reply = await client.post("/segment", json=args)
    error = reply.json()["error"]
    assert reply.status_code == 422
    assert error["code"] == "invalid_tool_arguments"
    assert error["message"].startswith(field)
    assert model.shown == []


async def test_bodies_that_are_no_objects_and_paths_that_are_none(make: Make) -> None:
    async with make("segment", ColourDetector(), max_body_bytes=1000).client as client:
        for body in (b"", b"[]", b"{", b"\xff"):
            reply = await client.post("/segment", content=body)
            assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_request")
        assert (await client.post("/detect", json={})).status_code == 404
        assert (await client.post("/segment", content=b"x" * 2000)).status_code == 413


async def test_out_of_memory_is_a_507_and_the_server_lives_on(make: Make) -> None:
    image, _ = _wedge()
    failing = [True]

    def before(_: object) -> None:
        if failing.pop() if failing else False:
            raise MemoryError("Unable to allocate 37 GiB")

    running = make("segment", ColourDetector(before=before))
    async with running.client as client:
        args = {"image": data_url(image), "query": "red"}
        refused = await client.post("/segment", json=args)
        served_again = await client.post("/segment", json=args)
        ready = await client.get("/ready")
    assert refused.status_code == 507
    assert refused.json()["error"]["code"] == "out_of_memory"
    assert "37 GiB" in refused.json()["error"]["message"]
    assert running.released == [1]
    assert served_again.status_code == 200
    assert ready.status_code == 200


async def test_a_lost_device_makes_the_server_unready(make: Make) -> None:
    def before(_: object) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    async with make("segment", ColourDetector(before=before)).client as client:
        reply = await client.post("/segment", json={"image": data_url(blank(4, 4)), "query": "red"})
        ready, health = await client.get("/ready"), await client.get("/health")
    assert (reply.status_code, reply.json()["error"]["code"]) == (502, "backend_unavailable")
    assert ready.status_code == 503
    assert "illegal memory access" in ready.json()["backends"]["sam3"]["reason"]
    assert health.status_code == 200


async def test_calls_wait_for_each_other_and_health_does_not_wait(make: Make) -> None:
    image, _ = _wedge()
    going, begun = threading.Event(), threading.Event()

    def before(_: object) -> None:
        begun.set()
        going.wait(30)

    running = make("segment", ColourDetector(before=before), max_queue=1)
    async with running.client as client:
        args = {"image": data_url(image), "query": "red"}
        calls = [asyncio.ensure_future(client.post("/segment", json=args)) for _ in range(4)]
        await asyncio.to_thread(begun.wait, 30)
        assert (await client.get("/health")).status_code == 200
        done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        refused = done.pop().result()
        assert refused.status_code == 503, "two have a seat, one waits, the fourth is one too many"
        assert refused.headers["retry-after"]
        going.set()
        replies = [await call for call in calls]
    assert sorted(reply.status_code for reply in replies) == [200, 200, 200, 503]


async def test_a_drained_server_takes_no_calls(make: Make) -> None:
    running = make("segment", ColourDetector())
    async with running.client as client:
        await running.server.drain()
        reply = await client.post("/segment", json={"image": data_url(blank(4, 4)), "query": "red"})
        assert reply.status_code == 503
        assert reply.headers["retry-after"]
        assert (await client.get("/ready")).status_code == 503


# ---- from a model's numbers to detections ----------------------------------------------------------------------------


def _found(boxes: list[list[float]], masks: list[np.ndarray] | None = None) -> Found:
    scores = np.linspace(0.2, 0.9, len(boxes), dtype=np.float32)
    return Found(boxes_xyxy_px=np.array(boxes, np.float32).reshape(-1, 4), scores=scores, masks=masks)


def test_the_best_comes_first_with_its_own_mask() -> None:
    first, second = np.zeros((10, 20), bool), np.zeros((10, 20), bool)
    first[:5, :5], second[5:, 10:] = True, True
    found = detections_of(_found([[0, 0, 5, 5], [10, 5, 20, 10]], [first, second]), (10, 20), (10, 20), "sam3")
    assert found.scores.tolist() == pytest.approx([0.9, 0.2])
    assert found.masks is not None
    assert (decode_mask(found.masks[0]) == second).all()


def test_boxes_are_cut_at_the_border_and_put_in_order() -> None:
    found = detections_of(_found([[-5, 3, 30, 12], [9, 8, 2, 1]]), (10, 20), (10, 20), "dino")
    assert found.boxes_xyxy_px.tolist() == [[2, 1, 9, 8], [0, 3, 20, 10]]


def test_a_mask_that_contradicts_its_box_is_believed() -> None:
    mask = np.zeros((10, 20), bool)
    mask[1:9, 12:18] = True
    found = detections_of(_found([[0, 0, 4, 4]], [mask]), (10, 20), (10, 20), "sam3")
    assert found.boxes_xyxy_px.tolist() == [[12, 1, 18, 9]]
    nearly = detections_of(_found([[12.5, 1.5, 18, 9]], [mask]), (10, 20), (10, 20), "sam3")
    assert nearly.boxes_xyxy_px.tolist() == [[12.5, 1.5, 18, 9]], "where they agree, the box stays as the model gave it"


def test_an_empty_mask_and_no_objects_are_fine() -> None:
    empty = detections_of(_found([[0, 0, 4, 4]], [np.zeros((10, 20), bool)]), (10, 20), (10, 20), "sam3")
    assert len(empty) == 1
    nothing = detections_of(_found([], []), (10, 20), (10, 20), "sam3")
    assert len(nothing) == 0
    assert nothing.masks == ()


def test_numbers_that_are_none_fail_the_call_by_name() -> None:
    with pytest.raises(ToolExecutionError, match=r"sam3: .*no finite numbers"):
        detections_of(_found([[0, 0, float("nan"), 4]]), (10, 20), (10, 20), "sam3")
