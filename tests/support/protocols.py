"""The two protocols side by side, so that one test serves both: adapter, scripted server, readers and rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import attrs

from openvlharness_adapters.models import chat_reply, chat_stream, responses_reply, responses_stream
from openvlharness_adapters.models.chat_completions import ChatCompletionsModel
from openvlharness_adapters.models.responses import ResponsesModel
from openvlharness_adapters.models.served import ServedModel
from openvlharness_core.messages import ModelReply
from tests.support import chat_rules, chat_server, responses_rules, responses_server
from tests.support.chat_server import ChatServer, Completion


@attrs.frozen(kw_only=True)
class Protocol:
    """One protocol.

    Attributes:
        name: as profiles spell it.
        model: its adapter.
        server: its scripted server.
        read: makes a reply of a payload.
        gathered: makes a payload of events.
        faults_of: what a strict service objects to in a body.
        payload: how a service spells a reply.
        as_events: a payload as an event stream.
        calls: a step of calls; pairs of tool name and arguments.
        conversation: the field of a body that holds the conversation.
    """

    name: str
    model: type[ServedModel]
    server: type[ChatServer]
    read: Callable[[object], ModelReply]
    gathered: Callable[[Iterable[object]], object]
    faults_of: Callable[[dict[str, Any]], Iterable[str]]
    payload: Callable[[ModelReply], dict[str, Any]]
    as_events: Callable[..., bytes]
    calls: Callable[..., Completion]
    conversation: str

    def says(self, text: str) -> Completion:
        """A step of text."""
        return self.step(ModelReply(text=text, finish_reason="stop"))

    def step(self, reply: ModelReply) -> Completion:
        """A step that gives this reply."""
        return Completion(self.payload(reply))

    def body(self, reply: ModelReply) -> bytes:
        """The body that gives this reply."""
        return json.dumps(self.payload(reply)).encode()


CHAT = Protocol(
    name="chat_completions",
    model=ChatCompletionsModel,
    server=ChatServer,
    read=chat_reply.reply_from_wire,
    gathered=chat_stream.gathered,
    faults_of=chat_rules.faults_of,
    payload=chat_server.reply_to_payload,
    as_events=chat_server.as_events,
    calls=chat_server.calls,
    conversation="messages",
)
RESPONSES = Protocol(
    name="responses",
    model=ResponsesModel,
    server=responses_server.ResponsesServer,
    read=responses_reply.reply_from_wire,
    gathered=responses_stream.gathered,
    faults_of=responses_rules.faults_of,
    payload=responses_server.reply_to_payload,
    as_events=responses_server.as_events,
    calls=responses_server.calls,
    conversation="input",
)
PROTOCOLS = {protocol.name: protocol for protocol in (CHAT, RESPONSES)}
