"""The wire of each capability, by key: how a server reads a call, asks a backend, and tells the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from openvlharness_adapters.wire import (
    camera_pose,
    coding,
    depth,
    grounding,
    image_search,
    ocr,
    text_search,
    web_visit,
    zoom,
)
from openvlharness_adapters.wire.images import TakeIn
from openvlharness_core.results import Answered


class WireCall(Protocol):
    """A call that has been read and checked."""

    async def ask(self, backend: Any, take_in: TakeIn, timeout_seconds: float) -> Answered[Any]:
        """Take its pictures in and ask the backend. Raises what the backend's port promises."""
        ...


@attrs.frozen(kw_only=True)
class CapabilityWire:
    """The server's half of one capability.

    Attributes:
        read: arguments as they came to a call; raises MalformedResultError naming the argument.
        told: a domain value to a result, JSON-ready.
    """

    read: Callable[[object], WireCall]
    told: Callable[[Any], dict[str, object]]


WIRES: Mapping[str, CapabilityWire] = {
    "grounding": CapabilityWire(read=grounding.args_from_wire, told=grounding.result_to_wire),
    "ocr": CapabilityWire(read=ocr.args_from_wire, told=ocr.result_to_wire),
    "depth": CapabilityWire(read=depth.args_from_wire, told=depth.result_to_wire),
    "camera_pose": CapabilityWire(read=camera_pose.args_from_wire, told=camera_pose.result_to_wire),
    "zoom": CapabilityWire(read=zoom.args_from_wire, told=zoom.result_to_wire),
    "text_search": CapabilityWire(read=text_search.args_from_wire, told=text_search.result_to_wire),
    "image_search": CapabilityWire(read=image_search.args_from_wire, told=image_search.result_to_wire),
    "web_visit": CapabilityWire(read=web_visit.args_from_wire, told=web_visit.result_to_wire),
    "coding": CapabilityWire(read=coding.args_from_wire, told=coding.result_to_wire),
}
