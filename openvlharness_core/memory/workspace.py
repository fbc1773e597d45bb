"""Everything one question has found so far: an immutable value; registering returns a new one that shares the old."""

from __future__ import annotations

from typing import Literal

import attrs

from openvlharness_core.calls import Findings, NewBinding, NewImage, Registered
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.memory.bindings import BindingMemory, unlocked
from openvlharness_core.memory.images import ImageMemory
from openvlharness_core.memory.webpages import PageMemory
from openvlharness_core.pictures import SENDABLE_MEDIA_TYPES, Picture, RemotePicture

MemoryModule = Literal["image", "tool_context", "url"]
ALL_MODULES: tuple[MemoryModule, ...] = ("image", "tool_context", "url")


@attrs.frozen(kw_only=True)
class Workspace:
    """Pictures, bindings and pages of one question.

    Attributes:
        images: pictures; this module cannot be switched off.
        bindings: typed values for code; empty when `tool_context` is off.
        pages: web pages; empty when `url` is off.
        modules: which memory modules are on.
    """

    images: ImageMemory = ImageMemory()
    bindings: BindingMemory = BindingMemory()
    pages: PageMemory = PageMemory()
    modules: tuple[MemoryModule, ...] = ALL_MODULES

    def with_input(self, part: Picture | RemotePicture) -> Workspace:
        """Add a picture of the question."""
        if isinstance(part, RemotePicture):
            return attrs.evolve(self, images=self.images.with_input(None, part.url))
        return attrs.evolve(self, images=self.images.with_input(part))

    def with_download(self, handle: str, picture: Picture) -> Workspace:
        """Fill in the bytes of a remote picture."""
        return attrs.evolve(self, images=self.images.with_download(handle, picture))

    def register(self, findings: Findings, tool: str) -> tuple[Workspace, Registered]:
        """Name pictures, then bindings, then pages; all or nothing, since the old workspace stays as it was.

        Raises:
            MalformedResultError: values that memory does not hold, parents that it does not know, or a picture in a
                format that no model is sent.
        """
        images, bindings, pages = self.images, self.bindings, self.pages
        image_handles, binding_names, page_handles = [], [], []
        for image in findings.images:
            self._check(image)
            images, handle = images.with_tool_image(image, tool)
            image_handles.append(handle)
        if "tool_context" in self.modules:
            for binding in findings.bindings:
                bindings, name = bindings.with_binding(binding)
                binding_names.append(name)
        if "url" in self.modules:
            for page in findings.pages:
                pages, handle = pages.with_page(page)
                page_handles.append(handle)
        registered = Registered(images=tuple(image_handles), bindings=tuple(binding_names), pages=tuple(page_handles))
        return attrs.evolve(self, images=images, bindings=bindings, pages=pages), registered

    def _check(self, new: NewImage) -> None:
        known = {record.handle for record in self.images.records}
        for parent in new.parents:
            if parent not in known:
                raise MalformedResultError("images.parents", f"handles of pictures in memory, got {parent!r}")
        for shape in (new.picture.full, new.picture.sent):
            if shape.media_type not in SENDABLE_MEDIA_TYPES:
                raise MalformedResultError(
                    "images.media_type", f"one of {', '.join(SENDABLE_MEDIA_TYPES)}, got {shape.media_type!r}"
                )

    def name_for(self, binding: NewBinding) -> str | None:
        """The name that `register` would give; `None` where bindings are off. For data that has to say it.

        Raises:
            MalformedResultError: values that memory does not hold.
        """
        return self.bindings.with_binding(binding)[1] if "tool_context" in self.modules else None

    def descriptors(self) -> dict[str, dict[str, object]]:
        """The code writer's door: binding name to descriptor, never a value."""
        return {record.name: record.descriptor() for record in self.bindings.records}

    def values(self) -> dict[str, object]:
        """The executor's door: binding name to a dict of its fields; arrays are locked, the executor copies them."""
        return {record.name: unlocked(record.fields) for record in self.bindings.records}
