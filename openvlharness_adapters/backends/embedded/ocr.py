"""OCR in this process, on any CPU, with nothing downloaded."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Callable

import attrs

from openvlharness_adapters.backends.embedded.reading_order import rows_of
from openvlharness_adapters.backends.embedded.recogniser import NAME, Pixels, Recogniser, shared_recogniser
from openvlharness_core.errors import HarnessError, ToolExecutionError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.offload import Offload
from openvlharness_core.results import Answered, Transcription

SCORE_FLOOR = 0.5
"""Cells below are left out: texture that looks like letters scores low more often than text does."""


def _turns() -> weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]:
    return weakref.WeakKeyDictionary()


@attrs.frozen(kw_only=True, eq=False)
class EmbeddedOcr:
    """The `OcrBackend` that needs no service. Its packages are imported at the first call.

    Rows are read as one line: `Total` at the left and its amount at the right stand together, a few spaces apart, in
    the text as in the lines, with the box around both and the lower of their scores.

    Attributes:
        pixels: decodes: uint8 (height, width, 3) RGB of the picture's size.
        offload: where it is decoded and read.
        recogniser: gives the recogniser; called off the loop at every read.
        at_a_time: reads that run side by side on one loop; more only wait for the cores and hold memory.
    """

    pixels: Callable[[EncodedImage], Pixels]
    offload: Offload
    recogniser: Callable[[], Recogniser] = shared_recogniser
    at_a_time: int = attrs.field(factory=lambda: os.cpu_count() or 1, validator=attrs.validators.ge(1))
    _gates: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = attrs.field(
        factory=_turns, init=False, repr=False
    )

    async def read(self, image: EncodedImage, *, timeout_seconds: float) -> Answered[Transcription]:
        """See `OcrBackend`. A read cannot be interrupted, so `timeout_seconds` is left to whoever waits.

        Raises:
            CapabilityUnavailableError: the extra `embedded` is not installed.
            ToolExecutionError: the recogniser failed.
            UnreadableImageError: pixels that cannot be decoded.
        """
        gate = self._gates.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self.at_a_time))
        async with gate:
            return await self.offload.run(lambda: self._read(image))

    def _read(self, image: EncodedImage) -> Answered[Transcription]:
        pixels = self.pixels(image)
        recognise = self.recogniser()
        try:
            cells = recognise(pixels)
        except HarnessError:
            raise
        except Exception as error:  # OpenCV, onnxruntime and the code between them raise what they like
            raise ToolExecutionError(NAME, f"the recogniser failed with {type(error).__name__}") from error
        kept = [cell for cell in cells if cell.score >= SCORE_FLOOR]
        lines = rows_of(kept, image.size_hw)
        return Answered(
            value=Transcription(
                text="\n".join(line.text for line in lines), lines=lines, left_out=len(cells) - len(kept)
            ),
            backend=NAME,
            sidecars={"cells": len(cells), "left_out_below_floor": len(cells) - len(kept), "score_floor": SCORE_FLOOR},
        )
