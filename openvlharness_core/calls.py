"""What a capability finds, what memory made of it, and what the model is told of the call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from openvlharness_core.errors import FailureCode
from openvlharness_core.geometry import Affine
from openvlharness_core.messages import Part
from openvlharness_core.pictures import Picture
from openvlharness_core.results import Answered
from openvlharness_core.texts import clean_text
from openvlharness_core.usage import Spent


@attrs.frozen(kw_only=True)
class NewImage:
    """A picture that a tool made, not yet named.

    Attributes:
        picture: the picture.
        parents: handles of the pictures it was made from.
        to_source: map of its pixels to the first parent's, where it is geometric.
    """

    picture: Picture
    parents: tuple[str, ...] = ()
    to_source: Affine | None = None


@attrs.frozen(kw_only=True)
class NewBinding:
    """Typed values for code, not yet named.

    Attributes:
        stem: the name to take if it is free, an identifier; `_2`, `_3`, … follow.
        fields: field name to value: ndarrays, numbers, strings, booleans, None, lists and dicts of those.
        notes: field name to what its type and shape do not tell: axis order, unit, format, range.
        image_id: handle of the picture it belongs to.
    """

    stem: str
    fields: Mapping[str, object]
    notes: Mapping[str, str] = attrs.field(factory=dict)
    image_id: str | None = None


@attrs.frozen(kw_only=True)
class NewPage:
    """A web page that a tool found, not yet named."""

    url: str
    title: str = ""


@attrs.frozen(kw_only=True)
class Findings:
    """What a capability found: everything that may be registered, or nothing of it.

    Attributes:
        data: canonical data, JSON-ready; null means the backend cannot tell, an empty list that it looked.
        images, bindings, pages: artifacts in the order they are to be named.
        backend: the concrete backend's name.
        envelope: its raw envelope, for the trace.
        sidecars: further JSON-ready data for the trace.
        usage: what was spent.
    """

    data: Mapping[str, object]
    images: tuple[NewImage, ...] = ()
    bindings: tuple[NewBinding, ...] = ()
    pages: tuple[NewPage, ...] = ()
    backend: str | None = None
    envelope: Mapping[str, object] | None = None
    sidecars: Mapping[str, object] = attrs.field(factory=dict)
    usage: tuple[Spent, ...] = ()

    @classmethod
    def of(
        cls,
        answered: Answered[Any],
        data: Mapping[str, object],
        images: tuple[NewImage, ...] = (),
        bindings: tuple[NewBinding, ...] = (),
        pages: tuple[NewPage, ...] = (),
    ) -> Findings:
        """Findings with what the trace wants to know of the backend that answered."""
        return cls(
            data=data,
            images=images,
            bindings=bindings,
            pages=pages,
            backend=answered.backend,
            envelope=answered.envelope,
            sidecars=answered.sidecars,
            usage=answered.usage,
        )


@attrs.frozen(kw_only=True)
class Registered:
    """The names that memory gave, position by position as in the findings."""

    images: tuple[str, ...] = ()
    bindings: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Origin:
    """How a registered picture came about in one call; a picture made twice has one a call.

    Attributes:
        parents: handles of the pictures it was made from.
        to_source: map of its pixels to the first parent's, where it is geometric.
    """

    parents: tuple[str, ...] = ()
    to_source: Affine | None = None


@attrs.frozen(kw_only=True)
class CallFailure:
    """Why a call failed, in words for the model."""

    code: FailureCode
    message: str


@attrs.frozen(kw_only=True)
class CapabilityResult:
    """What became of one call.

    Attributes:
        data: canonical data; `None` for a failed call.
        evidence: what the model is shown; empty for a failed call.
        artifacts: names of what was registered.
        failure: why it failed; `None` when it succeeded.
        backend, envelope, sidecars: for the trace alone.
        usage: what was spent, also on failure.
        performed: whether the tool was called at all; the engine refuses some calls by itself.
        origins: how each of `artifacts.images` came about, position by position.
        downloads: handles of remote pictures that were downloaded for the call, also on failure.
    """

    data: Mapping[str, object] | None = None
    evidence: tuple[Part, ...] = ()
    artifacts: Registered = Registered()
    failure: CallFailure | None = None
    backend: str | None = None
    envelope: Mapping[str, object] | None = None
    sidecars: Mapping[str, object] = attrs.field(factory=dict)
    usage: tuple[Spent, ...] = ()
    performed: bool = False
    origins: tuple[Origin, ...] = ()
    downloads: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self.failure is None

    @classmethod
    def failed(cls, code: FailureCode, message: str, usage: tuple[Spent, ...] = ()) -> CapabilityResult:
        """A failed call: nothing registered, nothing shown but the message."""
        return cls(failure=CallFailure(code=code, message=clean_text(message)), usage=usage)
