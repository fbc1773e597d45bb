"""Calls and their answers stand together in whatever is sent."""

from __future__ import annotations

from collections.abc import Sequence

from openvlharness_core.messages import AssistantMessage, Message, ToolMessage


def check_pairs(messages: Sequence[Message]) -> None:
    """See that calls and their answers stand together, so that no service ever gets to see an orphan.

    Raises:
        ValueError: an assistant message whose calls are not answered right behind it, each once and in order. It is
            not one of the library's own errors: whoever built the conversation has a bug.
    """
    owed: tuple[str, ...] = ()
    for position, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if not owed or message.call_id != owed[0]:
                expected = f"an answer to call {owed[0]!r}" if owed else "no answer, since no call is open"
                raise ValueError(f"messages[{position}]: expected {expected}, got one to {message.call_id!r}")
            owed = owed[1:]
            continue
        if owed:
            raise ValueError(
                f"messages[{position}]: expected an answer to call {owed[0]!r}, got {type(message).__name__}"
            )
        if isinstance(message, AssistantMessage):
            owed = tuple(call.id for call in message.calls)
            if "" in owed or len(set(owed)) < len(owed):
                raise ValueError(f"messages[{position}].calls: expected ids that differ and are not empty, got {owed}")
    if owed:
        raise ValueError(f"messages[{len(messages)}]: expected an answer to call {owed[0]!r}, got the end")
