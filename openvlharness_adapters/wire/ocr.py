"""OCR: ``{image}`` and back the text, with places where the backend tells them."""

from __future__ import annotations

import attrs

from openvlharness_adapters.wire.fields import Fields
from openvlharness_adapters.wire.images import TakeIn, bytes_from_wire, image_to_wire
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.geometry import Box
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.perception import OcrBackend
from openvlharness_core.results import Answered, TextLine, Transcription


@attrs.frozen(kw_only=True)
class OcrCall:
    """What a caller asks; `image` holds the encoded bytes."""

    image: bytes = attrs.field(repr=False)

    async def ask(self, backend: OcrBackend, take_in: TakeIn, timeout_seconds: float) -> Answered[Transcription]:
        return await backend.read(await take_in(self.image), timeout_seconds=timeout_seconds)


def args_to_wire(image: EncodedImage) -> dict[str, object]:
    return {"image": image_to_wire(image)}


def args_from_wire(args: object) -> OcrCall:
    """Raises MalformedResultError."""
    return OcrCall(image=bytes_from_wire(Fields.of(args, "").only("image").value("image"), "image"))


def result_to_wire(read: Transcription) -> dict[str, object]:
    """Boxes are x1, y1, x2, y2 in pixels, scores 0 to 1.

    `lines` is null where the backend tells no places; `left_out` stands only where passages were left out.
    """
    lines = None if read.lines is None else [_line_to_wire(line) for line in read.lines]
    return {"text": read.text, "lines": lines} | ({"left_out": read.left_out} if read.left_out else {})


def result_from_wire(result: object) -> Transcription:
    """Raises MalformedResultError."""
    fields = Fields.of(result, "")
    untold = fields.value("lines") is None
    lines = None if untold else tuple(_line_from_wire(row) for row in fields.rows("lines"))
    return Transcription(text=fields.text("text"), lines=lines, left_out=fields.find_count("left_out") or 0)


def _line_to_wire(line: TextLine) -> dict[str, object]:
    return {"text": line.text, "box": [float(corner) for corner in line.box_xyxy_px], "score": float(line.score)}


def _line_from_wire(row: Fields) -> TextLine:
    x1, y1, x2, y2 = row.numbers("box", 4)
    box: Box = (x1, y1, x2, y2)
    score = row.value("score")
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise MalformedResultError(f"{row.place}score", f"a number from 0 to 1, got {score!r:.40}")
    try:
        return TextLine(text=row.text("text"), box_xyxy_px=box, score=score)
    except MalformedResultError as error:  # the value knows its fields, not which line it is
        raise MalformedResultError(f"{row.place}{error.field.rpartition('.')[2]}", error.expected) from None
