"""Text on drawings: the font that comes with Pillow, tight boxes around words, and tags with numbers.

The font holds ASCII and little more, so other signs are drawn as question marks. Tags read `#7`: text detectors pass over
a digit that stands alone, and readers take 99 for 66 upside down where nothing tells the way up. Tags are black on white
with a thin rim in the colour of what they name; on a tinted ground detectors find fewer. They are put together from signs that are kept as pictures, and small ones are kept whole: laying out a text anew takes ten times as long, and an
overlay may have 300 of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import attrs
from PIL import Image, ImageDraw, ImageFont

from openvlharness_adapters.imaging.palette import BLACK, WHITE, Rgb

_TALLEST = "0123456789HX"  # what sets the height of a tag, so that all tags are of one height
_NUMBER_SIGN = "#"
_SIGNS = f"{_NUMBER_SIGN}0123456789"
_RIM = 1 / 28  # of an em; a wider rim keeps detectors from the text
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

    def paste_number(self, canvas: Image.Image, corner_xy: tuple[int, int], number: int, colour: Rgb) -> None:
        """A number on a tag with a rim in a colour, its upper left corner at `corner_xy`; `canvas` is in mode RGB."""
        make = _kept_tag if self.size <= _KEPT_SIZE else _tag
        canvas.paste(make(self, number, colour), corner_xy)


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
    widths = (
        2 * padding + advances[_NUMBER_SIGN] + sum([advances[digit] for digit in str(number)]) for number in numbers
    )
    return [(max(width, least), height) for width in widths]


@lru_cache(maxsize=64)
def _metrics(lettering: Lettering) -> tuple[int, int, Mapping[str, int], int]:
    """Padding and height of a tag, how far each sign advances, and the least width of a tag, in pixels."""
    advances = {sign: max(1, round(_font(lettering.size).getlength(sign))) for sign in _SIGNS}
    height = lettering.height
    return lettering.padding, height, advances, height if lettering.padding == 1 else round(height * 1.2)


def _tag(lettering: Lettering, number: int, colour: Rgb) -> Image.Image:
    """A number on its tag, mode RGB."""
    width, height = lettering.number_wh(number)
    signs = [_sign(lettering.size, sign) for sign in f"{_NUMBER_SIGN}{number}"]
    tag = Image.new("RGB", (width, height), WHITE)
    if lettering.padding > 1:  # else it would touch the text
        rim = max(1, round(lettering.size * _RIM))
        ImageDraw.Draw(tag).rectangle((0, 0, width - 1, height - 1), outline=colour, width=rim)
    x = (width - sum(sign.width for sign in signs)) // 2
    for sign in signs:
        tag.paste(sign, (x, lettering.padding))
        x += sign.width
    return tag


_kept_tag = lru_cache(maxsize=1024)(_tag)


@lru_cache(maxsize=512)
def _sign(size: int, sign: str) -> Image.Image:
    """A sign black on white, mode RGB, as wide as it advances and as high as `_span`; never drawn on."""
    top, bottom = _span(size)
    picture = Image.new("RGB", (max(1, round(_font(size).getlength(sign))), bottom - top), WHITE)
    ImageDraw.Draw(picture).text((0, -top), sign, fill=BLACK, font=_font(size))
    return picture
