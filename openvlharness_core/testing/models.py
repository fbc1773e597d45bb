"""A fake model that follows a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

import attrs

from openvlharness_core.errors import ScriptError
from openvlharness_core.messages import ModelReply, ModelRequest, VirtualCall

Scripted = ModelReply | Exception | Callable[[ModelRequest], ModelReply]


def _listed(replies: Iterable[Scripted]) -> list[Scripted]:
    return list(replies)


@attrs.define
class ScriptedModel:
    """Answers with `replies` in order: a reply, an error to raise, or a function of the request.

    Fails on a request that was not scripted; `assert_spent` fails on a reply that was never asked for.
    """

    replies: list[Scripted] = attrs.field(converter=_listed)
    requests: list[ModelRequest] = attrs.field(factory=list, init=False)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The next scripted reply."""
        self.requests.append(request)
        if not self.replies:
            raise ScriptError(f"request {len(self.requests)} was not scripted")
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, ModelReply) else reply(request)

    def assert_spent(self) -> None:
        """Fail if replies are left."""
        assert not self.replies, f"{len(self.replies)} scripted replies were never asked for"


def saying(text: str | None, **fields: object) -> ModelReply:
    """A reply without a call."""
    return ModelReply(text=text, finish_reason="stop", **fields)  # type: ignore[arg-type]


def calling(tool: str, arguments: object = None, *, call_id: str = "", text: str | None = None) -> ModelReply:
    """A reply with one call; `arguments` is an object, or the raw argument text."""
    return calling_all([(tool, arguments, call_id)], text=text)


def calling_all(calls: Iterable[tuple[str, object, str]], *, text: str | None = None) -> ModelReply:
    """A reply with several calls: (tool, arguments, call id) each."""
    made = tuple(
        VirtualCall(id=call_id, tool=tool, arguments=raw if isinstance(raw, str) else json.dumps(raw or {}))
        for tool, raw, call_id in calls
    )
    return ModelReply(text=text, calls=made, finish_reason="tool_calls")
