"""Reading JSON that somebody may have damaged: every value knows its file and its place, and says so when it is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TypeVar

import attrs

from openvlharness_core.errors import SavedFileError
from openvlharness_core.geometry import Affine
from openvlharness_core.texts import excerpt

T = TypeVar("T")


@attrs.frozen
class Place:
    """A value inside a JSON file; every reading of it raises `SavedFileError` if it is of another type.

    Attributes:
        file: the file.
        path: where in it, such as `steps[4].evidence[0].text`; empty for the whole.
        value: what stands there.
    """

    file: str
    path: str
    value: object = attrs.field(repr=False)

    def wrong(self, expected: str) -> SavedFileError:
        """The error which says that something else was expected here."""
        shown = excerpt(json.dumps(self.value, ensure_ascii=False, default=str), 80)
        return SavedFileError(self.file, f"{self.path or 'the whole'}: expected {expected}, got {shown}")

    def __getitem__(self, key: str) -> Place:
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        if key not in self.value:
            raise SavedFileError(self.file, f"{self._below(key)}: expected a value, got none")
        return Place(self.file, self._below(key), self.value[key])

    def entries(self) -> Iterator[tuple[str, Place]]:
        """Keys and values of an object, in order."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        return ((key, self[key]) for key in self.value)

    def items(self, length: int | None = None) -> list[Place]:
        """Items of a list, of that length if it is given."""
        if not isinstance(self.value, list) or (length is not None and len(self.value) != length):
            raise self.wrong("a list" if length is None else f"a list of {length}")
        return [Place(self.file, f"{self.path}[{position}]", item) for position, item in enumerate(self.value)]

    def object(self) -> dict[str, object]:
        """An object as it is."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        return self.value

    def text(self) -> str:
        """A text."""
        if not isinstance(self.value, str):
            raise self.wrong("a text")
        return self.value

    def texts(self) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(item.text() for item in self.items())

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def whole(self) -> int:
        """A whole number that is not negative."""
        if type(self.value) is not int or self.value < 0:
            raise self.wrong("a whole number of at least 0")
        return self.value

    def number(self) -> float:
        """A number, as it is written: 2 stays a whole number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.wrong("a number")
        return self.value

    def numbers(self) -> dict[str, float]:
        """An object of numbers."""
        return {key: item.number() for key, item in self.entries()}

    def one_of(self, known: tuple[T, ...]) -> T:
        """One of these values."""
        for each in known:
            if each == self.value:
                return each
        raise self.wrong(f"one of {', '.join(map(str, known))}")

    def size_hw(self) -> tuple[int, int]:
        """[height, width], both above 0."""
        height, width = (item.whole() for item in self.items(2))
        if not height or not width:
            raise self.wrong("[height, width] above 0")
        return height, width

    def affine(self) -> Affine:
        """Two rows of three numbers."""
        first, second = (tuple(float(item.number()) for item in row.items(3)) for row in self.items(2))
        return (first[0], first[1], first[2]), (second[0], second[1], second[2])

    def optional(self, read: Callable[[Place], T]) -> T | None:
        """What `read` reads, or `None` for null."""
        return None if self.value is None else read(self)

    def _below(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key


def json_place(file: str, data: bytes, *, lenient: bool = False) -> Place:
    """The whole of a JSON file; `lenient` takes what Python writes beyond the standard: NaN, and lone surrogates.

    Raises:
        SavedFileError: no JSON, or more of it than can be.
    """
    try:
        if lenient:
            return Place(file, "", json.loads(data.decode("utf-8", "surrogatepass")))
        return Place(file, "", json.loads(data.decode("utf-8"), parse_constant=_refuse))
    except json.JSONDecodeError as error:
        raise SavedFileError(
            file, f"expected JSON, but at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except UnicodeDecodeError as error:
        raise SavedFileError(file, f"expected UTF-8, got other bytes at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise SavedFileError(file, f"expected JSON: {excerpt(str(error))}") from None


def first_difference(left: object, right: object, path: str = "") -> str | None:
    """Place of the first value in which two JSON values differ, `None` if they are equal."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in (*left, *(key for key in right if key not in left)):
            below = f"{path}.{key}" if path else key
            if key not in left or key not in right:
                return below
            if place := first_difference(left[key], right[key], below):
                return place
        return None
    if isinstance(left, list) and isinstance(right, list):
        for position, (one, other) in enumerate(zip(left, right, strict=False)):
            if place := first_difference(one, other, f"{path}[{position}]"):
                return place
        return None if len(left) == len(right) else f"{path}[{min(len(left), len(right))}]"
    same = left == right and isinstance(left, bool) == isinstance(right, bool)
    return None if same else path or "the whole"


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is no number of JSON")
