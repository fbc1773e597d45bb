"""Measuring shapes: what the planner has the coding tool do with boxes and masks, from a small closed set of sentences.

    Measure the areas of masks 1, 3 of segment_red_circle and masks 2 of segment_square and print the areas.
    Measure the distances from boxes 1 of segment_star to boxes 1, 2 of segment_circle and print the distances.
    Measure the gaps from boxes 1 of segment_star to boxes 1, 2 of segment_circle and print the gaps.
    Measure the depths in depth_result of masks 1 of segment_star and masks 2 of segment_circle and print the depths.

Objects are counted from 1, as the evidence numbers them. Areas are square pixels; distances are pixels between the middles
of two boxes, gaps between their nearest edges; a depth is the median over a mask, or over the inner half of a box.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

import attrs

Quantity = Literal["areas", "distances", "gaps", "depths"]
Outline = Literal["masks", "boxes"]

_NAME = r"[^\W\d]\w*"
_OBJECTS = rf"(?:masks|boxes) \d+(?:, \d+)* of {_NAME}"
_SENTENCE = re.compile(
    rf"Measure the (?P<what>areas|distances|gaps|depths)(?: from (?P<start>{_OBJECTS}) to| in (?P<depth>{_NAME}) of| of) "
    rf"(?P<objects>{_OBJECTS}(?: and {_OBJECTS})*) and print the (?P=what)\."
)

UNDERSTOOD = (
    "'Measure the areas of masks 1, 2 of NAME and boxes 1 of NAME and print the areas.', and likewise the distances or gaps "
    "'from boxes 1 of NAME to boxes 1, 2 of NAME' and the depths 'in NAME of masks 1 of NAME'"
)


@attrs.frozen(kw_only=True)
class Objects:
    """Some objects of a grounding binding.

    Attributes:
        binding: its name.
        rows: which, from 1.
        outline: what of them counts.
    """

    binding: str
    rows: tuple[int, ...]
    outline: Outline = "boxes"

    @property
    def words(self) -> str:
        """As a sentence names them."""
        return f"{self.outline} {', '.join(map(str, self.rows))} of {self.binding}"


@attrs.frozen(kw_only=True)
class Measure:
    """What to measure.

    Attributes:
        what: the quantity.
        objects: of which objects; one value each, in order.
        start: where distances and gaps begin, one object; `None` for the other quantities.
        depth: the binding with the depth of the picture, for depths.
    """

    what: Quantity
    objects: tuple[Objects, ...]
    start: Objects | None = None
    depth: str | None = None

    @property
    def length(self) -> int:
        """How many values there will be."""
        return sum(len(each.rows) for each in self.objects)

    @property
    def bindings(self) -> tuple[str, ...]:
        """Everything it reads."""
        parts = ([self.start] if self.start else []) + list(self.objects)
        return tuple(dict.fromkeys([each.binding for each in parts] + ([self.depth] if self.depth else [])))

    @property
    def sentence(self) -> str:
        """The objective in plain language; `find_measure` reads it back."""
        behind = f" from {self.start.words} to" if self.start else f" in {self.depth} of" if self.depth else " of"
        objects = " and ".join(each.words for each in self.objects)
        return f"Measure the {self.what}{behind} {objects} and print the {self.what}."


def find_measure(sentence: str) -> Measure | None:
    """The measure that a sentence states, or `None`; spaces and a missing full stop are forgiven, nothing else."""
    found = _SENTENCE.fullmatch(" ".join(sentence.split()).removesuffix(".") + ".")
    if found is None:
        return None
    what = next(each for each in get_args(Quantity) if each == found["what"])
    start = _objects(found["start"]) if found["start"] else None
    if (start is not None) != (what in ("distances", "gaps")) or (found["depth"] is not None) != (what == "depths"):
        return None
    if start is not None and len(start.rows) != 1:
        return None
    objects = tuple(_objects(words) for words in found["objects"].split(" and "))
    if any(0 in each.rows for each in (*objects, *([start] if start else []))):
        return None
    return Measure(what=what, objects=objects, start=start, depth=found["depth"])


def _objects(words: str) -> Objects:
    outline, _, rest = words.partition(" ")
    rows, _, binding = rest.rpartition(" of ")
    return Objects(
        binding=binding,
        rows=tuple(int(row) for row in rows.split(", ")),
        outline="masks" if outline == "masks" else "boxes",
    )
