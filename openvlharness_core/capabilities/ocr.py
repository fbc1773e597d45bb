"""OCR: the text of a picture, and where each line stands if the backend tells."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

import attrs

from openvlharness_core.calls import Findings, NewBinding, Registered
from openvlharness_core.capabilities.answered import value_of
from openvlharness_core.capabilities.base import IMAGE_ID, object_schema
from openvlharness_core.capabilities.bounds import fitting
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.capabilities.regions import region_note, to_source_field, to_source_note
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.geometry import Box, pixels_to_grid
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import Part, TextPart
from openvlharness_core.ports.perception import OcrBackend
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.results import TextLine, Transcription
from openvlharness_core.texts import bounded, clean_text, excerpt

TEXT_LIMIT = 8000
"""Characters of text that the model is shown; the binding holds all."""
LINES_LIMIT = 200
"""Lines whose places the model is shown."""
DOUBTFUL_SCORE = 0.9
"""Lines that score below are pointed out to the model."""
LABEL_LIMIT = 200
PLACES_LIMIT = 40_000
"""Characters of each line's text that stand beside its place, and of all places together."""

_PARAMETERS = object_schema({"image_id": IMAGE_ID}, ("image_id",))
_NOTES = {
    "text": "everything that was read, in reading order, one line a line; may be empty",
    "lines": "one dict a line: text, box [x1, y1, x2, y2] in pixels of image_id, score 0-1; None if places are unknown",
}


@attrs.frozen(kw_only=True)
class OcrCapability:
    """Reads the text of a picture.

    Canonical data: `image_id`, `text`, `lines` (list of `text`, `bbox_2d` on the 0-1000 grid and `score`, or null when
    the backend does not tell places), and `left_out` (passages seen but not read). Binding: `ocr_result`.
    """

    backend: OcrBackend
    timeout_seconds: float = 300.0
    key: str = attrs.field(default="ocr", init=False)
    name: str = attrs.field(default="OCR_Tool", init=False)

    @property
    def parameters(self) -> Mapping[str, object]:
        return _PARAMETERS

    def description(self, prompts: PromptBundle) -> str:
        return prompts.text("tool_ocr")

    async def perform(self, arguments: Mapping[str, object], hands: Hands) -> Findings:
        record, picture = await hands.image(str(arguments["image_id"]))
        answered = await hands.within(
            self.timeout_seconds, "ocr", self.backend.read(picture.full, timeout_seconds=self.timeout_seconds)
        )
        read = value_of(answered, Transcription, "ocr")
        size_hw = picture.full.size_hw
        for position, line in enumerate(read.lines or ()):
            if not _is_inside(line.box_xyxy_px, size_hw):
                expected = f"a box inside {size_hw[1]}x{size_hw[0]} pixels, got {list(line.box_xyxy_px)!s:.120}"
                raise MalformedResultError(f"lines[{position}].box", expected, usage=answered.usage)
        text, lines = clean_text(read.text), read.lines
        fields: dict[str, object] = {
            "text": text,
            "lines": None if lines is None else [_line_for_code(line) for line in lines],
            "image_id": record.handle,
        } | to_source_field(record.handle, hands.workspace)
        return Findings.of(
            answered,
            {
                "image_id": record.handle,
                "text": text,
                "lines": None if lines is None else [_line_for_data(line, size_hw) for line in lines],
                "left_out": read.left_out,
            },
            bindings=(
                NewBinding(
                    stem="ocr_result",
                    fields=fields,
                    notes=_NOTES | to_source_note(record.handle, hands.workspace),
                    image_id=record.handle,
                ),
            ),
        )

    def evidence(
        self, findings: Findings, registered: Registered, workspace: Workspace, prompts: PromptBundle
    ) -> tuple[Part, ...]:
        handle, text = str(findings.data["image_id"]), str(findings.data["text"])
        if not text.strip():
            said = prompts.text("ocr_nothing", image=handle)
        else:
            whole = f"{registered.bindings[0]}['text']" if registered.bindings else "no binding"
            said = prompts.text("ocr_text", image=handle, text=bounded(text, TEXT_LIMIT, whole))
        parts: list[Part] = [TextPart(text=said), *region_note(handle, workspace, prompts)]
        lines = cast("list[dict[str, object]] | None", findings.data["lines"])
        if lines and text.strip():
            shown = fitting(map(_row, lines), LINES_LIMIT, PLACES_LIMIT)
            rows = ",\n".join(shown)
            parts.append(TextPart(text=prompts.text("ocr_lines", lines=f"[\n{rows}\n]")))
            if len(lines) > len(shown):
                binding = registered.bindings[0] if registered.bindings else "no binding"
                parts.append(TextPart(text=prompts.text("ocr_rest", count=len(lines) - len(shown), binding=binding)))
            parts += _doubts(lines, prompts)
        if left_out := findings.data["left_out"]:
            parts.append(TextPart(text=prompts.text("ocr_left_out", count=left_out)))
        return tuple(parts)


def _doubts(lines: list[dict[str, object]], prompts: PromptBundle) -> list[Part]:
    """Which lines may be misread, by their position from 1."""
    doubtful = [str(at) for at, line in enumerate(lines, 1) if cast("float", line["score"]) < DOUBTFUL_SCORE]
    if not doubtful:
        return []
    named = ", ".join(doubtful[:LINES_LIMIT]) + (" and more" if len(doubtful) > LINES_LIMIT else "")
    return [TextPart(text=prompts.text("ocr_doubtful", score=DOUBTFUL_SCORE, lines=named))]


def _row(line: Mapping[str, object]) -> str:
    label = excerpt(str(line["text"]), LABEL_LIMIT)
    return json.dumps({"bbox_2d": line["bbox_2d"], "label": label}, ensure_ascii=False)


def _is_inside(box_xyxy_px: Box, size_hw: tuple[int, int]) -> bool:
    """A pixel beyond the edge is how some recognisers round; more is a box of another picture."""
    x1, y1, x2, y2 = box_xyxy_px
    return x1 >= -1 and y1 >= -1 and x2 <= size_hw[1] + 1 and y2 <= size_hw[0] + 1


def _line_for_code(line: TextLine) -> dict[str, object]:
    return {"text": clean_text(line.text), "box": [float(v) for v in line.box_xyxy_px], "score": float(line.score)}


def _line_for_data(line: TextLine, size_hw: tuple[int, int]) -> dict[str, object]:
    return {
        "text": clean_text(line.text),
        "bbox_2d": list(pixels_to_grid(line.box_xyxy_px, size_hw)),
        "score": round(float(line.score), 4),
    }
