"""What stands out in a picture, and what it may be."""

from __future__ import annotations

import attrs

from openvlharness_adapters.backends.embedded.vision.queries import Colour, Shape
from openvlharness_adapters.backends.embedded.vision.regions import Paint


@attrs.frozen(kw_only=True, eq=False)
class Thing:
    """Something that stands out.

    Attributes:
        shapes: what it may be; `None` among them for anything outside the vocabulary.
        paint: its colour.
        also: names of a colour that it has too, at its border or inside; a query for that colour may mean it.
        is_sure: whether it is there at all; a hole, say, may be a thing or not.
        labels: the regions that are its mask.
        area: working pixels that its outline encloses, without what may be a border.
        most: the same with everything that may be one; 0 where that is `area`.
        off: how badly the best model fits, 0 to 1 of what is tolerated.
    """

    shapes: frozenset[Shape | None]
    paint: Paint
    also: frozenset[Colour | None] = frozenset()
    is_sure: bool = True
    labels: tuple[int, ...] = ()
    area: float = 0.0
    most: float = 0.0
    off: float = 1.0
