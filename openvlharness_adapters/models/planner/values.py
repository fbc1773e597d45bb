"""The value that stands behind a label: found by reading the picture, confirmed by reading its line from close by."""

from __future__ import annotations

from collections.abc import Mapping

from openvlharness_adapters.models.planner.evidence import Reading
from openvlharness_adapters.models.planner.fields import Field, find_fields, number_token, same_value
from openvlharness_adapters.models.planner.looks import Answer, Cannot, Plan, each_for_itself, look, look_closer, whole
from openvlharness_adapters.models.planner.places import Place
from openvlharness_adapters.models.planner.questions import FindValue
from openvlharness_core.geometry import Box

_MARGINS = (0.8, 1.6)  # in row heights: how much more than the row a closer look shows, first and second
_SIDE_MARGIN = 20.0  # on the grid
_UNCLEAR = "nothing plain"


def find_value(ask: FindValue, pictures: tuple[str, ...]) -> Plan[Answer]:
    """The value with the label that the question names; one for each picture where it asks for several."""
    no_region(ask.place)
    if ask.place.which in ("each", "all") and len(pictures) > 1:
        return (yield from each_for_itself(pictures, lambda picture: _found_in((picture,), ask)))
    return (yield from _found_in(pictures, ask))


def _found_in(pictures: tuple[str, ...], ask: FindValue) -> Plan[Answer]:
    readings = yield from read_all(pictures)
    return (yield from value_of(ask.label, readings, ask.is_amount))


def no_region(place: Place) -> None:
    """Raises Cannot if the place is a part of a picture."""
    if place.region is not None:
        raise Cannot(f"I can read the text in the {place.region.name}, but not do this with it")


def read_all(pictures: tuple[str, ...]) -> Plan[dict[str, Reading]]:
    """Each picture's text, read once."""
    readings: dict[str, Reading] = {}
    for picture in pictures:
        readings[picture] = whole((yield from look(picture)), picture)
    return readings


def value_of(label: str, readings: Mapping[str, Reading], is_amount: bool) -> Plan[Answer]:
    """The value with a label in one of the pictures, read once more from close by."""
    found = [(picture, field) for picture, reading in readings.items() for field in find_fields(reading.rows, label)]
    if not found:
        raise Cannot(f"no line in {', '.join(readings)} is plainly labelled “{label}” with one value behind it")
    picture, field = found[0]
    others = [other.value for _, other in found[1:] if not same_value(other.value, field.value)]
    if others:
        raise Cannot(f"several lines are labelled “{label}”: {'; '.join([field.value, *others])}")
    value, how = yield from _confirmed(picture, field, label)
    if is_amount and number_token(value) is None:
        raise Cannot(f"what stands behind “{label}” is no amount: {value}")
    return Answer(text=value, grounds=f"The line “{' '.join(field.row.text.split())}” in {picture} says so; {how}.")


def _confirmed(picture: str, field: Field, label: str) -> Plan[tuple[str, str]]:
    """The value as a closer look reads it, and how sure that is.

    If the two looks differ, a third, wider one decides; if all three differ, there is no answer.
    """
    box = field.row.box_xyxy_grid
    if box is None:
        return field.value, "it was read once, since the reader tells no places"
    looks = [field.value]
    for margin in _MARGINS:
        try:
            reading = yield from look_closer(picture, _around(box, margin), "Looking closer at that line.")
        except Cannot as reason:
            if len(looks) > 1:
                raise Cannot(f"two looks at “{label}” read {' and '.join(looks)}, and {reason}") from None
            return field.value, f"it was read once ({reason})"
        seen = find_fields(reading.rows, label)
        values = {"".join(each.value.split()).casefold() for each in seen}
        looks.append(seen[0].value if len(values) == 1 else _UNCLEAR)
        agreed = next((look for look in looks[:-1] if same_value(look, looks[-1])), None)
        if agreed is not None and agreed != _UNCLEAR:
            return looks[-1], "a closer look confirms it"
    raise Cannot(f"looks at “{label}” disagree: {', '.join(looks)}")


def _around(box: Box, margin: float) -> Box:
    x1, y1, x2, y2 = box
    above = margin * (y2 - y1)
    return x1 - _SIDE_MARGIN, y1 - above, x2 + _SIDE_MARGIN, y2 + above
