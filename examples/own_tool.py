"""A tool of your own: a class with a schema, something it does, and evidence of what it found."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import attrs

import openvlharness_core as core
from openvlharness_app import build_container, load_preset, open_agent
from openvlharness_core.capabilities.base import object_schema
from openvlharness_core.testing import ScriptedModel, calling, saying

RECEIPT = Path(__file__).parent / "data" / "receipt.jpg"


@attrs.frozen
class ShapeTool:
    """Tells how many times wider than high a picture is."""

    key = "shape"
    name = "Shape_Tool"
    parameters = object_schema({"image_id": {"type": "string"}}, required=("image_id",))

    def description(self, prompts: core.PromptBundle) -> str:
        return "Tells the ratio of width to height of an image."

    async def perform(self, arguments: Mapping[str, object], hands: core.Hands) -> core.Findings:
        record, picture = await hands.image(str(arguments["image_id"]))
        height, width = picture.full.size_hw
        ratio = core.NewBinding(stem="shape_result", fields={"ratio": width / height}, image_id=record.handle)
        return core.Findings(data={"ratio": width / height}, bindings=(ratio,))

    def evidence(
        self,
        findings: core.Findings,
        registered: core.Registered,
        workspace: core.Workspace,
        prompts: core.PromptBundle,
    ) -> tuple[core.Part, ...]:
        text = f"Width is {findings.data['ratio']:.2f} times the height ({registered.bindings[0]})."
        return (core.TextPart(text=text),)


async def main() -> None:
    container = build_container(load_preset("embedded"))
    script = [calling("Shape_Tool", {"image_id": "input_image_1"}), saying("<answer>upright</answer>")]
    container.chat_model.override(ScriptedModel(script))
    container.toolset.override(container.toolset().with_capability(ShapeTool()))
    async with open_agent(container) as agent:
        report = await agent.answer(core.Question("Upright or wide?", [core.ImageInput.from_path(RECEIPT)]))
    print(report.steps[2].result.evidence[0].text)
    print("answer:", report.answer)


if __name__ == "__main__":
    asyncio.run(main())
