"""What a request shows, taken apart: the question, its pictures, and each call with what came of it.

Only what a model is sent is looked at. The anchors are those of the prompt texts: `Question:` ends the prefix, a picture
follows its handle in brackets, read text stands in a ```text fence and its places in a ```json fence behind, a
program's output in the ```text fence behind the program, `Answer now` begins the last instruction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import islice

import attrs

from openvlharness_core.geometry import Box
from openvlharness_core.messages import (
    AssistantMessage,
    ImagePart,
    ModelRequest,
    Part,
    TextPart,
    ToolMessage,
    UserMessage,
)

_QUESTION = "Question:"
_LAST_REQUEST = "Answer now"
_NOTE = re.compile(r"\[(?:Note on|Not shown)\b.*\]", re.DOTALL)
_HANDLE = re.compile(r"\binput_image_\d+\b")
_BINDING = re.compile(r"^- (\w+): dict of (\w+)", re.MULTILINE)
_FAILURE = re.compile(r"Error \[(\w+)\]: (.*)")
_CUT = re.compile(r"\[\d+ more characters cut; the whole is in .+\]")
_DOUBTFUL = re.compile(r"Doubtful, .*: lines (?P<lines>\d+(?:, \d+)*)(?P<more> and more)?\.")
_LEFT_OUT = re.compile(r"Left out: (\d+) ")
_OUTPUT = re.compile(r"```python\n.*?\n```.*?```text\n(.*?)\n```", re.DOTALL)


@attrs.frozen(kw_only=True)
class Failed:
    """A call that was refused or failed, or that could not be made at all.

    Attributes:
        code: the failure's code; `not_offered` for a tool that is not there.
        message: in words.
    """

    code: str
    message: str


@attrs.frozen(kw_only=True)
class Seen:
    """What a successful call showed.

    Attributes:
        parts: its evidence.
        bindings: name of every data binding to the handle it belongs to, oldest first, as the inventory behind the call
            lists them.
    """

    parts: tuple[Part, ...]
    bindings: Mapping[str, str] = attrs.field(factory=dict, hash=False)

    @property
    def picture(self) -> str | None:
        """The handle of the first picture shown."""
        return next((part.handle for part in self.parts if isinstance(part, ImagePart)), None)

    @property
    def output(self) -> str | None:
        """What a program printed."""
        for part in self.parts:
            found = _OUTPUT.search(part.text) if isinstance(part, TextPart) else None
            if found:
                return found[1]
        return None


@attrs.frozen(kw_only=True)
class Step:
    """One call of the conversation and what came of it."""

    tool: str
    arguments: Mapping[str, object] = attrs.field(hash=False)
    result: Seen | Failed


@attrs.frozen(kw_only=True)
class Conversation:
    """A request, taken apart.

    Attributes:
        question: what is asked; empty when the request holds no question.
        pictures: handles of its pictures.
        steps: calls so far, in order.
        tools: names of the offered tools.
        is_last: whether no further call will be made.
    """

    question: str
    pictures: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    tools: frozenset[str] = frozenset()
    is_last: bool = False


@attrs.frozen(kw_only=True)
class Row:
    """A line of text that was read; `box_xyxy_grid` is `None` where the place is not known."""

    text: str
    box_xyxy_grid: Box | None = None


@attrs.frozen(kw_only=True)
class Reading:
    """The text of a picture.

    Attributes:
        rows: its lines; row i is line i + 1 of the binding's text.
        is_cut: whether more was read than was shown.
        binding: the binding that holds the text, if the inventory lists one.
        doubtful: positions, from 1, of the lines that are said to be read with doubt.
        left_out: how many passages are said to be too unsure to be read.
    """

    rows: tuple[Row, ...] = ()
    is_cut: bool = False
    binding: str | None = None
    doubtful: frozenset[int] = frozenset()
    left_out: int = 0

    @property
    def text(self) -> str:
        """The rows, one a line."""
        return "\n".join(row.text for row in self.rows)


def read_conversation(request: ModelRequest) -> Conversation:
    """Take a request apart."""
    start, question, pictures = _question_of(request)
    messages = request.messages[start + 1 :]
    steps: list[Step] = []
    is_last = False
    for position, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            is_last = False
            answers = [each for each in islice(messages, position + 1, None) if not isinstance(each, UserMessage)]
            for call, answer in zip(message.calls, answers, strict=False):
                if isinstance(answer, ToolMessage):
                    update = messages[position + 1 + len(message.calls) : position + 3 + len(message.calls)]
                    steps.append(
                        Step(tool=call.tool, arguments=_arguments(call.arguments), result=_result(answer, update))
                    )
        elif isinstance(message, UserMessage) and _text_of(message.parts).startswith(_LAST_REQUEST):
            is_last = True
    return Conversation(
        question=question,
        pictures=pictures,
        steps=tuple(steps),
        tools=frozenset(tool.name for tool in request.tools),
        is_last=is_last,
    )


def _question_of(request: ModelRequest) -> tuple[int, str, tuple[str, ...]]:
    """Position of the message that asks, its text without prefix, labels and notes, and its pictures' handles."""
    for position in range(len(request.messages) - 1, -1, -1):
        message = request.messages[position]
        if not isinstance(message, UserMessage):
            continue
        marks = [
            at
            for at, part in enumerate(message.parts)
            if isinstance(part, TextPart) and part.text.rstrip().endswith(_QUESTION)
        ]
        if marks:
            return position, *_asked(message.parts[marks[0] + 1 :])
    return -1, "", ()


def _asked(parts: tuple[Part, ...]) -> tuple[str, tuple[str, ...]]:
    texts: list[str] = []
    pictures: list[str] = []
    for part, following in zip(parts, (*parts[1:], None), strict=True):
        if isinstance(part, ImagePart):
            pictures.append(part.handle)
        elif isinstance(following, ImagePart) and following.handle in part.text:
            continue
        elif pictures and _NOTE.fullmatch(part.text):
            pictures += [handle for handle in _HANDLE.findall(part.text) if handle not in pictures]
        else:
            texts.append(part.text)
    return "\n".join(texts), tuple(pictures)


def _arguments(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _result(answer: ToolMessage, behind: tuple[object, ...]) -> Seen | Failed:
    if not answer.parts:
        failure = _FAILURE.match(answer.text)
        if failure is None:
            return Failed(code="unknown", message=answer.text)
        return Failed(code=failure[1], message=failure[2])
    update = "\n".join(_text_of(message.parts) for message in behind if isinstance(message, UserMessage))
    return Seen(parts=answer.parts, bindings=dict(_BINDING.findall(update)))


def _text_of(parts: tuple[Part, ...]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def reading_of(seen: Seen, handle: str) -> Reading:
    """The text that an OCR call showed for `handle`; empty when it found none."""
    texts = [part.text for part in seen.parts if isinstance(part, TextPart)]
    names = [name for name, owner in seen.bindings.items() if owner == handle and name.startswith("ocr_result")]
    binding = names[-1] if names else None
    left_out = next((int(found[1]) for text in texts if (found := _LEFT_OUT.match(text))), 0)
    for position, text in enumerate(texts):
        begin, end = text.find("```text\n"), text.rfind("\n```")
        if begin >= 0 and end >= begin + 7:
            lines = text[begin + 8 : end].split("\n")
            is_cut = _CUT.fullmatch(lines[-1]) is not None
            return Reading(
                rows=_placed(lines[:-1] if is_cut else lines, texts[position + 1 :]),
                is_cut=is_cut,
                binding=binding,
                doubtful=_doubtful(texts[position + 1 :], len(lines)),
                left_out=left_out,
            )
    return Reading(binding=binding, left_out=left_out)


def _doubtful(behind: list[str], count: int) -> frozenset[int]:
    found = next((found for text in behind if (found := _DOUBTFUL.fullmatch(text))), None)
    if found is None:
        return frozenset()
    return frozenset(range(1, count + 1) if found["more"] else map(int, found["lines"].split(", ")))


def _placed(lines: list[str], behind: list[str]) -> tuple[Row, ...]:
    """The lines, with the places that a JSON fence behind them gives for the same text."""
    places: list[tuple[str, Box]] = []
    for text in behind:
        begin = text.find("```json\n")
        if begin >= 0:
            places = _places(text[begin + 8 :])
            break
    rows = []
    for line, place in zip(lines, [*places, *[None] * len(lines)], strict=False):
        rows.append(Row(text=line, box_xyxy_grid=place[1] if place and _is_label_of(place[0], line) else None))
    return tuple(rows)


def _is_label_of(label: str, line: str) -> bool:
    """Whether a place belongs to a line: labels are cut where they are long, and their spaces may be single."""
    label, line = " ".join(label.split()), " ".join(line.split())
    return label == line or (label.endswith("…") and line.startswith(label[:-1]))


def _places(text: str) -> list[tuple[str, Box]]:
    try:
        items, _ = json.JSONDecoder().raw_decode(text)
        return [(str(item["label"]), _box(item["bbox_2d"])) for item in items]
    except (ValueError, TypeError, KeyError):  # not our evidence: then no place is known
        return []


def _box(values: list[object]) -> Box:
    x1, y1, x2, y2 = (float(str(value)) for value in values)
    return x1, y1, x2, y2
