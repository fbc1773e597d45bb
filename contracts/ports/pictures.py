"""Pictures for the suites, written with nothing but the standard library, so that a suite needs no decoder."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray


def png_of(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG of uint8 pixels: (height, width) is grey, (height, width, 3) RGB, (height, width, 4) RGB with alpha."""
    height, width = pixels.shape[:2]
    colour = {1: 0, 3: 2, 4: 6}[1 if pixels.ndim == 2 else pixels.shape[2]]
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels))
    head = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    packed = (struct.pack(">I", len(b)) + n + b + struct.pack(">I", zlib.crc32(n + b)) for n, b in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


def numbered(height: int, width: int) -> NDArray[np.uint8]:
    """RGB pixels of which no two are equal: column, row, and what does not fit into them."""
    rows, columns = np.mgrid[0:height, 0:width]
    return np.stack([columns & 255, rows & 255, (columns >> 8) * 16 + (rows >> 8)], axis=2).astype(np.uint8)
