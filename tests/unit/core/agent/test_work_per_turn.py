"""A later turn costs no more than an earlier one: old messages are the very same values, and nothing is made twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from openvlharness_core import pictures
from openvlharness_core.agent import conversation, engine
from openvlharness_core.agent.turns import mend_reply
from openvlharness_core.capabilities.toolset import Toolset
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from openvlharness_core.testing import FakeCodec, FakeZoom, WordCounter, calling, saying
from tests.unit.core.agents import QUESTION, agent, model_of
from tests.unit.core.kit import Talk, rules

TURNS = 40


def counting(call: Callable[..., Any], calls: list[Any]) -> Callable[..., Any]:
    """`call`, with its arguments kept in `calls`."""

    def counted(*args: Any) -> Any:
        calls.append(args)
        return call(*args)

    return counted


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[type]]:
    """The type of every message that is made."""
    seen: list[type] = []
    for kind in (SystemMessage, UserMessage, AssistantMessage, ToolMessage):
        init = kind.__init__

        def counting(self: object, *args: object, init: object = init, **kwargs: object) -> None:
            seen.append(type(self))
            init(self, *args, **kwargs)  # type: ignore[operator]

        monkeypatch.setattr(kind, "__init__", counting)
    return seen  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("fields", "each"),
    [
        ({}, 3),  # reply, result, update
        ({"count_tokens": True, "max_context_length": 10**6}, 3 + 2),  # and the two shorter results, to be counted
    ],
)
def test_a_turn_makes_as_many_messages_as_the_first(made: list[type], fields: dict[str, object], each: int) -> None:
    talk = Talk(rules(max_iterations=TURNS + 2, **fields)).start()
    for number in range(TURNS):
        before = len(made)
        talk.calls().finds(str(number))
        assert len(made) - before == each


def test_old_messages_are_the_very_same_values() -> None:
    talk = Talk(rules(max_iterations=TURNS + 2)).start()
    for number in range(TURNS):
        talk.calls().finds(str(number))
        before, now = talk.requests[-2].messages, talk.messages
        assert all(new is old for new, old in zip(now, before, strict=False))


def test_after_a_compaction_what_did_not_change_is_the_very_same() -> None:
    policy = rules(max_iterations=TURNS + 2, count_tokens=True, max_context_length=6000)
    talk = Talk(policy).start()
    for number in range(TURNS):
        talk.calls().finds(str(number), text="evidence " * 30)
    known: set[int] = set()
    fresh = []
    for request in talk.requests:
        new = [message for message in request.messages if id(message) not in known]
        known |= {id(message) for message in new}
        fresh.append(len(new))
    # three a turn, and each old turn's result once more for each of the two forms that it takes
    assert sum(fresh) <= 3 + TURNS * (3 + 2)


def test_forms_are_made_of_new_turns_only(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    form_of = conversation.form_of
    for module in ("state", "conversation"):
        monkeypatch.setattr(f"openvlharness_core.agent.{module}.form_of", counting(form_of, calls))
    talk = Talk(rules(max_iterations=TURNS + 2, count_tokens=True, max_context_length=10**6)).start()
    for number in range(TURNS):
        before = len(calls)
        talk.calls().finds(str(number))
        assert len(calls) - before == 3


def test_a_reply_is_mended_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(engine, "mend_reply", counting(mend_reply, calls))
    talk = Talk(rules(max_iterations=TURNS + 2)).start()
    for number in range(TURNS):
        talk.calls().finds(str(number))
    assert len(calls) == TURNS


def test_each_picture_is_hashed_and_taken_in_once(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[Any] = []
    digest_of = pictures.digest_of
    for module in ("openvlharness_core.pictures", "openvlharness_core.testing.images"):
        monkeypatch.setattr(f"{module}.digest_of", counting(digest_of, hashed))
    codec, counter = FakeCodec(), WordCounter()
    crops = [
        calling("Zoom_In_Tool", {"image_id": "input_image_1", "coords": [0, 0, 500, 100 + 20 * n]})
        for n in range(TURNS)
    ]
    zoom = Toolset([ZoomCapability(backend=FakeZoom(codec))])
    made = agent(
        [*crops, saying("<answer>4</answer>")],
        rules={"max_iterations": TURNS + 2, "count_tokens": True, "max_context_length": 10**6},
        codec=codec,
        toolset=zoom,
        token_counter=counter,
    )
    report = asyncio.run(made.answer(QUESTION))
    assert report.answer == "4"
    assert len(model_of(made).requests) == TURNS + 1
    assert codec.taken_in == 1 + TURNS
    assert len(hashed) <= 2 + TURNS, "once when taken in; the source's also names the fake crops"
    assert counter.counted == 1 + 4 * TURNS
