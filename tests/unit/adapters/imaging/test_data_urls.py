"""Data URLs: lenient about how they are written, strict about what is in them."""

from __future__ import annotations

import base64
from contextlib import suppress
from urllib.parse import quote, quote_from_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.data_urls import data_of_url
from openvlharness_core.errors import UnreadableImageError
from openvlharness_core.pictures import ImageLimits
from tests.unit.adapters.imaging.drawing import quarter, saved

PNG = saved(quarter(), "PNG")
TEXT = base64.b64encode(PNG).decode()


@pytest.mark.parametrize(
    "url",
    [
        f"data:image/jpeg;base64,{TEXT}",
        f"data:image/jpg;base64,{TEXT}",
        f"DATA:IMAGE/PNG;BASE64,{TEXT}",
        f"data:;base64,{TEXT}",
        f"data:image/png;name=a.png;charset=utf-8;base64,{TEXT}",
        f"data:image/png;base64;charset=utf-8,{TEXT}",
        f" data:image/png; base64 ,{TEXT}\n",
        "data:image/png;base64," + "\r\n".join(TEXT[i : i + 76] for i in range(0, len(TEXT), 76)),
        f"data:image/png;base64,{TEXT.rstrip('=')}",
        f"data:image/png;base64,{base64.urlsafe_b64encode(PNG).decode()}",
        f"data:image/png;base64,{quote(TEXT, safe='')}",
        f"data:image/png,{quote_from_bytes(PNG)}",
    ],
)
def test_the_bytes_decide_and_not_what_was_declared(url: str) -> None:
    codec = PillowCodec()
    data = codec.data_of_url(url)
    assert data == PNG
    assert codec.take_in(data, ImageLimits()).sent.media_type == "image/png"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "data:image/png;base64"),
        ("http://example.com/a.png", "data:image/png;base64"),
        ("data:image/png;base64", "data:image/png;base64"),
        ("data:image/png;base64,", "none"),
        ("data:,", "none"),
        ("data:image/png;base64,****", "base64"),
        ("data:image/png;base64,AAAAA", "base64"),
        ("data:image/png;base64,AAA=AAA=", "base64"),
        ("data:image/png;base64,AAAA====", "padding"),
        ("data:image/png;base64,AA+_", "base64"),
        ("data:image/png;base64,\ud83dAAA", "base64"),
        ("data:image/png;base64,%zz", "escape"),
        ("data:image/png,%8", "escape"),
        ("data:image/png,ü", "ASCII"),
        ("data:\ud83d", "data:image/png;base64"),
    ],
)
def test_garbage_is_refused_in_words(url: str, words: str) -> None:
    with pytest.raises(UnreadableImageError, match=words) as caught:
        data_of_url(url)
    caught.value.problem.encode()  # no half characters of the input in the message
    assert len(caught.value.problem) < 250


@given(st.binary(min_size=1, max_size=300))
def test_any_bytes_survive_every_spelling(data: bytes) -> None:
    for text in (base64.b64encode(data), base64.urlsafe_b64encode(data), base64.b64encode(data).rstrip(b"=")):
        assert data_of_url("data:;base64," + text.decode()) == data
    assert data_of_url("data:," + quote_from_bytes(data)) == data


@given(st.text(max_size=60))
def test_any_text_is_bytes_or_a_refusal(text: str) -> None:
    for head in ("", "data:", "data:;base64,", "data:,"):
        with suppress(UnreadableImageError):
            assert data_of_url(head + text)


def test_what_is_no_picture_is_refused_when_it_is_taken_in() -> None:
    data = data_of_url("data:image/png;base64," + base64.b64encode(b"plain text").decode())
    with pytest.raises(UnreadableImageError, match="plain text"):
        PillowCodec().take_in(data, ImageLimits())
