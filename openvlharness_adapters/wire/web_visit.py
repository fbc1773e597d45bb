"""Page visits: ``{urls, goal}`` and back one page a URL, in order."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from openvlharness_adapters.wire.fields import Fields
from openvlharness_adapters.wire.images import TakeIn
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.ports.seeking import PageBackend
from openvlharness_core.results import Answered
from openvlharness_core.seeking import VisitedPage


@attrs.frozen(kw_only=True)
class VisitCall:
    """What a caller asks."""

    urls: tuple[str, ...]
    goal: str

    async def ask(
        self, backend: PageBackend, take_in: TakeIn, timeout_seconds: float
    ) -> Answered[tuple[VisitedPage, ...]]:
        return await backend.visit(self.urls, self.goal, timeout_seconds=timeout_seconds)


def args_to_wire(urls: Sequence[str], goal: str) -> dict[str, object]:
    return {"urls": list(urls), "goal": goal}


def args_from_wire(args: object) -> VisitCall:
    """Raises MalformedResultError."""
    fields = Fields.of(args, "").only("urls", "goal")
    urls = fields.texts("urls")
    if not urls:
        raise MalformedResultError("urls", "at least one URL, got none")
    return VisitCall(urls=urls, goal=fields.text("goal"))


def result_to_wire(pages: Sequence[VisitedPage]) -> dict[str, object]:
    """Texts that are empty in the domain are empty here."""
    return {"pages": [attrs.asdict(page) for page in pages]}


def result_from_wire(result: object) -> tuple[VisitedPage, ...]:
    """Raises MalformedResultError."""
    return tuple(_page_from_wire(row) for row in Fields.of(result, "").rows("pages"))


def _page_from_wire(row: Fields) -> VisitedPage:
    for name in ("evidence", "summary", "reason"):
        row.value(name)  # null says the same as an empty text, silence does not
    try:
        return VisitedPage(
            url=row.text("url"),
            title=row.text("title", ""),
            ok=row.flag("ok"),
            evidence=row.text("evidence", ""),
            summary=row.text("summary", ""),
            reason=row.text("reason", ""),
        )
    except MalformedResultError as error:  # the value knows its fields, not which page it is
        field = error.field
        placed = field if field.startswith(row.place) else f"{row.place}{field.removeprefix('pages.')}"
        raise MalformedResultError(placed, error.expected) from None
