"""Web pages under handles: `webpage_url_N`. Older ones leave the inventory, never the memory."""

from __future__ import annotations

import attrs

from openvlharness_core.calls import NewPage
from openvlharness_core.memory.references import plain_reference, unknown_reference


@attrs.frozen(kw_only=True)
class PageRecord:
    """A page with a name. A URL is a page even when its path ends like a picture's."""

    handle: str
    url: str
    title: str = ""


@attrs.frozen(kw_only=True)
class PageMemory:
    """All pages in the order they were registered."""

    records: tuple[PageRecord, ...] = ()

    def with_page(self, new: NewPage) -> tuple[PageMemory, str]:
        """Register and return the handle; a URL that is known keeps the one it has."""
        for record in self.records:
            if record.url == new.url:
                return self, record.handle
        record = PageRecord(handle=f"webpage_url_{len(self.records) + 1}", url=new.url, title=new.title)
        return attrs.evolve(self, records=(*self.records, record)), record.handle

    def resolve(self, alias: str) -> PageRecord:
        """The record that a handle or a registered URL names.

        Raises:
            ToolFailure: `unknown_reference`, listing the nearest handles.
        """
        name = plain_reference(alias)
        for record in self.records:
            if record.handle == name or record.url == alias.strip():
                return record
        raise unknown_reference("page", alias, (record.handle for record in self.records))
