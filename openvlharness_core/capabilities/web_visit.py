"""Web visit: what pages say about a goal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

import attrs

from openvlharness_core.calls import Findings, NewPage, Registered
from openvlharness_core.capabilities.answered import value_of
from openvlharness_core.capabilities.base import object_schema
from openvlharness_core.capabilities.bounds import NAMED_LIMIT, address
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
NAME_LIMIT = 60
"""Characters of the address that names a page without a handle."""
_WEB = re.compile(r"https?://[^\s/]", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)

_PARAMETERS = object_schema(
    {
        "urls": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "minItems": 1,
            "maxItems": NAMED_LIMIT,
            "description": "Page handles such as webpage_url_1, or http(s) URLs.",
        },
        "goal": {"type": "string", "minLength": 1, "description": "What to find out from the pages."},
    },
    ("urls", "goal"),
)


@attrs.frozen(kw_only=True)
class WebVisitCapability:
    """Visits pages for a goal.

    Canonical data: `goal`, `pages` (one a URL: url, title, ok, evidence, summary, and reason, which is empty
    where the page could be read). Pages that could be read are registered; one that could not leads nowhere.
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
        named = [_url(alias, f"urls[{position}]", hands.workspace) for position, alias in enumerate(aliases)]
        urls = list(dict.fromkeys(named))
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
        new = tuple(NewPage(url=page.url, title=clean_text(page.title)) for page in visited if page.ok)
        return Findings.of(answered, {"goal": goal, "pages": pages}, pages=new)

    def evidence(
        self, findings: Findings, registered: Registered, workspace: Workspace, prompts: PromptBundle
    ) -> tuple[Part, ...]:
        """Per page what serves the goal, or why it could not be read and what to try."""
        pages = cast("list[dict[str, Any]]", findings.data["pages"])
        share = min(1.0, ALL_PAGES_LIMIT / (len(pages) * (EVIDENCE_LIMIT + SUMMARY_LIMIT)))
        handles = {record.url: record.handle for record in workspace.pages.records}
        return tuple(TextPart(text=_said(page, handles.get(page["url"]), share, prompts)) for page in pages)


def _url(alias: str, place: str, workspace: Workspace) -> str:
    """The address that `alias` names: that of a known page, or one of the web.

    Any other address has to be a known page's: a file is visited because a search found it, never because a model
    names it.
    """
    try:
        return workspace.pages.resolve(alias).url
    except ToolFailure:
        bare = alias.strip()
        if _WEB.match(bare):
            return bare
        if _SCHEME.match(bare):
            expected = f"an http(s) URL or the handle of a page that was found, got {excerpt(repr(bare), 80)}"
            raise ToolFailure("invalid_tool_arguments", f"{place}: expected {expected}") from None
        raise


def _said(page: Mapping[str, Any], known: str | None, share: float, prompts: PromptBundle) -> str:
    """In words; a page that failed has a handle only if it had one before."""
    handle = known or excerpt(page["url"], NAME_LIMIT)
    if not page["ok"]:
        reason = bounded(page["reason"], REASON_LIMIT, "the report of this call")
        return prompts.text("page_failed", page=handle, url=address(page["url"]), reason=reason)
    return prompts.text(
        "page_read",
        page=known or address(page["url"]),
        title=excerpt(page["title"] or page["url"], 200),
        evidence=bounded(page["evidence"], int(EVIDENCE_LIMIT * share), handle),
        summary=bounded(page["summary"], int(SUMMARY_LIMIT * share), handle),
    )
