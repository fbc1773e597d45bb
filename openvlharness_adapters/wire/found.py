"""What both searches bring back: items, a summary, or why there are none."""

from __future__ import annotations

from openvlharness_adapters.wire.fields import Fields
from openvlharness_adapters.wire.images import bytes_from_wire, url_of
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.seeking import SearchItem, SearchResults

_THUMBNAIL_TYPE = "application/octet-stream"
"""Nobody has looked at the bytes, and whoever takes them in goes by them alone."""


def result_to_wire(found: SearchResults) -> dict[str, object]:
    """Texts that are empty in the domain are empty here."""
    return {
        "items": [_item_to_wire(item) for item in found.items],
        "summary": found.summary,
        "nothing_relevant": found.nothing_relevant,
        "note": found.note,
    }


def result_from_wire(result: object) -> SearchResults:
    """Raises MalformedResultError."""
    fields = Fields.of(result, "")
    fields.value("summary"), fields.value("nothing_relevant")  # null says the same as an empty text, silence does not
    return SearchResults(
        items=tuple(_item_from_wire(row) for row in fields.rows("items")),
        summary=fields.text("summary", ""),
        nothing_relevant=fields.text("nothing_relevant", ""),
        note=fields.text("note", ""),
    )


def _item_to_wire(item: SearchItem) -> dict[str, object]:
    return {
        "title": item.title,
        "url": item.url,
        "source": item.source,
        "snippet": item.snippet,
        "thumbnail": None if item.thumbnail is None else url_of(item.thumbnail, _THUMBNAIL_TYPE),
        "thumbnail_url": item.thumbnail_url,
        "details": [list(pair) for pair in item.details],
    }


def _item_from_wire(row: Fields) -> SearchItem:
    thumbnail = row.values.get("thumbnail")
    try:
        return SearchItem(
            title=row.text("title"),
            url=row.find_text("url"),
            source=row.text("source", ""),
            snippet=row.text("snippet", ""),
            thumbnail=None if thumbnail is None else bytes_from_wire(thumbnail, f"{row.place}thumbnail"),
            thumbnail_url=row.find_text("thumbnail_url"),
            details=_details(row),
        )
    except MalformedResultError as error:  # the value knows its fields, not which item it is
        field = error.field
        placed = field if field.startswith(row.place) else f"{row.place}{field.removeprefix('items.')}"
        raise MalformedResultError(placed, error.expected) from None


def _details(row: Fields) -> tuple[tuple[str, str], ...]:
    details = []
    for place, pair in enumerate(row.items("details") if row.values.get("details") is not None else ()):
        if not isinstance(pair, list | tuple) or [type(text) for text in pair] != [str, str]:
            raise MalformedResultError(f"{row.place}details[{place}]", f"[name, value] in texts, got {pair!r:.80}")
        details.append((pair[0], pair[1]))
    return tuple(details)
