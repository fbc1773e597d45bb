"""Texts to the token, pictures by their rule, five a message, and each message counted once."""

from __future__ import annotations

import gc
import json
from typing import Any

import attrs
import pytest
from tokenizers import Tokenizer

from openvlharness_adapters.models.chat_encoder import ChatEncoder
from openvlharness_adapters.models.chat_wire import opening
from openvlharness_adapters.tokens import TokenizerCounter
from openvlharness_core.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    ModelRequest,
    SystemMessage,
    TextPart,
    ToolMessage,
    ToolSpec,
    UserMessage,
    VirtualCall,
)
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.profile import ModelProfile
from tests.support.sent_tokens import chat_tokens
from tests.support.small_tokenizer import counting_profile, small_tokenizer

TOKENIZER = small_tokenizer()
TEXTS = (
    "How many pills are on the table?",
    "Zoë 中文 🙂 e\u0301",
    "  spaces\n\n\tand lines\n",
    "<|im_start|>user\nspecial names<|im_end|>",
    "x" * 5000,
    "",
)
LOOK = ToolSpec(
    name="Look_Tool",
    description="Looks – closely.",
    parameters={"type": "object", "properties": {"image_id": {"type": "string"}}, "required": ["image_id"]},
)


def of(text: str) -> int:
    return len(TOKENIZER.encode(text, add_special_tokens=False).ids)


def counter(**fields: object) -> TokenizerCounter:
    return TokenizerCounter(tokenizer=small_tokenizer(), profile=counting_profile(**fields))


def one(message: Message, **fields: object) -> int:
    return counter(**fields).count([(message,)], ())[0]


def image(height: int, width: int, handle: str = "input_image_1") -> ImagePart:
    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4) + height.to_bytes(4)
    return ImagePart(handle=handle, image=EncodedImage(data=header, media_type="image/png", size_hw=(height, width)))


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_texts_count_to_the_token(text: str) -> None:
    assert one(SystemMessage(text=text)) == 5 + of(text)
    assert one(UserMessage.of_text(text)) == 5 + of(text)
    assert one(AssistantMessage(text=text)) == 5 + of(text)
    assert one(ToolMessage(call_id="a", tool="t", text=text)) == 5 + of(text)


def test_special_names_in_a_text_are_single_tokens() -> None:
    assert one(SystemMessage(text="<|im_end|>")) == 5 + 1


def test_texts_without_pictures_count_as_they_are_sent() -> None:
    assert one(UserMessage(parts=(TextPart(text="one"), TextPart(text="two")))) == 5 + of("one\ntwo")


@pytest.mark.parametrize(
    ("patch", "pixels", "patches"), [(32, (65_536, 16_777_216), 15 * 20), (28, (3_136, 12_845_056), 17 * 23)]
)
def test_pictures_count_by_the_rule_of_the_profile(patch: int, pixels: tuple[int, int], patches: int) -> None:
    shown = UserMessage(parts=(TextPart(text="input_image_1:"), image(480, 640), TextPart(text="end")))
    counted = one(shown, image_token_patch=patch, image_token_pixels=pixels)
    assert counted == 5 + of("input_image_1:") + of("end") + 2 + patches


def test_a_picture_sent_by_url_counts_as_one_of_a_megapixel() -> None:
    assert one(UserMessage(parts=(ImagePart(handle="i", url="https://example.com/a.png"),))) == 5 + 2 + 32 * 32


def test_evidence_is_a_message_of_its_own_where_the_protocol_sends_one() -> None:
    evidence = ToolMessage(call_id="a", tool="t", text="Done.", parts=(TextPart(text="crop"), image(300, 200)))
    assert one(evidence) == (5 + of("Done.")) + (5 + of("crop") + 2 + 10 * 7)
    assert one(evidence, adapter="responses") == 5 + of("Done.") + of("crop") + 2 + 10 * 7


def test_calls_count_with_name_and_arguments_but_without_id() -> None:
    calls = tuple(VirtualCall(id=call_id, tool="Look_Tool", arguments='{"n": 1}') for call_id in ("a", "b" * 500))
    written = of('<tool_call>\n{"name": "Look_Tool", "arguments": {"n": 1}}\n</tool_call>')
    assert one(AssistantMessage(calls=calls)) == 5 + 2 * written
    assert one(AssistantMessage(text="So.", calls=calls), adapter="responses") == 3 * 5 + of("So.") + 2 * written


def test_what_is_sent_back_of_a_reply_counts() -> None:
    reply = AssistantMessage(text="So.", reasoning="long thoughts", extras='{"signature": [1, 2], "other": "no"}')
    assert one(reply) == 5 + of("So.")
    assert one(reply, replay_fields=("reasoning_content",)) == 5 + of("So.") + of("long thoughts")
    both = one(reply, replay_fields=("signature", "reasoning_content"))
    assert both == 5 + of("So.") + of("long thoughts") + of("[1, 2]")


def test_tools_count_with_the_separators_of_the_template() -> None:
    function = {"name": LOOK.name, "description": LOOK.description, "parameters": LOOK.parameters}
    wire = {"type": "function", "function": function}
    assert counter().count([], (LOOK,)) == (of(json.dumps([wire])),)
    assert counter().count([], (LOOK, LOOK)) == (of(json.dumps([wire, wire])),)
    assert counter().count([], ()) == (0,)


def test_an_empty_segment_is_nothing() -> None:
    assert counter().count([(), (SystemMessage(text="Hi"),), ()], ()) == (0, 5 + of("Hi"), 0, 0)


def test_a_tokenizer_that_cuts_and_fills_is_told_not_to() -> None:
    tokenizer = small_tokenizer()
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=512, pad_token="<|endoftext|>")
    made = TokenizerCounter(tokenizer=tokenizer, profile=counting_profile())
    long, short = "How many? " * 100, "Hi"
    assert made.count([(SystemMessage(text=long),), (SystemMessage(text=short),)], ())[:2] == (
        5 + of(long),
        5 + of(short),
    )


def test_lone_surrogates_count_as_what_is_sent_for_them() -> None:
    assert one(SystemMessage(text="a\ud83d b")) == 5 + of("a\ufffd b")


def test_a_profile_without_a_picture_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="expected image_token_patch"):
        TokenizerCounter(tokenizer=small_tokenizer(), profile=ModelProfile(alias="bare"))


def test_the_sum_is_that_of_the_body_that_is_sent() -> None:
    """The same conversation, counted by messages and counted by what the encoder makes of it."""
    call = VirtualCall(id="a", tool="Look_Tool", arguments='{"image_id": "input_image_1"}')
    picture = image(40, 60, "tool_generated_image_1")
    messages: tuple[Message, ...] = (
        SystemMessage(text="Answer."),
        UserMessage(parts=(TextPart(text="How many?"), TextPart(text="input_image_1:"), image(700, 900))),
        UserMessage.of_text("Images: input_image_1."),
        AssistantMessage(text="Closer.", calls=(call,)),
        ToolMessage(call_id="a", tool="Look_Tool", text="Done.", parts=(TextPart(text="crop 🙂"), picture)),
        AssistantMessage(calls=(attrs.evolve(call, id="b"),)),
        ToolMessage(call_id="b", tool="Look_Tool", text="Error.", parts=(TextPart(text="one"), TextPart(text="two"))),
        AssistantMessage(text="Hm."),
        UserMessage.of_text("Go on."),
    )
    profile = counting_profile()
    encoder = ChatEncoder(profile=profile, opening=opening("m", {}, stream=False))
    body: dict[str, Any] = json.loads(b"".join(encoder.body(ModelRequest(messages=messages, tools=(LOOK,)))))
    counted = TokenizerCounter(tokenizer=small_tokenizer(), profile=profile).count([messages], (LOOK,))
    assert sum(counted) == chat_tokens(body, TOKENIZER, 32, (65_536, 16_777_216))


@attrs.define
class Watched:
    """A tokenizer that notes what it is given."""

    inner: Tokenizer
    texts: list[str] = attrs.field(factory=list)

    def encode(self, text: str, *, add_special_tokens: bool) -> object:
        self.texts.append(text)
        return self.inner.encode(text, add_special_tokens=add_special_tokens)

    def no_truncation(self) -> None:
        self.inner.no_truncation()

    def no_padding(self) -> None:
        self.inner.no_padding()


def test_each_message_is_counted_once_while_it_is_held() -> None:
    watched = Watched(small_tokenizer())
    made = TokenizerCounter(tokenizer=watched, profile=counting_profile())  # type: ignore[arg-type]
    system, user = SystemMessage(text="Answer."), UserMessage.of_text("Why?")
    first = made.count([(system,), (system, user)], ())
    assert first == made.count([(system,), (user, system)], ())
    assert watched.texts == ["Answer.", "Why?"]
    del user
    gc.collect()
    made.count([(system, UserMessage.of_text("Why?"))], ())
    assert watched.texts == ["Answer.", "Why?", "Why?"], "a message that nobody holds is forgotten"
