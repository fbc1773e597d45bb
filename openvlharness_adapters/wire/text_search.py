"""Text search: ``{query, search_type}`` and back what `found` says."""

from __future__ import annotations

import attrs

from openvlharness_adapters.wire.fields import Fields, got
from openvlharness_adapters.wire.found import result_from_wire, result_to_wire
from openvlharness_adapters.wire.images import TakeIn
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.ports.seeking import TextSearchBackend
from openvlharness_core.results import Answered
from openvlharness_core.seeking import SEARCH_TYPES, SearchResults, SearchType

__all__ = ["TextSearchCall", "args_from_wire", "args_to_wire", "result_from_wire", "result_to_wire"]


@attrs.frozen(kw_only=True)
class TextSearchCall:
    """What a caller asks."""

    query: str
    search_type: SearchType

    async def ask(self, backend: TextSearchBackend, take_in: TakeIn, timeout_seconds: float) -> Answered[SearchResults]:
        return await backend.search(self.query, self.search_type, timeout_seconds=timeout_seconds)


def args_to_wire(query: str, search_type: SearchType) -> dict[str, object]:
    return {"query": query, "search_type": search_type}


def args_from_wire(args: object) -> TextSearchCall:
    """`search_type` may be left out. Raises MalformedResultError."""
    fields = Fields.of(args, "").only("query", "search_type")
    search_type = fields.text("search_type", "search")
    if search_type not in SEARCH_TYPES:
        raise MalformedResultError("search_type", f"one of {', '.join(SEARCH_TYPES)}, got {got(search_type)}")
    return TextSearchCall(query=fields.text("query"), search_type=search_type)
