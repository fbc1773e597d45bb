"""The grammar of embedded grounding: every word is consumed, or the first that is not is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.backends.embedded.vision.queries import (
    COLOURS,
    EXTREMES,
    SHAPES,
    TONES,
    FaceQuery,
    NotInGrammarError,
    Query,
    ShapeQuery,
    TextQuery,
    understood_query,
)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("red circles", ShapeQuery(colour="red", shape="circle")),
        ("The largest, dark-blue Square.", ShapeQuery(colour="blue", tone="dark", extreme="largest", shape="square")),
        ("a gray hexagon", ShapeQuery(colour="grey", shape="hexagon")),
        ("shapes", ShapeQuery()),
        ("smallest shape", ShapeQuery(extreme="smallest")),
        ("light", ShapeQuery(tone="light")),
        ("green", ShapeQuery(colour="green")),
        ("text", TextQuery()),
        ("the text", TextQuery()),
        ('the text "Grand  total"', TextQuery(words="Grand total")),
        ("“Total”", TextQuery(words="Total")),
        ("'red circle'", TextQuery(words="red circle")),
        ("Faces", FaceQuery()),
        ("a face?", FaceQuery()),
    ],
)
def test_what_is_understood(text: str, query: Query) -> None:
    assert understood_query(text) == query


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("red bicycles", "bicycles"),
        ("circles that are not red", "that"),
        ("red blue circle", "blue"),
        ("circle square", "square"),
        ("circles red", "red"),
        ("biggest circle", "biggest"),
        ("red text", "red"),
        ("large face", "large"),
        ("face of a dog", "of"),
        ('"Total" circle', "circle"),
        ('"Total" "Sum"', "Sum"),
        ("red & blue", "&"),
        ("circlesss", "circlesss"),
        ("red cat's eye", "cat's"),
        ("", ""),
        ("the", ""),
        ('""', ""),
    ],
)
def test_the_first_word_that_is_not_is_named_with_the_vocabulary(text: str, word: str) -> None:
    with pytest.raises(NotInGrammarError) as refusal:
        understood_query(text)
    assert refusal.value.word == word
    assert f"“{word}”" in refusal.value.problem or not word
    assert "purple" in refusal.value.problem
    assert "hexagon" in refusal.value.problem


@given(
    st.sampled_from([None, *COLOURS]),
    st.sampled_from([None, *SHAPES]),
    st.sampled_from([None, *TONES]),
    st.sampled_from([None, *EXTREMES]),
    st.booleans(),
    st.permutations(range(3)),
)
def test_modifiers_stand_in_any_order_before_the_noun(
    colour: str | None, shape: str | None, tone: str | None, extreme: str | None, plural: bool, order: list[int]
) -> None:
    modifiers = (colour, tone, extreme)
    words = [modifiers[each] for each in order if modifiers[each]]
    noun = (shape or "shape") + ("s" if plural else "")
    assert understood_query(" ".join(["the", *words, noun])) == ShapeQuery(
        shape=shape,  # type: ignore[arg-type]
        colour=colour,  # type: ignore[arg-type]
        tone=tone,  # type: ignore[arg-type]
        extreme=extreme,  # type: ignore[arg-type]
    )


@given(st.text(max_size=40))
def test_no_text_is_half_understood(text: str) -> None:
    try:
        query = understood_query(text)
    except NotInGrammarError:
        return
    if query == ShapeQuery():
        assert text.casefold().strip(" .,;:?!()[]").removesuffix("s").endswith("shape")
