"""Swap one adapter in a test: the embedded preset with a fake reader, everything else as configured."""

from __future__ import annotations

import asyncio
from pathlib import Path

from openvlharness_app import build_container, load_preset, open_agent
from openvlharness_core import ImageInput, Question
from openvlharness_core.testing import FakeOcr, ScriptedModel, calling, saying

RECEIPT = Path(__file__).parent / "data" / "receipt.jpg"


async def test_the_model_is_shown_what_was_read() -> None:
    container = build_container(load_preset("embedded"))
    model = ScriptedModel([calling("OCR_Tool", {"image_id": "input_image_1"}), saying("<answer>7</answer>")])
    container.chat_model.override(model)
    container.ocr_backend.override(FakeOcr(("seven pills",)))

    async with open_agent(container) as agent:
        report = await agent.answer(Question("How many pills?", [ImageInput.from_path(RECEIPT)]))

    model.assert_spent()
    assert report.answer == "7"
    shown = model.requests[1].messages[4]
    assert "seven pills" in str(shown), shown
    print("the model was shown:", report.steps[2].result.evidence[0].text.splitlines()[0])


if __name__ == "__main__":
    asyncio.run(test_the_model_is_shown_what_was_read())
