"""Text queries, answered with the lines that OCR read.

OCR gives a box for a line. Quoted words are often a part of one; their place in it is found by the gaps in the ink: a
line of n words has n - 1 gaps that are wider than all others. Where it has not, letters are taken to be equally wide.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.vision.working import Pixels
from openvlharness_core.detections import Detections
from openvlharness_core.geometry import Box
from openvlharness_core.results import TextLine

_PUNCTUATION = ".,;:!?()[]{}\"'“”‘’«»"
_INK = 60  # levels from the paper
_CLEARLY_WIDER = 1.3

Span = tuple[int, int]


def text_detections(lines: Sequence[TextLine], words: str | None, pixels: Pixels) -> Detections:
    """All lines, or every place where `words` stand one after the other in a line; case and punctuation do not matter.

    Args:
        lines: what was read.
        words: what to look for, or `None` for all text.
        pixels: the picture, uint8 (height, width, 3) RGB.
    """
    height, width = pixels.shape[:2]
    found: list[tuple[Box, float]] = []
    for line in lines:
        if words is None:
            found.append((line.box_xyxy_px, line.score))
            continue
        tokens = line.text.split()
        for start, stop in _places(tokens, words.split()):
            found.append((_box_of(line.box_xyxy_px, tokens, (start, stop), pixels), line.score))
    boxes = np.array([box for box, _ in found], np.float32).reshape(-1, 4)
    return Detections(
        boxes_xyxy_px=np.clip(boxes, 0, [width, height, width, height]).astype(np.float32),
        scores=np.array([score for _, score in found], np.float32),
        size_hw=(height, width),
    )


def _plain(word: str) -> str:
    return word.casefold().strip(_PUNCTUATION) or word


def _places(tokens: Sequence[str], words: Sequence[str]) -> list[Span]:
    wanted, said = [_plain(word) for word in words], [_plain(token) for token in tokens]
    return [
        (start, start + len(wanted))
        for start in range(len(said) - len(wanted) + 1)
        if said[start : start + len(wanted)] == wanted
    ]


def _box_of(line: Box, tokens: Sequence[str], span: Span, pixels: Pixels) -> Box:
    """The part of a line's box that some of its words take; the whole of a line that does not run left to right."""
    x1, y1, x2, y2 = line
    if span == (0, len(tokens)) or y2 - y1 > x2 - x1:
        return line
    left, right = max(0, int(x1)), int(np.ceil(x2))
    part = pixels[max(0, int(y1)) : int(np.ceil(y2)), left:right]
    spans = word_spans(part, len(tokens)) if part.size else None
    if spans is not None:
        return float(left + spans[span[0]][0]), y1, float(left + spans[span[1] - 1][1]), y2
    ends = list(itertools.accumulate(len(token) + 1 for token in tokens))
    letter = (x2 - x1) / max(1, ends[-1] - 1)
    start = ends[span[0] - 1] if span[0] else 0
    return x1 + start * letter, y1, x1 + (ends[span[1] - 1] - 1) * letter, y2


def word_spans(line: Pixels, count: int) -> list[Span] | None:
    """First and behind-the-last column of each of `count` words in a cut-out line, or `None` if gaps do not tell."""
    paper = np.median(line.reshape(-1, 3), axis=0)
    inked = (np.abs(line.astype(np.int16) - paper).max(axis=2) > _INK).any(axis=0)
    columns = np.flatnonzero(inked)
    if not len(columns):
        return None
    steps: NDArray[np.intp] = np.diff(columns)
    order = np.argsort(-steps, kind="stable")
    if len(steps) < count or steps[order[count - 2]] < _CLEARLY_WIDER * steps[order[count - 1]]:
        return None
    cuts = np.sort(order[: count - 1])
    starts = [int(columns[0]), *(int(columns[cut + 1]) for cut in cuts)]
    stops = [*(int(columns[cut]) + 1 for cut in cuts), int(columns[-1]) + 1]
    return list(zip(starts, stops, strict=True))
