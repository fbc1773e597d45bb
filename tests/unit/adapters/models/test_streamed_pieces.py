"""What comes in pieces over the chunks of a stream is one value at its end, and what is repeated is not doubled."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openvlharness_core.messages import ModelReply
from tests.support.protocols import CHAT, RESPONSES


def _chat(*deltas: dict[str, Any]) -> ModelReply:
    chunks: list[object] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return CHAT.read(CHAT.gathered([*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, None]))


def _extra(*pieces: object) -> object:
    extras = json.loads(_chat({"content": "x"}, *({"further": piece} for piece in pieces)).extras)
    return extras.get("further")


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        ([[{"t": "x"}], [{"t": "y"}]], [{"t": "x"}, {"t": "y"}]),
        ([[1], [], [2, 3]], [1, 2, 3]),
        (["sig", "na", "na"], "signana"),
        ([{"id": "a", "data": "he"}, {"data": "llo", "id": None}], {"id": "a", "data": "hello"}),
        ([{"a": {"b": [1]}, "c": 1}, {"a": {"b": [2]}, "c": 2}], {"a": {"b": [1, 2]}, "c": 2}),
        ([["same"], ["same"]], ["same"]),
        (["same", "same", "same"], "same"),
        ([1, 2], 2),
        (["text", 2], 2),
        ([["one"], None], ["one"]),
        ([{"a": 1}, "b"], "b"),
    ],
)
def test_further_fields(pieces: list[object], whole: object) -> None:
    assert _extra(*pieces) == whole


def test_the_details_of_reasoning_are_all_kept() -> None:
    first, second = ({"type": "reasoning.text", "text": text, "index": 0} for text in ("so ", "it is"))
    reply = _chat({"content": "x", "reasoning_details": [first]}, {"reasoning_details": [second]})
    assert json.loads(reply.extras) == {"reasoning_details": [first, second]}


def test_pieces_too_deep_to_look_at_cost_themselves_only() -> None:
    deep: object = "x"
    for _ in range(900):
        deep = [deep]
    reply = _chat({"content": "x", "further": deep}, {"further": [deep]}, {"other": "y"})
    assert (reply.text, json.loads(reply.extras)) == ("x", {"other": "y"})


def _call(name: str | None, arguments: str | None = None, call_id: str | None = None) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {"tool_calls": [{"index": 0, "function": function} | ({"id": call_id} if call_id else {})]}


@pytest.mark.parametrize(
    "names",
    [
        ["Zoom_In"],
        ["Zoom_", "In"],
        ["Z", "oom", "_", "In"],
        ["Zoom_In", "Zoom_In", "Zoom_In"],
        ["Zoom_", "Zoom_In"],
        ["Zoom_In", "", None],
        ["", "Zoom_", "", "In", "Zoom_In"],
    ],
)
def test_a_name_in_pieces_and_a_name_that_is_repeated(names: list[str | None]) -> None:
    deltas = [_call(name, call_id="c" if number == 0 else None) for number, name in enumerate(names)]
    (call,) = _chat(*deltas, _call(None, '{"a":'), _call(None, "1}")).calls
    assert (call.id, call.tool, call.arguments) == ("c", "Zoom_In", '{"a":1}')


@pytest.mark.parametrize("later", ["Zoom_In", "", "Other"])
def test_a_name_beside_later_arguments_adds_nothing(later: str) -> None:
    (call,) = _chat(_call("Zoom_In", '{"a":', "c"), _call(later, "1}")).calls
    assert (call.tool, call.arguments) == ("Zoom_In", '{"a":1}')


# Items of a response whose ids change


def _made(item_id: str, call_id: str, arguments: str = "") -> dict[str, Any]:
    return {"type": "function_call", "id": item_id, "call_id": call_id, "name": "zoom", "arguments": arguments}


def _event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **fields}


def _response(*events: dict[str, Any]) -> list[tuple[str, str, str]]:
    reply = RESPONSES.read(RESPONSES.gathered([*events, _event("completed", response={"status": "completed"})]))
    return [(call.id, call.tool, call.arguments) for call in reply.calls]


def _delta(item_id: str, piece: str, **fields: Any) -> dict[str, Any]:
    return _event("function_call_arguments.delta", item_id=item_id, delta=piece, **fields)


@pytest.mark.parametrize("done_id", ["fc1", "other", "third"])
@pytest.mark.parametrize("done", [False, True])
def test_a_call_named_otherwise_by_its_pieces_is_one(done_id: str, *, done: bool) -> None:
    events = [_event("output_item.added", item=_made("fc1", "c1")), _delta("other", '{"a":'), _delta("other", "1}")]
    if done:
        events.append(_event("output_item.done", item=_made(done_id, "c1", '{"a":1}')))
    assert _response(*events) == [("c1", "zoom", '{"a":1}')]


def test_a_call_finished_under_another_name_without_a_piece_is_one() -> None:
    events = [
        _event("output_item.added", item=_made("fc1", "c1")),
        _event("output_item.done", item=_made("other", "c1", "{}")),
    ]
    assert _response(*events) == [("c1", "zoom", "{}")]


def test_each_of_two_such_calls_keeps_its_pieces() -> None:
    events = []
    for number in (1, 2):
        events += [
            _event("output_item.added", item=_made(f"fc{number}", f"c{number}")),
            _delta(f"other{number}", f'{{"a":{number}}}'),
        ]
    assert _response(*events) == [("c1", "zoom", '{"a":1}'), ("c2", "zoom", '{"a":2}')]


def test_calls_that_were_never_announced_stay_apart() -> None:
    reply = RESPONSES.gathered(
        [_delta("f1", '{"a":1}'), _delta("f2", '{"a":2}'), _event("completed", response={"status": "completed"})]
    )
    assert [call.arguments for call in RESPONSES.read(reply).calls] == ['{"a":1}', '{"a":2}']


def test_a_finished_call_of_another_call_id_is_another() -> None:
    events = [
        _event("output_item.done", item=_made("f1", "c1", "{}")),
        _event("output_item.done", item=_made("f2", "c2", "{}")),
    ]
    assert [call_id for call_id, _, _ in _response(*events)] == ["c1", "c2"]
