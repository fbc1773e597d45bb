"""Resume a question that was interrupted: every event is saved, and another process goes on where the first one ended.

Here the first agent's model fails in the middle; a second agent continues from what is on disk.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from openvlharness_app import build_container, load_checkpoint, load_preset, open_agent
from openvlharness_core import ImageInput, Question
from openvlharness_core.testing import ScriptedModel, calling, saying

RECEIPT = Path(__file__).parent / "data" / "receipt.jpg"
ZOOM = calling("Zoom_In_Tool", {"image_id": "input_image_1", "coords": [0, 500, 1000, 1000]})


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        container = build_container(load_preset("embedded"))
        container.chat_model.override(ScriptedModel([ZOOM]))  # has nothing to say to the second request
        async with open_agent(container) as agent:
            try:
                await agent.answer(Question("?", [ImageInput.from_path(RECEIPT)]), checkpoint_to=folder)
            except AssertionError as error:
                print("the first process ends:", error)

        container = build_container(load_preset("embedded"))
        container.chat_model.override(ScriptedModel([saying("<answer>the lower half</answer>")]))
        async with open_agent(container) as agent:
            report = await agent.resume(load_checkpoint(folder))
    print("steps:", [type(step).__name__ for step in report.steps])
    print("answer:", report.answer)


if __name__ == "__main__":
    asyncio.run(main())
