"""Facts from documents: the sentence that says it, or no answer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from openvlharness_adapters.models.planner.looking_up import LookUp, Page, sentences_of, telling, terms_of
from openvlharness_adapters.models.planner.questions import NotUnderstood, understand
from openvlharness_core.agent.report import Report
from openvlharness_core.agent.steps import ToolStep
from openvlharness_core.capabilities.image_search import ImageSearchCapability
from openvlharness_core.capabilities.text_search import TextSearchCapability
from openvlharness_core.capabilities.web_visit import WebVisitCapability
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.question import ImageInput
from openvlharness_core.results import Answered
from openvlharness_core.seeking import SearchItem, SearchResults, SearchType
from openvlharness_core.testing.images import fake_image
from openvlharness_core.testing.seeking import FakeImageSearch, FakePages
from tests.unit.adapters.planner.board import asked
from tests.unit.adapters.planner.desk import calls, cannot
from tests.unit.adapters.planner.shelves import OBSERVATORY, SHIPYARD, Shelf

TEXTS = {
    "file:///kestrel": (
        "The Kestrel bridge crosses the Ane. The Kestrel bridge was opened in 1931 by Ida Moll. It is 412 m long. "
        "The ferry was closed in 1930."
    ),
    "file:///ferries": "Ferries on the Ane. The last ferry was closed in 1930. The Kestrel bridge replaced it.",
}
SEARCH, VISIT = "Text_Search_Tool", "Webpage_Visit_Tool"


class Library:
    """Finds every document that has a word of the query, the one with most first."""

    async def search(self, query: str, search_type: SearchType, *, timeout_seconds: float) -> Answered[SearchResults]:
        terms = terms_of(query)
        hits = {url: sum(term in text.casefold() for term in terms) for url, text in TEXTS.items()}
        found = sorted((url for url in TEXTS if hits[url]), key=lambda url: -hits[url])
        items = tuple(
            SearchItem(title=url.rsplit("/", 1)[-1], url=url, source="shelf", snippet=TEXTS[url]) for url in found
        )
        reason = "" if items else "no document has such a word"
        return Answered(value=SearchResults(items=items, nothing_relevant=reason), backend="library")


async def _ask(question: str, images: Sequence[ImageInput] = ()) -> Report:
    tools = [TextSearchCapability(backend=Library()), WebVisitCapability(backend=FakePages(TEXTS))]
    return await asked(question, images, tools)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was the Kestrel bridge opened?", "“The Kestrel bridge was opened in 1931 by Ida Moll.” (file:///kestrel, webpage_url_1)"),
        ("Who opened the Kestrel bridge?", "“The Kestrel bridge was opened in 1931 by Ida Moll.” (file:///kestrel, webpage_url_1)"),
        ("According to the documents, when was the last ferry closed?", "“The last ferry was closed in 1930.” (file:///ferries, webpage_url_1)"),
        ("When was the last ferry closed according to the documents?", "“The last ferry was closed in 1930.” (file:///ferries, webpage_url_1)"),
        ("Look up the opening of the Kestrel bridge.", "“The Kestrel bridge was opened in 1931 by Ida Moll.” (file:///kestrel, webpage_url_1)"),
    ],
)  # fmt: skip
async def test_the_sentence_that_says_it_is_quoted_with_its_page(question: str, answer: str) -> None:
    report = await _ask(question)
    assert report.answer == answer
    assert calls(report)[:2] == [SEARCH, VISIT]
    goal = next(step for step in report.steps if isinstance(step, ToolStep) and step.tool == VISIT).arguments["goal"]
    assert set(terms_of(str(goal))) <= set(terms_of(question))


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("When was the Kestrel bridge closed?", "no sentence"),
        ("When was the old wooden Kestrel bridge opened?", "“wooden”"),
        ("How many people did the Kestrel bridge cost?", "“people”"),
        ("When was the Zeppelin museum opened?", "“zeppelin”"),
        ("Who painted Guernica?", "nothing about"),
        ("When was the Kestrel bridge not opened?", "“not”"),
    ],
)
async def test_what_no_sentence_says_is_not_answered(question: str, why: str) -> None:
    report = await _ask(question)
    assert cannot(report)
    assert why in report.answer


async def test_with_a_picture_a_question_is_about_the_picture_unless_it_names_the_documents() -> None:
    images = [ImageInput.from_bytes(fake_image())]
    assert "“when”" in (await _ask("When was the Kestrel bridge opened?", images)).answer
    assert "1931" in (await _ask("According to the documents, when was the Kestrel bridge opened?", images)).answer


@pytest.mark.parametrize(
    "question",
    [
        "How many red circles are there?",
        "What does it say?",
        "What is the sum of the prices?",
        "Did the camera move left or right?",
        "What is the total in the second picture?",
    ],
)
async def test_a_question_about_a_picture_that_is_missing_is_not_searched_for(question: str) -> None:
    report = await _ask(question)
    assert cannot(report)
    assert "no picture came with the question" in report.answer
    assert calls(report) == []


def test_without_a_search_a_free_question_is_not_understood() -> None:
    with pytest.raises(NotUnderstood):
        understand("When was the Kestrel bridge opened?")
    assert understand("When was the Kestrel bridge opened?", freely=True) == LookUp(
        query="when was the kestrel bridge opened"
    )


async def test_equally_good_sentences_are_both_quoted_and_more_are_none() -> None:
    page = Page(handle="p", title="Ane", passages="The Ane rises in Moll. The Ane rises at dawn. Boats ply the Ane.")
    assert telling(page, "where does the Ane rise") == ["The Ane rises in Moll.", "The Ane rises at dawn."]
    assert telling(page, "the Ane") == []


def _told(shelf: Shelf, question: str) -> list[str]:
    """What any page says, whether or not a search would have found it."""
    return [
        said
        for number, (title, text) in enumerate(shelf.pages.items())
        for said in telling(Page(handle=f"p{number}", title=title, passages=text), question.rstrip("?").lower())
    ]


def _inside(shelf: Shelf) -> list[object]:
    return [pytest.param(shelf, question, answer, id=question) for question, answer in shelf.inside.items()]


@pytest.mark.parametrize(("shelf", "question", "answer"), [*_inside(OBSERVATORY), *_inside(SHIPYARD)])
def test_what_a_page_says_is_found(shelf: Shelf, question: str, answer: str) -> None:
    (said,) = _told(shelf, question)
    assert answer in said


@pytest.mark.parametrize(
    ("shelf", "question"),
    [pytest.param(shelf, question, id=question) for shelf in (OBSERVATORY, SHIPYARD) for question in shelf.outside],
)
def test_a_question_beside_what_a_page_says_finds_nothing(shelf: Shelf, question: str) -> None:
    assert _told(shelf, question) == []


def test_sentences_end_where_a_reader_would_end_them() -> None:
    text = "Dr. Moll built it. It is 4.5 m wide, i.e. narrow.\nMany came.\n\n…\n\nJ. Moll died."
    assert sentences_of(text) == ["Dr. Moll built it.", "It is 4.5 m wide, i.e. narrow.", "Many came.", "J. Moll died."]


async def test_where_a_picture_is_from() -> None:
    data = fake_image(content="tower")
    digest = EncodedImage(data=data, media_type="image/png", size_hw=(40, 60)).digest
    known = {digest: (SearchItem(title="Old tower", url="https://towers.example/old", source="Towers"),)}
    tools = [ImageSearchCapability(backend=FakeImageSearch(known))]
    report = await asked("Where is this picture from?", [ImageInput.from_bytes(data)], tools)
    assert report.answer == "Old tower — Towers — webpage_url_1"
    report = await asked("What is this image from?", [ImageInput.from_bytes(fake_image(content="other"))], tools)
    assert "nothing that looks like input_image_1" in report.answer


@pytest.mark.parametrize(
    ("passages", "question", "rests_on"),
    [
        ("The gate was painted by Nils Aro.", "when was the gate painted", "a date"),
        ("The tower was never rebuilt in 1950.", "when was the tower rebuilt", "no denial"),
        ("The Teal museum was opened in 2002.", "when was the museum opened", "the whole name"),
        ("The east wing burned. It was sold in 1977.", "when was marlo shipyard sold", "what It stands for"),
        ("The weir is 3 metres wide and has a long wall.", "how long is the weir", "the measure"),
        ("Ida Moll painted for the museum.", "who painted the museum", "what was done to it"),
        ("The mayor of Tova is the mayor of Tova.", "who is the mayor of tova", "a name"),
    ],
)
def test_a_sentence_that_lacks_one_thing_says_nothing(passages: str, question: str, rests_on: str) -> None:
    assert telling(Page(handle="p", title="Marlo Shipyard", passages=passages), question) == [], rests_on
