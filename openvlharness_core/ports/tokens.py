"""Counting the tokens of a conversation before it is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from openvlharness_core.messages import Message, ToolSpec


class TokenCounter(Protocol):
    """Counts with the model's own tokenizer and picture rules; called by the runner where the profile counts."""

    def count(self, segments: Sequence[tuple[Message, ...]], tools: Sequence[ToolSpec]) -> tuple[int, ...]:
        """Tokens of each segment of messages, in order, then of the tools and the framing around all of them.

        A plain call: the runner puts it through `Offload`. The same segment always counts the same.
        """
        ...
