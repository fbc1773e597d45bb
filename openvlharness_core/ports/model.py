"""A chat model with tools."""

from __future__ import annotations

from typing import Protocol

from openvlharness_core.messages import ModelReply, ModelRequest


class ChatModel(Protocol):
    """Whoever decides what to do next; called by the runner once a turn and by the code generator."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Answer a conversation.

        Messages are in order: calls of an assistant message are followed by one tool message each. The reply is handed
        over as it came; mending calls and ids is the engine's work. Cancelling the task ends the request.

        Raises:
            ModelUnavailableError: unreachable, timed out or failing, the adapter's own retries included.
            ModelRefusedError: the service refused the request, or what came is no reply.
            ContextLengthError: the request does not fit the model's context.
        """
        ...
