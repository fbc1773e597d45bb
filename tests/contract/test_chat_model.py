"""The suite of the ChatModel port, bound to the adapters of both protocols, plain and streamed, and to the scripted double.

The planner cannot be told what to say: what holds of every reply is checked of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest

from contracts.ports.chat_model import CannotStage, ChatModelContract, ReplyContract
from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.models.embedded_planner import EmbeddedPlanner
from openvlharness_adapters.models.served import ServedModel
from openvlharness_core.errors import ContextLengthError, ModelRefusedError, ModelUnavailableError
from openvlharness_core.messages import ModelReply
from openvlharness_core.profile import ModelProfile
from openvlharness_core.testing.models import ScriptedModel, saying
from openvlharness_core.testing.time import FakeClock
from tests.support.chat_server import ChatServer, Hang, Respond, Script
from tests.support.protocols import CHAT, RESPONSES, Protocol


class ServedStage:
    """Models of one protocol in front of a scripted server."""

    def __init__(self, protocol: Protocol, resources: contextlib.AsyncExitStack, *, stream: bool) -> None:
        self.protocol = protocol
        self.resources = resources
        self.stream = stream
        self.server: ChatServer | None = None

    async def _model(self, script: Script) -> ServedModel:
        self.server = await self.resources.enter_async_context(self.protocol.server(script))
        return self.protocol.model(
            client=await self.resources.enter_async_context(open_client()),
            endpoint=self.server.endpoint,
            profile=ModelProfile(alias="generic", model_id="m"),
            clock=FakeClock(),
            retry=0,
            stream=self.stream,
        )

    async def that_replies(self, replies: Sequence[ModelReply]) -> ServedModel:
        return await self._model([self.protocol.step(reply) for reply in replies])

    async def that_answers(self, times: int) -> ServedModel:
        return await self.that_replies([ModelReply(text="x", finish_reason="stop")] * times)

    async def that_is_away(self) -> ServedModel:
        return await self._model([Respond.error(503, "overloaded")])

    async def that_refuses(self) -> ServedModel:
        return await self._model([Respond.error(401, "no such key")])

    async def that_is_full(self) -> ServedModel:
        return await self._model([Respond.error(400, "too long", code="context_length_exceeded")])

    async def that_never_answers(self) -> ServedModel:
        return await self._model([Hang()])

    async def until_asked(self) -> None:
        assert self.server is not None
        await self.server.until(lambda server: server.hanging == 1)

    async def until_left(self) -> None:
        assert self.server is not None
        await self.server.until(lambda server: server.departed == 1)


class ServedModelContract(ChatModelContract):
    protocol: Protocol

    @pytest.fixture(params=[False, True], ids=["plain", "streamed"])
    async def stage(self, request: pytest.FixtureRequest) -> AsyncIterator[ServedStage]:
        async with contextlib.AsyncExitStack() as resources:
            stage = ServedStage(self.protocol, resources, stream=request.param)
            yield stage
            if stage.server is not None:
                stage.server.assert_spent()


class TestChatCompletionsModel(ServedModelContract):
    protocol = CHAT


class TestResponsesModel(ServedModelContract):
    protocol = RESPONSES


class ScriptedStage:
    """The double, which is given what an adapter would have made of a reply or of a failure."""

    def __init__(self) -> None:
        self.model = ScriptedModel([])

    async def that_replies(self, replies: Sequence[ModelReply]) -> ScriptedModel:
        if any(reply.finish_reason == "length" for reply in replies):
            raise CannotStage("a script holds what an adapter made, cut calls marked")
        self.model = ScriptedModel(replies)
        return self.model

    async def that_answers(self, times: int) -> ScriptedModel:
        return await self.that_replies([saying("x")] * times)

    async def _failing(self, error: Exception) -> ScriptedModel:
        self.model = ScriptedModel([error])
        return self.model

    async def that_is_away(self) -> ScriptedModel:
        return await self._failing(ModelUnavailableError("connection", "refused"))

    async def that_refuses(self) -> ScriptedModel:
        return await self._failing(ModelRefusedError("http_401", "no such key"))

    async def that_is_full(self) -> ScriptedModel:
        return await self._failing(ContextLengthError("context_length_exceeded", "too long"))

    async def that_never_answers(self) -> ScriptedModel:
        raise CannotStage("a script always has the next reply at hand")

    async def until_asked(self) -> None:
        raise AssertionError("no such model was made")

    async def until_left(self) -> None:
        raise AssertionError("no such model was made")


class TestScriptedModel(ChatModelContract):
    @pytest.fixture
    def stage(self) -> Iterator[ScriptedStage]:
        stage = ScriptedStage()
        yield stage
        stage.model.assert_spent()


class PlannerStage:
    """The planner, which answers everybody at once."""

    async def that_answers(self, times: int) -> EmbeddedPlanner:
        return EmbeddedPlanner()


class TestEmbeddedPlanner(ReplyContract):
    @pytest.fixture
    def stage(self) -> PlannerStage:
        return PlannerStage()
