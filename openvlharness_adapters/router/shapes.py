"""How requests and answers look: enveloped for the router, bare for a raw server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import attrs

from openvlharness_adapters.models.wire_json import json_bytes
from openvlharness_adapters.wire.envelopes import (
    ToolCall,
    call_from_wire,
    failure_to_wire,
    object_of,
    success_to_wire,
)
from openvlharness_adapters.wire.failures import Failure


class Shape(Protocol):
    """Bytes to a call, and what became of it to bytes."""

    def read(self, body: bytes, name: str) -> ToolCall:
        """The call; `name` is what the address names, empty where the body does. Raises BadCallError."""
        ...

    def success(self, call: ToolCall, result: Mapping[str, object], meta: Mapping[str, object]) -> bytes: ...

    def failure(self, call: ToolCall, failure: Failure) -> bytes: ...


@attrs.frozen
class Enveloped:
    """The router's: see `wire.envelopes`."""

    def read(self, body: bytes, name: str) -> ToolCall:
        return call_from_wire(body)

    def success(self, call: ToolCall, result: Mapping[str, object], meta: Mapping[str, object]) -> bytes:
        return success_to_wire(call, result, meta)

    def failure(self, call: ToolCall, failure: Failure) -> bytes:
        return failure_to_wire(call, failure)


@attrs.frozen
class Bare:
    """A raw server's: arguments in, the result out, and a failure as its `error` object alone."""

    def read(self, body: bytes, name: str) -> ToolCall:
        return ToolCall(tool=name, args=object_of(body))

    def success(self, call: ToolCall, result: Mapping[str, object], meta: Mapping[str, object]) -> bytes:
        return json_bytes(result)

    def failure(self, call: ToolCall, failure: Failure) -> bytes:
        return json_bytes({"error": failure.to_wire()})
