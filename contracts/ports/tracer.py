"""What every Tracer promises.

Subclass `TracerContract` in a test module as `Test…` and supply a fixture `tracer`. The tests are coroutines, for
pytest-asyncio or a runner of your own.
"""

from __future__ import annotations

import attrs
import pytest

from openvlharness_core.agent.protocol import CallFinished, Effect, Event, Finish, ModelReplied, Started
from openvlharness_core.ports.tracer import Tracer

from .sample_question import sample_run


@attrs.define
class _Watched:
    """Hands everything on, and keeps it with what came back."""

    tracer: Tracer
    told: list[Event | Effect | tuple[str, str]] = attrs.field(factory=list, init=False)
    returned: list[object] = attrs.field(factory=list, init=False)

    def event(self, question_id: str, event: Event) -> None:
        self.told.append(event)
        self.returned.append(_result(self.tracer.event, question_id, event))

    def effect(self, question_id: str, effect: Effect) -> None:
        self.told.append(effect)
        self.returned.append(_result(self.tracer.effect, question_id, effect))

    def note(self, question_id: str, kind: str, text: str) -> None:
        self.told.append((kind, text))
        self.returned.append(_result(self.tracer.note, question_id, kind, text))


def _result(method: object, *arguments: object) -> object:
    assert callable(method)
    return method(*arguments)


class TracerContract:
    """See the module."""

    async def test_a_whole_question_is_taken_and_nothing_comes_back(self, tracer: Tracer) -> None:
        watched = _Watched(tracer)
        report = await sample_run(tracer=watched)
        kinds = {type(each) for each in watched.told}
        assert {Started, ModelReplied, CallFinished, Finish, tuple} <= kinds
        assert watched.returned == [None] * len(watched.told)
        assert report == await sample_run(), "whoever watches changes nothing"

    async def test_questions_may_come_mixed(self, tracer: Tracer) -> None:
        watched = _Watched(tracer)
        await sample_run(tracer=watched)
        events = [each for each in watched.told if isinstance(each, Started | ModelReplied | CallFinished)]
        for event in events:
            for question_id in ("a", "b"):
                assert _result(tracer.event, question_id, event) is None

    @pytest.mark.parametrize("kind", ["retry_wait", "type_corrected", "tool_bug", "a kind of its own", ""])
    @pytest.mark.parametrize(
        "text",
        ["", "one", "two\nlines\n", "a tab\tand a bell\a", "🙂 é", "half a letter: \ud83d", "x" * 100_000],
        ids=["empty", "word", "lines", "control", "beyond ascii", "surrogate", "long"],
    )
    async def test_a_note_may_come_at_any_time_and_say_anything(self, tracer: Tracer, kind: str, text: str) -> None:
        """The adapters have no question's id, and tell of their waits under an empty one."""
        for question_id in ("", "7f3a"):
            assert _result(tracer.note, question_id, kind, text) is None
