"""Texts at the boundaries."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from openvlharness_core.texts import clean_text, excerpt

WORDS = st.text(alphabet="ab \n\t\u2003é", max_size=60)


@given(WORDS, st.integers(1, 40))
def test_an_excerpt_is_the_beginning_of_the_text_on_one_line(text: str, limit: int) -> None:
    line = " ".join(text.split())
    assert excerpt(text, limit) == (line if len(line) <= limit else line[: limit - 1] + "…")


@given(st.text(alphabet=st.characters(codec=None), max_size=20))
def test_a_clean_text_can_be_encoded_and_loses_nothing_else(text: str) -> None:
    clean = clean_text(text)
    clean.encode()
    pairs = zip(text, clean, strict=True)
    assert all(new == ("\ufffd" if "\ud800" <= old <= "\udfff" else old) for old, new in pairs)


def test_an_excerpt_of_a_long_text_costs_no_more_than_its_beginning() -> None:
    text = "word " * 2_000_000
    begin = time.process_time()
    assert excerpt(text, 11) == "word word …"
    assert time.process_time() - begin < 0.1  # split into all of its words: 0.3 seconds
