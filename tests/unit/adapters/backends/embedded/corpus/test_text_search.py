"""Search by words, and visits, in a small corpus."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.backends.embedded.corpus.building import build_index
from openvlharness_adapters.backends.embedded.corpus.index import Corpus
from openvlharness_adapters.backends.embedded.corpus.pages import EmbeddedPages
from openvlharness_adapters.backends.embedded.corpus.terms import laid_out, terms_of
from openvlharness_adapters.backends.embedded.corpus.text_search import EmbeddedTextSearch
from openvlharness_adapters.imaging.thumbnails import Thumbnails
from openvlharness_core.errors import BackendUnavailableError, CapabilityUnavailableError, UnsupportedQueryError
from openvlharness_core.seeking import SearchResults, SearchType, VisitedPage
from openvlharness_core.testing.time import InlineOffload
from tests.support.small_corpus import INSIDE, OUTSIDE, write_corpus

_TOOLS = Thumbnails()


def _corpus(path: Path | None) -> Corpus:
    return Corpus(path=path, decode=_TOOLS.decoded, thumbnail=_TOOLS.small)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    root = write_corpus(folder)
    build_index([root], folder / "index.sqlite", decode=_TOOLS.decoded, thumbnail=_TOOLS.small)
    return _corpus(folder / "index.sqlite")


async def _search(corpus: Corpus, query: str, search_type: SearchType = "search") -> SearchResults:
    backend = EmbeddedTextSearch(corpus=corpus, offload=InlineOffload())
    return (await backend.search(query, search_type, timeout_seconds=5.0)).value


async def _visit(corpus: Corpus, url: str, goal: str) -> VisitedPage:
    answered = await EmbeddedPages(corpus=corpus, offload=InlineOffload()).visit([url], goal, timeout_seconds=5.0)
    return answered.value[0]


@pytest.mark.parametrize("question", INSIDE)
async def test_a_question_that_a_document_answers_finds_it_first(corpus: Corpus, question: str) -> None:
    results = await _search(corpus, question)
    assert results.items, results.nothing_relevant
    assert results.items[0].url == f"file://corpus/velm/{INSIDE[question]}"
    assert "[1]" in results.summary


@pytest.mark.parametrize("question", OUTSIDE)
async def test_a_question_that_no_document_answers_finds_nothing(corpus: Corpus, question: str) -> None:
    results = await _search(corpus, question)
    assert results.items == ()
    assert "better query" in results.nothing_relevant


async def test_the_summary_quotes_the_sentence_that_answers(corpus: Corpus) -> None:
    results = await _search(corpus, "Who designed the Kestrel bridge?")
    assert results.summary.startswith("Ida Brandt designed it, and the granite came from the Sorrel quarry. [1]") or (
        results.summary.startswith("The Kestrel bridge crosses the river Ommer on nine arches. [1]")
    )
    assert results.note


async def test_forms_of_a_word_accents_and_case_do_not_matter(corpus: Corpus) -> None:
    for query in ("OTTER holt", "otters' HOLTS", "strassenbahn KIOSK"):
        assert (await _search(corpus, query)).items, query


async def test_half_of_the_terms_are_enough_and_fewer_are_not(corpus: Corpus) -> None:
    assert (await _search(corpus, "breakwater zeppelin")).items
    assert not (await _search(corpus, "breakwater zeppelin saxophone")).items


async def test_scripts_and_styles_are_no_text(corpus: Corpus) -> None:
    assert not (await _search(corpus, "wombat")).items
    assert (await _search(corpus, "stalls drawn by lot")).items[0].title == "Market days"


@pytest.mark.parametrize("query", ["竹林", "茶", "嫩叶", "每天清晨"])
async def test_scripts_without_spaces(corpus: Corpus, query: str) -> None:
    assert (await _search(corpus, query)).items[0].url == "file://corpus/velm/asia/tea.txt"


async def test_nothing_but_stop_words_has_to_stand_as_it_came(corpus: Corpus) -> None:
    assert not (await _search(corpus, "who is he")).items
    assert (await _search(corpus, "so that")).items[0].url == "file://corpus/velm/town/harbour.md"


async def test_pictures_by_name_and_by_caption(corpus: Corpus) -> None:
    by_name = await _search(corpus, "old pier", "images")
    assert [item.url for item in by_name.items] == ["file://corpus/velm/pictures/old_pier.png"]
    assert by_name.items[0].thumbnail is not None
    assert by_name.items[0].thumbnail.startswith(b"\xff\xd8")
    by_caption = await _search(corpus, "trout on a weir", "images")
    assert by_caption.items[0].snippet == "An otter with a trout on the weir"
    assert not (await _search(corpus, "breakwater", "images")).items
    assert not (await _search(corpus, "pier")).items


@pytest.mark.parametrize("kind", ["news", "scholar", "maps", "places", "shopping", "patents"])
async def test_other_types_are_refused(corpus: Corpus, kind: SearchType) -> None:
    with pytest.raises(UnsupportedQueryError, match="expected search or images"):
        await _search(corpus, "bridge", kind)


async def test_no_corpus_and_a_broken_one(tmp_path: Path) -> None:
    with pytest.raises(CapabilityUnavailableError, match="corpus add"):
        await _search(_corpus(None), "bridge")
    with pytest.raises(BackendUnavailableError, match="found no file"):
        await _search(_corpus(tmp_path / "none.sqlite"), "bridge")
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"SQLite format 3\0" + b"\1" * 500)
    with pytest.raises(BackendUnavailableError, match="SQLite says"):
        await _search(_corpus(broken), "bridge")


def _table() -> contextlib.closing[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE VIRTUAL TABLE t USING fts5 (x, tokenize = "porter unicode61 remove_diacritics 2")')
    return contextlib.closing(connection)


@given(st.text(max_size=80))
def test_no_query_becomes_an_operator(query: str) -> None:
    with _table() as connection:
        for expression in terms_of(query).expressions:
            assert connection.execute("SELECT * FROM t WHERE t MATCH ?", (expression,)).fetchall() == []


@given(st.text(alphabet="東京都茶室竹林のabc 1", min_size=1, max_size=12))
def test_what_was_laid_out_is_found_by_its_own_terms(text: str) -> None:
    with _table() as connection:
        connection.execute("INSERT INTO t VALUES (?)", (laid_out(text),))
        for expression in terms_of(text).expressions:
            assert connection.execute("SELECT count(*) FROM t WHERE t MATCH ?", (expression,)).fetchone() == (1,)


def test_terms() -> None:
    assert terms_of("What is the height of the O'Brien tower?").words == ("height", "o'brien", "tower")
    assert terms_of("3.5 mm").words == ("3.5", "mm")
    assert terms_of("the a of").as_phrase
    assert terms_of("  ?! ").words == ()
    assert len(terms_of(" ".join(f"word{n}" for n in range(500))).words) == 24


async def test_a_visit_by_address_gives_passages_for_the_goal(corpus: Corpus) -> None:
    page = await _visit(corpus, "file://corpus/velm/town/harbour.md", "length of the breakwater")
    assert page.ok
    assert page.title == "The harbour of Velm"
    assert "410 metres" in page.evidence
    assert "410 metres" in page.summary


async def test_a_visit_by_title(corpus: Corpus) -> None:
    page = await _visit(corpus, "market days", "cheese")
    assert page.ok
    assert page.url == "file://corpus/velm/town/market.html"
    assert "Thursday" in page.evidence


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://example.org/a", "only the local corpus"),
        ("HTTP://example.org", "only the local corpus"),
        ("file:///etc/passwd", "only addresses that start with file://corpus/"),
        ("file://corpus/../../etc/passwd", "no document of the corpus has this address"),
        ("ftp://corpus/a", "only addresses"),
        ("no such title", "no document of the corpus has this title"),
        ("", "no document of the corpus has this title"),
        ("file://corpus/velm/pictures/old_pier.png", "nothing to read"),
    ],
)
async def test_what_cannot_be_visited_says_why(corpus: Corpus, url: str, reason: str) -> None:
    page = await _visit(corpus, url, "anything")
    assert not page.ok
    assert reason in page.reason


async def test_a_goal_that_the_page_does_not_serve(corpus: Corpus) -> None:
    page = await _visit(corpus, "file://corpus/velm/town/bridge.txt", "penguins")
    assert page.ok
    assert page.evidence == ""
    assert page.summary.startswith("Nothing in it serves the goal")
