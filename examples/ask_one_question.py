"""Ask one question about one picture, with everything on this machine.

Run: python examples/ask_one_question.py [IMAGE QUESTION]
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from openvlharness_app import load_preset, open_agent
from openvlharness_core import ImageInput, Question

RECEIPT = Path(__file__).parent / "data" / "receipt.jpg"


async def main(image: str, text: str) -> None:
    async with open_agent(load_preset("embedded")) as agent:
        report = await agent.answer(Question(text=text, images=[ImageInput.from_path(image)]))
    for step in report.to_dict()["steps"]:
        if step["kind"] == "tool":
            print("called", step["tool"], step["arguments"])
    print("answer:", report.answer)


if __name__ == "__main__":
    given = sys.argv[1:]
    asyncio.run(main(*(given if len(given) == 2 else (str(RECEIPT), "What is the total?"))))
