"""What every ChatModel promises.

Subclass `ChatModelContract` in a test module as `Test…` and supply a fixture `stage` that gives a `ModelStage`: models
of your kind, each made to behave in one way. A stage that cannot make its kind behave so raises `CannotStage`, and the
promise is skipped. A model that cannot be told what to say, such as one that follows rules, is held to `ReplyContract`
alone, whose stage only makes models that answer. The tests are coroutines, for pytest-asyncio or a runner of your own.
"""

from __future__ import annotations

import asyncio
import copy
import json
import math
from collections.abc import Sequence
from typing import Protocol

import pytest

from openvlharness_core.errors import ContextLengthError, ModelRefusedError, ModelUnavailableError
from openvlharness_core.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    ModelReply,
    ModelRequest,
    SystemMessage,
    TextPart,
    ToolMessage,
    ToolSpec,
    UserMessage,
    VirtualCall,
)
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.model import ChatModel

_GREY_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000000a49444154789c6368"
    "00000082008177cd72b60000000049454e44ae426082"
)
ZOOM = ToolSpec(
    name="Zoom_In_Tool",
    description="Cuts a region out.",
    parameters={"type": "object", "properties": {"image_id": {"type": "string"}}, "required": ["image_id"]},
)


class CannotStage(Exception):
    """This kind of model cannot be made to behave so."""


class AnsweringStage(Protocol):
    """Makes models that answer. Every model is asked on the loop that runs the test."""

    async def that_answers(self, times: int) -> ChatModel:
        """A model that answers so many requests, whatever it says."""
        ...


class ModelStage(AnsweringStage, Protocol):
    """Makes models behave."""

    async def that_replies(self, replies: Sequence[ModelReply]) -> ChatModel:
        """A model that gives these replies in turn, as its provider would send them."""
        ...

    async def that_is_away(self) -> ChatModel:
        """A model whose service cannot be reached or keeps failing."""
        ...

    async def that_refuses(self) -> ChatModel:
        """A model whose service refuses the request."""
        ...

    async def that_is_full(self) -> ChatModel:
        """A model for which the request is too long."""
        ...

    async def that_never_answers(self) -> ChatModel:
        """A model that is still at it whenever one looks."""
        ...

    async def until_asked(self) -> None:
        """Return when the model of `that_never_answers` has been asked and has not been left."""
        ...

    async def until_left(self) -> None:
        """Return when nobody waits any more for the model of `that_never_answers`."""
        ...


def conversation() -> tuple[Message, ...]:
    """A question with a picture, one call with evidence, and an inventory."""
    pixel = EncodedImage(data=_GREY_PIXEL, media_type="image/png", size_hw=(1, 1))
    picture = ImagePart(handle="input_image_1", image=pixel)
    arguments = json.dumps({"image_id": "input_image_1"})
    return (
        SystemMessage(text="Answer questions about pictures."),
        UserMessage(parts=(TextPart(text="How grey is it? 🙂"), TextPart(text="input_image_1:"), picture)),
        AssistantMessage(text="Closer.", calls=(VirtualCall(id="call_a", tool="Zoom_In_Tool", arguments=arguments),)),
        ToolMessage(
            call_id="call_a",
            tool="Zoom_In_Tool",
            text="Done.",
            parts=(TextPart(text="The crop:"), ImagePart(handle="tool_generated_image_1", image=pixel)),
        ),
        UserMessage.of_text("Images: input_image_1, tool_generated_image_1."),
    )


def request(messages: tuple[Message, ...] | None = None) -> ModelRequest:
    """A request that offers one tool."""
    return ModelRequest(messages=messages or conversation(), tools=(ZOOM,), tool_choice="auto", iteration=1)


async def _staged(make: object) -> ChatModel:
    try:
        model: ChatModel = await make  # type: ignore[misc]
    except CannotStage as why:
        pytest.skip(str(why) or "this kind of model cannot be made to behave so")
    return model


class ReplyContract:
    """What holds whatever a model says."""

    async def test_a_reply_is_text_or_calls_as_text(self, stage: AnsweringStage) -> None:
        model = await _staged(stage.that_answers(1))
        reply = await model.complete(request())
        assert isinstance(reply, ModelReply)
        assert reply.text is None or isinstance(reply.text, str)
        assert reply.text is not None or reply.calls
        for call in reply.calls:
            assert (type(call.id), type(call.tool), type(call.arguments)) == (str, str, str)

    async def test_usage_is_flat_numbers(self, stage: AnsweringStage) -> None:
        model = await _staged(stage.that_answers(1))
        usage = (await model.complete(request())).usage
        assert all(math.isfinite(value) for value in usage.values())

    async def test_extras_are_a_json_object(self, stage: AnsweringStage) -> None:
        model = await _staged(stage.that_answers(1))
        assert isinstance(json.loads((await model.complete(request())).extras), dict)

    async def test_the_request_is_left_as_it_was(self, stage: AnsweringStage) -> None:
        model = await _staged(stage.that_answers(1))
        asked = request()
        before = copy.deepcopy(asked)
        await model.complete(asked)
        assert asked == before

    async def test_several_may_ask_at_a_time(self, stage: AnsweringStage) -> None:
        model = await _staged(stage.that_answers(4))
        replies = await asyncio.gather(*(model.complete(request()) for _ in range(4)))
        assert [isinstance(reply, ModelReply) for reply in replies] == [True] * 4


class ChatModelContract(ReplyContract):
    """See the module."""

    async def test_text_comes_as_it_was_said(self, stage: ModelStage) -> None:
        said = ModelReply(text="<answer>128 🙂</answer>", finish_reason="stop")
        model = await _staged(stage.that_replies([said]))
        reply = await model.complete(request())
        assert reply.text == said.text
        assert reply.calls == ()

    async def test_calls_come_in_order_and_unmended(self, stage: ModelStage) -> None:
        """Ids that repeat, ids that are missing and broken arguments are the engine's to mend."""
        calls = (
            VirtualCall(id="zoom:0", tool="Zoom_In_Tool", arguments='{"image_id": "input_image_1"}'),
            VirtualCall(id="zoom:0", tool="No_Such_Tool", arguments='{"image_id": '),
            VirtualCall(id="", tool="Zoom_In_Tool", arguments="[]"),
        )
        model = await _staged(stage.that_replies([ModelReply(text="Both.", calls=calls)]))
        reply = await model.complete(request())
        assert reply.calls == calls
        assert reply.text == "Both."

    async def test_a_cut_call_is_marked(self, stage: ModelStage) -> None:
        cut = VirtualCall(id="a", tool="Zoom_In_Tool", arguments='{"image_id": "inp')
        model = await _staged(stage.that_replies([ModelReply(calls=(cut,), finish_reason="length")]))
        (call,) = (await model.complete(request())).calls
        assert call.truncated
        assert call.arguments == cut.arguments

    async def test_a_longer_conversation_goes_on(self, stage: ModelStage) -> None:
        first, second = ModelReply(text="one"), ModelReply(text="two")
        model = await _staged(stage.that_replies([first, second]))
        messages = conversation()
        reply = await model.complete(request(messages))
        longer = (*messages, AssistantMessage(text=reply.text), UserMessage.of_text("And now?"))
        assert [reply.text, (await model.complete(request(longer))).text] == ["one", "two"]

    async def test_what_a_reply_left_behind_can_be_sent_back(self, stage: ModelStage) -> None:
        """Extras and reasoning travel with the message; the text, the ids and the arguments are the engine's."""
        call = VirtualCall(id="", tool="Zoom_In_Tool", arguments="{broken")
        said = ModelReply(text="Closer.", calls=(call,), reasoning="Hm.", finish_reason="tool_calls")
        model = await _staged(stage.that_replies([said, ModelReply(text="two", finish_reason="stop")]))
        reply = await model.complete(request())
        mended = VirtualCall(id="call_1_1", tool="Zoom_In_Tool", arguments="{}")
        back = AssistantMessage(text=reply.text, calls=(mended,), reasoning=reply.reasoning, extras=reply.extras)
        answer = ToolMessage(call_id=mended.id, tool=mended.tool, text="Not a JSON object.")
        assert (await model.complete(request((*conversation(), back, answer)))).text == "two"

    async def test_questions_may_run_side_by_side(self, stage: ModelStage) -> None:
        model = await _staged(stage.that_replies([ModelReply(text=str(n)) for n in range(4)]))
        replies = await asyncio.gather(*(model.complete(request()) for _ in range(4)))
        assert sorted(str(reply.text) for reply in replies) == ["0", "1", "2", "3"]

    async def test_an_unreachable_service_is_unavailable(self, stage: ModelStage) -> None:
        model = await _staged(stage.that_is_away())
        with pytest.raises(ModelUnavailableError) as failure:
            await model.complete(request())
        assert failure.value.code
        assert failure.value.message

    async def test_a_refusal_is_told_apart(self, stage: ModelStage) -> None:
        model = await _staged(stage.that_refuses())
        with pytest.raises(ModelRefusedError):
            await model.complete(request())

    async def test_a_full_context_is_told_apart(self, stage: ModelStage) -> None:
        model = await _staged(stage.that_is_full())
        with pytest.raises(ContextLengthError):
            await model.complete(request())

    async def test_cancelling_ends_the_request(self, stage: ModelStage) -> None:
        model = await _staged(stage.that_never_answers())
        asking = asyncio.ensure_future(model.complete(request()))
        await stage.until_asked()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await stage.until_left()
