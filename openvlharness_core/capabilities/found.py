"""Search results as findings and as evidence: what text search and image search have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from openvlharness_core.calls import Findings, NewImage, NewPage, Registered
from openvlharness_core.capabilities.answered import value_of
from openvlharness_core.capabilities.bounds import address
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.errors import UnreadableImageError
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import ImagePart, Part, TextPart
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.results import Answered
from openvlharness_core.seeking import SearchItem, SearchResults
from openvlharness_core.texts import bounded, clean_text, excerpt

ITEMS_LIMIT = 50
ITEMS_CHARACTERS = 100_000
"""Items that the model is shown, and the characters of all of them; the data has all."""
SNIPPET_LIMIT = 600
SUMMARY_LIMIT = 4000
NOTE_LIMIT = 1000
WORDS_LIMIT = 200
"""Characters that the model is shown of each; the last holds for titles and sources."""
_WHOLE = "the report of this call"


async def search_findings(
    answered: Answered[SearchResults],
    asked: Mapping[str, object],
    hands: Hands,
    images_per_search: int,
    parents: tuple[str, ...] = (),
) -> Findings:
    """Pages of all items, the first thumbnails as pictures, and canonical data that says which item has which."""
    results = value_of(answered, SearchResults, "search")
    images: list[NewImage] = []
    items = []
    for item in results.items:
        picture = None
        if item.thumbnail is not None and len(images) < images_per_search:
            try:
                picture = NewImage(picture=await hands.take_in(item.thumbnail), parents=parents)
            except UnreadableImageError as error:  # the item is worth keeping without it
                hands.note("picture_refused", f"thumbnail of {excerpt(item.title)}: {error}")
            else:
                images.append(picture)
        items.append(_item_data(item, picture is not None))
    data = dict(asked) | {
        "items": items,
        "summary": clean_text(results.summary) or None,
        "nothing_relevant": clean_text(results.nothing_relevant) or None,
        "note": clean_text(results.note) or None,
    }
    pages = tuple(NewPage(url=item.url, title=clean_text(item.title)) for item in results.items if item.url)
    return Findings.of(answered, data, images=tuple(images), pages=pages)


def _item_data(item: SearchItem, has_image: bool) -> dict[str, object]:
    return {
        "title": clean_text(item.title),
        "url": item.url,
        "source": clean_text(item.source),
        "snippet": clean_text(item.snippet),
        "details": {clean_text(name): clean_text(value) for name, value in item.details},
        "thumbnail_url": item.thumbnail_url,
        "has_image": has_image,
    }


def search_evidence(
    data: Mapping[str, Any], registered: Registered, workspace: Workspace, prompts: PromptBundle
) -> list[Part]:
    """The items numbered, each with page handle, snippet and picture; then the summary."""
    pages, images = iter(registered.pages), iter(registered.images)
    parts: list[Part] = []
    items = cast("list[dict[str, Any]]", data["items"])
    left, shown = ITEMS_CHARACTERS, min(len(items), ITEMS_LIMIT)
    for number, item in enumerate(items[:ITEMS_LIMIT], 1):
        link = (next(pages, None) or address(item["url"])) if item["url"] else None
        source = excerpt(item["source"], WORDS_LIMIT)
        details = "; ".join(f"{name}: {value}" for name, value in item["details"].items())
        lines = [" — ".join(filter(None, (f"[{number}] {excerpt(item['title'], WORDS_LIMIT)}", source, link)))]
        lines += [excerpt(details, SNIPPET_LIMIT), bounded(item["snippet"], SNIPPET_LIMIT, link or _WHOLE)]
        handle = next(images, None) if item["has_image"] else None
        if handle is None and item["thumbnail_url"]:
            lines.append(address(item["thumbnail_url"]))
        said = "\n".join(line for line in lines if line)
        left -= len(said)
        if left < 0:
            shown = number - 1
            break
        parts.append(TextPart(text=said))
        if handle is not None:
            picture = workspace.images.resolve(handle).picture
            assert picture is not None
            parts.append(TextPart(text=prompts.text("image_label", handle=handle)))
            parts.append(ImagePart(handle=handle, image=picture.sent))
    if len(items) > shown:
        parts.append(TextPart(text=prompts.text("search_rest", count=len(items) - shown)))
    if data["summary"]:
        summary = bounded(data["summary"], SUMMARY_LIMIT, _WHOLE)
        parts.append(TextPart(text=prompts.text("search_summary", summary=summary)))
    return [*parts, *search_note(data, prompts)]


def nothing_found(data: Mapping[str, Any]) -> str:
    """Why nothing was kept, and which queries may do better."""
    return bounded(data["nothing_relevant"], NOTE_LIMIT, _WHOLE)


def search_note(data: Mapping[str, Any], prompts: PromptBundle) -> tuple[TextPart, ...]:
    """What has to be said with the results, if anything has."""
    if not data["note"]:
        return ()
    return (TextPart(text=prompts.text("search_note", note=bounded(data["note"], NOTE_LIMIT, _WHOLE))),)
