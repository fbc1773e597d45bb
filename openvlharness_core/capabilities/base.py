"""What every public tool is: a schema, something it does, and evidence of what it found.

The two steps are apart on purpose. `perform` asks backends and returns unnamed findings; memory names them, all or
nothing; `evidence` then says in the model's words what was found and under which names. So evidence can be rendered
again from a recorded report, and nothing half-done is ever named.

Canonical data keeps null and empty apart: null means that this backend cannot tell, an empty list that it looked and
found none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from openvlharness_core.calls import Findings, Registered
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import Part, ToolSpec
from openvlharness_core.prompts import PromptBundle


class Capability(Protocol):
    """One tool that a model sees. A user's own tool is a class with these members."""

    @property
    def key(self) -> str:
        """Short name in configurations and reports, such as `zoom`."""
        ...

    @property
    def name(self) -> str:
        """Public tool name, 1 to 64 of `[A-Za-z0-9_-]`."""
        ...

    @property
    def parameters(self) -> Mapping[str, object]:
        """JSON Schema of the arguments; they are checked against it before `perform` is called."""
        ...

    def description(self, prompts: PromptBundle) -> str:
        """When to use it and what comes back, in words for the model."""
        ...

    async def perform(self, arguments: Mapping[str, object], hands: Hands) -> Findings:
        """Do the work and return everything found, unnamed.

        Raises:
            HarnessError: the model is told of it as a failed call; `ToolFailure` chooses code and words.
        """
        ...

    def evidence(
        self, findings: Findings, registered: Registered, workspace: Workspace, prompts: PromptBundle
    ) -> tuple[Part, ...]:
        """What the model is shown: a pure function of `findings.data` and of the names, so that replays agree."""
        ...


def spec_of(capability: Capability, prompts: PromptBundle) -> ToolSpec:
    """What the model is told of a capability."""
    return ToolSpec(name=capability.name, description=capability.description(prompts), parameters=capability.parameters)


def object_schema(properties: Mapping[str, Mapping[str, object]], required: tuple[str, ...]) -> dict[str, object]:
    """An object schema that refuses arguments it does not name."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


IMAGE_ID: Mapping[str, object] = {
    "type": "string",
    "minLength": 1,
    "description": "Handle of an image in memory, such as input_image_1 or tool_generated_image_2.",
}
