"""Bodies: each message and picture is encoded once, and a prompt begins with the prompt before it."""

from __future__ import annotations

import gc
import itertools
import json
from collections import Counter
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.models.chat_encoder import ChatEncoder
from openvlharness_adapters.models.chat_wire import EncodedMessage, encode_message, message_to_wire, opening
from openvlharness_adapters.models.pairing import check_pairs
from openvlharness_adapters.models.pieces import Base64, base64_of
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
from tests.support.chat_rules import faults_of, prefix_fault

PLAIN = ModelProfile(alias="plain", model_id="m")
ALTERNATING = ModelProfile(alias="alternating", model_id="m", alternate_roles=True, empty_content="")
ZOOM = ToolSpec(name="zoom", description="Cuts.", parameters={"type": "object"})
PNG = b"\x89PNG\r\n\x1a\n"


def _picture(n: int) -> EncodedImage:
    return EncodedImage(data=PNG + bytes([n]) * 50, media_type="image/png", size_hw=(1, 1))


def _encoder(profile: ModelProfile = PLAIN, **fields: Any) -> ChatEncoder:
    return ChatEncoder(profile=profile, opening=opening("m", {"temperature": 0}, stream=False), **fields)


def _body(encoder: ChatEncoder, messages: tuple[Message, ...], **fields: Any) -> bytes:
    return b"".join(encoder.body(ModelRequest(messages=messages, **fields)))


@attrs.define
class Counting:
    """Counts what is encoded, and encodes it."""

    messages: Counter[Message] = attrs.field(factory=Counter)
    pictures: Counter[EncodedImage] = attrs.field(factory=Counter)

    def encode(self, message: Message, profile: ModelProfile, base64: Base64) -> EncodedMessage:
        self.messages[message] += 1
        return encode_message(message, profile, base64)

    def base64(self, image: EncodedImage) -> bytes:
        self.pictures[image] += 1
        return base64_of(image)


def _turn(n: int, picture: EncodedImage) -> tuple[Message, ...]:
    return (
        AssistantMessage(calls=(VirtualCall(id=f"c{n}", tool="zoom", arguments="{}"),)),
        ToolMessage(call_id=f"c{n}", tool="zoom", text="ok", parts=(ImagePart(handle=f"t{n}", image=picture),)),
        UserMessage.of_text(f"Update {n}"),
    )


@pytest.mark.parametrize("profile", [PLAIN, ALTERNATING], ids=lambda profile: profile.alias)
def test_each_message_and_each_picture_is_encoded_once_a_question(profile: ModelProfile) -> None:
    counting = Counting()
    encoder = _encoder(profile, encode=counting.encode, base64=counting.base64)
    pictures = [_picture(n) for n in range(4)]
    question = UserMessage(parts=(TextPart(text="?"), ImagePart(handle="i", image=pictures[0])))
    messages: tuple[Message, ...] = (SystemMessage(text="s"), question)
    last = _body(encoder, messages, tools=(ZOOM,))
    for n in range(15):
        messages += _turn(n, pictures[n % 4])  # a picture may come back in a later message
        now = _body(encoder, messages, tools=(ZOOM,), seed=n)
        assert prefix_fault(last, now) is None
        assert list(faults_of(json.loads(now))) == []
        last = now
    assert set(counting.messages) == set(messages)
    assert set(counting.messages.values()) == {1}
    assert set(counting.pictures) == set(pictures)
    assert set(counting.pictures.values()) == {1}


def test_a_message_is_hashed_when_it_is_new_and_never_again(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = 0
    own_hash = UserMessage.__hash__

    def counting(message: UserMessage) -> int:
        nonlocal hashed
        hashed += 1
        return own_hash(message)

    monkeypatch.setattr(UserMessage, "__hash__", counting)
    encoder = _encoder()
    messages: tuple[Message, ...] = (SystemMessage(text="s"),)
    turns = 20
    for n in range(turns):
        messages += (UserMessage.of_text(f"update {n}"),)
        _body(encoder, messages)
    assert turns <= hashed <= 4 * turns  # to find out that it is not known, and to keep it; every turn would be 420


def test_what_is_kept_goes_with_the_conversation() -> None:
    encoder = _encoder()
    messages = (UserMessage(parts=(ImagePart(handle="i", image=_picture(1)),)),)
    _body(encoder, messages)
    assert (len(encoder._messages), len(encoder._pictures)) == (1, 1)
    del messages
    gc.collect()
    assert (len(encoder._messages), len(encoder._pictures)) == (0, 0)


@pytest.mark.parametrize("profile", [PLAIN, ALTERNATING], ids=lambda profile: profile.alias)
def test_the_text_of_a_picture_is_not_copied_into_its_message(profile: ModelProfile) -> None:
    encoder = _encoder(profile)
    picture = EncodedImage(data=PNG + bytes(150_000), media_type="image/png", size_hw=(1, 1))
    shown = UserMessage(parts=(TextPart(text="a"), ImagePart(handle="i", image=picture), TextPart(text="b")))
    messages = (shown, UserMessage.of_text("c"))
    for _ in range(2):
        pieces = encoder.body(ModelRequest(messages=messages))
        assert sum(piece is encoder._pictures[picture] for piece in pieces) == 1
        assert max(len(piece) for piece in pieces if piece is not encoder._pictures[picture]) < 1000


def test_tools_are_encoded_again_only_when_they_differ() -> None:
    encoder = _encoder()
    messages = (UserMessage.of_text("a"),)
    same = ToolSpec(name="zoom", description="Cuts.", parameters={"type": "object"})
    other = ToolSpec(name="zoom", description="Cuts.", parameters={"type": "object", "properties": {}})
    with_tools = _body(encoder, messages, tools=(ZOOM,))
    assert _body(encoder, messages, tools=(same,)) == with_tools
    assert (
        json.loads(_body(encoder, messages, tools=(other,)))["tools"][0]["function"]["parameters"] == other.parameters
    )
    assert _body(encoder, messages, tools=(ZOOM,)) == with_tools
    assert "tools" not in json.loads(_body(encoder, messages, tool_choice="auto"))
    assert "tool_choice" not in json.loads(_body(encoder, messages, tool_choice="auto"))


TEXTS = st.text(st.characters(), max_size=12)
PARTS = st.lists(
    TEXTS.map(lambda text: TextPart(text=text))
    | st.integers(0, 3).map(lambda n: ImagePart(handle="h", image=_picture(n)))
    | st.just(ImagePart(handle="h", url="https://example.org/x.png")),
    min_size=1,
    max_size=4,
).map(tuple)
USER = PARTS.map(lambda parts: UserMessage(parts=parts))


@st.composite
def _turns(draw: st.DrawFn) -> list[tuple[Message, ...]]:
    """Portions of a conversation, each beginning with the assistant's."""
    turns = []
    for number in range(draw(st.integers(0, 5))):
        ids = [f"{number}.{n}" for n in range(draw(st.integers(0, 3)))]
        answers = [ToolMessage(call_id=i, tool="t", text=draw(TEXTS), parts=draw(st.just(()) | PARTS)) for i in ids]
        calls = tuple(VirtualCall(id=i, tool="t", arguments="{}") for i in ids)
        said = AssistantMessage(text=draw(TEXTS) + "." if not ids else draw(st.none() | TEXTS), calls=calls)
        turns.append((said, *answers, *draw(st.lists(USER, max_size=2))))
    return turns


@given(
    st.lists(USER, min_size=1, max_size=3), _turns(), st.sampled_from([PLAIN, ALTERNATING]), st.lists(st.integers(0, 9))
)
def test_a_prompt_begins_with_the_one_before(
    question: list[UserMessage], turns: list[tuple[Message, ...]], profile: ModelProfile, seeds: list[int]
) -> None:
    encoder = _encoder(profile)
    messages: tuple[Message, ...] = (SystemMessage(text="s"), *question)
    last = _body(encoder, messages, tools=(ZOOM,), tool_choice="auto")
    for n, turn in enumerate(turns):
        messages += turn
        now = _body(encoder, messages, tools=(ZOOM,) if n % 2 else (), seed=seeds[n] if n < len(seeds) else None)
        assert prefix_fault(last, now) is None
        last = now
    body = json.loads(last)
    assert list(faults_of(body)) == []
    assert now_is_fresh(last, messages, profile, len(turns), seeds)
    roles = [message["role"] for message in body["messages"]]
    if profile.alternate_roles:
        assert ("user", "user") not in list(itertools.pairwise(roles))
    _nothing_is_lost(messages, body)


def now_is_fresh(
    last: bytes, messages: tuple[Message, ...], profile: ModelProfile, turns: int, seeds: list[int]
) -> bool:
    """An encoder that has kept nothing makes the same bytes."""
    n = turns - 1
    if turns == 0:
        return last == _body(_encoder(profile), messages, tools=(ZOOM,), tool_choice="auto")
    seed = seeds[n] if n < len(seeds) else None
    return last == _body(_encoder(profile), messages, tools=(ZOOM,) if n % 2 else (), seed=seed)


def _nothing_is_lost(messages: tuple[Message, ...], body: dict[str, Any]) -> None:
    """Every picture that is shown arrives, in order, and every tool message stands next to its call."""
    shown = [
        part.url or base64_of(part.image).decode()
        for message in messages
        if isinstance(message, UserMessage | ToolMessage)
        for part in message.parts
        if isinstance(part, ImagePart) and (part.image or part.url)
    ]
    arrived = [
        part["image_url"]["url"].rpartition(";base64,")[2]
        for message in body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]
    assert arrived == shown
    answered = [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]
    assert answered == [message.call_id for message in messages if isinstance(message, ToolMessage)]


@pytest.mark.parametrize("text", ["a\ud83d b", "\udfff", "🙂 é \u2028", 'quote " back \\ slash', "\x00\x1f"])
@pytest.mark.parametrize("profile", [PLAIN, ALTERNATING], ids=lambda profile: profile.alias)
def test_any_text_can_be_sent(text: str, profile: ModelProfile) -> None:
    right = "".join("\ufffd" if "\ud800" <= sign <= "\udfff" else sign for sign in text)
    tool = ToolSpec(name="t", description=text, parameters={"type": "object", "description": text})
    messages = (
        SystemMessage(text=text),
        UserMessage(parts=(TextPart(text=text), ImagePart(handle="i", image=_picture(1)))),
        UserMessage.of_text(text),
        AssistantMessage(text=text, calls=(VirtualCall(id="a", tool="t", arguments=json.dumps({"x": text})),)),
        ToolMessage(call_id="a", tool="t", text=text, parts=(TextPart(text=text),)),
    )
    body = json.loads(_body(_encoder(profile), messages, tools=(tool,)))
    wire = body["messages"]
    assert wire[0]["content"] == right
    assert wire[1]["content"][0]["text"] == right
    assert wire[-1] == {"role": "user", "content": right}
    assert wire[-2]["content"] == right
    assert body["tools"][0]["function"]["parameters"]["description"] == right


def test_texts_of_one_message_are_lines_and_those_of_several_are_paragraphs() -> None:
    two = UserMessage(parts=(TextPart(text="a"), TextPart(text="b")))
    body = json.loads(_body(_encoder(ALTERNATING), (two, UserMessage.of_text("c"))))
    assert body["messages"] == [{"role": "user", "content": "a\nb\n\nc"}]


def test_one_message_alone() -> None:
    evidence = ToolMessage(call_id="a", tool="t", text="ok", parts=(TextPart(text="seen"),))
    assert message_to_wire(evidence, PLAIN, base64_of) == [
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
        {"role": "user", "content": "seen"},
    ]


@pytest.mark.parametrize(("empty", "content"), [("null", None), ("", "")])
def test_empty_content_beside_calls(empty: Any, content: str | None) -> None:
    profile = ModelProfile(alias="p", empty_content=empty)
    said = AssistantMessage(calls=(VirtualCall(id="a", tool="t", arguments="{}"),))
    (wire,) = message_to_wire(said, profile, base64_of)
    assert wire["content"] == content


def test_only_the_named_fields_are_replayed() -> None:
    said = AssistantMessage(text="x", reasoning="hm", extras='{"sig": {"v": 1}, "other": 2}')
    (bare,) = message_to_wire(said, PLAIN, base64_of)
    assert bare == {"role": "assistant", "content": "x"}
    profile = ModelProfile(alias="p", replay_fields=("sig", "reasoning", "absent"))
    (wire,) = message_to_wire(said, profile, base64_of)
    assert wire == {"role": "assistant", "content": "x", "sig": {"v": 1}, "reasoning": "hm"}


def test_a_picture_without_bytes_or_url_is_a_bug() -> None:
    with pytest.raises(ValueError, match=r"^parts: expected"):
        _body(_encoder(), (UserMessage(parts=(ImagePart(handle="i"),)),))


def _call(*ids: str) -> AssistantMessage:
    return AssistantMessage(calls=tuple(VirtualCall(id=i, tool="t", arguments="{}") for i in ids))


def _answer(call_id: str) -> ToolMessage:
    return ToolMessage(call_id=call_id, tool="t", text="ok")


USER_MESSAGE = UserMessage.of_text("x")


@pytest.mark.parametrize(
    ("messages", "place"),
    [
        ((_call("a"),), "messages[1]"),
        ((_call("a"), USER_MESSAGE), "messages[1]"),
        ((_call("a", "b"), _answer("a"), USER_MESSAGE, _answer("b")), "messages[2]"),
        ((_call("a", "b"), _answer("b"), _answer("a")), "messages[1]"),
        ((_call("a"), _answer("b")), "messages[1]"),
        ((_call("a"), _answer("a"), _answer("a")), "messages[2]"),
        ((USER_MESSAGE, _answer("a")), "messages[1]"),
        ((_call("a"), _call("b"), _answer("b")), "messages[1]"),
        ((_call("a", "a"), _answer("a"), _answer("a")), "messages[0].calls"),
        ((_call(""), _answer("")), "messages[0].calls"),
    ],
)
def test_a_history_with_an_orphan_is_never_sent(messages: tuple[Message, ...], place: str) -> None:
    with pytest.raises(ValueError, match="expected") as refused:
        _body(_encoder(), messages)
    assert str(refused.value).startswith(f"{place}: ")


def test_ids_may_come_back_in_a_later_turn() -> None:
    check_pairs((_call("zoom:0"), _answer("zoom:0"), _call("zoom:0"), _answer("zoom:0"), USER_MESSAGE))
