"""Pictures that perception tools draw, on the wire of Chat Completions: each arrives once, with its bytes and its label."""

from __future__ import annotations

import base64
import json
from typing import Any

from openvlharness_adapters.models.chat_encoder import ChatEncoder
from openvlharness_adapters.models.chat_wire import opening
from openvlharness_app.prompts import load_prompt_bundle
from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.capabilities.camera_pose import CameraPoseCapability
from openvlharness_core.capabilities.depth import DepthCapability
from openvlharness_core.capabilities.grounding import GroundingCapability
from openvlharness_core.profile import ModelProfile
from openvlharness_core.question import Question
from openvlharness_core.testing import FakeCamera, FakeDepth, FakeGrounding, calling, saying
from tests.unit.core.agents import agent, image, model_of
from tests.unit.core.capabilities.stage import Renderer

DRAWN = ("tool_generated_image_1", "tool_generated_image_2", "tool_generated_image_3")


async def test_drawings_follow_their_call_once_each_with_their_handle_before_them() -> None:
    renderer = Renderer()
    made = agent(
        [
            calling("Visual_Grounding_Tool", {"query": "cup", "image_id": "input_image_1"}, call_id="a"),
            calling("Depth_Estimation_Tool", {"image_id": "input_image_1"}, call_id="b"),
            calling("Camera_Trajectory_Tool", {"image_ids": ["input_image_1", "input_image_2"]}, call_id="c"),
            saying("<answer>3</answer>"),
        ],
        GroundingCapability(backend=FakeGrounding({"cup": [(0.1, 0.1, 0.5, 0.5)]}), renderer=renderer),
        DepthCapability(backend=FakeDepth(), renderer=renderer),
        CameraPoseCapability(backend=FakeCamera(), renderer=renderer),
        policy=TurnPolicy(prompts=load_prompt_bundle("openai_v1")),
    )
    report = await made.answer(Question("How many?", [image("a"), image("b")]))
    assert report.answer == "3"
    encoder = ChatEncoder(profile=ModelProfile(alias="m", model_id="m"), opening=opening("m", {}, stream=False))
    messages = json.loads(b"".join(encoder.body(model_of(made).requests[-1])))["messages"]
    replies = [position for position, message in enumerate(messages) if message["role"] == "tool"]
    assert [messages[position]["tool_call_id"] for position in replies] == ["a", "b", "c"]
    full = {record.handle: record.picture for record in report.images}
    for position, handle in zip(replies, DRAWN, strict=True):
        reply, evidence = messages[position], messages[position + 1]
        assert isinstance(reply["content"], str), "a tool's reply is text alone"
        assert evidence["role"] == "user"
        (place,) = [number for number, part in enumerate(evidence["content"]) if part["type"] == "image_url"]
        assert evidence["content"][place - 1]["text"].endswith(f"[{handle}]"), "the label stands before its picture"
        picture = full[handle]
        assert picture is not None
        assert _bytes_of(evidence["content"][place]) == picture.sent.data
    shown = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    assert sum(part["type"] == "image_url" for part in shown) == 2 + len(DRAWN)


def _bytes_of(part: dict[str, Any]) -> bytes:
    head, _, data = part["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    return base64.b64decode(data, validate=True)
