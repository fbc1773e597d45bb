"""A backend of your own: any object with the port's method, put behind the tool that the model already knows.

An installed package would register it under the entry-point group `openvlharness.backends` and be chosen in YAML; here
the container is told directly.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from openvlharness_app import build_container, load_preset, open_agent
from openvlharness_core import Answered, EncodedImage, ImageInput, Question, TextLine, Transcription

RECEIPT = Path(__file__).parent / "data" / "receipt.jpg"


class FixedReader:
    """Reads the same two lines from whatever it is shown; a real one would call a model."""

    async def read(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[Transcription]:
        height, width = image.size_hw
        lines = (
            TextLine(text="SUBTOTAL 10.00", box_xyxy_px=(0, 0.5 * height, width, 0.6 * height), score=0.9),
            TextLine(text="TOTAL 12.50", box_xyxy_px=(0, 0.7 * height, width, 0.8 * height), score=0.9),
        )
        text = "\n".join(line.text for line in lines)
        return Answered(value=Transcription(text=text, lines=lines), backend="fixed_reader")


async def main() -> None:
    container = build_container(load_preset("embedded"))
    container.ocr_backend.override(FixedReader())
    async with open_agent(container) as agent:
        report = await agent.answer(Question("What is the total?", [ImageInput.from_path(RECEIPT)]))
    print("answer:", report.answer)


if __name__ == "__main__":
    asyncio.run(main())
