"""Agents made of doubles, a tool whose behaviour a test writes, and ports that hang."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import attrs

from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.agent.runner import MainAgent
from openvlharness_core.calls import Findings, Registered
from openvlharness_core.capabilities.base import Capability
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.capabilities.ocr import OcrCapability
from openvlharness_core.capabilities.toolset import Toolset
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import ModelReply, ModelRequest, Part, TextPart
from openvlharness_core.ports.clock import Clock
from openvlharness_core.ports.model import ChatModel
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.question import ImageInput, Question
from openvlharness_core.testing import (
    FakeClock,
    FakeCodec,
    FakeFetcher,
    FakeOcr,
    FakeZoom,
    InlineOffload,
    RecordingTracer,
    ScriptedModel,
    fake_image,
)
from openvlharness_core.testing.models import Scripted
from tests.unit.core.kit import PROMPTS

URL = "https://example.com/far.png"
ZOOM = {"image_id": "input_image_1", "coords": [0, 0, 500, 500]}


def image(content: str = "q", height: int = 40, width: int = 60) -> ImageInput:
    """A picture of a question, as bytes."""
    return ImageInput.from_bytes(fake_image(height, width, content), name=f"{content}.png")


QUESTION = Question("How many?", [image()])


async def _nothing(arguments: Mapping[str, object], hands: Hands) -> Findings:
    return Findings(data={})


def _said(findings: Findings, registered: Registered, workspace: Workspace, prompts: PromptBundle) -> tuple[Part, ...]:
    return (TextPart(text="own evidence"),)


@attrs.frozen(kw_only=True)
class Own:
    """A user's own tool; what it does and shows is the test's."""

    does: Callable[[Mapping[str, object], Hands], Awaitable[Any]] = _nothing
    shows: Callable[[Findings, Registered, Workspace, PromptBundle], Any] = _said
    name: str = "Own_Tool"
    key: str = "own"
    parameters: Mapping[str, object] = attrs.field(factory=dict)

    def description(self, prompts: PromptBundle) -> str:
        return "Somebody's own."

    async def perform(self, arguments: Mapping[str, object], hands: Hands) -> Findings:
        return await self.does(arguments, hands)  # type: ignore[no-any-return]

    def evidence(
        self, findings: Findings, registered: Registered, workspace: Workspace, prompts: PromptBundle
    ) -> tuple[Part, ...]:
        return self.shows(findings, registered, workspace, prompts)  # type: ignore[no-any-return]


@attrs.define
class Hanging:
    """Something that is awaited and never comes; it knows whether it was cancelled.

    Attributes:
        stubborn: whether it goes on although it was cancelled, until `release` is set.
    """

    stubborn: bool = False
    begun: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)
    release: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)
    cancelled: int = attrs.field(default=0, init=False)

    async def hang(self) -> Any:
        """Never returns."""
        self.begun.set()
        while True:
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                if not self.stubborn:
                    raise
            else:
                raise OSError("released at last")


@attrs.frozen
class HangingModel:
    """A model that never answers."""

    hanging: Hanging

    async def complete(self, request: ModelRequest) -> ModelReply:
        return await self.hanging.hang()  # type: ignore[no-any-return]


@attrs.frozen
class HangingFetcher:
    """A fetcher whose server never answers."""

    hanging: Hanging

    async def fetch(self, source: str) -> bytes:
        return await self.hanging.hang()  # type: ignore[no-any-return]


def hanging_tool(hanging: Hanging) -> Own:
    """A tool whose backend never answers."""

    async def does(arguments: Mapping[str, object], hands: Hands) -> Findings:
        return await hanging.hang()  # type: ignore[no-any-return]

    return Own(does=does)


def agent(
    replies: ChatModel | Sequence[Scripted],
    *own: Capability,
    clock: Clock | None = None,
    rules: Mapping[str, object] | None = None,
    **fields: Any,
) -> MainAgent:
    """An agent with zoom, OCR and `own` tools over doubles; `rules` are fields of its policy."""
    codec = FakeCodec()
    usual: dict[str, Any] = {
        "model": ScriptedModel(replies) if isinstance(replies, Sequence) else replies,
        "toolset": Toolset([ZoomCapability(backend=FakeZoom(codec)), OcrCapability(backend=FakeOcr(("7",))), *own]),
        "policy": TurnPolicy(prompts=PROMPTS, **(rules or {})),  # type: ignore[arg-type]
        "codec": codec,
        "fetcher": FakeFetcher({URL: fake_image(100, 200, "far")}),
        "offload": InlineOffload(),
        "clock": clock or FakeClock(),
        "tracer": RecordingTracer(),
    }
    return MainAgent(**(usual | fields))


def model_of(made: MainAgent) -> ScriptedModel:
    """The scripted model of an agent."""
    assert isinstance(made.model, ScriptedModel)
    return made.model


def notes_of(made: MainAgent, kind: str) -> list[str]:
    """What the tracer was told under one kind."""
    assert isinstance(made.tracer, RecordingTracer)
    return [text for noted, text in made.tracer.notes if noted == kind]
