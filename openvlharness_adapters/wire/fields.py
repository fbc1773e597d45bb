"""Reading one JSON object field by field, every fault naming the field, what was expected and what came."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

import attrs

from openvlharness_core.errors import MalformedResultError
from openvlharness_core.texts import excerpt


def got(value: object) -> str:
    """What came, as an error shows it: its kind, and a little of a short value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value!r:.40}"
        case str():
            return f"the text {excerpt(value, 40)!r}"
        case list() | tuple():
            return f"a list of {len(value)}"
        case Mapping():
            return f"an object of {len(value)} fields"
    return type(value).__name__


@attrs.frozen
class Fields:
    """One JSON object and where it stands.

    Every method raises MalformedResultError for a field that is missing or of another kind.

    Attributes:
        values: the object.
        place: what stands before a field's name in errors: empty, or such as `lines[3].`.
    """

    values: Mapping[str, object]
    place: str = ""

    @classmethod
    def of(cls, value: object, place: str) -> Fields:
        """The fields of what must be an object; its fields are named `place.field`, or `field` at the top (`""`)."""
        if not isinstance(value, Mapping):
            raise MalformedResultError(place or "result", f"an object, got {got(value)}")
        return cls(value, f"{place}." if place else "")

    def only(self, *names: str) -> Fields:
        """The same fields, once it is certain that there are no others."""
        for name in self.values:
            if name not in names:
                raise MalformedResultError(f"{self.place}{name}", f"no such field; there are {', '.join(names)}")
        return self

    def value(self, name: str) -> object:
        """A field that must be there; it may be null."""
        if name not in self.values:
            raise MalformedResultError(f"{self.place}{name}", "a value, got nothing")
        return self.values[name]

    def text(self, name: str, default: str | None = None) -> str:
        """A text; with a default the field may be left out or null."""
        value = self.values.get(name) if default is not None else self.value(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise MalformedResultError(f"{self.place}{name}", f"a text, got {got(value)}")
        return value

    def find_text(self, name: str) -> str | None:
        """A text, or `None` where the field is left out or null."""
        value = self.values.get(name)
        return None if value is None else self.text(name)

    def filled_text(self, name: str) -> str:
        """A text that is not blank."""
        text = self.text(name)
        if not text.strip():
            raise MalformedResultError(f"{self.place}{name}", "a text, got a blank")
        return text

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self.value(name)
        if not isinstance(value, bool):
            raise MalformedResultError(f"{self.place}{name}", f"true or false, got {got(value)}")
        return value

    def count(self, name: str) -> int:
        """A whole number from 0."""
        value = self.value(name)
        if type(value) is not int or value < 0:
            raise MalformedResultError(f"{self.place}{name}", f"a whole number from 0, got {got(value)}")
        return value

    def find_count(self, name: str) -> int | None:
        """A whole number from 0, or `None` where the field is left out or null."""
        return None if self.values.get(name) is None else self.count(name)

    def items(self, name: str) -> Sequence[object]:
        """A list."""
        value = self.value(name)
        if not isinstance(value, list | tuple):
            raise MalformedResultError(f"{self.place}{name}", f"a list, got {got(value)}")
        return cast("Sequence[object]", value)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(
            text_at(value, f"{self.place}{name}[{position}]") for position, value in enumerate(self.items(name))
        )

    def numbers(self, name: str, length: int) -> tuple[float, ...]:
        """A list of so many finite numbers."""
        values = self.items(name)
        if len(values) != length or not all(map(_is_number, values)):
            raise MalformedResultError(f"{self.place}{name}", f"{length} finite numbers, got {got(values)}")
        return tuple(cast("Sequence[float]", values))

    def rows(self, name: str) -> tuple[Fields, ...]:
        """A list of objects."""
        return tuple(
            Fields.of(value, f"{self.place}{name}[{position}]") for position, value in enumerate(self.items(name))
        )


def text_at(value: object, place: str) -> str:
    """`value` as a text. Raises MalformedResultError."""
    if not isinstance(value, str):
        raise MalformedResultError(place, f"a text, got {got(value)}")
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
