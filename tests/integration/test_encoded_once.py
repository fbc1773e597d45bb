"""What a question costs: each message and each picture is encoded once, however many turns there are."""

from __future__ import annotations

import io
from collections import Counter

import pytest
from PIL import Image

from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.zoom import InProcessZoom
from openvlharness_adapters.models.chat_completions import ChatCompletionsModel
from openvlharness_adapters.models.chat_encoder import ChatEncoder
from openvlharness_adapters.models.chat_wire import EncodedMessage, encode_message, opening
from openvlharness_adapters.models.pieces import Base64, base64_of
from openvlharness_core import EncodedImage, ImageInput, MainAgent, ModelProfile, Question, Toolset, TurnPolicy
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.messages import Message
from openvlharness_core.testing import FakeClock, FakeFetcher, InlineOffload, plain_prompts
from tests.support.chat_server import ChatServer, calls, says

TURNS = 12
PROFILE = ModelProfile(alias="generic-chat", model_id="scripted")


@pytest.mark.parametrize("rereading", [False, True], ids=["fresh pictures", "the same picture again"])
async def test_each_message_and_each_picture_is_encoded_once(rereading: bool) -> None:
    messages: Counter[Message] = Counter()
    pictures: Counter[str] = Counter()

    def encode(message: Message, profile: ModelProfile, base64: Base64) -> EncodedMessage:
        messages[message] += 1
        return encode_message(message, profile, base64)

    def counted_base64(image: EncodedImage) -> bytes:
        pictures[image.digest] += 1
        return base64_of(image)

    script = [_zoom(0 if rereading else turn, turn) for turn in range(TURNS)]
    async with ChatServer([*script, says("<answer>x</answer>")]) as server, open_client() as client:
        codec = PillowCodec()
        model = ChatCompletionsModel(
            client=client,
            endpoint=server.endpoint,
            profile=PROFILE,
            clock=FakeClock(),
            encoder=ChatEncoder(
                profile=PROFILE,
                opening=opening("scripted", {}, stream=False),
                encode=encode,
                base64=counted_base64,
            ),
        )
        agent = MainAgent(
            model=model,
            toolset=Toolset([ZoomCapability(backend=InProcessZoom(codec=codec, offload=InlineOffload()))]),
            policy=TurnPolicy(prompts=plain_prompts()),
            codec=codec,
            fetcher=FakeFetcher(),
            offload=InlineOffload(),
            clock=FakeClock(),
        )
        report = await agent.answer(Question("?", [ImageInput.from_bytes(_gradient())]))
    server.assert_spent()
    assert report.answer == "x"
    assert set(messages.values()) == {1}
    if not rereading:  # an assistant message, a tool message and an update a turn, and the three of the opening
        assert len(messages) == 3 + 3 * TURNS
    assert set(pictures.values()) == {1}
    assert len(pictures) == (2 if rereading else 1 + TURNS)


def _zoom(left: int, turn: int) -> object:
    coords = [left * 50, 0, left * 50 + 50, 1000]
    return calls(("Zoom_In_Tool", {"image_id": "input_image_1", "coords": coords}), ids=[f"call_{turn}"])


def _gradient() -> bytes:
    image = Image.linear_gradient("L").transpose(Image.Transpose.ROTATE_90).resize((800, 600)).convert("RGB")
    buffer = io.BytesIO()
    image.save(buffer, "JPEG")
    return buffer.getvalue()
