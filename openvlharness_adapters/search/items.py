"""From a reply of the search service to items, a table of fields for each kind of search. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import attrs

from openvlharness_core.errors import MalformedResultError
from openvlharness_core.seeking import SearchItem, SearchType
from openvlharness_core.texts import clean_text, excerpt

MOST_ITEMS = 10
SNIPPET_CHARACTERS = 600
_TITLE_CHARACTERS = 300
_DETAIL_CHARACTERS = 200
_URL_CHARACTERS = 4000


@attrs.frozen(kw_only=True)
class Fields:
    """Where things stand in a row of one kind of search; of several names the first that is there counts.

    Attributes:
        rows: names of the list.
        link, source, snippet: names of what the item has under them.
        picture: names of a picture's address, the smallest first.
        details: name as shown to name in the row.
    """

    rows: tuple[str, ...]
    link: tuple[str, ...] = ("link",)
    source: tuple[str, ...] = ("source",)
    snippet: tuple[str, ...] = ("snippet",)
    picture: tuple[str, ...] = ("thumbnailUrl", "imageUrl")
    details: Mapping[str, str] = attrs.field(factory=dict)


_PLACE = Fields(
    rows=("places",),
    link=("website", "link"),
    source=("category", "type"),
    snippet=("description",),
    details={
        "address": "address",
        "phone": "phoneNumber",
        "rating": "rating",
        "ratings": "ratingCount",
        "price": "priceLevel",
        "latitude": "latitude",
        "longitude": "longitude",
    },
)
FIELDS: Mapping[str, Fields] = {
    "search": Fields(rows=("organic",), details={"date": "date"}),
    "images": Fields(rows=("images",), source=("source", "domain"), details={"image": "imageUrl"}),
    "news": Fields(rows=("news",), details={"date": "date"}),
    "scholar": Fields(
        rows=("organic",),
        source=("publicationInfo",),
        details={"year": "year", "cited by": "citedBy", "pdf": "pdfUrl"},
    ),
    "maps": _PLACE,
    "places": _PLACE,
    "shopping": Fields(
        rows=("shopping",),
        details={"price": "price", "delivery": "delivery", "rating": "rating", "ratings": "ratingCount"},
    ),
    "patents": Fields(
        rows=("organic",),
        source=("assignee",),
        details={
            "number": "publicationNumber",
            "inventor": "inventor",
            "priority date": "priorityDate",
            "grant date": "grantDate",
        },
    ),
    "lens": Fields(rows=("organic", "visual_matches", "visualMatches")),
}


def items_from_wire(
    kind: SearchType | str, payload: Mapping[str, Any], place: str = "serper"
) -> tuple[SearchItem, ...]:
    """The first `MOST_ITEMS` rows as items; a row without a title is named by its address or left out.

    Args:
        kind: a search type, or `lens`.
        payload: the reply.
        place: what errors call the reply.

    Raises:
        MalformedResultError: something else than a list of objects where the rows should be.
    """
    fields = FIELDS[kind]
    name = next((name for name in fields.rows if payload.get(name) is not None), fields.rows[0])
    rows = payload.get(name) or []
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise MalformedResultError(f"{place}.{name}", f"a list of objects, got {type(rows).__name__}")
    made = (_item(row, fields, kind) for row in rows)
    return tuple(item for item in made if item is not None)[:MOST_ITEMS]


def direct_answer(payload: Mapping[str, Any]) -> SearchItem | None:
    """The answer box of a web search as an item, if there is one that says something."""
    box = payload.get("answerBox")
    if not isinstance(box, Mapping):
        return None
    said = _first(box, ("answer", "snippet"), SNIPPET_CHARACTERS)
    if not said:
        return None
    title = _first(box, ("title",), _TITLE_CHARACTERS) or "Direct answer of the search engine"
    return SearchItem(title=title, url=_address(box, ("link",)), source="answer box", snippet=said)


def related_queries(payload: Mapping[str, Any], limit: int = 3) -> tuple[str, ...]:
    """Queries that the search engine proposes itself."""
    rows = payload.get("relatedSearches")
    said = [_first(row, ("query",), 200) for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    return tuple(query for query in said if query)[:limit]


def picture_of(row: Mapping[str, Any], fields: Fields) -> str | None:
    """The http(s) address of a row's picture."""
    for name in fields.picture:
        value = row.get(name)
        if isinstance(value, str) and value.lower().startswith(("http://", "https://")):
            return value.strip()
    return None


def _item(row: Mapping[str, Any], fields: Fields, kind: str) -> SearchItem | None:
    url = _address(row, fields.link)
    title = _first(row, ("title",), _TITLE_CHARACTERS) or url
    if not title:
        return None
    site = urlsplit(url).hostname if url else None
    details = tuple(
        (shown, text) for shown, name in fields.details.items() if (text := _first(row, (name,), _DETAIL_CHARACTERS))
    )
    return SearchItem(
        title=title,
        url=url,
        source=_first(row, fields.source, _TITLE_CHARACTERS) or site or "",
        snippet=_first(row, fields.snippet, SNIPPET_CHARACTERS),
        thumbnail_url=picture_of(row, fields),
        details=details,
    )


def _first(row: Mapping[str, Any], names: tuple[str, ...], limit: int) -> str:
    """The first of these that is a text or a number, on one line."""
    for name in names:
        value = row.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return f"{value:g}" if isinstance(value, float) and abs(value) < 1 else str(value)
        if isinstance(value, str) and value.strip():
            return excerpt(clean_text(value), limit)
    return ""


def _address(row: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and _can_be_visited(value.strip()):
            return value.strip()
    return None


def _can_be_visited(url: str) -> bool:
    if len(url) > _URL_CHARACTERS or not url.isprintable() or not url.lower().startswith(("http://", "https://")):
        return False
    try:
        return bool(urlsplit(url).hostname)
    except ValueError:
        return False
