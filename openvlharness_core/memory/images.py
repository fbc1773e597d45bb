"""Pictures of one question under handles: `input_image_N` and `tool_generated_image_N`.

Identity is the original bytes. Input pictures always keep their own handle; a tool's picture whose bytes are known
takes the lowest handle that has them, and its record gains a lineage; so does a picture of the question that turns out
to be part of another.
"""

from __future__ import annotations

import attrs

from openvlharness_core.calls import NewImage
from openvlharness_core.geometry import IDENTITY, Affine, compose
from openvlharness_core.memory.references import plain_reference, unknown_reference
from openvlharness_core.pictures import Picture

QUESTION = "question"
"""Source of the pictures that came with the question."""


@attrs.frozen(kw_only=True)
class Lineage:
    """One way in which a picture came about.

    Attributes:
        tool: public name of the tool that made it.
        parents: handles of the pictures it was made from.
        to_source: map of its pixels to the first parent's, where it is geometric.
    """

    tool: str
    parents: tuple[str, ...] = ()
    to_source: Affine | None = None


@attrs.frozen(kw_only=True)
class ImageRecord:
    """A picture with a name.

    Attributes:
        handle: its name.
        source: `question`, or the public name of the tool that first made it.
        picture: the picture; `None` for a remote one that nothing has needed yet.
        url: where a remote one is.
        lineages: how it came about, newest last; of a picture of the question only what tools found out.
    """

    handle: str
    source: str
    picture: Picture | None = None
    url: str | None = None
    lineages: tuple[Lineage, ...] = ()

    @property
    def size_hw(self) -> tuple[int, int] | None:
        """(height, width), or `None` before a remote picture is downloaded."""
        return self.picture.full.size_hw if self.picture else None

    @property
    def parents(self) -> tuple[str, ...]:
        """Parents by the newest lineage."""
        return self.lineages[-1].parents if self.lineages else ()

    @property
    def to_source(self) -> Affine | None:
        """Map to the first parent by the newest lineage."""
        return self.lineages[-1].to_source if self.lineages else None


@attrs.frozen(kw_only=True)
class ImageMemory:
    """All pictures: those of the question first, then those of tools in the order they were registered."""

    records: tuple[ImageRecord, ...] = ()

    def with_input(self, picture: Picture | None, url: str | None = None) -> ImageMemory:
        """Add a picture of the question; equal bytes get a handle of their own all the same."""
        count = sum(record.source == QUESTION for record in self.records)
        record = ImageRecord(handle=f"input_image_{count + 1}", source=QUESTION, picture=picture, url=url)
        return attrs.evolve(self, records=(*self.records, record))

    def with_download(self, handle: str, picture: Picture) -> ImageMemory:
        """Fill in the bytes of a remote picture."""
        return attrs.evolve(
            self,
            records=tuple(
                attrs.evolve(record, picture=picture) if record.handle == handle else record for record in self.records
            ),
        )

    def with_tool_image(self, new: NewImage, tool: str) -> tuple[ImageMemory, str]:
        """Register a tool's picture and return the handle it has now."""
        lineage = Lineage(tool=tool, parents=new.parents, to_source=new.to_source)
        for position, record in enumerate(self.records):
            if record.picture and record.picture.digest == new.picture.digest:
                # a picture of the question is no more its own crop than somebody else's thumbnail
                idle = record.source == QUESTION and (new.to_source is None or record.handle in new.parents)
                if idle or (record.lineages and record.lineages[-1] == lineage):
                    return self, record.handle
                lineages = (*(known for known in record.lineages if known != lineage), lineage)
                grown = attrs.evolve(record, lineages=lineages)
                records = (*self.records[:position], grown, *self.records[position + 1 :])
                return attrs.evolve(self, records=records), record.handle
        count = sum(record.source != QUESTION for record in self.records)
        record = ImageRecord(
            handle=f"tool_generated_image_{count + 1}", source=tool, picture=new.picture, lineages=(lineage,)
        )
        return attrs.evolve(self, records=(*self.records, record)), record.handle

    def resolve(self, alias: str) -> ImageRecord:
        """The record that `alias` names; case, stray quotes, spaces and a file extension do not matter.

        Raises:
            ToolFailure: `unknown_reference`, listing the nearest handles.
        """
        name = plain_reference(alias)
        for record in self.records:
            if record.handle == name:
                return record
        raise unknown_reference("image", alias, (record.handle for record in self.records))

    def origin(self, handle: str) -> tuple[str, Affine]:
        """Follow geometric lineages to the picture that is nobody's crop, with the map from pixels to pixels."""
        record, affine = self.resolve(handle), IDENTITY
        seen = {record.handle}
        while record.to_source is not None and record.parents and record.parents[0] not in seen:
            affine = compose(record.to_source, affine)
            record = self.resolve(record.parents[0])
            seen.add(record.handle)
        return record.handle, affine
