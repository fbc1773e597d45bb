"""What a file says of its picture before a pixel is decoded, and the smallest file that holds its first picture.

Every format has a module with one function, `read(data) -> Layout`. It walks the file's own structure to its end, so a
file whose end is missing is refused here; it never decodes. It runs on the event loop, so the steps of every walk are
counted: no file that shows a picture comes near the bound, and one of nothing but empty pieces would take seconds. `still` gives the decoder nothing but that one picture:
metadata is left out because decoders parse it, warn about it and trip over it, and we have read what we need of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import attrs

from openvlharness_core.errors import UnreadableImageError

Decoder = Literal["JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "ICO", "AVIF"]


@attrs.frozen(kw_only=True)
class Layout:
    """One file's picture.

    Attributes:
        media_type: by the bytes.
        size_hw: (height, width) as stored, before the orientation tag.
        still: makes the file that the decoder is given.
        decoder: which decoder understands `still`.
        orientation: EXIF orientation, 1 to 8.
        frames: number of pictures in the file.
        frames_are: what they are to a reader.
        has_alpha: whether some pixels may be transparent; only decoding tells whether any is.
        is_common: whether everybody's decoder shows it: 8 bits a channel, grey or RGB, no rare compression.
        transparent: a colour that means transparent, in the values that the decoder gives.
        placed_xy_px: where on the canvas the first picture lies, if it is smaller than `size_hw`.
    """

    media_type: str
    size_hw: tuple[int, int]
    still: Callable[[], bytes] = attrs.field(repr=False)
    decoder: Decoder
    orientation: int = 1
    frames: int = 1
    frames_are: str = "frames of an animation"
    has_alpha: bool = False
    is_common: bool = True
    transparent: tuple[int, ...] | None = None
    placed_xy_px: tuple[int, int] = (0, 0)

    @property
    def upright_hw(self) -> tuple[int, int]:
        """(height, width) after the orientation tag; 5 to 8 lay the picture on its side."""
        height, width = self.size_hw
        return (width, height) if self.orientation >= 5 else (height, width)


def truncated(kind: str, wanted: str, data: bytes) -> UnreadableImageError:
    """The error for a file whose end is missing."""
    return UnreadableImageError(f"truncated {kind}: expected {wanted}, got the end of the file after {len(data)} bytes")


def damaged(kind: str, expected: str, got: object) -> UnreadableImageError:
    """The error for a file whose structure makes no sense."""
    return UnreadableImageError(f"damaged {kind}: expected {expected}, got {got}")
