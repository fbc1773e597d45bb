"""The text recogniser whose weights ship in its wheel: a detector, a check for upside-down cells, a reader.

Its own front door does not serve. It shrinks the whole picture before anything else, or enlarges it until the shorter
side fits, so that a narrow strip grows past all bounds; it believes the check cell by cell, and does not tell which
cells were upside down. So its three steps are called one by one: the detector sees at most `DETECTOR_PIXELS`, the
reader gets its cells out of the full picture, so that small print on a large page survives, and `standing` has all
cells of a page say which way round it is.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from openvlharness_adapters.backends.embedded.reading_order import Cell, is_tall
from openvlharness_adapters.backends.embedded.standing import Said, Sides, is_turned, page_of, plain_page
from openvlharness_core.errors import CapabilityUnavailableError

Pixels = npt.NDArray[np.uint8]
Recogniser = Callable[[Pixels], list[Cell]]
"""Cells of a picture, uint8 (height, width, 3) RGB, in any order and with any score. Several threads may call it."""

NAME = "embedded_ocr"

DETECTOR_PIXELS = 1_500_000
"""Area that the detector sees at most; a letter needs about 8 of its pixels in height."""
_SIDE_STEP = 32  # the detector takes sides that are multiples of this, and would distort others
_LONGEST_SIDE = 30_000  # OpenCV cannot cut cells out of pictures with 32 767 pixels or more on a side
_SMALL = 320  # a picture without a side of this many pixels is enlarged for the detector
_LEAST_CELL = 2.0  # pixels

_loading = threading.Lock()
_loaded: list[Recogniser] = []


def shared_recogniser() -> Recogniser:
    """The recogniser of this process, loaded by whoever asks first; that takes a second or two.

    Raises:
        CapabilityUnavailableError: the packages are not installed.
    """
    with _loading:
        if not _loaded:
            _loaded.append(_load())
        return _loaded[0]


def _load() -> Recogniser:
    try:
        import cv2
        from rapidocr import RapidOCR
    except ImportError as error:
        raise CapabilityUnavailableError(
            NAME, f"reading text needs packages that are not installed: pip install 'openvlharness[embedded]' ({error})"
        ) from error
    # It logs the paths of its weights through a coloured handler of its own.
    logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)
    engine = RapidOCR(
        params={
            "Global.log_level": "critical",
            # One thread a call: as quick on a busy machine, and calls side by side do not fight for the cores.
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            "Det.limit_type": "max",
            "Det.limit_side_len": 1_000_000,  # we bound the picture ourselves
        }
    )
    blank = np.full((_SIDE_STEP, _SIDE_STEP, 3), 255, np.uint8)
    engine(blank)  # loads the detector
    engine.recognize_txt(engine.cls_and_rotate([blank])[0])  # and the others
    return _Engine(engine=engine, cv2=cv2)


@attrs.frozen(kw_only=True)
class _Engine:
    """RapidOCR, step by step. The steps keep no state between calls, and onnxruntime sessions may be shared."""

    engine: Any
    cv2: Any

    def __call__(self, pixels: Pixels) -> list[Cell]:
        shrink = min(1.0, _LONGEST_SIDE / max(pixels.shape[:2]))
        full = self._scaled(np.ascontiguousarray(pixels[:, :, ::-1]), shrink)  # it was trained on BGR
        scale = detector_scale(full.shape[0], full.shape[1])
        found = self.engine.text_det(padded(self._scaled(full, scale)))
        if found.boxes is None:
            return []
        height, width = full.shape[:2]
        quads = np.clip(np.asarray(found.boxes, np.float32) / scale, 0, [width, height]).astype(np.float32)
        quads = [quad for quad in quads if _least_side(quad) >= _LEAST_CELL]
        if not quads:
            return []
        said, flipped = self._said(self.engine.crop_text_regions(full, quads), [is_tall(quad) for quad in quads])
        return [
            Cell(text=each.text, corners=quad.astype(np.float64) / shrink, score=each.score, flipped=turned)
            for each, quad, turned in zip(said, quads, flipped, strict=True)
            if each.text
        ]

    def _said(self, crops: list[Pixels], sideways: list[bool]) -> tuple[list[Said], list[bool]]:
        """What each crop says, and whether it stands on its head; upright and sideways ones vote apart."""
        as_believed, verdicts = self.engine.cls_and_rotate(crops)
        believed = [label == "180" and score > self.engine.text_cls.cls_thresh for label, score in verdicts.cls_res]
        said = self._read(as_believed)
        flipped = list(believed)
        for group in (False, True):
            members = [at for at, is_sideways in enumerate(sideways) if is_sideways == group]
            if not any(believed[at] for at in members):
                continue
            page = plain_page([(said[at].text, believed[at]) for at in members])
            doubted = members if page is None else [at for at in members if believed[at] != page]
            if not doubted:
                continue
            others = self._read([np.ascontiguousarray(as_believed[at][::-1, ::-1]) for at in doubted])
            both = {at: _sides(said[at], other, believed[at]) for at, other in zip(doubted, others, strict=True)}
            page = page_of(list(both.values())) if page is None else page
            for at, sides in both.items():
                flipped[at] = is_turned(sides, page)
                said[at] = sides.turned if flipped[at] else sides.upright
        return said, flipped

    def _read(self, crops: list[Pixels]) -> list[Said]:
        read = self.engine.recognize_txt(crops)
        return [
            Said(text=" ".join(text.split()), score=min(1.0, max(0.0, float(score))))
            for text, score in zip(read.txts, read.scores, strict=True)
        ]

    def _scaled(self, pixels: Pixels, scale: float) -> Pixels:
        if scale == 1.0:
            return pixels
        height, width = (max(1, round(side * scale)) for side in pixels.shape[:2])
        how = self.cv2.INTER_AREA if scale < 1 else self.cv2.INTER_CUBIC
        scaled: Pixels = self.cv2.resize(pixels, (width, height), interpolation=how)
        return scaled


def detector_scale(height: int, width: int) -> float:
    """By what factor a picture is scaled for the detector."""
    if max(height, width) < _SMALL:
        return 2.0
    return min(1.0, math.sqrt(DETECTOR_PIXELS / (height * width)))


def padded(pixels: Pixels) -> Pixels:
    """The picture with its last row and column repeated until both sides are multiples of 32."""
    height, width = pixels.shape[:2]
    return np.pad(pixels, ((0, -height % _SIDE_STEP), (0, -width % _SIDE_STEP), (0, 0)), mode="edge")


def _sides(said: Said, other: Said, believed_turned: bool) -> Sides:
    upright, turned = (other, said) if believed_turned else (said, other)
    return Sides(upright=upright, turned=turned, believed_turned=believed_turned)


def _least_side(quad: npt.NDArray[np.float32]) -> float:
    return float(np.linalg.norm(quad - np.roll(quad, 1, axis=0), axis=1).min())
