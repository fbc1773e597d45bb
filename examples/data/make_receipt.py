"""Makes `receipt.jpg` beside this file: a receipt as a phone would photograph it. The same bytes every time.

The paper is drawn flat, laid on a table slightly turned and seen at a slant, lit unevenly, blurred a little, given
sensor noise and saved as JPEG. The shop and the goods are made up.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

ROWS: tuple[tuple[str, str], ...] = (
    ("Oat bread", "4.20"),
    ("Goat cheese", "6.75"),
    ("Pears 1.2 kg", "3.96"),
    ("Olive oil", "8.49"),
    ("Postcard", "1.50"),
)
SUBTOTAL, TAX, TOTAL = "24.90", "2.24", "27.14"
PAPER_WH = (520, 760)
PHOTO_WH = (900, 1100)
CORNERS = ((196.0, 118.0), (716.0, 150.0), (742.0, 960.0), (168.0, 934.0))  # upper left, then clockwise, in the photo


def draw_paper() -> Image.Image:
    """The receipt, flat."""
    paper = Image.new("RGB", PAPER_WH, (250, 248, 242))
    draw = ImageDraw.Draw(paper)
    large, plain, bold = (ImageFont.load_default(size=size) for size in (40, 27, 34))
    ink = (38, 36, 40)

    def row(y: int, left: str, right: str, font: ImageFont.ImageFont | ImageFont.FreeTypeFont) -> None:
        draw.text((44, y), left, fill=ink, font=font)
        draw.text((476, y), right, fill=ink, font=font, anchor="ra")

    draw.text((260, 40), "MILL LANE GROCERY", fill=ink, font=large, anchor="ma")
    draw.text((260, 100), "14 Mill Lane, Westbrook", fill=ink, font=plain, anchor="ma")
    row(158, "Receipt no: 20817", "18 May 2025", ImageFont.load_default(size=23))
    draw.line((44, 204, 476, 204), fill=ink, width=2)
    for number, (name, price) in enumerate(ROWS):
        row(224 + 46 * number, name, price, plain)
    draw.line((44, 462, 476, 462), fill=ink, width=2)
    row(480, "Subtotal", SUBTOTAL, plain)
    row(526, "Tax 9%", TAX, plain)
    row(578, "TOTAL", TOTAL, bold)
    draw.line((44, 634, 476, 634), fill=ink, width=2)
    draw.text((260, 662), "Thank you, come again!", fill=ink, font=plain, anchor="ma")
    return paper


def perspective(corners: tuple[tuple[float, float], ...], size_wh: tuple[int, int]) -> list[float]:
    """Pillow's eight coefficients: photo pixels to paper pixels, for the paper's corners in the photo."""
    width, height = size_wh
    flat = ((0.0, 0.0), (width, 0.0), (width, height), (0.0, height))
    equations, targets = [], []
    for (x, y), (u, v) in zip(corners, flat, strict=True):
        equations += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        targets += [u, v]
    return [float(value) for value in np.linalg.solve(np.array(equations), np.array(targets))]


def photograph(paper: Image.Image) -> Image.Image:
    """The receipt on a table, seen at a slant, in uneven light."""
    rng = np.random.default_rng(14)
    width, height = PHOTO_WH
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float64)
    grain = np.sin(columns / 31 + 1.7 * np.sin(rows / 210)) + 0.4 * np.sin(columns / 9 + rows / 160)
    table = np.stack([grain * k + base for k, base in ((7, 128), (6, 97), (5, 72))], axis=-1)
    coefficients = perspective(CORNERS, paper.size)
    how = {"size": PHOTO_WH, "method": Image.Transform.PERSPECTIVE, "data": coefficients}
    laid = np.asarray(paper.transform(resample=Image.Resampling.BICUBIC, **how), dtype=np.float64)
    cover = Image.new("L", paper.size, 255).transform(resample=Image.Resampling.BILINEAR, **how)
    alpha = np.asarray(cover, dtype=np.float64)[..., None] / 255
    shadow = Image.fromarray(np.roll(np.asarray(cover), (14, 10), axis=(0, 1))).filter(ImageFilter.GaussianBlur(12))
    table *= 1 - 0.45 * np.asarray(shadow, dtype=np.float64)[..., None] / 255
    scene = laid * alpha + table * (1 - alpha)
    light = 1.05 - 0.30 * columns / width - 0.16 * rows / height
    light += 0.12 * np.exp(-(((columns - 330) / 260) ** 2 + ((rows - 300) / 320) ** 2))
    scene *= light[..., None] * np.array([1.0, 0.97, 0.90])
    blurred = Image.fromarray(np.clip(scene, 0, 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(0.7))
    noisy = np.asarray(blurred, dtype=np.float64) + rng.normal(0, 4.0, (height, width, 3))
    return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))


def main() -> None:
    """Write the picture."""
    place = Path(__file__).with_name("receipt.jpg")
    photograph(draw_paper()).save(place, quality=86)
    print(f"{place.name}: {place.stat().st_size} bytes")


if __name__ == "__main__":
    main()
