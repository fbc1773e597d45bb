"""The tools that one agent has, sorted by public name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from openvlharness_core.capabilities.arguments import find_schema_fault
from openvlharness_core.capabilities.base import Capability, spec_of
from openvlharness_core.messages import ToolSpec
from openvlharness_core.prompts import PromptBundle

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Toolset:
    """Selected capabilities; a value, so that adding one makes another.

    Raises:
        ValueError: two tools of one public name, a name that a model cannot call, or a schema that is none.
    """

    def __init__(self, capabilities: Iterable[Capability] = ()) -> None:
        self._by_name: dict[str, Capability] = {}
        for capability in sorted(capabilities, key=lambda each: each.name):
            if not _NAME.fullmatch(capability.name):
                raise ValueError(f"tool name: expected 1 to 64 of [A-Za-z0-9_-], got {capability.name!r}")
            if capability.name in self._by_name:
                raise ValueError(f"tool name: expected each once, got {capability.name!r} twice")
            if fault := find_schema_fault(capability.parameters):
                raise ValueError(f"{capability.name}: {fault}")
            self._by_name[capability.name] = capability

    def with_capability(self, capability: Capability) -> Toolset:
        """This toolset and one tool more; one of the same public name is replaced."""
        return Toolset([*(known for known in self if known.name != capability.name), capability])

    def find(self, name: str) -> Capability | None:
        """The tool of that public name, if there is one."""
        return self._by_name.get(name)

    def specs(self, prompts: PromptBundle) -> tuple[ToolSpec, ...]:
        """What the model is told of them, in order."""
        return tuple(spec_of(capability, prompts) for capability in self)

    def __iter__(self) -> Iterator[Capability]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)
