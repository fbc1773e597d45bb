"""Tools are sorted by name, each once, and wrong ones are refused when they are added."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import pytest

from openvlharness_core.calls import Findings, Registered
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.capabilities.toolset import Toolset
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import Part, ToolSpec
from openvlharness_core.prompts import PromptBundle
from tests.unit.core.kit import PROMPTS


@attrs.frozen
class Named:
    """A tool with a name and a schema, and nothing else."""

    name: str
    parameters: Mapping[str, object] = attrs.field(factory=dict)
    key: str = "named"

    def description(self, prompts: PromptBundle) -> str:
        return f"{self.name} with {prompts.text('nudge')}"

    async def perform(self, arguments: Mapping[str, object], hands: Hands) -> Findings:
        return Findings(data={})

    def evidence(
        self, findings: Findings, registered: Registered, workspace: Workspace, prompts: PromptBundle
    ) -> tuple[Part, ...]:
        return ()


def test_tools_are_sorted_by_public_name() -> None:
    tools = Toolset([Named("b"), Named("C"), Named("a")])
    assert [tool.name for tool in tools] == ["C", "a", "b"]
    assert tools.specs(PROMPTS)[1] == ToolSpec(name="a", description="a with nudge", parameters={})
    assert len(tools) == 3


def test_adding_makes_another_set_and_replaces_the_same_name() -> None:
    first = Toolset([Named("a")])
    other = Named("a", {"properties": {}})
    second = first.with_capability(other).with_capability(Named("b"))
    assert (len(first), len(second)) == (1, 2)
    assert second.find("a") is other
    assert second.find("z") is None


@pytest.mark.parametrize("name", ["", "a b", "a.b", "инструмент", "a" * 65])
def test_a_name_that_a_model_cannot_call_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="tool name: expected 1 to 64"):
        Toolset([Named(name)])


def test_a_name_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="expected each once, got 'a' twice"):
        Toolset([Named("a"), Named("a")])


def test_a_schema_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a: parameters\.properties\.x: expected an object, got str"):
        Toolset([Named("a", {"properties": {"x": "string"}})])
