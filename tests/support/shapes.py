"""Pictures of coloured shapes whose truth is known, made from a kind and a seed.

A thing counts only if a person would see it: overlaps leave at least `SEEN` of every thing uncovered and unlike what
lies around it, and the edge cuts away less than half.
"""

from __future__ import annotations

import io
import math
import random
from collections.abc import Callable

import attrs
import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

Rgb = tuple[int, int, int]
Pixels = NDArray[np.uint8]
Points = NDArray[np.float64]

PALETTE: dict[str, Rgb] = {
    "red": (225, 30, 35), "orange": (250, 140, 20), "yellow": (250, 225, 40), "green": (30, 150, 50),
    "blue": (30, 70, 215), "purple": (130, 40, 160), "pink": (255, 160, 195), "brown": (120, 70, 30),
    "black": (12, 12, 12), "white": (255, 255, 255), "grey": (128, 128, 128),
}  # fmt: skip
SHAPES = ("circle", "ellipse", "triangle", "square", "rectangle", "star", "pentagon", "hexagon")
INCLUDES = {"ellipse": ("ellipse", "circle"), "rectangle": ("rectangle", "square"), "shape": SHAPES}
KINDS = (
    "plain", "rotated", "jpeg", "jpeg_crowded", "overlap", "same_colour", "nested", "gradient", "shaded", "noise", "edge", "tiny", "outline",
    "bordered", "touching",
)  # fmt: skip
SEEN = 0.3
_OVER = 4  # supersampling


@attrs.frozen(kw_only=True)
class Thing:
    """One shape of a layout, with `mask` bool (height, width): what of it is seen, at least half covered pixels."""

    shape: str
    colour: str
    mask: NDArray[np.bool_] = attrs.field(eq=False)


@attrs.frozen(kw_only=True)
class Layout:
    """A picture, uint8 RGB (height, width, 3), and what is on it."""

    kind: str
    seed: int
    pixels: Pixels = attrs.field(eq=False)
    things: tuple[Thing, ...]

    def found(self, colour: str | None, shape: str) -> list[Thing]:
        """The things that a query names."""
        wanted = INCLUDES.get(shape, (shape,))
        return [thing for thing in self.things if thing.shape in wanted and colour in (None, thing.colour)]


@attrs.define
class _Canvas:
    kind: str
    dice: random.Random
    height: int
    width: int
    antialiased: bool
    colours: list[str]
    ground: str
    pixels: NDArray[np.float64] = attrs.field(init=False)
    things: list[Thing] = attrs.field(factory=list, init=False)

    def alpha(self, corners: Points) -> NDArray[np.float64]:
        """How much of each pixel lies within a polygon, 0 to 1."""
        low = np.clip(np.floor(corners.min(axis=0)).astype(int) - 1, 0, [self.width - 1, self.height - 1])
        wide, tall = np.clip(np.ceil(corners.max(axis=0)).astype(int) + 1, 1, [self.width, self.height]) - low
        whole = np.zeros((self.height, self.width))
        if min(wide, tall) <= 0:
            return whole
        over = np.zeros((tall * _OVER, wide * _OVER), np.uint8)
        cv2.fillPoly(over, [np.round(((corners - low) * _OVER - 0.5) * 16).astype(np.int32)], 255, shift=4)
        share = cv2.resize(over, (int(wide), int(tall)), interpolation=cv2.INTER_AREA) / 255
        whole[low[1] : low[1] + tall, low[0] : low[0] + wide] = share if self.antialiased else share >= 0.5
        return whole

    def fill(self, share: NDArray[np.float64], colour: Rgb, to: Rgb | None = None) -> None:
        paint: NDArray[np.float64] = np.array(colour, np.float64)
        if to is not None:
            ramp = np.linspace(0, 1, self.width)[None, :, None]
            paint = paint * (1 - ramp) + np.array(to) * ramp
        self.pixels = self.pixels * (1 - share[..., None]) + paint * share[..., None]

    def put(
        self, shape: str, colour: str, share: NDArray[np.float64], whole: NDArray[np.float64] | None = None
    ) -> bool:
        """Record a thing unless it would hide another, or not be seen itself."""
        mask = share >= 0.5
        if mask.sum() < SEEN * (share if whole is None else whole).sum() or not mask.any():
            return False
        for other in self.things:
            left = other.mask & ~mask
            if left.sum() < SEEN * other.mask.sum() or _thickness(left) < 4:
                return False
            if other.colour == colour and (mask & ~other.mask).sum() < SEEN * mask.sum():
                return False
        self.things = [attrs.evolve(other, mask=other.mask & ~mask) for other in self.things]
        self.things.append(Thing(shape=shape, colour=colour, mask=mask))
        return True


def _thickness(mask: NDArray[np.bool_]) -> float:
    return float(cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 3).max()) * 2


def corners_of(shape: str, x: float, y: float, radius: float, angle: float, dice: random.Random) -> Points:
    """The outline of a shape around a place, as many points as it takes."""

    def ring(count: int, *radii: float) -> Points:
        turns = [2 * math.pi * k / count for k in range(count)]
        return np.array([[radii[k % len(radii)] * f(t) for f in (math.cos, math.sin)] for k, t in enumerate(turns)])

    match shape:
        case "circle":
            points = ring(120, 1.0)
        case "ellipse":
            points = ring(120, 1.0) * [1.0, dice.uniform(0.4, 0.78)]
        case "triangle":
            points = ring(3, 1.0) * [1.0, dice.uniform(0.75, 1.1)]
        case "square":
            points = ring(4, 1.0) @ _turn(math.pi / 4)
        case "rectangle":
            points = ring(4, 1.0) @ _turn(math.pi / 4) * [1.0, dice.uniform(0.4, 0.75)]
        case "star":
            points = ring(10, 1.0, dice.uniform(0.38, 0.5))
        case "pentagon":
            points = ring(5, 1.0)
        case _:
            points = ring(6, 1.0)
    return points @ _turn(angle) * radius + [x, y]


def _turn(angle: float) -> Points:
    return np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])


def layout(kind: str, seed: int) -> Layout:
    """The layout of a kind and a seed; always the same."""
    dice = random.Random(f"{kind} {seed}")
    side = 32 if kind == "tiny" else dice.randint(180, 520)
    height, width = (side, side) if kind == "tiny" else (side, dice.randint(180, 640))
    ground = dice.choice(["white"] * 4 + ["black", "grey", "yellow", "blue", "green"])
    colours = [name for name in PALETTE if name != ground and not {name, ground} <= {"black", "brown"}]
    canvas = _Canvas(kind, dice, height, width, dice.random() < 0.75, colours, ground)
    canvas.pixels = np.full((height, width, 3), 1.0) * np.array(PALETTE[ground])
    if kind == "gradient":
        _graded(canvas)
    if kind == "noise":  # under the shapes, and sometimes over them too
        canvas.pixels += _noise(canvas, dice.choice([4, 8, 14]))
    _PLACE.get(kind, _scattered)(canvas)
    if kind == "noise" and dice.random() < 0.5:
        canvas.pixels += _noise(canvas, dice.choice([4, 8]))
    pixels = np.clip(np.round(canvas.pixels), 0, 255).astype(np.uint8)
    quality = dice.randint(50, 90)
    if kind.startswith("jpeg") or (kind not in ("plain", "rotated") and dice.random() < 0.3):
        pixels = _compressed(pixels, quality)
    return Layout(kind=kind, seed=seed, pixels=pixels, things=tuple(canvas.things))


def _compressed(pixels: Pixels, quality: int) -> Pixels:
    packed = io.BytesIO()
    Image.fromarray(pixels).save(packed, "JPEG", quality=quality)
    return np.asarray(Image.open(packed).convert("RGB"))


def _noise(canvas: _Canvas, sigma: float) -> NDArray[np.float64]:
    return np.random.default_rng(canvas.dice.randrange(2**32)).normal(0, sigma, canvas.pixels.shape)


def _graded(canvas: _Canvas) -> None:
    here = np.array(PALETTE[canvas.ground], np.float64)
    there = np.clip(here + [canvas.dice.randint(-70, 70) for _ in range(3)], 0, 255)
    rows, columns = np.mgrid[0 : canvas.height, 0 : canvas.width]
    if canvas.dice.random() < 0.5:
        ramp = columns / canvas.width
    else:
        ramp = np.hypot(columns - canvas.width / 2, rows - canvas.height / 2)
        ramp = ramp / ramp.max()
    canvas.pixels = here * (1 - ramp[..., None]) + there * ramp[..., None]
    near = [
        name
        for name in canvas.colours
        if min(np.abs(np.subtract(PALETTE[name], end)).max() for end in (here, there)) > 90
    ]
    canvas.colours = near or canvas.colours


def _jittered(canvas: _Canvas, colour: str) -> Rgb:
    red, green, blue = (min(255, max(0, level + canvas.dice.randint(-5, 5))) for level in PALETTE[colour])
    return red, green, blue


def _radius(canvas: _Canvas) -> float:
    if canvas.kind == "tiny":
        return canvas.dice.uniform(4.5, 10)
    return canvas.dice.uniform(0.05, 0.17) * min(canvas.height, canvas.width) + 4


def _spot(canvas: _Canvas, radius: float) -> tuple[float, float]:
    dice, margin = canvas.dice, radius + 2.5
    x, y = dice.uniform(margin, canvas.width - margin), dice.uniform(margin, canvas.height - margin)
    if canvas.kind == "edge" and dice.random() < 0.6:
        x = dice.choice([0, canvas.width]) + dice.uniform(-0.2, 0.8) * radius * dice.choice([-1, 1])
        x, y = (x, y) if dice.random() < 0.5 else (y, x)
    return x, y


def _clear_of(canvas: _Canvas, share: NDArray[np.float64], gap: int) -> bool:
    taken = np.zeros(share.shape, np.uint8)
    for thing in canvas.things:
        taken |= thing.mask.astype(np.uint8)
    near = cv2.dilate(taken, np.ones((2 * gap + 1, 2 * gap + 1), np.uint8))
    return not (near.astype(bool) & (share > 0)).any()


def _scattered(canvas: _Canvas) -> None:
    dice, kind = canvas.dice, canvas.kind
    wanted = (
        dice.randint(1, 3) if kind == "tiny" else dice.randint(12, 20) if kind == "jpeg_crowded" else dice.randint(1, 9)
    )
    gap = 3 if kind == "tiny" else 5
    palette = dice.sample(canvas.colours, 2) if kind in ("same_colour", "edge") else canvas.colours
    for _ in range(wanted):
        for _ in range(30):
            shape, colour = dice.choice(SHAPES), dice.choice(palette)
            radius = _radius(canvas)
            angle = dice.choice([0.0, -math.pi / 2]) if kind in ("plain", "tiny") else dice.uniform(0, 2 * math.pi)
            x, y = _spot(canvas, radius)
            corners = corners_of(shape, x, y, radius, angle, dice)
            share = canvas.alpha(corners)
            apart = kind not in ("overlap", "same_colour")
            if apart and not _clear_of(canvas, share, gap):
                continue
            if kind == "edge" and share.sum() < 0.5 * cv2.contourArea(corners.astype(np.float32)):
                continue
            if _paint(canvas, shape, colour, share, corners):
                break


def _paint(canvas: _Canvas, shape: str, colour: str, share: NDArray[np.float64], corners: Points) -> bool:
    dice, kind = canvas.dice, canvas.kind
    paint = _jittered(canvas, colour)
    if kind == "outline" and dice.random() < 0.7:
        width = max(2, round(dice.uniform(0.04, 0.12) * math.sqrt(share.sum())))
        middle = corners.mean(axis=0)
        reach = np.sqrt(share.sum())
        inside = canvas.alpha(middle + (corners - middle) * (1 - 2 * width / reach))
        stroke = np.clip(share - inside, 0, 1)
        if not canvas.put(shape, colour, stroke):
            return False
        canvas.fill(stroke, paint)
        return True
    if not canvas.put(shape, colour, share):
        return False
    if kind == "bordered":
        middle, reach = corners.mean(axis=0), np.sqrt(share.sum())
        border = dice.choice([name for name in ("black", "white", "grey") if name not in (colour, canvas.ground)])
        canvas.fill(share, PALETTE[border])
        share = canvas.alpha(middle + (corners - middle) * (1 - 2 * dice.uniform(1.5, 3.5) / reach))
    shaded = kind == "shaded"
    other = tuple(round(level * 0.82) for level in paint)
    canvas.fill(share, paint, to=(other[0], other[1], other[2]) if shaded else None)
    return True


def _nested(canvas: _Canvas) -> None:
    dice = canvas.dice
    for _ in range(dice.randint(1, 3)):
        for _ in range(30):
            radius = _radius(canvas) * 1.6
            x, y = _spot(canvas, radius)
            if not _clear_of(canvas, canvas.alpha(corners_of("square", x, y, radius * 1.1, 0, dice)), 4):
                continue
            before: str | None = None
            while radius > 9:
                shape = dice.choice(["circle", "square", "hexagon", "star", "triangle"])
                colour = dice.choice([name for name in canvas.colours if name != before])
                share = canvas.alpha(corners_of(shape, x, y, radius, dice.uniform(0, 6), dice))
                canvas.fill(share, _jittered(canvas, colour))
                inside = Thing(shape=shape, colour=colour, mask=share >= 0.5)
                canvas.things = [attrs.evolve(thing, mask=thing.mask & ~inside.mask) for thing in canvas.things]
                canvas.things.append(inside)
                before, radius = colour, radius * 0.36
            break


def _touching(canvas: _Canvas) -> None:
    """Pairs that touch: at an edge, a corner or a point, of one colour or of two."""
    dice = canvas.dice
    for _ in range(dice.randint(1, 2)):
        for _ in range(30):
            one, other = dice.choice(SHAPES), dice.choice(SHAPES)
            radius, ratio = _radius(canvas), dice.uniform(0.75, 1.3)
            x, y = _spot(canvas, radius * 2.5)
            if not (radius < x < canvas.width - radius and radius < y < canvas.height - radius):
                continue
            first = corners_of(one, x, y, radius, dice.uniform(0, 6), dice)
            second = corners_of(other, 0, 0, radius * ratio, dice.uniform(0, 6), dice)
            second += [first[:, 0].max() - second[:, 0].min(), y]
            share, beside = canvas.alpha(first), canvas.alpha(second)
            cut = (
                second.max(axis=0)[0] > canvas.width - 3
                or (np.abs(second[:, 1] - canvas.height / 2) > canvas.height / 2 - 3).any()
            )
            if cut or not (_clear_of(canvas, share, 4) and _clear_of(canvas, beside, 4)):
                continue
            colour = dice.choice(canvas.colours)
            again = colour if dice.random() < 0.5 else dice.choice(canvas.colours)
            for shape, name, alpha in ((one, colour, share), (other, again, beside)):
                if canvas.put(shape, name, alpha):
                    canvas.fill(alpha, _jittered(canvas, name))
            break


_PLACE: dict[str, Callable[[_Canvas], None]] = {"nested": _nested, "touching": _touching}


def asked_of(shown: Layout) -> list[tuple[str | None, str]]:
    """Colours and shapes worth asking for: all that is there, parts of it, and some that is not."""
    dice = random.Random(f"asked {shown.seed}")
    colours = sorted({thing.colour for thing in shown.things})
    asked: set[tuple[str | None, str]] = {(None, "shape"), (None, dice.choice(SHAPES))}
    asked |= {(colour, "shape") for colour in colours}
    asked |= {(None, thing.shape) for thing in shown.things} | {(thing.colour, thing.shape) for thing in shown.things}
    asked |= {(dice.choice(sorted(PALETTE)), dice.choice(SHAPES)) for _ in range(3)}
    return sorted(asked, key=str)
