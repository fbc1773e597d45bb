"""Facts from documents: a search by words, then the best pages, and the sentence there that says what is asked.

A sentence answers only if it says what is asked of what the question names; its page's title stands for `it`. Without one of
the question's words it would answer another question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import attrs

from openvlharness_adapters.models.planner.clauses import Context
from openvlharness_adapters.models.planner.evidence import Seen
from openvlharness_adapters.models.planner.looks import Answer, Call, Cannot, Plan, made
from openvlharness_adapters.models.planner.places import Place
from openvlharness_adapters.models.planner.saying import says
from openvlharness_adapters.models.planner.wh_questions import readings_of
from openvlharness_adapters.models.planner.wording import EMPTY, as_done, cut, is_form, is_mark
from openvlharness_core.messages import TextPart

SEARCH, VISIT, IMAGE_SEARCH = "Text_Search_Tool", "Webpage_Visit_Tool", "Image_Search_Tool"

_MOST_PAGES = 3
_MOST_SENTENCES = 2
_ELISION = re.compile(r"\n\s*…\s*\n")

_DOCUMENTS = "(?:the |your |our |these |my )?(?:local )?(?:documents|corpus|files|notes|library|pages)"
_LOOK_UP = re.compile(
    rf"(?:look up|search for|search {_DOCUMENTS} for) (?P<topic>.+?)(?: in {_DOCUMENTS})?"
    rf"|(?:according to|in) {_DOCUMENTS},? (?P<asked>.+)"
    rf"|(?P<behind>.+) (?:according to|in) {_DOCUMENTS}"
    rf"|what (?:do|does) {_DOCUMENTS} say about (?P<about>.+)"
)
_FREE = re.compile(r"(?:who|what|when|where|which|how|why|whose|whom|in which|in what)\b.+")
_SOURCE = re.compile(
    "(?:what|where) is (?:this|the) (?:picture|image|photo) from|where (?:does|did) (?:this|the) (?:picture|image|photo) come from"
)
VOCABULARY = frozenset(re.findall("[a-z]+", f"{_LOOK_UP.pattern} {_SOURCE.pattern}"))


@attrs.frozen(kw_only=True)
class LookUp:
    """A question for documents, or a topic."""

    query: str


@attrs.frozen(kw_only=True)
class WhereFrom:
    """Where a picture is known from."""

    place: Place


LookingUpAsk = LookUp | WhereFrom


@attrs.frozen(kw_only=True)
class Page:
    """What a visit showed of a page."""

    handle: str
    title: str
    passages: str


def looking_up_of(words: str, *, freely: bool = False) -> LookingUpAsk | None:
    """What a question for documents asks, or for the source of a picture; `None` if it is another question.

    Args:
        words: the whole question, in lower case.
        freely: whether any question is one for documents, since there is nothing else that it could be about.
    """
    if _SOURCE.fullmatch(words):
        return WhereFrom(place=Place())
    found = _LOOK_UP.fullmatch(words)
    query = next((group for group in found.groups() if group), None) if found else None
    if query is None and freely and _FREE.fullmatch(words):
        query = words
    return LookUp(query=query) if query and "¶" not in query and terms_of(query) else None


def terms_of(question: str) -> tuple[str, ...]:
    """The words that carry a question, lower case, each once."""
    words = re.findall(r"[^\W_]+", question.casefold().replace("'s", " "))
    return tuple(dict.fromkeys(word for word in words if word not in EMPTY))


# --- plans ---------------------------------------------------------------------------------------------------------


def look_up(ask: LookUp) -> Plan[Answer]:
    """Search, visit the best pages one by one, and answer with the sentence that says it."""
    call = Call(tool=SEARCH, arguments={"query": ask.query}, reason="Searching the documents.")
    pages = pages_found((yield from made(call)))
    if not pages:
        raise Cannot(f"nothing about “{ask.query}” was found")
    terms = terms_of(ask.query)
    missing: list[str] = []
    for handle in pages[:_MOST_PAGES]:
        visit = Call(tool=VISIT, arguments={"urls": [handle], "goal": ask.query}, reason=f"Reading {handle}.")
        page = page_shown((yield from made(visit)), handle)
        if page is None:
            continue
        held = frozenset(cut(f"{page.title}\n{page.passages}").words)
        absent = [term for term in terms if not _holds(held, term) and not _holds(held, as_done(term) or term)]
        said = [] if absent else telling(page, ask.query)
        if said:
            return Answer(
                text=f"“{' … '.join(said)}” ({page.title}, {page.handle})",
                grounds=f"{page.handle} ({page.title}) says so; I quote it.",
            )
        missing = missing or absent
    if missing:
        raise Cannot(f"the best pages found do not say “{missing[0]}”")
    raise Cannot("no sentence of the best pages found says what is asked")


def telling(page: Page, question: str) -> list[str]:
    """The sentences of a page that say what is asked and hold most of its words; two if equally many, none if more."""
    terms = terms_of(question)
    readings = readings_of(question)
    title = tuple(word for word in terms_of(page.title))
    ranked: list[tuple[int, str]] = []
    for sentence, is_about_title in _in_context(page, title):
        said = cut(sentence)
        context = Context(title=title, is_about_title=is_about_title, asked=frozenset(cut(question).words))
        if any(says(said, reading, context) for reading in readings):
            ranked.append((sum(_holds(said.words, term) for term in terms), sentence))
    most = max((own for own, _ in ranked), default=0)
    best = list(dict.fromkeys(sentence for own, sentence in ranked if own == most))
    return best if len(best) <= _MOST_SENTENCES else []


def _in_context(page: Page, title: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    """Each sentence, and whether `it` at its start stands for the title: the sentence before it began with that."""
    for block in _ELISION.split(page.passages):
        begins_with_title = False
        for sentence in sentences_of(block):
            words = tuple(word for word in cut(sentence).words if not is_mark(word))
            starts_with_it = words[:1] in (("it",), ("its",))
            yield sentence, starts_with_it and begins_with_title
            telling_words = tuple(word for word in words if word not in EMPTY)
            begins = bool(title) and telling_words[: len(title)] == title
            begins_with_title = begins or (begins_with_title and words[:1] == ("it",))


def sentences_of(text: str) -> list[str]:
    """Its sentences, on one line each; a full stop behind a single letter or before a small one ends none."""
    found = []
    for line in re.split(r"\n\s*…?\s*\n|\n(?=[-*#])", text):
        flat = " ".join(line.split())
        found += [
            piece.strip()
            for piece in re.split(r"(?<=[.!?。！？])(?<!\b\w\.)(?<!\b(?:Dr|Mr|St|No)\.)\s+(?![a-z])", flat)
        ]
    return [sentence for sentence in found if sentence]


def _holds(words: Iterable[str], term: str) -> bool:
    """Whether a form of the term is among words in lower case."""
    return any(is_form(term, word) for word in words)


def where_from(picture: str) -> Plan[Answer]:
    """Where a picture is known from, by its best match."""
    call = Call(
        tool=IMAGE_SEARCH, arguments={"image_id": picture}, reason=f"Looking for where {picture} is known from."
    )
    seen = yield from made(call)
    head = next((item for item in _items(seen)), None)
    if head is None:
        raise Cannot(f"nothing that looks like {picture} was found")
    return Answer(text=head, grounds=f"That is the best match for {picture}.")


# --- what the evidence says ----------------------------------------------------------------------------------------

_ITEM = re.compile(r"\[(\d+)\] (.+)")
_PAGE = re.compile(r"webpage_url_\d+$")
_READ = re.compile(r"(?P<page>\w+): (?P<title>.*)\nPassages for the goal:\n(?P<passages>.*)\nIn short: .*", re.DOTALL)


def _items(seen: Seen) -> list[str]:
    """The first line of each item, without its number: title, source, page."""
    found: list[str] = []
    for part in seen.parts:
        item = _ITEM.match(part.text) if isinstance(part, TextPart) else None
        if item and int(item[1]) == len(found) + 1:
            found.append(item[2])
    return found


def pages_found(seen: Seen) -> list[str]:
    """Handles of the pages that a search found, best first."""
    handles = [found[0] for item in _items(seen) if (found := _PAGE.search(item))]
    return list(dict.fromkeys(handles))


def page_shown(seen: Seen, handle: str) -> Page | None:
    """What a visit showed of a page; `None` if it could not be read."""
    for part in seen.parts:
        found = _READ.fullmatch(part.text) if isinstance(part, TextPart) else None
        if found and found["page"] == handle:
            title, _, rest = found["title"].partition("\n")
            return None if rest else Page(handle=handle, title=title, passages=found["passages"])
    return None
