"""Bodies of the Responses protocol: encoded once, complete item sets, and nothing that a strict service refuses."""

from __future__ import annotations

import gc
import json
from collections import Counter
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.models.pieces import Base64, base64_of
from openvlharness_adapters.models.responses_encoder import ResponsesEncoder
from openvlharness_adapters.models.responses_items import items_of, items_to_extras, kept_items
from openvlharness_adapters.models.responses_wire import EncodedItems, encode_message, message_to_wire, opening
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
from tests.support.chat_rules import prefix_fault
from tests.support.official_types import refusals_of
from tests.support.responses_rules import faults_of
from tests.support.responses_server import call, message, reasoning

PLAIN = ModelProfile(alias="plain", model_id="m")
ALTERNATING = ModelProfile(alias="alternating", model_id="m", alternate_roles=True)
ZOOM = ToolSpec(name="zoom", description="Cuts.", parameters={"type": "object"})
PNG = b"\x89PNG\r\n\x1a\n"
PROFILES = pytest.mark.parametrize("profile", [PLAIN, ALTERNATING], ids=lambda profile: profile.alias)


def _picture(n: int, size: int = 50) -> EncodedImage:
    return EncodedImage(data=PNG + bytes([n]) * size, media_type="image/png", size_hw=(1, 1))


def _encoder(profile: ModelProfile = PLAIN, **fields: Any) -> ResponsesEncoder:
    return ResponsesEncoder(profile=profile, opening=opening("m", profile, {"temperature": 0}, stream=False), **fields)


def _body(encoder: ResponsesEncoder, messages: tuple[Message, ...], **fields: Any) -> bytes:
    return b"".join(encoder.body(ModelRequest(messages=messages, **fields)))


@attrs.define
class Counting:
    """Counts what is encoded, and encodes it."""

    messages: Counter[Message] = attrs.field(factory=Counter)
    pictures: Counter[EncodedImage] = attrs.field(factory=Counter)

    def encode(self, message: Message, profile: ModelProfile, base64: Base64) -> EncodedItems:
        self.messages[message] += 1
        return encode_message(message, profile, base64)

    def base64(self, image: EncodedImage) -> bytes:
        self.pictures[image] += 1
        return base64_of(image)


def _said(n: int) -> AssistantMessage:
    output = [reasoning(f"rs_{n}"), message("Closer.", f"msg_{n}"), call("zoom", "{}", f"c{n}", id=f"fc_{n}")]
    wanted = (VirtualCall(id=f"c{n}", tool="zoom", arguments="{}"),)
    return AssistantMessage(text="Closer.", calls=wanted, extras=items_to_extras(output))


def _turn(n: int, picture: EncodedImage) -> tuple[Message, ...]:
    shown = (TextPart(text="The crop:"), ImagePart(handle=f"t{n}", image=picture))
    answer = ToolMessage(call_id=f"c{n}", tool="zoom", text="ok", parts=shown)
    return _said(n), answer, UserMessage.of_text(f"Update {n}")


@PROFILES
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
        assert prefix_fault(last, now, "input") is None
        assert list(faults_of(json.loads(now), alternate=profile.alternate_roles)) == []
        last = now
    assert set(counting.messages) == set(messages)
    assert set(counting.messages.values()) == {1}
    assert set(counting.pictures) == set(pictures)
    assert set(counting.pictures.values()) == {1}
    assert last == _body(_encoder(profile), messages, tools=(ZOOM,))  # one that has kept nothing makes the same
    assert refusals_of("responses", json.loads(last)) == []


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


@PROFILES
def test_the_text_of_a_picture_is_not_copied_into_its_message(profile: ModelProfile) -> None:
    encoder, picture = _encoder(profile), _picture(0, 150_000)
    shown = (TextPart(text="a"), ImagePart(handle="i", image=picture), TextPart(text="b"))
    messages = (
        UserMessage(parts=shown),
        UserMessage.of_text("c"),
        _said(1),
        ToolMessage(call_id="c1", tool="zoom", text="ok", parts=shown),
    )
    for _ in range(2):
        pieces = encoder.body(ModelRequest(messages=messages))
        assert sum(piece is encoder._pictures[picture] for piece in pieces) == 2
        assert max(len(piece) for piece in pieces if piece is not encoder._pictures[picture]) < 1000


def test_an_answer_holds_its_evidence_in_order() -> None:
    parts = (TextPart(text="seen"), ImagePart(handle="t", image=_picture(1)), ImagePart(handle="u", url="http://u/x"))
    (wire,) = message_to_wire(ToolMessage(call_id="a", tool="t", text="ok", parts=parts), PLAIN, base64_of)
    assert wire["type"] == "function_call_output"
    assert wire["output"] == [
        {"type": "input_text", "text": "ok"},
        {"type": "input_text", "text": "seen"},
        {
            "type": "input_image",
            "image_url": "data:image/png;base64," + base64_of(_picture(1)).decode(),
            "detail": "auto",
        },
        {"type": "input_image", "image_url": "http://u/x", "detail": "auto"},
    ]
    texts = ToolMessage(call_id="a", tool="t", text="ok", parts=(TextPart(text="seen"),))
    assert message_to_wire(texts, PLAIN, base64_of)[0]["output"] == "ok\nseen"


def test_several_user_messages_are_one_where_roles_alternate() -> None:
    two = UserMessage(parts=(TextPart(text="a"), TextPart(text="b")))
    body = json.loads(_body(_encoder(ALTERNATING), (two, UserMessage.of_text("c"))))
    assert body["input"] == [{"type": "message", "role": "user", "content": "a\nb\n\nc"}]
    pictured = UserMessage(parts=(ImagePart(handle="i", url="http://u/x"),))
    (one,) = json.loads(_body(_encoder(ALTERNATING), (two, pictured)))["input"]
    assert [part["type"] for part in one["content"]] == ["input_text", "input_text", "input_image"]


@pytest.mark.parametrize("text", ["a\ud83d b", "\udfff", "🙂 é \u2028", 'quote " back \\ slash', "\x00\x1f"])
@PROFILES
def test_any_text_can_be_sent(text: str, profile: ModelProfile) -> None:
    right = "".join("\ufffd" if "\ud800" <= sign <= "\udfff" else sign for sign in text)
    tool = ToolSpec(name="t", description=text, parameters={"type": "object", "description": text})
    messages = (
        SystemMessage(text=text),
        UserMessage(parts=(TextPart(text=text), ImagePart(handle="i", image=_picture(1)))),
        AssistantMessage(text=text, calls=(VirtualCall(id="a", tool="t", arguments=json.dumps({"x": text})),)),
        ToolMessage(call_id="a", tool="t", text=text, parts=(TextPart(text=text),)),
        UserMessage.of_text(text),
    )
    body = json.loads(_body(_encoder(profile), messages, tools=(tool,)))
    system, shown, said, _, answer, user = body["input"]
    assert system["content"] == said["content"] == user["content"] == shown["content"][0]["text"] == right
    assert answer["output"] == f"{right}\n{right}"
    assert body["tools"][0]["parameters"]["description"] == body["tools"][0]["description"] == right
    assert list(faults_of(body)) == []


def test_a_picture_without_bytes_or_url_is_a_bug() -> None:
    with pytest.raises(ValueError, match=r"^parts: expected"):
        _body(_encoder(), (UserMessage(parts=(ImagePart(handle="i"),)),))


@pytest.mark.parametrize(
    "messages",
    [(_said(1),), (UserMessage.of_text("x"), ToolMessage(call_id="c1", tool="t", text="ok")), (_said(1), _said(2))],
    ids=["no answer", "no call", "a call in between"],
)
def test_a_history_with_an_orphan_is_never_sent(messages: tuple[Message, ...]) -> None:
    with pytest.raises(ValueError, match="expected"):
        _body(_encoder(), messages)


TEXTS = st.sampled_from(["", "a", "b"])
IDS = st.sampled_from([None, "", "x_1", "x_2", "x_3", 7])
ITEMS = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("reasoning"), "id": IDS, "encrypted_content": st.sampled_from([None, "", "gA", 3])},
        optional={
            "summary": st.none() | st.lists(TEXTS.map(lambda text: {"type": "summary_text", "text": text}), max_size=2),
            "content": st.none() | st.lists(TEXTS.map(lambda text: {"text": text, "odd": 1}), max_size=2),
            "status": st.sampled_from([None, "completed", "odd"]),
            "odd": st.just(1),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.just("message"), "id": IDS, "content": TEXTS | st.none() | st.lists(TEXTS, max_size=2)},
        optional={
            "role": st.sampled_from(["assistant", "user"]),
            "status": st.sampled_from([None, "incomplete"]),
            "phase": st.sampled_from([None, "commentary", "odd"]),
        },
    ),
    st.fixed_dictionaries({"type": st.just("function_call"), "id": IDS}, optional={"odd": st.just(1)}),
    st.just({"type": "web_search_call", "id": "ws_1"}),
)


@given(st.lists(st.tuples(st.lists(ITEMS, max_size=4), TEXTS, st.integers(0, 2)), max_size=3))
def test_whatever_items_came_a_strict_service_takes_what_goes_back(
    turns: list[tuple[list[dict[str, Any]], str, int]],
) -> None:
    messages: tuple[Message, ...] = (UserMessage.of_text("?"),)
    for n, (output, text, count) in enumerate(turns):
        ids = [f"c{n}_{position}" for position in range(count)]
        wanted = tuple(VirtualCall(id=call_id, tool="t", arguments="{}") for call_id in ids)
        said = text or ("" if count else "nothing")
        messages += (AssistantMessage(text=said, calls=wanted, extras=json.dumps({"output": output})),)
        messages += tuple(ToolMessage(call_id=call_id, tool="t", text="ok") for call_id in ids)
    body = json.loads(_body(_encoder(), messages))
    assert list(faults_of(body)) == []
    wanted_ids = [call.id for message in messages if isinstance(message, AssistantMessage) for call in message.calls]
    assert [item["call_id"] for item in body["input"] if item["type"] == "function_call"] == wanted_ids
    assert refusals_of("responses", body) == []


@given(st.lists(ITEMS, max_size=4))
def test_keeping_again_changes_nothing(output: list[dict[str, Any]]) -> None:
    kept = kept_items(output)
    assert kept_items(kept) == kept


def test_sealed_reasoning_comes_back_unchanged() -> None:
    sealed = reasoning("rs_1", "gAAAA+/=", status="completed", content=[])
    output = [sealed, call("zoom", '{"x": 1}', "c1", id="fc_1")]
    extras = items_to_extras(output)
    said = AssistantMessage(calls=(VirtualCall(id="fresh", tool="zoom", arguments="{}"),), extras=extras)
    items = items_of(said)
    assert items is not None
    assert items[0] == sealed
    assert items[1] == {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "fresh",
        "name": "zoom",
        "arguments": "{}",
    }


@pytest.mark.parametrize("extras", ["{}", "no json output", '{"output": 3}', "[]", '{"output": [3]}', '"output"'])
def test_extras_that_hold_no_items_give_the_plain_form(extras: str) -> None:
    said = AssistantMessage(text="x", extras=extras)
    assert message_to_wire(said, PLAIN, base64_of) == [{"type": "message", "role": "assistant", "content": "x"}]
