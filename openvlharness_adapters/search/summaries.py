"""From raw results to results that are reranked and summarised; the raw ones where no summary can be had."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from openvlharness_adapters.search.asking import Asked, Asker
from openvlharness_adapters.search.envelopes import Suggestion, Summary, summary_from_text
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.seeking import SEARCH_TYPES, SearchItem, SearchResults
from openvlharness_core.texts import excerpt
from openvlharness_core.usage import Spent

_PROBLEM_CHARACTERS = 300
_ITEM_CHARACTERS = 900
"""Of one result, as the summariser reads it."""


@attrs.frozen(kw_only=True)
class Summarised:
    """Results, which of the raw ones they are, and what the summary cost.

    Attributes:
        results: as the port hands them on.
        kept: their positions among the raw ones.
        usage: of the auxiliary model.
        problem: why there is no summary; empty if there is one.
    """

    results: SearchResults
    kept: tuple[int, ...]
    usage: tuple[Spent, ...] = ()
    problem: str = ""


@attrs.frozen(kw_only=True)
class Summariser:
    """Reranks and summarises.

    Attributes:
        asker: asks the auxiliary model.
        prompts: its texts.
    """

    asker: Asker
    prompts: PromptBundle

    async def of_query(
        self, query: str, search_type: str, items: Sequence[SearchItem], *, timeout_seconds: float
    ) -> Summarised:
        """What `items`, at least one, say about a query."""
        prompt = self.prompts.text(
            "summary_request",
            query=query,
            search_type=search_type,
            search_types=", ".join(SEARCH_TYPES),
            items=numbered(items),
        )
        return await self._summarised(prompt, items, (), timeout_seconds)

    async def of_picture(
        self,
        picture: EncodedImage,
        items: Sequence[SearchItem],
        thumbnails: Sequence[tuple[int, EncodedImage]],
        *,
        timeout_seconds: float,
    ) -> Summarised:
        """How `items`, at least one, compare with the picture that was searched for.

        Args:
            picture: small enough to be sent.
            items: raw results.
            thumbnails: position of an item, and its picture, small enough to be sent.
            timeout_seconds: how long it may take.
        """
        shown = ", ".join(f"[{position + 1}]" for position, _ in thumbnails)
        prompt = self.prompts.text(
            "summary_image_request",
            shown=f"The pictures behind it belong to these results, in this order: {shown}." if shown else "",
            search_types=", ".join(SEARCH_TYPES),
            items=numbered(items),
        )
        images = (picture, *(image for _, image in thumbnails))
        return await self._summarised(prompt, items, images, timeout_seconds)

    async def _summarised(
        self, prompt: str, items: Sequence[SearchItem], images: Sequence[EncodedImage], timeout_seconds: float
    ) -> Summarised:
        asked: Asked[Summary] = await self.asker.ask(
            prompt,
            lambda text: summary_from_text(text, len(items)),
            system=self.prompts.text("summary_system"),
            images=images,
            timeout_seconds=timeout_seconds,
        )
        if asked.value is None:
            note = f"These are the search engine's own results in its order; there is no summary: {asked.problem}."
            results = SearchResults(items=tuple(items), note=excerpt(note, _PROBLEM_CHARACTERS))
            return Summarised(results=results, kept=tuple(range(len(items))), usage=asked.usage, problem=asked.problem)
        return Summarised(results=_results(asked.value, items), kept=asked.value.kept, usage=asked.usage)


def better_queries(suggestions: Sequence[Suggestion | str]) -> str:
    """A sentence on queries that may do better; empty if there are none."""
    said = "; ".join(f'"{each}"' if isinstance(each, str) else str(each) for each in suggestions)
    return f"Better queries: {said}." if said else ""


def numbered(items: Sequence[SearchItem]) -> str:
    """The results as a summariser reads them, from [1]."""
    lines = []
    for number, item in enumerate(items, 1):
        details = "; ".join(f"{name}: {value}" for name, value in item.details)
        parts = (f"{item.title} — {item.source}" if item.source else item.title, details, item.snippet)
        lines.append(f"[{number}] " + excerpt(" | ".join(filter(None, parts)), _ITEM_CHARACTERS))
    return "\n".join(lines)


def _results(summary: Summary, items: Sequence[SearchItem]) -> SearchResults:
    better = better_queries(summary.suggestions)
    if not summary.kept:
        return SearchResults(items=(), nothing_relevant=" ".join(filter(None, (summary.nothing_relevant, better))))
    return SearchResults(items=tuple(items[at] for at in summary.kept), summary=summary.text, note=better)
