"""Things and a query to detections, and how many things cannot be told."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.vision.colours import has_tone
from openvlharness_adapters.backends.embedded.vision.masks import full_masks
from openvlharness_adapters.backends.embedded.vision.queries import Shape, ShapeQuery
from openvlharness_adapters.backends.embedded.vision.scene import Scene
from openvlharness_adapters.backends.embedded.vision.things import Thing
from openvlharness_adapters.backends.embedded.vision.working import Pixels
from openvlharness_core.detections import Detections
from openvlharness_core.masks import encode_mask

Verdict = Literal["yes", "no", "maybe"]

_INCLUDES: dict[Shape, frozenset[Shape]] = {
    "ellipse": frozenset({"ellipse", "circle"}),
    "rectangle": frozenset({"rectangle", "square"}),
}
_SAME_SIZE = 1.04


def verdict_on(thing: Thing, query: ShapeQuery) -> Verdict:
    """Whether a thing is what a query names, its extreme aside."""
    verdicts = {_by_shape(thing, query), _by_colour(thing, query), _by_tone(thing, query)}
    if "no" in verdicts:
        return "no"
    return "yes" if verdicts == {"yes"} and thing.is_sure else "maybe"


def _by_shape(thing: Thing, query: ShapeQuery) -> Verdict:
    if query.shape is None:
        return "maybe" if None in thing.shapes else "yes"
    wanted = _INCLUDES.get(query.shape, frozenset({query.shape}))
    if thing.shapes <= wanted:
        return "yes"
    return "maybe" if thing.shapes & wanted else "no"


def _by_colour(thing: Thing, query: ShapeQuery) -> Verdict:
    if query.colour is None:
        return "yes"
    if thing.paint.names == {query.colour}:
        return "yes"
    return "maybe" if query.colour in thing.paint.names | thing.also else "no"


def _by_tone(thing: Thing, query: ShapeQuery) -> Verdict:
    if query.tone is None:
        return "yes"
    seen = {has_tone(level, query.tone, query.colour) for level in thing.paint.levels}
    return "yes" if seen == {True} else "no" if seen == {False} and not thing.also else "maybe"


def matched(scene: Scene, query: ShapeQuery) -> tuple[list[Thing], int]:
    """The things that a query names for sure, and how many more it may name."""
    verdicts = [(verdict_on(thing, query), thing) for thing in scene.things]
    found = [thing for verdict, thing in verdicts if verdict == "yes"]
    unsure = sum(verdict == "maybe" for verdict, _ in verdicts)
    if query.extreme is None or not found:
        return found, unsure
    least = np.array([thing.area for thing in found])
    most = np.array([max(thing.area, thing.most) for thing in found])
    is_large = query.extreme == "largest"
    chosen = most * _SAME_SIZE >= least.max() if is_large else least <= most.min() * _SAME_SIZE
    first = [thing for thing, is_chosen in zip(found, chosen, strict=True) if is_chosen]
    return first, unsure + len(first) - 1  # of several alike, none can be said to be the one


def detections_of(scene: Scene, query: ShapeQuery, pixels: Pixels) -> Detections:
    """What a query names in a scene, in pixels of its picture, top to bottom and left to right."""
    found, unsure = matched(scene, query)
    masks = full_masks(scene, found, pixels)
    boxes = [_box(mask) for mask in masks]
    order = sorted(range(len(found)), key=lambda each: (boxes[each][1], boxes[each][0]))
    return Detections(
        boxes_xyxy_px=np.array([boxes[each] for each in order], np.float32).reshape(-1, 4),
        scores=np.array([round(0.99 - 0.4 * found[each].off, 3) for each in order], np.float32),
        masks=[encode_mask(masks[each]) for each in order],
        size_hw=scene.size_hw,
        unnamed=unsure,
    )


def _box(mask: NDArray[Any]) -> tuple[float, float, float, float]:
    rows = np.flatnonzero(mask.any(axis=1))
    columns = np.flatnonzero(mask[rows[0] : rows[-1] + 1].any(axis=0))
    return float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)
