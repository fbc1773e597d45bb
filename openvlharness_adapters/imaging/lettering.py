"""Text on drawings: the font that comes with Pillow, tight boxes around words, and tags with numbers.

The font holds ASCII and little more, so other signs are drawn as question marks. Numbers are put together from
digits that are kept as pictures, and small ones are kept whole: laying out a text anew takes ten times as long, and an
overlay may have 300 of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import attrs
from PIL import Image, ImageDraw, ImageFont

from openvlharness_adapters.imaging.palette import Ink, Rgb

_TALLEST = "0123456789HX"  # what sets the height of a tag, so that all tags are of one height
_DIGITS = "0123456789"
_KEPT_SIZE = 32  # of a tag that is kept; 1024 of them take a few megabytes


def shown(text: str, limit: int = 28) -> str:
    """`text` in signs that the font has, on one line, cut in the middle where it is longer than `limit`."""
    line = "".join(sign if " " <= sign <= "~" else "?" for sign in " ".join(text.split()))
    if len(line) <= limit:
        return line
    head = (limit - 2) // 2
    return f"{line[:head]}..{line[len(line) - (limit - 2 - head) :]}"


@attrs.frozen(kw_only=True)
class Lettering:
    """One size of the font.

    Attributes:
        size: pixels of an em; digits are about 0.7 of it high.
        air: of the size, how much lies between a text and the edges of its tag. Readers, human and not, miss a lone
            digit whose tag is cut close.
    """

    size: int
    air: float = 0.25

    @property
    def padding(self) -> int:
        """Pixels between a tag's text and its edge."""
        return max(1, round(self.size * self.air))

    @property
    def height(self) -> int:
        """Pixels of a tag from top to bottom, and of a line of text with its air."""
        top, bottom = _span(self.size)
        return bottom - top + 2 * self.padding

    def text_wh(self, text: str) -> tuple[int, int]:
        """(width, height) of the room that `draw_text` takes, in pixels."""
        left, _, right, _ = _font(self.size).getbbox(text)
        return round(right - left) + 2 * self.padding, self.height

    def draw_text(self, draw: ImageDraw.ImageDraw, corner_xy: tuple[int, int], text: str, colour: Rgb) -> None:
        """`text` in the room of `text_wh` whose upper left corner is `corner_xy`."""
        left, *_ = _font(self.size).getbbox(text)
        x, y = corner_xy
        place = (x + self.padding - round(left), y + self.padding - _span(self.size)[0])
        draw.text(place, text, fill=colour, font=_font(self.size))

    def number_wh(self, number: int) -> tuple[int, int]:
        """(width, height) of a tag with a number from 0, in pixels; somewhat wider than high at least."""
        return _tag_sizes(self, (number,))[0]

    def numbers_wh(self, numbers: Iterable[int]) -> list[tuple[int, int]]:
        """`number_wh` of each."""
        return _tag_sizes(self, numbers)

    def paste_number(self, canvas: Image.Image, corner_xy: tuple[int, int], number: int, ink: Ink) -> None:
        """A number on a tag in its ink, with its upper left corner at `corner_xy`; `canvas` is in mode RGB."""
        make = _kept_tag if self.size <= _KEPT_SIZE else _tag
        canvas.paste(make(self, number, ink), corner_xy)


@lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise RuntimeError("drawing text needs a Pillow that was built with FreeType")
    return font


@lru_cache(maxsize=64)
def _span(size: int) -> tuple[int, int]:
    """Rows from the top of the line to the top and to the bottom of capitals and digits."""
    _, top, _, bottom = _font(size).getbbox(_TALLEST)
    return round(top), round(bottom)


def _tag_sizes(lettering: Lettering, numbers: Iterable[int]) -> list[tuple[int, int]]:
    padding, height, advances, least = _metrics(lettering)
    widths = (2 * padding + sum([advances[digit] for digit in str(number)]) for number in numbers)
    return [(max(width, least), height) for width in widths]


@lru_cache(maxsize=64)
def _metrics(lettering: Lettering) -> tuple[int, int, Mapping[str, int], int]:
    """Padding and height of a tag, how far each digit advances, and the least width of a tag, in pixels."""
    advances = {digit: max(1, round(_font(lettering.size).getlength(digit))) for digit in _DIGITS}
    height = lettering.height
    return lettering.padding, height, advances, height if lettering.padding == 1 else round(height * 1.2)


def _tag(lettering: Lettering, number: int, ink: Ink) -> Image.Image:
    """A number on its tag, mode RGB."""
    width, height = lettering.number_wh(number)
    digits = [_digit(lettering.size, digit, ink) for digit in str(number)]
    tag = Image.new("RGB", (width, height), ink.ground)
    x = (width - sum(digit.width for digit in digits)) // 2
    for digit in digits:
        tag.paste(digit, (x, lettering.padding))
        x += digit.width
    return tag


_kept_tag = lru_cache(maxsize=1024)(_tag)


@lru_cache(maxsize=512)
def _digit(size: int, digit: str, ink: Ink) -> Image.Image:
    """A digit on the ground of its ink, mode RGB, as wide as it advances and as high as `_span`; never drawn on."""
    top, bottom = _span(size)
    picture = Image.new("RGB", (max(1, round(_font(size).getlength(digit))), bottom - top), ink.ground)
    ImageDraw.Draw(picture).text((0, -top), digit, fill=ink.text, font=_font(size))
    return picture
