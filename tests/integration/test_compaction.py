"""Long questions under every cap: what is sent is valid, fits by a count of its own, and forgets nothing that must stay.

A question of fifteen turns with real pictures is asked without a cap first. That run says, turn by turn, what the newest
turn and the newest update look like as bytes and how little a request could be cut down to. Then it is asked again under
caps from all of it down to less than the question, and the bytes that are sent are counted from their JSON.
"""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Sequence
from functools import cache

import attrs
import pytest
from PIL import Image

from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.zoom import InProcessZoom
from openvlharness_adapters.models.chat_completions import ChatCompletionsModel
from openvlharness_adapters.tokens import TokenizerCounter
from openvlharness_app.prompts import load_prompt_bundle
from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.agent.report import Report
from openvlharness_core.agent.runner import MainAgent
from openvlharness_core.agent.steps import CompactionStep, EnvironmentUpdateStep, ToolStep
from openvlharness_core.calls import Findings, Registered
from openvlharness_core.capabilities.toolset import Toolset
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import Part, TextPart
from openvlharness_core.ports.model import ChatModel
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.question import ImageInput, Question
from openvlharness_core.testing import FakeClock, FakeFetcher, InlineOffload, calling, saying
from openvlharness_core.testing.models import Scripted
from tests.support.chat_server import ChatServer, Completion, reply_to_payload
from tests.support.protocol_rows import PROTOCOLS, Protocol, WireModel
from tests.support.small_tokenizer import small_tokenizer
from tests.unit.core.agents import Own

TURNS = 15
RESERVED = 64
TOKENIZER = small_tokenizer()
PROMPTS = load_prompt_bundle("openai_v1")
CODEC = PillowCodec()

rows = pytest.mark.parametrize("protocol", PROTOCOLS, ids=[row.name for row in PROTOCOLS])


@cache
def picture() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (900, 700), "white").save(buffer, "PNG")
    return buffer.getvalue()


def zoomed(number: int, image_id: str = "input_image_1") -> Scripted:
    # Every crop has a size of its own: equal ones would be one picture.
    arguments = {"image_id": image_id, "coords": [0, 0, 300 + 40 * number, 900 - 30 * number]}
    return calling("Zoom_In_Tool", arguments, call_id=f"call_{number}", text=f"Look {number}.")


def script() -> list[Scripted]:
    """Zooms, long texts, failed calls and an empty answer, each more than once; the last zoom is on the first crop."""
    replies: list[Scripted] = []
    for number in range(TURNS - 1):
        match number % 5:
            case 2:
                replies.append(calling("Own_Tool", call_id=f"call_{number}"))
            case 3:
                replies.append(calling("Zoom_In_Tool", {"image_id": "no_such"}, call_id=f"call_{number}"))
            case _:
                replies.append(zoomed(number))
    replies[8] = saying("")
    return [*replies, zoomed(TURNS - 1, "tool_generated_image_1"), saying("<answer>7</answer>")]


def long_text(
    findings: Findings, registered: Registered, workspace: Workspace, prompts: PromptBundle
) -> tuple[Part, ...]:
    return (TextPart(text="There are pills on the table. " * 60), TextPart(text="Nothing else is."))


def asking(model: ChatModel, protocol: Protocol, cap: int | None) -> MainAgent:
    """An agent that keeps to `cap` tokens of prompt; updates come only when something changed."""
    zoom = ZoomCapability(backend=InProcessZoom(codec=CODEC, offload=InlineOffload()))
    return MainAgent(
        model=model,
        toolset=Toolset([zoom, Own(shows=long_text)]),
        policy=TurnPolicy(
            prompts=PROMPTS,
            max_iterations=TURNS + 1,
            emit_policy="on_change",
            count_tokens=True,
            max_context_length=None if cap is None else cap + RESERVED,
            reserved_output_tokens=RESERVED,
        ),
        codec=CODEC,
        fetcher=FakeFetcher(),
        offload=InlineOffload(),
        clock=FakeClock(),
        token_counter=TokenizerCounter(tokenizer=small_tokenizer(), profile=protocol.profile),
    )


@attrs.frozen
class Asked:
    """A question that was asked: its report and the bodies that were sent."""

    report: Report
    bodies: Sequence[bytes]

    @property
    def compactions(self) -> int:
        return sum(isinstance(step, CompactionStep) for step in self.report.steps)


async def ask(protocol: Protocol, cap: int | None) -> Asked:
    model: WireModel = protocol.model(script())
    report = await asking(model, protocol, cap).answer(Question("How many pills?", [ImageInput.from_bytes(picture())]))
    return Asked(report, model.bodies)


@attrs.frozen
class Whole:
    """The question without a cap.

    Attributes:
        sizes: tokens of each request.
        newest: bytes of the newest turn in each request.
        updates: the newest update in each request, as JSON.
        least: tokens of the opening, the newest update and the newest turn alone, for each request.
    """

    bodies: Sequence[bytes]
    sizes: list[int]
    newest: list[bytes]
    updates: list[bytes]
    least: list[int]


async def whole_of(protocol: Protocol) -> Whole:
    asked = await ask(protocol, None)
    assert (asked.report.answer, asked.compactions, len(asked.bodies)) == ("7", 0, TURNS + 1)
    said = [protocol.said(body) for body in asked.bodies]
    newest = [b""]
    for before, now in itertools.pairwise(said):
        assert now.startswith(before)
        newest.append(now[len(before) :])
    in_step = [step.text for step in asked.report.steps if isinstance(step, EnvironmentUpdateStep)]
    written = [json.dumps(text, ensure_ascii=False).encode() for text in in_step]
    assert len(set(written)) == len(written) > 5
    updates = [max((update for update in written if update in now), key=now.rindex) for now in said]
    least = []
    for body, turn, update in zip(asked.bodies, newest, updates, strict=True):
        kept = said[0] if update in said[0] or update in turn else said[0] + b"," + _message(protocol, update)
        least.append(protocol.counted(body.replace(protocol.said(body), kept + turn), TOKENIZER))
    return Whole(asked.bodies, [protocol.counted(body, TOKENIZER) for body in asked.bodies], newest, updates, least)


def _message(protocol: Protocol, update: bytes) -> bytes:
    kind = b'"type":"message",' if protocol.messages == "input" else b""
    return b"{" + kind + b'"role":"user","content":' + update + b"}"


def reached(whole: Whole, cap: int) -> int:
    """How many requests can be sent under `cap`: until one that nothing can shorten further is over it."""
    return next((number for number, least in enumerate(whole.least) if least > cap), len(whole.least))


@rows
async def test_every_cap(protocol: Protocol) -> None:
    whole = await whole_of(protocol)
    most, least = whole.sizes[-1], whole.sizes[0]
    assert most > 3 * least, "long enough to say something"
    caps = {most, most - 1, max(whole.least), max(whole.least) - 1, least, least - 1}
    caps |= {least + (most - least) * step // 20 for step in range(1, 20, 2)}
    caps |= set(whole.least[::4])
    ends = set()
    for cap in sorted(caps):
        asked = await ask(protocol, cap)
        ends.add(asked.report.stop_reason)
        for number, body in enumerate(asked.bodies):
            said = protocol.said(body)
            assert protocol.counted(body, TOKENIZER) <= cap
            assert said.startswith(protocol.said(whole.bodies[0]).rstrip(b'"]}')), "the question stays as it was"
            assert said.endswith(whole.newest[number]), "the newest turn stays byte for byte"
            assert whole.updates[number].strip(b'"') in said, "the newest update stays byte for byte"
        if not protocol.merges:  # there the count is a little too high, since two messages become one
            assert len(asked.bodies) == reached(whole, cap), "given up too early, or too late"
        if asked.report.stop_reason == "answered":
            assert asked.report.answer == "7"
        else:
            assert asked.report.stop_reason == "context_exceeded"
            assert len(asked.bodies) <= TURNS
        if cap >= most and not protocol.merges:
            assert asked.compactions == 0
    assert ends == {"answered", "context_exceeded"}


@rows
async def test_pictures_that_were_dropped_can_still_be_used(protocol: Protocol) -> None:
    """The last zoom is on the first crop, which no request shows any more."""
    whole = await whole_of(protocol)
    asked = await ask(protocol, max(whole.least) + 50)
    assert asked.report.answer == "7"
    first = asked.bodies[1]
    shown = [part for part in first.split(b'"') if part.startswith(b"data:image/png;base64,")][-1]
    assert shown in whole.bodies[-2]
    assert shown not in asked.bodies[-2], "the crop has left the history"
    last = [step for step in asked.report.steps if isinstance(step, ToolStep)][-1]
    assert last.arguments["image_id"] == "tool_generated_image_1"  # type: ignore[index]
    assert last.result.ok
    assert whole.newest[-1] == protocol.said(asked.bodies[-1])[-len(whole.newest[-1]) :], "and the same comes of it"


@rows
async def test_the_prefix_breaks_seldom(protocol: Protocol) -> None:
    whole = await whole_of(protocol)
    asked = await ask(protocol, whole.sizes[-1] * 6 // 10)
    assert asked.report.answer == "7"
    said = [protocol.said(body) for body in asked.bodies]
    breaks = sum(not now.startswith(before) for before, now in itertools.pairwise(said))
    assert 1 <= breaks <= 4
    assert asked.compactions == breaks


@pytest.mark.parametrize("tenths", [10, 6, 4])
async def test_a_strict_server_takes_it_all(tenths: int) -> None:
    protocol = PROTOCOLS[0]
    whole = await whole_of(protocol)
    cap = whole.sizes[-1] * tenths // 10
    replies = [Completion(reply_to_payload(reply)) for reply in script()]  # type: ignore[arg-type]
    async with open_client() as client, ChatServer(replies, prefix=False) as server:
        model = ChatCompletionsModel(
            client=client, endpoint=server.endpoint, profile=protocol.profile, clock=FakeClock()
        )
        report = await asking(model, protocol, cap).answer(
            Question("How many pills?", [ImageInput.from_bytes(picture())])
        )
    server.assert_spent()
    assert report.answer == "7"
    assert all(protocol.counted(request.body, TOKENIZER) <= cap for request in server.requests)
