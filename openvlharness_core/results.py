"""What backends answer: domain values that know their shape, and where they came from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Generic, TypeVar

import attrs

from openvlharness_core.arrays import size_hw
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
        _text(self.text, "lines.text")
        if not self.text.strip():
            raise MalformedResultError("lines.text", "text, got a blank")
        box: object = self.box_xyxy_px
        numbers = isinstance(box, list | tuple) and len(box) == 4 and all(map(_is_number, box))
        if not numbers or self.box_xyxy_px[2] < self.box_xyxy_px[0] or self.box_xyxy_px[3] < self.box_xyxy_px[1]:
            raise MalformedResultError("lines.box", f"finite [x1, y1, x2, y2] in order, got {box!r:.120}")
        if not _is_number(self.score) or not 0 <= self.score <= 1:
            raise MalformedResultError("lines.score", f"a number from 0 to 1, got {self.score!r:.40}")


def _lines(values: object) -> tuple[TextLine, ...] | None:
    if values is None:
        return None
    if not isinstance(values, list | tuple) or not all(isinstance(value, TextLine) for value in values):
        raise MalformedResultError("lines", f"a tuple of TextLine or null, got {values!r:.80}")
    return tuple(values)


@attrs.frozen(kw_only=True)
class Transcription:
    """The text of one picture.

    Attributes:
        text: in reading order, one line a line; empty when nothing is readable.
        lines: the same with places, in the same order; `None` when the backend does not tell places.
        left_out: how many more passages were seen but not read, since they were too unsure; 0 if that is not told.

    Raises:
        MalformedResultError: a field of another type, or lines without a text or a text without lines.
    """

    text: str
    lines: tuple[TextLine, ...] | None = attrs.field(default=None, converter=_lines)
    left_out: int = 0

    def __attrs_post_init__(self) -> None:
        _text(self.text, "text")
        if type(self.left_out) is not int or self.left_out < 0:
            raise MalformedResultError("left_out", f"a count from 0, got {self.left_out!r:.80}")
        if self.lines is not None and bool(self.lines) != bool(self.text.strip()):
            expected = "lines exactly when there is text, null where places are unknown"
            found = f"{len(self.lines)} lines for {len(self.text.strip())} characters"
            raise MalformedResultError("lines", f"{expected}, got {found}")


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
        region: object = self.region_xyxy_px
        whole = isinstance(region, list | tuple) and len(region) == 4 and all(type(corner) is int for corner in region)
        if not whole:
            raise MalformedResultError("region", f"[x1, y1, x2, y2] in whole pixels, got {region!r:.80}")
        if not isinstance(self.image, EncodedImage):
            raise MalformedResultError("image", f"an EncodedImage, got {type(self.image).__name__}")
        if not isinstance(self.image.data, bytes):
            raise MalformedResultError("image", f"encoded bytes, got {type(self.image.data).__name__}")
        x1, y1, x2, y2 = self.region_xyxy_px
        size = size_hw(self.image.size_hw, "image.size")
        if x1 < 0 or y1 < 0 or size != (y2 - y1, x2 - x1):
            raise MalformedResultError(
                "region", f"the size of the crop, {list(size)} [height, width], got {[x1, y1, x2, y2]!s:.80}"
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

    Raises:
        MalformedResultError: a field of another type, a negative time, or a deadline that passed without an error.
    """

    stdout: str = ""
    stderr: str = ""
    variables: Mapping[str, str] = attrs.field(factory=dict)
    images: tuple[tuple[str, bytes], ...] = attrs.field(default=(), repr=False)
    error: str | None = None
    timed_out: bool = False
    seconds: float = 0.0
    kill_level: str | None = attrs.field(default=None, eq=False)

    def __attrs_post_init__(self) -> None:
        for name in ("stdout", "stderr"):
            _text(getattr(self, name), f"outcome.{name}")
        for name in ("error", "kill_level"):
            if getattr(self, name) is not None:
                _text(getattr(self, name), f"outcome.{name}")
        variables: object = self.variables
        if not isinstance(variables, Mapping) or not all(map(_are_texts, variables.items())):
            raise MalformedResultError("outcome.variables", f"names to previews in text, got {variables!r:.80}")
        images: object = self.images
        if not isinstance(images, list | tuple) or not all(map(_is_named_picture, images)):
            raise MalformedResultError("outcome.images", f"(name, encoded bytes) of each picture, got {images!r:.80}")
        if type(self.timed_out) is not bool:
            raise MalformedResultError("outcome.timed_out", f"true or false, got {self.timed_out!r:.40}")
        if self.timed_out and self.error is None:
            raise MalformedResultError("outcome.error", "a reason where the deadline ended the program, got null")
        if not _is_number(self.seconds) or self.seconds < 0:
            raise MalformedResultError("outcome.seconds", f"seconds from 0, got {self.seconds!r:.40}")


def _text(value: object, place: str) -> None:
    if not isinstance(value, str):
        raise MalformedResultError(place, f"a text, got {type(value).__name__}")


def _is_number(value: object) -> bool:
    """Whether it is a finite number that a float holds; booleans are none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _are_texts(pair: tuple[object, object]) -> bool:
    return isinstance(pair[0], str) and isinstance(pair[1], str)


def _is_named_picture(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and [type(part) for part in value] == [str, bytes]
