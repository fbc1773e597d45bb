"""What the model is told of lines that may be misread, and of passages that were not read at all."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from openvlharness_adapters.models.planner.evidence import Seen, reading_of
from openvlharness_app.prompts import load_prompt_bundle
from openvlharness_core.capabilities.ocr import LINES_LIMIT, OcrCapability
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.results import TextLine, Transcription
from tests.unit.core.capabilities.stage import Backend, Stage


async def _seen(scores: Sequence[float], left_out: int = 0) -> Seen:
    lines = tuple(
        TextLine(text=f"row {at}", box_xyxy_px=(1.0, 1.0, 9.0, 9.0), score=score) for at, score in enumerate(scores)
    )
    read = Transcription(text="\n".join(line.text for line in lines), lines=lines, left_out=left_out)
    stage = Stage(prompts=load_prompt_bundle("openai_v1"))
    return Seen(
        parts=(await stage.use(OcrCapability(backend=Backend(lambda *_: read)), image_id="input_image_1")).parts
    )


@pytest.mark.parametrize(
    ("scores", "left_out", "doubtful"),
    [([0.95, 0.9], 0, set()), ([0.95, 0.89, 0.5], 0, {2, 3}), ([0.95], 4, set()), ([], 2, set())],
)
async def test_doubts_are_told_and_read_back(scores: list[float], left_out: int, doubtful: set[int]) -> None:
    reading = reading_of(await _seen(scores, left_out), "input_image_1")
    assert (set(reading.doubtful), reading.left_out) == (doubtful, left_out)


async def test_of_very_many_doubts_all_lines_are_doubtful() -> None:
    reading = reading_of(await _seen([0.5] * (LINES_LIMIT + 5)), "input_image_1")
    assert len(reading.doubtful) == LINES_LIMIT + 5


@pytest.mark.parametrize("count", [-1, True, 1.0])
def test_what_was_left_out_is_a_count(count: object) -> None:
    with pytest.raises(MalformedResultError, match="left_out"):
        Transcription(text="", left_out=count)
