"""Decoded pictures, kept while there is room."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future

import attrs
import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
"""uint8, shape (height, width, 3), RGB, locked against writing."""


@attrs.define(kw_only=True, eq=False)
class DecodedPictures:
    """The pictures used last, at most `max_bytes` of pixels together; threads that want the same one wait for one decode.

    Attributes:
        max_bytes: bound of the sum; a picture larger than that is handed out and not kept.
    """

    max_bytes: int
    _kept: OrderedDict[str, Pixels] = attrs.field(factory=OrderedDict, init=False)
    _making: dict[str, Future[Pixels]] = attrs.field(factory=dict, init=False)
    _held_bytes: int = attrs.field(default=0, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    @property
    def held_bytes(self) -> int:
        """Bytes of pixels kept at the moment."""
        return self._held_bytes

    def get(self, digest: str, decode: Callable[[], Pixels]) -> Pixels:
        """The pixels of `digest`, decoded by `decode` where they are not kept; raises what it raises."""
        with self._lock:
            kept = self._kept.get(digest)
            if kept is not None:
                self._kept.move_to_end(digest)
                return kept
            others = self._making.get(digest)
            if others is None:
                ours = self._making[digest] = Future()
        if others is not None:
            return others.result()
        try:
            pixels = decode()
        except BaseException as error:
            ours.set_exception(error)
            raise
        else:
            self.put(digest, pixels)
            ours.set_result(pixels)
            return pixels
        finally:
            with self._lock:
                del self._making[digest]

    def put(self, digest: str, pixels: Pixels) -> None:
        """Keep pixels that came up on the way to something else."""
        if pixels.nbytes > self.max_bytes:
            return
        with self._lock:
            replaced = self._kept.pop(digest, None)
            self._held_bytes += pixels.nbytes - (0 if replaced is None else replaced.nbytes)
            self._kept[digest] = pixels
            while self._held_bytes > self.max_bytes:
                _, oldest = self._kept.popitem(last=False)
                self._held_bytes -= oldest.nbytes
