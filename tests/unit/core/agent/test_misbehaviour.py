"""Whatever a model adapter or a tool raises or returns after the first request: there is a report, and it can be written."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import attrs
import hypothesis
import pytest
from hypothesis import strategies as st

from openvlharness_core.agent.report import Report
from openvlharness_core.agent.runner import MainAgent
from openvlharness_core.agent.steps import ToolStep
from openvlharness_core.calls import Findings, NewBinding, NewImage, NewPage
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.errors import (
    BackendError,
    BackendTimeoutError,
    BackendUnavailableError,
    CapabilityUnavailableError,
    ContextLengthError,
    FetchError,
    HarnessError,
    MalformedResultError,
    ModelError,
    ModelUnavailableError,
    ToolExecutionError,
    ToolFailure,
    UnreadableImageError,
    UnsupportedQueryError,
)
from openvlharness_core.messages import ImagePart, ModelReply, ModelRequest, TextPart, VirtualCall
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing import calling, saying
from openvlharness_core.usage import Spent
from tests.unit.core.agents import QUESTION, Own, agent, model_of, notes_of
from tests.unit.core.kit import breaches, picture

ANSWER = saying("<answer>4</answer>")
NAN = float("nan")
DEEP: dict[str, object] = {}
for _ in range(2000):
    DEEP = {"a": DEEP}
CIRCLE: list[object] = []
CIRCLE += [CIRCLE]


async def ask_with(own: Own) -> tuple[MainAgent, Report, ToolStep]:
    """Call the tool once, then answer."""
    made = agent([calling("Own_Tool"), ANSWER], own)
    report = await made.answer(QUESTION)
    assert report.answer == "4"
    json.dumps(report.to_dict(), ensure_ascii=False, allow_nan=False).encode()
    for request in model_of(made).requests:
        assert breaches(request.messages) == []
    return made, report, next(step for step in report.steps if isinstance(step, ToolStep))


def raising(error: BaseException) -> Own:
    async def does(arguments: Mapping[str, object], hands: Hands) -> Findings:
        raise error

    return Own(does=does)


def returning(value: object) -> Own:
    async def does(arguments: Mapping[str, object], hands: Hands) -> Any:
        return value

    return Own(does=does)


def loose(kind: Any, *args: Any, **fields: Any) -> Any:
    """A value whose fields are not what their types promise."""
    return kind(*args, **fields)


class Unprintable(HarnessError):
    def __str__(self) -> str:
        raise ValueError("not even its own text")


class OddCode(BackendError):
    code = "no_such_code"  # type: ignore[assignment]


SPENT = (Spent(role="auxiliary", usage={"total_tokens": 3.0}),)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ToolFailure("unsupported_query", "say it otherwise"), "unsupported_query", "say it otherwise"),
        (BackendUnavailableError("own", "down"), "backend_unavailable", "own: down"),
        (BackendTimeoutError("own", "slow"), "backend_timeout", "own: slow"),
        (UnsupportedQueryError("own", "no"), "unsupported_query", "own: no"),
        (CapabilityUnavailableError("own", "no"), "capability_unavailable", "own: no"),
        (ToolExecutionError("own", "broke"), "tool_execution_error", "own: broke"),
        (MalformedResultError("boxes", "four numbers"), "malformed_result", "boxes: expected four numbers"),
        (FetchError("https://x", "gone"), "backend_unavailable", "https://x: gone"),
        (UnreadableImageError("truncated"), "tool_execution_error", "truncated"),
        (ModelUnavailableError("timeout", "no answer"), "tool_execution_error", "no answer"),
        (HarnessError("plain"), "tool_execution_error", "plain"),
        (HarnessError("\ud83d"), "tool_execution_error", "\ufffd"),
        (OddCode("own", "odd"), "tool_execution_error", "own: odd"),
        (loose(ToolFailure, "cancelled", 5), "cancelled", "5"),
    ],
)
async def test_an_error_of_a_tool_is_told_under_its_code(error: HarnessError, code: str, message: str) -> None:
    made, report, step = await ask_with(raising(error))
    assert step.result.failure is not None
    assert (step.result.failure.code, step.result.failure.message) == (code, message)
    assert notes_of(made, "tool_bug") == []
    assert len(report.images) == 1


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"),
        RuntimeError("secret"),
        AssertionError("also"),
        TimeoutError(),
        RecursionError(),
        MemoryError(),
        StopAsyncIteration(),
        NotImplementedError(),
        SystemExit(2),
        asyncio.CancelledError(),
        Unprintable(),
        UnicodeEncodeError("utf-8", "\ud83d", 0, 1, "surrogates not allowed"),
        ExceptionGroup("several", [ValueError("a"), KeyError("b")]),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_bug_of_a_tool_is_a_failed_call_with_its_traceback_traced(error: BaseException) -> None:
    made, report, step = await ask_with(raising(error))
    assert step.result.failure is not None
    assert step.result.failure.code == "tool_execution_error"
    assert step.result.failure.message.startswith("Own_Tool failed with ")
    (traced,) = notes_of(made, "tool_bug")
    assert "Traceback" in traced
    assert "secret" not in json.dumps(report.to_dict())


@pytest.mark.parametrize("value", [None, 3, "text", {}, {"data": {}}, [], b"x", object(), Findings])
async def test_what_is_no_findings_is_a_failed_call(value: object) -> None:
    made, _, step = await ask_with(returning(value))
    assert step.result.failure is not None
    assert step.result.failure.code == "tool_execution_error"
    assert len(notes_of(made, "tool_bug")) == 1


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"data": None}, "data: expected an object, got NoneType"),
        ({"data": []}, "data: expected an object, got list"),
        ({"data": {"a": NAN}}, "data.a: expected a finite number"),
        ({"data": {"a": {1, 2}}}, "data.a: expected text, number, list, object or null, got set"),
        ({"data": {"a": object()}}, "data.a: expected"),
        ({"data": {1: 2}}, "data: expected text keys, got int"),
        ({"data": {"a": CIRCLE}}, "data: expected at most"),
        ({"data": {}, "envelope": {"a": b"x"}}, "envelope.a: expected"),
        ({"data": {}, "sidecars": {"a": NAN}}, "sidecars.a: expected"),
        ({"data": {}, "backend": 5 + 2j}, "backend: expected"),
        ({"data": {}, "bindings": (NewBinding(stem="a b", fields={}),)}, "binding name: expected"),
        ({"data": {}, "bindings": (NewBinding(stem="a", fields={"x": NAN}),)}, "a.x: expected"),
        ({"data": {}, "images": (NewImage(picture=picture("x"), parents=("nobody",)),)}, "images.parents: expected"),
    ],
)
async def test_findings_that_cannot_be_kept_are_malformed_and_register_nothing(
    fields: dict[str, Any], said: str
) -> None:
    images = fields.pop("images", (NewImage(picture=picture("ok")),))
    findings = Findings(images=images, **{"pages": (NewPage(url="https://x"),)} | fields)
    made, report, step = await ask_with(returning(findings))
    assert step.result.failure is not None
    assert step.result.failure.code == "malformed_result"
    assert step.result.failure.message.startswith(said)
    assert (len(report.images), report.bindings, report.pages) == (1, (), ())
    assert notes_of(made, "tool_bug") == []


@pytest.mark.parametrize(
    "fields",
    [
        {"images": (None,)},
        {"images": 5},
        {"images": (loose(NewImage, picture=None),)},
        {"bindings": (3,)},
        {"pages": (None,)},
        {"images": (loose(NewImage, picture=picture("x"), parents=None),)},
    ],
)
async def test_artifacts_that_are_none_are_a_bug_and_register_nothing(fields: dict[str, Any]) -> None:
    _, report, step = await ask_with(returning(Findings(data={}, **fields)))
    assert not step.result.ok
    assert (len(report.images), report.bindings, report.pages) == (1, (), ())


@pytest.mark.parametrize(
    "shown",
    [
        None, 3, "text", ("text",), [None], (loose(TextPart, text=5),), (ImagePart(handle="x"),), ({"type": "text", "text": "x"},),
    ],
)  # fmt: skip
async def test_evidence_that_is_none_fails_the_call_and_registers_nothing(shown: object) -> None:
    own = attrs.evolve(returning(Findings(data={}, images=(NewImage(picture=picture("ok")),))), shows=lambda *_: shown)
    made, report, step = await ask_with(own)
    assert step.result.failure is not None
    assert step.result.failure.code == "tool_execution_error"
    assert len(notes_of(made, "tool_bug")) == 1
    assert len(report.images) == 1


async def test_a_bug_in_evidence_fails_the_call_and_registers_nothing() -> None:
    def shows(*_: object) -> Any:
        raise IndexError("mine")

    own = attrs.evolve(
        returning(Findings(data={}, images=(NewImage(picture=picture("ok")),), usage=SPENT)), shows=shows
    )
    made, report, step = await ask_with(own)
    assert "IndexError: mine" in notes_of(made, "tool_bug")[0]
    assert not step.result.ok
    assert len(report.images) == 1


async def test_evidence_may_be_a_list_or_nothing() -> None:
    for shown in ([TextPart(text="seen")], []):
        own = attrs.evolve(returning(Findings(data={})), shows=lambda *_, shown=shown: shown)
        _, _, step = await ask_with(own)
        assert step.result.ok
        assert step.result.evidence == tuple(shown)


@pytest.mark.parametrize(
    ("usage", "total"),
    [
        (SPENT, {"total_tokens": 3.0}),
        (None, {}),
        (5, {}),
        ((None, *SPENT), {"total_tokens": 3.0}),
        ((loose(Spent, role=None, model=3, usage=None),), {}),
        ((loose(Spent, role="x", usage={"a": NAN, "b": True, "c": "1", "d": {"e": 2}}),), {"d.e": 2}),
    ],
)
@pytest.mark.parametrize("fails", [False, True])
async def test_usage_counts_as_far_as_it_adds_up(usage: Any, total: dict[str, float], fails: bool) -> None:
    own = (
        raising(ToolFailure("tool_execution_error", "x", usage=usage))
        if fails
        else returning(Findings(data={}, usage=usage))
    )
    _, report, step = await ask_with(own)
    assert step.result.ok is not fails
    assert report.usage["total"] == total


async def test_a_picture_in_a_format_that_no_report_holds_is_refused() -> None:
    odd = attrs.evolve(picture("x"), sent=EncodedImage(data=b"x", media_type="image/tiff", size_hw=(1, 1)))
    _, _, step = await ask_with(returning(Findings(data={}, images=(NewImage(picture=odd),))))
    assert step.result.failure is not None
    assert step.result.failure.code == "malformed_result"


# --- the model -----------------------------------------------------------------------------------------------------


def _reply(**fields: Any) -> ModelReply:
    return ModelReply(**fields)


BAD_REPLIES: list[tuple[Any, str]] = [
    (None, "reply: expected a ModelReply, got NoneType"),
    ("four", "reply: expected a ModelReply, got str"),
    ({"text": "four"}, "reply: expected a ModelReply, got dict"),
    (ModelReply, "reply: expected a ModelReply, got type"),
    (_reply(text=5), "reply.text: expected a text or None, got int"),
    (_reply(text=b"x"), "reply.text: expected a text or None, got bytes"),
    (_reply(reasoning=[]), "reply.reasoning: expected"),
    (_reply(finish_reason=1), "reply.finish_reason: expected"),
    (_reply(model=1), "reply.model: expected"),
    (_reply(native={}), "reply.native: expected"),
    (_reply(calls=None), "reply.calls: expected a tuple, got NoneType"),
    (_reply(calls="x"), "reply.calls: expected a tuple, got str"),
    (_reply(calls=({"name": "x"},)), "reply.calls: expected VirtualCalls, got dict"),
    (_reply(calls=(loose(VirtualCall, id=None, tool="x", arguments="{}"),)), "reply.calls.id: expected a text"),
    (_reply(calls=(loose(VirtualCall, id="", tool=None, arguments="{}"),)), "reply.calls.tool: expected a text"),
    (
        _reply(calls=(loose(VirtualCall, id="", tool="x", arguments={}),)),
        "reply.calls.arguments: expected a text, got dict",
    ),
]


@attrs.define
class AnyModel:
    """Returns or raises whatever it holds, then answers."""

    odd: list[Any]
    requests: list[ModelRequest] = attrs.field(factory=list)

    async def complete(self, request: ModelRequest) -> Any:
        self.requests.append(request)
        if not self.odd:
            return ANSWER
        each = self.odd.pop(0)
        if isinstance(each, BaseException):
            raise each
        return each


@pytest.mark.parametrize(("reply", "said"), BAD_REPLIES)
async def test_what_is_no_reply_ends_the_question_with_a_report(reply: Any, said: str) -> None:
    report = await agent(AnyModel([calling("Own_Tool"), reply]), Own()).answer(QUESTION)
    assert report.stop_reason == "model_failed"
    assert report.error is not None
    assert (report.error.code, report.error.message[: len(said)]) == ("not_a_reply", said)
    assert any(isinstance(step, ToolStep) for step in report.steps), "the partial trajectory"


@pytest.mark.parametrize("usage", [None, 5, {"a": NAN, "b": None, "c": {"d": 1}, "e": True, "f": 10**400, "g": 1e308}])
async def test_usage_of_any_kind_does_not_spoil_the_report(usage: Any) -> None:
    report = await agent(AnyModel([_reply(text="4", usage=usage)])).answer(QUESTION)
    assert report.answer == "4"
    assert report.to_dict()["usage"]["total"] == ({"c.d": 1} if isinstance(usage, dict) else {})


@pytest.mark.parametrize(
    ("extras", "kept"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ("", "{}"),
        ("[]", "{}"),
        ("{", "{}"),
        (None, "{}"),
        ({"a": 1}, "{}"),
        ('{"a": NaN}', "{}"),
        ("[" * 9999, "{}"),
    ],
)
async def test_extras_that_cannot_be_sent_back_are_dropped(extras: Any, kept: str) -> None:
    model = AnyModel([_reply(text="hm", calls=(VirtualCall(id="a", tool="Own_Tool", arguments="{}"),), extras=extras)])
    await agent(model, Own()).answer(QUESTION)
    assert model.requests[1].messages[-3].extras == kept  # type: ignore[union-attr]


async def test_a_list_of_calls_will_do() -> None:
    model = AnyModel([_reply(calls=[VirtualCall(id="a", tool="Own_Tool", arguments="{}")])])
    assert (await agent(model, Own()).answer(QUESTION)).answer == "4"


@pytest.mark.parametrize(
    "error",
    [loose(ModelError, 401, ValueError("x")), loose(ContextLengthError, None, None), ModelError("a\ud83d", "b\ud83d")],
)
async def test_a_model_error_with_odd_fields_is_reported(error: ModelError) -> None:
    report = await agent(AnyModel([error])).answer(QUESTION)
    json.dumps(report.to_dict(), ensure_ascii=False).encode()


# --- a zoo of both -------------------------------------------------------------------------------------------------

odd_values = st.sampled_from(
    [
        None,
        True,
        0,
        {"a": 10**400},
        DEEP,
        -1,
        10**400,
        NAN,
        "",
        "\ud83d",
        "x",
        b"x",
        [],
        [None],
        (),
        {},
        {"a": NAN},
        {1: 2},
        {"a": [b"x"]},
        object(),
        CIRCLE,
    ]
)
odd_errors = st.sampled_from(
    [
        ValueError("x"), KeyError(), TimeoutError(), SystemExit(1), asyncio.CancelledError(), RecursionError(), OSError(5, "x"), HarnessError(),
        Unprintable(), OddCode("a", "b"), ToolFailure("cancelled", "x"), loose(ToolFailure, "unknown_tool", None), MalformedResultError("a", "b"),
        ModelUnavailableError("a", "b"), ContextLengthError("a", "b"), loose(ModelError, None, None), loose(BackendTimeoutError, "a", "\ud83d", usage=None),
    ]
)  # fmt: skip
odd_calls = st.builds(
    VirtualCall,
    id=st.sampled_from(["", "a", "\ud83d"]) | odd_values,
    tool=st.sampled_from(["Own_Tool", "Own_Tool", "Zoom_In_Tool", "OCR_Tool", "no such"]) | odd_values,
    arguments=st.sampled_from(
        [
            "{}",
            '{"image_id": "input_image_1"}',
            '{"image_id": "input_image_1", "coords": [0, 0, 9, "9"]}',
            "{",
            '{"a": 1e999}',
            '{"a":' * 900,
        ]
    ),
    truncated=st.booleans(),
)
odd_replies = (
    st.builds(
        ModelReply,
        text=st.sampled_from([None, "", "hm", "\ud83d"]) | odd_values,
        calls=st.tuples(odd_calls) | st.lists(odd_calls, max_size=3).map(tuple) | odd_values,
        reasoning=odd_values,
        finish_reason=st.none() | odd_values,
        usage=odd_values,
        extras=st.just("{}") | odd_values,
    )
    | odd_values
    | st.just(calling("Own_Tool"))
)
odd_findings = (
    st.builds(
        Findings,
        data=st.just({}) | odd_values,
        images=st.just(()) | st.just((NewImage(picture=picture("z")),)) | odd_values,
        bindings=st.just(()) | st.just((NewBinding(stem="z", fields={"n": 1}),)) | odd_values,
        pages=st.just(()) | odd_values,
        backend=st.none() | odd_values,
        envelope=st.none() | odd_values,
        sidecars=st.just({}) | odd_values,
        usage=st.just(SPENT) | odd_values,
    )
    | odd_values
)


@hypothesis.settings(max_examples=100)
@hypothesis.given(
    said=st.lists(odd_replies | odd_errors, max_size=4),
    found=st.lists(odd_findings | odd_errors, min_size=4, max_size=4),
    shown=st.just((TextPart(text="x"),)) | odd_values | odd_errors,
)
def test_there_is_always_a_report_and_it_can_be_written(said: list[Any], found: list[Any], shown: Any) -> None:
    left = list(found)

    async def does(arguments: Mapping[str, object], hands: Hands) -> Any:
        each = left.pop(0)
        if isinstance(each, BaseException):
            raise each
        return each

    def shows(*_: object) -> Any:
        if isinstance(shown, BaseException):
            raise shown
        return shown

    model = AnyModel([calling("Own_Tool"), *said])
    own = Own(does=does, shows=shows)
    report = asyncio.run(agent(model, own, rules={"max_iterations": 6}).answer(QUESTION))
    assert report.stop_reason in ("answered", "no_answer", "model_failed", "context_exceeded", "budget_spent")
    json.dumps(report.to_dict(), ensure_ascii=False, allow_nan=False).encode()
    for request in model.requests:
        assert breaches(request.messages) == []
