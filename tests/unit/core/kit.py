"""What the tests of core share: a question talked through by plain calls, and the rules every request has to keep."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

import attrs

from openvlharness_core.agent.engine import advance
from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.agent.protocol import (
    AskModel,
    CallFinished,
    CountTokens,
    Effect,
    Event,
    Finish,
    ModelFailed,
    ModelReplied,
    RunCall,
    Started,
    TokensCounted,
)
from openvlharness_core.agent.state import TurnState
from openvlharness_core.agent.steps import CompactionStep, EnvironmentUpdateStep, ModelStep, ToolStep
from openvlharness_core.calls import CapabilityResult, Findings, NewBinding, NewImage, NewPage
from openvlharness_core.errors import FailureCode
from openvlharness_core.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    ModelReply,
    ModelRequest,
    Part,
    SystemMessage,
    TextPart,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from openvlharness_core.pictures import ImageLimits, Picture, RemotePicture
from openvlharness_core.question import Exchange, Intake
from openvlharness_core.testing import FakeCodec, WordCounter, calling, fake_image, plain_prompts, saying
from openvlharness_core.testing.models import calling_all

PROMPTS = plain_prompts()
LOOK = ToolSpec(
    name="Look_Tool",
    description="Looks at a picture.",
    parameters={
        "type": "object",
        "properties": {"image_id": {"type": "string", "minLength": 1}, "times": {"type": "integer", "default": 1}},
        "required": ["image_id"],
    },
)
REST = ToolSpec(name="Rest_Tool", description="Does nothing.", parameters={"type": "object", "properties": {}})
LOOK_AT_1 = {"image_id": "input_image_1"}


def rules(**fields: object) -> TurnPolicy:
    """A policy with the two tools above, and anything else as given."""
    return TurnPolicy(**({"prompts": PROMPTS, "tools": (LOOK, REST)} | fields))  # type: ignore[arg-type]


def picture(content: str = "", height: int = 40, width: int = 60) -> Picture:
    """A fake picture that has been taken in."""
    return FakeCodec().take_in(fake_image(height, width, content), ImageLimits())


@attrs.define
class Talk:
    """One question led through the engine by plain calls; requests that would be counted are counted at once."""

    policy: TurnPolicy = attrs.field(factory=rules)
    counter: WordCounter = attrs.field(factory=WordCounter)
    state: TurnState = attrs.field(factory=TurnState)
    effect: Effect | None = None
    requests: list[ModelRequest] = attrs.field(factory=list)

    def start(
        self,
        *parts: str | Picture | RemotePicture,
        task_id: str | None = None,
        history: tuple[Exchange, ...] = (),
    ) -> Talk:
        """Ask; without parts, a short question with one picture."""
        intake = Intake(parts=parts or ("How many?", picture("q")), task_id=task_id, history=history)
        return self.tell(Started(intake=intake))

    def tell(self, event: Event) -> Talk:
        """One event."""
        self.state, self.effect = advance(self.state, event, self.policy)
        if isinstance(self.effect, CountTokens):
            counts = self.counter.count(self.effect.segments, self.effect.tools)
            return self.tell(TokensCounted(counts=counts))
        if isinstance(self.effect, AskModel):
            self.requests.append(self.effect.request)
        return self

    def hear(self, reply: ModelReply, seconds: float = 0.0) -> Talk:
        """The model replies."""
        return self.tell(ModelReplied(reply=reply, seconds=seconds))

    def says(self, text: str | None) -> Talk:
        """A reply without a call."""
        return self.hear(saying(text))

    def calls(
        self, tool: str = "Look_Tool", arguments: object = LOOK_AT_1, call_id: str = "", text: str | None = None
    ) -> Talk:
        """A reply with one call."""
        return self.hear(calling(tool, arguments, call_id=call_id, text=text))

    def calls_all(self, *calls: tuple[str, object, str], text: str | None = None) -> Talk:
        """A reply with several calls: tool, arguments, id each."""
        return self.hear(calling_all(calls, text=text))

    def finds(
        self,
        *contents: str,
        text: str = "evidence",
        bindings: Iterable[NewBinding] = (),
        pages: Iterable[NewPage] = (),
        seconds: float = 0.0,
    ) -> Talk:
        """The call that runs ends well, with a picture for each of `contents`."""
        assert isinstance(self.effect, RunCall), self.effect
        findings = Findings(
            data={},
            images=tuple(NewImage(picture=picture(content)) for content in contents),
            bindings=tuple(bindings),
            pages=tuple(pages),
        )
        workspace, registered = self.state.workspace.register(findings, self.effect.call.tool)
        evidence: list[Part] = [TextPart(text=text)]
        for handle in registered.images:
            shown = workspace.images.resolve(handle).picture
            assert shown is not None
            evidence.append(ImagePart(handle=handle, image=shown.sent))
        result = CapabilityResult(data={}, evidence=tuple(evidence), artifacts=registered)
        return self.tell(CallFinished(result=result, workspace=workspace, seconds=seconds))

    def fails(self, code: FailureCode = "backend_unavailable", message: str = "the backend is down") -> Talk:
        """The call that runs ends badly."""
        result = CapabilityResult.failed(code, message)
        return self.tell(CallFinished(result=result, workspace=self.state.workspace))

    def model_fails(self, code: str = "http_500", message: str = "it broke", context: bool = False) -> Talk:
        """The model gives no reply."""
        return self.tell(ModelFailed(code=code, message=message, context=context))

    @property
    def request(self) -> ModelRequest:
        """The request that is out."""
        assert isinstance(self.effect, AskModel), self.effect
        return self.effect.request

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of the request that is out."""
        return self.request.messages

    @property
    def answer(self) -> str | None:
        """How it ended."""
        assert isinstance(self.effect, Finish), self.effect
        return self.effect.answer

    @property
    def ended(self) -> bool:
        """Whether it ended."""
        return isinstance(self.effect, Finish)

    def new_messages(self) -> tuple[Message, ...]:
        """What the request that is out has beyond the one before it."""
        before, now = self.requests[-2].messages, self.requests[-1].messages
        assert now[: len(before)] == before, "the earlier request is no prefix of this one"
        return now[len(before) :]

    def steps_of(self, kind: type[ModelStep | ToolStep | EnvironmentUpdateStep | CompactionStep]) -> list[object]:
        """The recorded steps of one kind."""
        return [step for step in self.state.steps if isinstance(step, kind)]

    @property
    def tool_steps(self) -> list[ToolStep]:
        """The recorded calls."""
        return [step for step in self.state.steps if isinstance(step, ToolStep)]

    @property
    def failures(self) -> list[str | None]:
        """The code of each recorded call, `None` where it went well."""
        return [step.result.failure.code if step.result.failure else None for step in self.tool_steps]


def text_of(message: Message) -> str:
    """Everything a message says in words; a picture as its handle in angle brackets."""
    match message:
        case SystemMessage(text=text):
            return text
        case UserMessage(parts=parts):
            return "\n".join(_part_text(part) for part in parts)
        case AssistantMessage(text=text, calls=calls):
            return "\n".join([text or "", *(f"{call.tool}({call.arguments})" for call in calls)])
        case ToolMessage(text=text, parts=parts):
            return "\n".join([text, *(_part_text(part) for part in parts)])


def _part_text(part: Part) -> str:
    return part.text if isinstance(part, TextPart) else f"<{part.handle}>"


def breaches(messages: Sequence[Message]) -> list[str]:
    """Every rule of strict servers that these messages break; empty when they may be sent.

    Calls are answered right behind their message, in order, under the same id and name; ids are used once; argument
    text is a JSON object, names are callable, nothing is empty, nothing holds a lone surrogate.
    """
    found: list[str] = []
    waiting: list[tuple[str, str]] = []
    used: set[str] = set()
    if not messages or not isinstance(messages[0], SystemMessage):
        found.append("the system prompt does not come first")
    for position, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if not waiting or waiting.pop(0) != (message.call_id, message.tool):
                found.append(f"{position}: a result without its call")
        elif waiting:
            found.append(f"{position}: {len(waiting)} calls before it have no result")
            waiting = []
        if isinstance(message, AssistantMessage):
            if not message.calls and not (message.text or "").strip():
                found.append(f"{position}: an empty message")
            for call in message.calls:
                waiting.append((call.id, call.tool))
                if call.id in used or not call.id.strip():
                    found.append(f"{position}: the id {call.id!r} again, or none")
                used.add(call.id)
                if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call.tool):
                    found.append(f"{position}: the name {call.tool!r}")
                if not _is_object(call.arguments):
                    found.append(f"{position}: the arguments {call.arguments!r}")
        try:
            text_of(message).encode()
        except UnicodeEncodeError:
            found.append(f"{position}: a lone surrogate")
    if waiting:
        found.append(f"at the end {len(waiting)} calls have no result")
    return found


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
