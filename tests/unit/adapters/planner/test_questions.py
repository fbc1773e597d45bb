"""The grammar: what is understood, and that a word too many never is."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.models.planner.places import REGIONS, Place, pictures_of
from openvlharness_adapters.models.planner.questions import (
    Ask,
    Compute,
    FindValue,
    NotUnderstood,
    ReadText,
    Subtract,
    understand,
)

ANYWHERE = Place()


def _value(label: str, place: Place = ANYWHERE, *, amount: bool = False) -> FindValue:
    return FindValue(label=label, place=place, is_amount=amount)


def _in(name: str, which: int | str = "any") -> Place:
    return Place(which=which, region=REGIONS[name])


UNDERSTOOD: dict[str, Ask] = {
    "Read all the text.": ReadText(place=ANYWHERE),
    "Read the text": ReadText(place=ANYWHERE),
    "Transcribe everything.": ReadText(place=ANYWHERE),
    "What does the sign say?": ReadText(place=ANYWHERE),
    "What does it say?": ReadText(place=ANYWHERE),
    "What is written on the label?": ReadText(place=ANYWHERE),
    "What text is in the picture?": ReadText(place=ANYWHERE),
    "Which words are written here?": ReadText(place=ANYWHERE),
    "What can you read?": ReadText(place=ANYWHERE),
    "Read the text in the top left corner.": ReadText(place=_in("top left")),
    "Read the bottom half of the second image": ReadText(place=_in("bottom half", 2)),
    "What is written at the bottom?": ReadText(place=_in("bottom")),
    "What does the upper-right corner say?": ReadText(place=_in("upper right")),
    "What does it say in the middle?": ReadText(place=_in("middle")),
    "Read the last picture.": ReadText(place=Place(which=-1)),
    "What is the total?": _value("total"),
    "what's the TOTAL": _value("total"),
    "Tell me the total, please.": _value("total"),
    "Could you please tell me what the total is?": _value("total"),
    "Hello! What is the total? Thank you!": _value("total"),
    "What is the total shown on the receipt?": _value("total"),
    "In the second image, what is the total?": _value("total", Place(which=2)),
    "What is the total on the third receipt?": _value("total", Place(which=3)),
    "What is the total in image 2?": _value("total", Place(which=2)),
    "What is the total in picture two?": _value("total", Place(which=2)),
    "What is the total in input_image_2?": _value("total", Place(which="input_image_2")),
    "What is the total in both images?": _value("total", Place(which="all")),
    "What is the total in each of the pictures?": _value("total", Place(which="each")),
    "What is the invoice number?": _value("invoice number"),
    "What is the invoice no.?": _value("invoice no"),
    'What is the value of "Amount due"?': _value("amount due"),
    "What is the date of birth?": _value("date of birth"),
    "What is written next to Date?": _value("date"),
    "How much is the tax on the receipt?": _value("tax", amount=True),
    "How much does the oat bread cost?": _value("oat bread", amount=True),
    "What is the price of the ticket?": _value("ticket", amount=True),
    "What is the sum of the prices?": Compute(operation="sum", domain="prices", place=ANYWHERE),
    "Add up all the numbers.": Compute(operation="sum", domain="numbers", place=ANYWHERE),
    "What is the total of all prices in both pictures?": Compute(operation="sum", domain="prices", place=Place(which="all")),
    "Which number is the largest?": Compute(operation="largest", domain="numbers", place=ANYWHERE),
    "What is the lowest price?": Compute(operation="smallest", domain="prices", place=ANYWHERE),
    "What is the average price?": Compute(operation="average", domain="prices", place=ANYWHERE),
    "What is the total price?": _value("total price"),
    "Calculate the average of the numbers": Compute(operation="average", domain="numbers", place=ANYWHERE),
    "How many lines of text are there?": Compute(operation="count", domain="lines", place=ANYWHERE),
    "How many words can you see in the picture?": Compute(operation="count", domain="words", place=ANYWHERE),
    "Count the numbers.": Compute(operation="count", domain="numbers", place=ANYWHERE),
    "What is the difference between the total and the subtotal?": Subtract(labels=("total", "subtotal"), place=ANYWHERE),
}  # fmt: skip


@pytest.mark.parametrize("question", UNDERSTOOD)
def test_a_question_is_understood(question: str) -> None:
    asked, wanted = understand(question), UNDERSTOOD[question]
    if wanted.place.region is not None:
        assert asked.place.region is not None
        assert asked.place.region.box_xyxy_grid == wanted.place.region.box_xyxy_grid
        assert asked.place.which == wanted.place.which
    else:
        assert asked == wanted


@pytest.mark.parametrize("question", UNDERSTOOD)
@pytest.mark.parametrize("change", ["please {}", "Can you tell me: {}", "{} please", "  {}  ", "upper"])
def test_courtesy_spaces_and_case_change_nothing(question: str, change: str) -> None:
    changed = question.upper().replace("INPUT_IMAGE", "input_image") if change == "upper" else change.format(question)
    assert understand(changed) == understand(question)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("How many spirals are there?", "“spirals”"),
        ("Is there a dog?", "“dog”"),
        ("Describe the picture.", "this kind of question"),
        ("What is this?", "this kind of question"),
        ("Was ist die Summe?", "“ist”"),
        ("¿Cuál es el total?", "“¿cuál”"),
        ("合計はいくらですか", "合計"),
        ("What is the total? And the tax?", "one question at a time"),
        ("Read the text. What is the total?", "one question at a time"),
        ("What is the sum of the prices of the largest red dog that you find?", ""),
        ("", "there is no question"),
        ("?!", "there is no question"),
        ("what is the " + "total " * 100, "300 characters"),
    ],
)
def test_what_is_outside_is_named(question: str, why: str) -> None:
    with pytest.raises(NotUnderstood) as caught:
        understand(question)
    assert why in str(caught.value)


QUALIFIERS = ("not", "red", "second-largest", "handwritten", "except", "estimated", "quickly", "neither")


@pytest.mark.parametrize("question", UNDERSTOOD)
def test_a_word_too_many_is_part_of_a_label_or_not_understood(question: str) -> None:
    words = question.split()
    for at in range(len(words) + 1):
        for qualifier in QUALIFIERS:
            changed = " ".join([*words[:at], qualifier, *words[at:]])
            try:
                asked = understand(changed)
            except NotUnderstood:
                continue
            labels = {FindValue: lambda ask: (ask.label,), Subtract: lambda ask: ask.labels}.get(type(asked))
            assert labels is not None, changed
            assert any(qualifier in label.split() for label in labels(asked)), changed


KNOWN = (
    "what is the total of in image second all both read text how many numbers sum and between difference top left corner "
    "each price largest number ? . please tell me does it say cost"
)


@given(st.text(max_size=400) | st.lists(st.sampled_from(KNOWN.split()), max_size=14).map(" ".join))
def test_any_text_is_understood_or_not(text: str) -> None:
    with contextlib.suppress(NotUnderstood):
        assert isinstance(understand(text), Ask)


def test_places_name_pictures() -> None:
    handles = ("input_image_1", "input_image_2")
    assert pictures_of(Place(), handles) == handles
    assert pictures_of(Place(which=2), handles) == ("input_image_2",)
    assert pictures_of(Place(which=-1), handles) == ("input_image_2",)
    assert pictures_of(Place(which="input_image_1"), handles) == ("input_image_1",)
    for which, problem in ((3, "there are 2 pictures"), (0, "picture 0"), ("input_image_9", "the pictures are")):
        with pytest.raises(ValueError, match=problem):
            pictures_of(Place(which=which), handles)
    with pytest.raises(ValueError, match="no picture came"):
        pictures_of(Place(), ())
