"""Search results as findings and as evidence: what text search and image search have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from openvlharness_core.calls import Findings, NewImage, NewPage, Registered
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.errors import UnreadableImageError
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import ImagePart, Part, TextPart
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.results import Answered
from openvlharness_core.seeking import SearchItem, SearchResults
from openvlharness_core.texts import bounded, clean_text, excerpt

SNIPPET_LIMIT = 600
SUMMARY_LIMIT = 4000
"""Characters that the model is shown of each."""


async def search_findings(
    answered: Answered[SearchResults],
    asked: Mapping[str, object],
    hands: Hands,
    images_per_search: int,
    parents: tuple[str, ...] = (),
) -> Findings:
    """Pages of all items, the first thumbnails as pictures, and canonical data that says which item has which."""
    results = answered.value
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
        "summary": clean_text(results.summary),
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
    for number, item in enumerate(cast("list[dict[str, Any]]", data["items"]), 1):
        link = (next(pages, None) or item["url"]) if item["url"] else None
        details = "; ".join(f"{name}: {value}" for name, value in item["details"].items())
        lines = [" — ".join(filter(None, (f"[{number}] {excerpt(item['title'], 200)}", item["source"], link))), details]
        lines.append(bounded(item["snippet"], SNIPPET_LIMIT, link or "the report of this call"))
        handle = next(images, None) if item["has_image"] else None
        if handle is None and item["thumbnail_url"]:
            lines.append(item["thumbnail_url"])
        parts.append(TextPart(text="\n".join(line for line in lines if line)))
        if handle is not None:
            picture = workspace.images.resolve(handle).picture
            assert picture is not None
            parts.append(TextPart(text=prompts.text("image_label", handle=handle)))
            parts.append(ImagePart(handle=handle, image=picture.sent))
    if data["summary"]:
        summary = bounded(data["summary"], SUMMARY_LIMIT, "the report of this call")
        parts.append(TextPart(text=prompts.text("search_summary", summary=summary)))
    if data["note"]:
        parts.append(TextPart(text=prompts.text("search_note", note=data["note"])))
    return parts
