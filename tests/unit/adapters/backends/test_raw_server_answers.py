"""What the backends of raw servers make of answers that break the wire, of servers that fail, and of those that hang."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest

from openvlharness_adapters.backends.openai_ocr import OpenAIOcrBackend, chat_result
from openvlharness_adapters.backends.raw_detection import GroundingDinoBackend, Sam3Backend
from openvlharness_adapters.backends.raw_scene import SceneCameraBackend, SceneDepthBackend
from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.router.calls import ServedTool
from openvlharness_adapters.router_client.posting import Poster
from openvlharness_adapters.router_client.raw import RawCaller
from openvlharness_adapters.runtime import SystemClock
from openvlharness_adapters.wire.arrays import array_to_wire
from openvlharness_core.errors import (
    BackendTimeoutError,
    BackendUnavailableError,
    HarnessError,
    MalformedResultError,
    ToolExecutionError,
    ToolFailure,
    UnreadableImageError,
    UnsupportedQueryError,
)
from openvlharness_core.masks import encode_mask
from openvlharness_core.testing.time import FakeClock, InlineOffload
from tests.support.chat_server import ChatServer, Hang, Reset, Respond
from tests.support.raw_servers import ColourDetector, blank, data_url, served
from tests.support.routing import app_over, client_of, desk_over

IMAGE = blank(20, 30)
_MASK = np.zeros((20, 30), bool)
_MASK[2:12, 4:10] = True
_MATRIX = [[30.0, 0, 15], [0, 30, 10], [0, 0, 1]]
_POSE = [[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]

# As our servers answered a picture of 20 rows and 30 columns.
SEGMENT: dict[str, Any] = {
    "pred_boxes": [[4.0, 2.0, 10.0, 12.0]],
    "pred_scores": [0.9],
    "pred_masks": [encode_mask(_MASK)],
    "num_masks": 1,
    "orig_img_h": 20,
    "orig_img_w": 30,
    "unnamed": None,
}
DETECT = {**SEGMENT, "pred_masks": None, "num_masks": None}
DEPTH: dict[str, Any] = {
    "depth": array_to_wire(np.linspace(1, 2, 24, dtype=np.float32).reshape(4, 6)),
    "size": [20, 30],
    "is_metric": True,
}
POSES: dict[str, Any] = {
    "intrinsics": [_MATRIX, _MATRIX],
    "extrinsics": [_POSE, _POSE],
    "sizes": [[20, 30], [20, 30]],
    "is_metric": False,
    "notes": [],
    "translation_known": [True, True],
}
CHAT: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "PaddlePaddle/PaddleOCR-VL-1.5",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Total 12.50"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 300, "completion_tokens": 4, "total_tokens": 304},
}

Ask = Callable[[RawCaller], Any]


async def _segment(caller: RawCaller) -> Any:
    return await Sam3Backend(caller=caller).ground(IMAGE, "pill", timeout_seconds=5.0)


async def _detect(caller: RawCaller) -> Any:
    return await GroundingDinoBackend(caller=caller, threshold=0.3).ground(IMAGE, "pill", timeout_seconds=5.0)


async def _depth(caller: RawCaller) -> Any:
    return await SceneDepthBackend(caller=caller, offload=InlineOffload()).estimate(IMAGE, timeout_seconds=5.0)


async def _poses(caller: RawCaller) -> Any:
    return await SceneCameraBackend(caller=caller).trace([IMAGE, IMAGE], timeout_seconds=5.0)


async def _chat(caller: RawCaller) -> Any:
    return await OpenAIOcrBackend(caller=caller).read(IMAGE, timeout_seconds=5.0)


KINDS: dict[str, tuple[Ask, dict[str, Any]]] = {
    "segment": (_segment, SEGMENT),
    "detect": (_detect, DETECT),
    "depth": (_depth, DEPTH),
    "poses": (_poses, POSES),
    "chat": (_chat, CHAT),
}


def _caller(kind: str, answer: Callable[[httpx.Request], httpx.Response]) -> RawCaller:
    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    more: dict[str, Any] = {"read": chat_result} if kind == "chat" else {}
    return RawCaller(
        poster=Poster(client=client, clock=FakeClock(), retry=0), url=f"http://server/{kind}", tool="it", **more
    )


async def _answered(kind: str, payload: object, status: int = 200) -> Any:
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return await KINDS[kind][0](_caller(kind, lambda request: httpx.Response(status, content=body)))


@pytest.mark.parametrize("kind", KINDS)
async def test_a_sound_answer_is_taken(kind: str) -> None:
    answered = await _answered(kind, KINDS[kind][1])
    assert answered.backend == "it"
    json.dumps(answered.envelope)
    match kind:
        case "segment":
            assert len(answered.value.masks) == 1
        case "detect":
            assert answered.value.masks is None
        case "depth":
            assert answered.value.values.shape == (20, 30)
        case "chat":
            assert answered.value.text == "Total 12.50"
            assert answered.sidecars["finish_reason"] == "stop"


def _other(payload: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """A copy in which one place holds another value; `...` takes the place out."""
    changed = copy.deepcopy(payload)
    *way, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    place: Any = changed
    for part in way:
        place = place[part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return changed


_ROWS = encode_mask(np.ascontiguousarray(_MASK.reshape(-1).reshape(30, 20)))  # the same pixels, read row by row
NAN, FLAT = float("nan"), array_to_wire(np.ones(24, np.float32))
BROKEN: list[tuple[str, str, object, str]] = [
    *[
        (kind, *row)
        for kind in ("segment", "detect")
        for row in (
            ("pred_boxes", ..., "pred_boxes"),
            ("pred_boxes", None, "pred_boxes"),
            ("pred_boxes", "x", "pred_boxes"),
            ("pred_boxes", [[4, 2, 10]], "pred_boxes"),
            ("pred_boxes", [[True, 2, 10, 12]], "pred_boxes"),
            ("pred_boxes", [[10, 2, 4, 12]], "pred_boxes"),
            ("pred_boxes", [[4, 2, 100, 12]], "pred_boxes"),
            ("pred_boxes", [[4, 2, "10", 12]], "pred_boxes"),
            ("pred_scores", ..., "pred_scores"),
            ("pred_scores", [0.9, 0.8], "pred_scores"),
            ("pred_scores", [1.5], "pred_scores"),
            ("pred_scores", [None], "pred_scores"),
            ("num_masks", 7, "num_masks"),
            ("num_masks", ..., "num_masks"),
            ("pred_masks", ..., "pred_masks"),
            ("orig_img_h", 0, "orig_img_h"),
            ("orig_img_h", "20", "orig_img_h"),
            ("orig_img_h", 21, "orig_img_h" if kind == "detect" else "pred_masks[0].size"),
            ("orig_img_w", ..., "orig_img_w"),
            ("unnamed", -1, "unnamed"),
        )
    ],
    ("segment", "pred_masks", [], "num_masks"),
    ("segment", "pred_masks", [None], "pred_masks[0]"),
    ("segment", "pred_masks", [{"size": [30, 20], "counts": _ROWS["counts"]}], "pred_masks[0].size"),
    ("segment", "pred_masks", [{"size": [20, 30], "counts": [1, 2]}], "pred_masks[0].counts"),
    ("segment", "pred_masks", [{"size": [20, 30], "counts": _ROWS["counts"]}], "pred_masks[0]"),
    ("depth", "depth", ..., "depth"),
    ("depth", "depth", [[1.0]], "depth"),
    ("depth", "depth", FLAT, "depth.shape"),
    ("depth", "depth", array_to_wire(np.full((4, 6), NAN, np.float32)), "depth"),
    ("depth", "depth", array_to_wire(np.full((4, 6), -1, np.float32)), "depth.values"),
    ("depth", "depth", array_to_wire(np.zeros((0, 6), np.float32)), "depth.shape"),
    ("depth", "depth/dtype", "float64", "depth.dtype"),
    ("depth", "depth/data", "AAAA", "depth.data"),
    ("depth", "depth/data", "?", "depth.data"),
    ("depth", "depth/shape", [4, -6], "depth.shape"),
    ("depth", "size", [30, 20], "size"),
    ("depth", "size", [20], "size"),
    ("depth", "size", ..., "size"),
    ("depth", "is_metric", 1, "is_metric"),
    ("depth", "is_metric", ..., "is_metric"),
    ("poses", "intrinsics", ..., "intrinsics"),
    ("poses", "intrinsics", [_MATRIX], "intrinsics"),
    ("poses", "intrinsics/0/2/0", 5, "intrinsics"),
    ("poses", "intrinsics/0/0/0", 0, "intrinsics"),
    ("poses", "extrinsics", [_POSE], "extrinsics"),
    ("poses", "extrinsics/0/0/0", 2.0, "extrinsics"),
    ("poses", "extrinsics/0/0/0", -1.0, "extrinsics"),
    ("poses", "extrinsics/0", [[1, 0], [0, 1]], "extrinsics"),
    ("poses", "sizes", [[20, 30], [30, 20]], "sizes"),
    ("poses", "sizes", None, "sizes"),
    ("poses", "is_metric", "no", "is_metric"),
    ("poses", "notes", [7], "notes[0]"),
    ("poses", "translation_known", [1, 1], "translation_known"),
    ("chat", "choices", ..., "choices"),
    ("chat", "choices", [], "choices"),
    ("chat", "choices/0", "x", "choices[0]"),
    ("chat", "choices/0/message", 7, "choices[0].message"),
    ("chat", "choices/0/message/content", 7, "choices[0].message.content"),
    ("chat", "choices/0/message/tool_calls", [{"function": {"name": "x"}}], "choices[0].message"),
    ("chat", "error", {"message": "no such model"}, "completion"),
]


@pytest.mark.parametrize(
    ("kind", "path", "value", "field"), BROKEN, ids=[f"{n}-{kind}-{path}" for n, (kind, path, *_) in enumerate(BROKEN)]
)
async def test_what_breaks_the_wire_is_named_by_its_field(kind: str, path: str, value: object, field: str) -> None:
    with pytest.raises(MalformedResultError) as caught:
        await _answered(kind, _other(KINDS[kind][1], path, value))
    assert caught.value.field.startswith(field)


def _places(value: object, path: str = "") -> list[str]:
    """Every place of a payload, outer ones too."""
    parts: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [place for name, inner in parts for place in _places(inner, f"{path}/{name}" if path else str(name))]
    return [path, *found] if path else found


@pytest.mark.parametrize("kind", KINDS)
async def test_any_value_at_any_place_is_taken_or_malformed(kind: str) -> None:
    """Never a KeyError, a TypeError or a result that breaks a rule of its value."""
    payload, malformed, mutations = KINDS[kind][1], 0, 0
    for path in _places(payload):
        for value in (..., None, True, -1, 0, 1e30, 2**70, "", "x\ud800", [], [[]], [None], {}, {"a": 1}):
            mutations += 1
            try:
                await _answered(kind, _other(payload, path, value))
            except MalformedResultError as error:
                malformed += bool(error.field)
    assert mutations > 40
    assert malformed > mutations / 6, "most places of a chat completion mean nothing here"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[1]", b'{"a', b"<html><body>Welcome</body></html>"],
    ids=["none", "null", "list", "cut", "page"],
)
async def test_a_200_that_is_no_answer_is_malformed(kind: str, body: bytes) -> None:
    with pytest.raises(MalformedResultError):
        await _answered(kind, body)


async def test_masks_where_there_are_none_and_none_where_there_are() -> None:
    with pytest.raises(MalformedResultError, match=r"pred_masks: expected a mask for each box, got null"):
        await _answered("segment", DETECT)
    with pytest.raises(MalformedResultError, match=r"pred_masks: expected null from a server of boxes"):
        await _answered("detect", SEGMENT)


FAILURES: list[tuple[int, dict[str, object], type[HarnessError]]] = [
    (507, {"code": "out_of_memory", "message": "out of memory: 2 GiB"}, ToolExecutionError),
    (422, {"code": "unsupported_query", "message": "at most 32 tokens"}, UnsupportedQueryError),
    (422, {"code": "invalid_tool_arguments", "message": "images: expected at most 32"}, ToolFailure),
    (504, {"code": "backend_timeout", "message": "no answer within 300 s"}, BackendTimeoutError),
    (502, {"code": "backend_unavailable", "message": "the device failed"}, BackendUnavailableError),
    (
        422,
        {
            "code": "invalid_tool_arguments",
            "message": "damaged image/png",
            "details": {"exception_type": "UnreadableImageError"},
        },
        UnreadableImageError,
    ),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("status", "error", "raised"), FAILURES, ids=[str(place) for place in range(len(FAILURES))])
async def test_a_servers_own_failure_is_the_error_that_it_means(
    kind: str, status: int, error: dict[str, object], raised: type[HarnessError]
) -> None:
    with pytest.raises(raised, match=str(error["message"])):
        await _answered(kind, {"error": error}, status)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [301, 400, 404, 413, 429, 500, 502, 503])
async def test_any_other_failure_is_an_unavailable_backend(kind: str, status: int) -> None:
    with pytest.raises(BackendUnavailableError, match=str(status)):
        await _answered(kind, b"<html>nginx</html>", status)


async def test_an_overloaded_gateway_is_tried_again_even_with_an_error_object() -> None:
    answers = [
        httpx.Response(429, json={"error": {"message": "slow down", "type": "rate", "code": "rate_limit"}}),
        httpx.Response(503, json={"error": {"message": "loading", "code": 503}}),
        httpx.Response(200, json=CHAT),
    ]
    client = httpx.AsyncClient(transport=httpx.MockTransport(lambda request: answers.pop(0)))
    poster = Poster(client=client, clock=FakeClock(), retry=2, share=lambda: 0.0)
    caller = RawCaller(poster=poster, url="http://server/v1/chat/completions", tool="ocr", read=chat_result)
    assert (await _chat(caller)).value.text == "Total 12.50"


async def test_what_is_sent() -> None:
    sent: list[dict[str, Any]] = []

    def answer(kind: str) -> Callable[[httpx.Request], httpx.Response]:
        def respond(request: httpx.Request) -> httpx.Response:
            sent.append(json.loads(request.content))
            return httpx.Response(200, json=KINDS[kind][1])

        return respond

    for kind, (ask, _) in KINDS.items():
        await ask(_caller(kind, answer(kind)))
    segment, detect, depth, poses, chat = sent
    assert set(segment) == {"image", "query"}, "no threshold leaves it to the server"
    assert detect["threshold"] == 0.3
    assert set(depth) == {"image"}
    assert len(poses["images"]) == 2
    assert depth["image"].startswith("data:image/png;base64,")
    assert chat["model"] == "PaddlePaddle/PaddleOCR-VL-1.5"
    assert chat["temperature"] == 0
    assert [part["type"] for part in chat["messages"][0]["content"]] == ["image_url", "text"]
    assert chat["messages"][0]["content"][1]["text"] == "OCR:"


async def test_through_the_router_out_of_memory_is_a_500_that_the_model_reads() -> None:
    def full(_: object) -> None:
        raise MemoryError("Unable to allocate 37 GiB")

    running = served("segment", ColourDetector(before=full))
    backend = Sam3Backend(caller=running.caller("/segment", "sam3_segment"))
    desk = desk_over(
        ServedTool(name="sam3_segment", capability="grounding", backend=backend, group="sam3"), codec=PillowCodec()
    )
    async with client_of(app_over(desk)) as client:
        args = {"image": data_url(IMAGE), "query": "red"}
        call = {"tool_name": "sam3_segment", "tool_call_id": "c", "args": args}
        reply = await client.post("/execute", json=call)
    running.server.close()
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (500, "tool_execution_error")
    assert "out of memory" in error["message"]


# ---- on sockets ------------------------------------------------------------------------------------------------------

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "step",
    [Hang(), Hang(_HEAD + b'{"pred'), Reset(), Reset(_HEAD + b'{"pred'), Respond(500, b"oops")],
    ids=["silent", "slow", "reset", "truncated", "500"],
)
async def test_servers_that_hang_break_off_or_fail(kind: str, step: Any) -> None:
    hangs = isinstance(step, Hang)
    async with ChatServer([step], strict=False) as server, open_client() as client:
        poster = Poster(client=client, clock=SystemClock(), retry=0, timeout_seconds=0.05 if hangs else 30.0)
        more: dict[str, Any] = {"read": chat_result} if kind == "chat" else {}
        url = f"{server.base_url.rstrip('/').removesuffix('/v1')}/v1/chat/completions"
        caller = RawCaller(poster=poster, url=url, tool="it", **more)
        with pytest.raises(BackendTimeoutError if hangs else BackendUnavailableError):
            await KINDS[kind][0](caller)
