"""What backends answer: domain values that know their shape, and where they came from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Generic, TypeVar

import attrs

from openvlharness_core.errors import MalformedResultError
from openvlharness_core.geometry import Box, PixelBox
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.usage import Spent

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Answered(Generic[T]):
    """A backend's answer with what the trace wants to know of it.

    Attributes:
        value: the domain value.
        backend: the concrete backend's name, such as `embedded_ocr`.
        envelope: the raw envelope as it came over a wire, if it did; JSON-ready.
        sidecars: further JSON-ready data for the trace alone.
        usage: what was spent on the way.
    """

    value: T
    backend: str
    envelope: Mapping[str, object] | None = None
    sidecars: Mapping[str, object] = attrs.field(factory=dict)
    usage: tuple[Spent, ...] = ()


@attrs.frozen(kw_only=True)
class TextLine:
    """One line of text found in a picture.

    Attributes:
        text: what it says, not empty.
        box_xyxy_px: where, in pixels of the picture that was read; upright box around it.
        score: the recogniser's confidence, 0 to 1.
    """

    text: str
    box_xyxy_px: Box
    score: float

    def __attrs_post_init__(self) -> None:
        x1, y1, x2, y2 = self.box_xyxy_px
        if not self.text.strip():
            raise MalformedResultError("lines.text", "text, got a blank")
        if not all(math.isfinite(v) for v in self.box_xyxy_px) or x2 < x1 or y2 < y1:
            raise MalformedResultError("lines.box", f"finite [x1, y1, x2, y2] in order, got {list(self.box_xyxy_px)}")
        if not 0 <= self.score <= 1:
            raise MalformedResultError("lines.score", f"a number from 0 to 1, got {self.score!r}")


@attrs.frozen(kw_only=True)
class Transcription:
    """The text of one picture.

    Attributes:
        text: in reading order, one line a line; empty when nothing is readable.
        lines: the same with places, in the same order; `None` when the backend does not tell places.
    """

    text: str
    lines: tuple[TextLine, ...] | None = None


@attrs.frozen(kw_only=True)
class Crop:
    """A region cut out of a picture.

    Attributes:
        image: the region, pixel for pixel.
        region_xyxy_px: where it lies in the source, in whole pixels.
    """

    image: EncodedImage
    region_xyxy_px: PixelBox

    def __attrs_post_init__(self) -> None:
        x1, y1, x2, y2 = self.region_xyxy_px
        if x1 < 0 or y1 < 0 or self.image.size_hw != (y2 - y1, x2 - x1):
            raise MalformedResultError(
                "region", f"the size of the crop, {list(self.image.size_hw)} [height, width], got {[x1, y1, x2, y2]}"
            )


@attrs.frozen(kw_only=True)
class Attempt:
    """A program that was tried before, and what it came to."""

    program: str
    error: str
    stdout: str = ""


@attrs.frozen(kw_only=True)
class Outcome:
    """What became of a program.

    Attributes:
        stdout: captured text, bounded.
        stderr: captured text, bounded.
        variables: name to bounded preview of what the program left in its namespace.
        images: (name, encoded bytes) of pictures it saved or left in variables.
        error: why it failed, the last lines of its traceback; `None` when it ran to its end.
        timed_out: whether the deadline ended it.
        seconds: start to result.
        kill_level: what held the processes of the program, where the executor says so; the same program comes to the
            same end under any, so it is no part of equality.
    """

    stdout: str = ""
    stderr: str = ""
    variables: Mapping[str, str] = attrs.field(factory=dict)
    images: tuple[tuple[str, bytes], ...] = attrs.field(default=(), repr=False)
    error: str | None = None
    timed_out: bool = False
    seconds: float = 0.0
    kill_level: str | None = attrs.field(default=None, eq=False)
