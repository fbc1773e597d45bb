"""Text search: what is known in words, with pages that can be visited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import attrs

from openvlharness_core.calls import Findings, Registered
from openvlharness_core.capabilities.base import object_schema
from openvlharness_core.capabilities.bounds import QUERY_LIMIT
from openvlharness_core.capabilities.found import nothing_found, search_evidence, search_findings, search_note
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import Part, TextPart
from openvlharness_core.ports.seeking import TextSearchBackend
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.seeking import SEARCH_TYPES, SearchType
from openvlharness_core.texts import excerpt

_PARAMETERS = object_schema(
    {
        "query": {"type": "string", "minLength": 1, "description": "What to search for."},
        "search_type": {
            "type": "string",
            "enum": list(SEARCH_TYPES),
            "default": "search",
            "description": "Where to search: the web in general, or one kind of result.",
        },
    },
    ("query",),
)


@attrs.frozen(kw_only=True)
class TextSearchCapability:
    """Searches by words.

    Canonical data: `query`, `search_type`, `items` (title, url, source, snippet, details, thumbnail_url, has_image),
    `summary` (null when nobody summarised), `nothing_relevant` (null when something was found), `note` (null if none).
    """

    backend: TextSearchBackend
    images_per_search: int = 10
    timeout_seconds: float = 300.0
    key: str = attrs.field(default="text_search", init=False)
    name: str = attrs.field(default="Text_Search_Tool", init=False)

    @property
    def parameters(self) -> Mapping[str, object]:
        """A query and where to search."""
        return _PARAMETERS

    def description(self, prompts: PromptBundle) -> str:
        """In the bundle's words."""
        return prompts.text("tool_text_search")

    async def perform(self, arguments: Mapping[str, object], hands: Hands) -> Findings:
        """Search, and take thumbnails in."""
        query, search_type = str(arguments["query"]), cast(SearchType, arguments["search_type"])
        answered = await hands.within(
            self.timeout_seconds,
            "text_search",
            self.backend.search(query, search_type, timeout_seconds=self.timeout_seconds),
        )
        asked = {"query": query, "search_type": search_type}
        return await search_findings(answered, asked, hands, self.images_per_search)

    def evidence(
        self, findings: Findings, registered: Registered, workspace: Workspace, prompts: PromptBundle
    ) -> tuple[Part, ...]:
        """The kept items, or why there are none."""
        data = findings.data
        query = excerpt(str(data["query"]), QUERY_LIMIT)
        if not data["items"]:
            text = prompts.text("search_nothing", query=query, reason=nothing_found(data))
            return (TextPart(text=text), *search_note(data, prompts))
        head = prompts.text("search_results", query=query, search_type=data["search_type"])
        return (TextPart(text=head), *search_evidence(data, registered, workspace, prompts))
