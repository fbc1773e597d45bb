"""The suite of the AuxiliaryModel port, bound to the adapter over the openai SDK and to the scripted double."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest

from contracts.ports.auxiliary_model import AuxiliaryModelContract
from contracts.ports.chat_model import CannotStage
from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.models.auxiliary import OpenAIAuxiliary
from openvlharness_core.errors import ContextLengthError, ModelRefusedError, ModelUnavailableError
from openvlharness_core.ports.auxiliary import Written
from openvlharness_core.testing.auxiliary import ScriptedAuxiliary, ScriptedText
from openvlharness_core.testing.time import FakeClock
from openvlharness_core.usage import Spent
from tests.support.chat_server import ChatServer, Hang, Respond, Script, says


class SdkStage:
    """Auxiliary models in front of a scripted server."""

    def __init__(self, resources: contextlib.AsyncExitStack) -> None:
        self.resources = resources
        self.server: ChatServer | None = None

    async def _model(self, script: Script) -> OpenAIAuxiliary:
        self.server = await self.resources.enter_async_context(ChatServer(script, prefix=False))
        return OpenAIAuxiliary(
            client=await self.resources.enter_async_context(open_client()),
            endpoint=self.server.endpoint,
            model_id="m",
            clock=FakeClock(),
            retry=0,
        )

    async def that_writes(self, texts: Sequence[str]) -> OpenAIAuxiliary:
        return await self._model([says(text) for text in texts])

    async def that_is_cut(self, text: str) -> OpenAIAuxiliary:
        return await self._model([says(text, "length")])

    async def that_is_away(self) -> OpenAIAuxiliary:
        return await self._model([Respond.error(503, "overloaded")])

    async def that_refuses(self) -> OpenAIAuxiliary:
        return await self._model([Respond.error(401, "no such key")])

    async def that_is_full(self) -> OpenAIAuxiliary:
        return await self._model([Respond.error(400, "too long", code="context_length_exceeded")])

    async def that_never_answers(self) -> OpenAIAuxiliary:
        return await self._model([Hang()])

    async def until_asked(self) -> None:
        assert self.server is not None
        await self.server.until(lambda server: server.hanging == 1)

    async def until_left(self) -> None:
        assert self.server is not None
        await self.server.until(lambda server: server.departed == 1)


class TestOpenAIAuxiliary(AuxiliaryModelContract):
    @pytest.fixture
    async def stage(self) -> AsyncIterator[SdkStage]:
        async with contextlib.AsyncExitStack() as resources:
            stage = SdkStage(resources)
            yield stage
            if stage.server is not None:
                stage.server.assert_spent()


class ScriptedStage:
    """The double, which is given the errors that an adapter would raise."""

    def __init__(self) -> None:
        self.model = ScriptedAuxiliary([])

    async def _scripted(self, *texts: ScriptedText) -> ScriptedAuxiliary:
        self.model = ScriptedAuxiliary(texts)
        return self.model

    async def that_writes(self, texts: Sequence[str]) -> ScriptedAuxiliary:
        return await self._scripted(*texts)

    async def that_is_cut(self, text: str) -> ScriptedAuxiliary:
        return await self._scripted(Written(text=text, spent=Spent(role="auxiliary"), cut=True))

    async def that_is_away(self) -> ScriptedAuxiliary:
        return await self._scripted(ModelUnavailableError("connection", "refused"))

    async def that_refuses(self) -> ScriptedAuxiliary:
        return await self._scripted(ModelRefusedError("http_401", "no such key"))

    async def that_is_full(self) -> ScriptedAuxiliary:
        return await self._scripted(ContextLengthError("context_length_exceeded", "too long"))

    async def that_never_answers(self) -> ScriptedAuxiliary:
        raise CannotStage("a script always has the next text at hand")

    async def until_asked(self) -> None:
        raise AssertionError("no such model was made")

    async def until_left(self) -> None:
        raise AssertionError("no such model was made")


class TestScriptedAuxiliary(AuxiliaryModelContract):
    @pytest.fixture
    def stage(self) -> Iterator[ScriptedStage]:
        stage = ScriptedStage()
        yield stage
        stage.model.assert_spent()
