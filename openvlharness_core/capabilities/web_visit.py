"""Web visit: what pages say about a goal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

import attrs

from openvlharness_core.calls import Findings, NewPage, Registered
from openvlharness_core.capabilities.answered import value_of
from openvlharness_core.capabilities.base import object_schema
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.errors import MalformedResultError, ToolFailure
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import Part, TextPart
from openvlharness_core.ports.seeking import PageBackend
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.seeking import VisitedPage
from openvlharness_core.texts import bounded, clean_text, excerpt

EVIDENCE_LIMIT = 6000
SUMMARY_LIMIT = 3000
REASON_LIMIT = 600
"""Characters that the model is shown of each page."""
ALL_PAGES_LIMIT = 40_000
"""Characters of evidence and summaries together: many pages share them."""
_SCHEME = re.compile(r"^(https?|file)://", re.IGNORECASE)

_PARAMETERS = object_schema(
    {
        "urls": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "minItems": 1,
            "description": "Page handles such as webpage_url_1, or URLs.",
        },
        "goal": {"type": "string", "minLength": 1, "description": "What to find out from the pages."},
    },
    ("urls", "goal"),
)


@attrs.frozen(kw_only=True)
class WebVisitCapability:
    """Visits pages for a goal.

    Canonical data: `goal`, `pages` (one a URL: url, title, ok, evidence, summary, and reason, which is empty
    where the page could be read).
    """

    backend: PageBackend
    timeout_seconds: float = 300.0
    key: str = attrs.field(default="web_visit", init=False)
    name: str = attrs.field(default="Webpage_Visit_Tool", init=False)

    @property
    def parameters(self) -> Mapping[str, object]:
        """Pages and a goal."""
        return _PARAMETERS

    def description(self, prompts: PromptBundle) -> str:
        """In the bundle's words."""
        return prompts.text("tool_web_visit")

    async def perform(self, arguments: Mapping[str, object], hands: Hands) -> Findings:
        """Visit each page once, in order."""
        goal = str(arguments["goal"])
        aliases = cast("list[str]", arguments["urls"])
        urls = list(dict.fromkeys(_url(alias, hands.workspace) for alias in aliases))
        answered = await hands.within(
            self.timeout_seconds, "web_visit", self.backend.visit(urls, goal, timeout_seconds=self.timeout_seconds)
        )
        visited = value_of(answered, tuple, "web_visit")
        if [page.url if isinstance(page, VisitedPage) else None for page in visited] != urls:
            expected = f"a VisitedPage for each of {len(urls)} URLs, in order"
            raise MalformedResultError("pages", expected, usage=answered.usage)
        pages = [
            {name: clean_text(value) if isinstance(value, str) else value for name, value in attrs.asdict(page).items()}
            for page in visited
        ]
        new = tuple(NewPage(url=page.url, title=clean_text(page.title)) for page in visited)
        return Findings.of(answered, {"goal": goal, "pages": pages}, pages=new)

    def evidence(
        self, findings: Findings, registered: Registered, workspace: Workspace, prompts: PromptBundle
    ) -> tuple[Part, ...]:
        """Per page what serves the goal, or why it could not be read and what to try."""
        pages = cast("list[dict[str, Any]]", findings.data["pages"])
        share = min(1.0, ALL_PAGES_LIMIT / (len(pages) * (EVIDENCE_LIMIT + SUMMARY_LIMIT)))
        return tuple(
            TextPart(text=_said(page, registered.pages[position] if registered.pages else page["url"], share, prompts))
            for position, page in enumerate(pages)
        )


def _url(alias: str, workspace: Workspace) -> str:
    try:
        return workspace.pages.resolve(alias).url
    except ToolFailure:
        if _SCHEME.match(alias.strip()):
            return alias.strip()
        raise


def _said(page: Mapping[str, Any], handle: str, share: float, prompts: PromptBundle) -> str:
    if not page["ok"]:
        reason = bounded(page["reason"], REASON_LIMIT, "the report of this call")
        return prompts.text("page_failed", page=handle, url=page["url"], reason=reason)
    return prompts.text(
        "page_read",
        page=handle,
        title=excerpt(page["title"] or page["url"], 200),
        evidence=bounded(page["evidence"], int(EVIDENCE_LIMIT * share), handle),
        summary=bounded(page["summary"], int(SUMMARY_LIMIT * share), handle),
    )
