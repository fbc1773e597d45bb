"""The core inside somebody else's loop: his own model, his own event loop, nothing of the application.

The model here is a function that zooms in once and then answers; put your own client in its place. The pictures are the
fake ones of the testing package, so that this file needs neither Pillow nor a server.
"""

from __future__ import annotations

import asyncio
import json

from openvlharness_core import (
    ImageInput,
    MainAgent,
    ModelReply,
    ModelRequest,
    Question,
    Toolset,
    TurnPolicy,
    VirtualCall,
)
from openvlharness_core import testing as fakes
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.messages import ToolMessage


class MyModel:
    """A ChatModel is any object with this one method."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        looked = any(isinstance(message, ToolMessage) for message in request.messages)
        if looked:
            return ModelReply(text="<answer>a corner</answer>", usage={"completion_tokens": 5})
        arguments = json.dumps({"image_id": "input_image_1", "coords": [0, 0, 250, 250]})
        return ModelReply(calls=(VirtualCall(id="1", tool="Zoom_In_Tool", arguments=arguments),))


async def somebody_elses_loop() -> None:
    codec = fakes.FakeCodec()
    agent = MainAgent(
        model=MyModel(),
        toolset=Toolset([ZoomCapability(backend=fakes.FakeZoom(codec))]),
        policy=TurnPolicy(prompts=fakes.plain_prompts(), max_iterations=5),
        codec=codec,
        fetcher=fakes.FakeFetcher(),
        offload=fakes.InlineOffload(),
        clock=fakes.FakeClock(),
    )
    question = Question(text="What is up there?", images=[ImageInput.from_bytes(fakes.fake_image(480, 640))])
    async for step in agent.stream(question):
        print(type(step).__name__)
    report = await agent.answer(question)
    print("answer:", report.answer, "after", len(report.steps), "steps")


if __name__ == "__main__":
    asyncio.run(somebody_elses_loop())
