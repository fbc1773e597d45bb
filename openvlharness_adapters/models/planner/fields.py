"""Rows with a label and a value, and looking a value up by its label.

A question's label must be the whole label of a row, letter for letter but for case, spaces and punctuation, since
readers lose spaces: `total` finds `TOTAL  23.40` and `Total: 23.40`, but neither `Subtotal 20.00` nor `Total tax 3.00`.
Only where no row has just that label, words that add nothing to one are looked past, as in `Total due`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import attrs

from openvlharness_adapters.models.planner.evidence import Row
from openvlharness_adapters.models.planner.numbers import CURRENCY, find_number

_EMPTY_WORDS = frozenset(
    ["due", "amount", "grand", "to", "pay", "eur", "usd", "gbp", "chf", "jpy", "cad", "aud", "sek", "nok", "dkk", "inr"]
)
_NUMBER_WORDS = {"no", "nr", "num", "№", "#"}
_WORD = re.compile(r"[^\W\d_]+|\d+|[#№%&]", re.UNICODE)
_SEPARATOR = re.compile(r"\s*(?:\.?\s*[:=]|\.{2,}|…|_{2,}|-{2,})[\s._…]*")
_GAP = re.compile(r"\s{2,}")
_CELLS = re.compile(r"(\s{2,}|^)((?:\S|\s(?!\s))+)")
_COLUMN_GAP = 4  # spaces: the reader puts as many where columns part
_STARTS_FIELD = re.compile(r"[^\W\d_][^:]*:(?:\s|$|(?=\D))")
_CURRENCY_WORD = re.compile(CURRENCY)
_LEAST_JOINED = 3  # letters of a label from which a number may stand right behind it, as in `TOTAL23.40`


@attrs.frozen(kw_only=True)
class Field:
    """A value with its label.

    Attributes:
        label: as printed.
        value: as printed, without the signs that only separate.
        row: the row it stands in.
    """

    label: str
    value: str
    row: Row


def label_key(label: str) -> str:
    """What two spellings of one label have in common: lower-case letters and digits, `no.` and `#` as `number`."""
    return "".join(_spelled(label))


def _spelled(label: str) -> list[str]:
    words = [word.casefold() for word in _WORD.findall(label)]
    return ["number" if word in _NUMBER_WORDS else word for word in words]


def find_fields(rows: Sequence[Row], label: str) -> list[Field]:
    """Every field whose label is `label`; if there is none, those whose label adds only empty words to it."""
    key = label_key(label)
    exact = [field for row in rows for field in _fields(row, key, frozenset())]
    return exact or [field for row in rows for field in _fields(row, key, _EMPTY_WORDS)]


def _fields(row: Row, key: str, ignored: frozenset[str]) -> Iterator[Field]:
    for piece in _pieces(row.text):
        end = _end_of_label(piece, key, ignored)
        value = _value(piece[end:], key) if end is not None else None
        if value is not None:
            yield Field(label=piece[:end].strip(), value=value, row=row)


def _pieces(text: str) -> list[str]:
    """The fields of a row that holds several.

    A cell with a colon behind its first words starts one; so does any cell behind a wide column gap, once the one
    before has a colon and a value.
    """
    pieces: list[str] = []
    for gap, cell in _CELLS.findall(text.strip()):
        has_value = bool(pieces) and re.search(r":\s*\S", pieces[-1]) is not None
        if not pieces or _STARTS_FIELD.match(cell) or (has_value and len(gap) >= _COLUMN_GAP):
            pieces.append(cell)
        else:
            pieces[-1] += f"  {cell}"
    return pieces


def _end_of_label(piece: str, key: str, ignored: frozenset[str]) -> int | None:
    """Where the label ends, if the words at the start of `piece` make up `key` and nothing else but ignored words."""
    spelled, end = "", 0
    for word in _WORD.finditer(piece):
        part = _spelled(word[0])[0]
        if spelled == key:
            if part not in ignored or piece[end : word.start()] not in ("", " ", ". "):
                break
            end = word.end()
        elif key.startswith(spelled + part):
            spelled, end = spelled + part, word.end()
        elif part not in ignored:
            return None
    return end if spelled == key else None


def _value(rest: str, key: str) -> str | None:
    """What follows a label, or None where it is not plainly its value.

    Behind a colon or leaders anything is. Behind a mere gap only one amount or one token with digits is: `Total tax
    3.00` and the heads of two columns are no fields.
    """
    if re.match(r"[.,]?\d", rest) and (key[-1:].isdigit() or len(key) < _LEAST_JOINED):
        return None
    marked = _SEPARATOR.match(rest)
    value = _without_rate((rest[marked.end() :] if marked else rest.removeprefix(".")).strip(" \t*|"))
    if not value:
        return None
    cells = _GAP.split(value)
    if all(_is_amount(cell) for cell in cells):
        tokens = value.split()
        return " ".join(tokens) if sum(find_number(token, ".") is not None for token in tokens) == 1 else None
    if len(cells) > 1:
        return None
    one_token = len(value.split()) == 1
    if not marked and not (one_token and any(sign.isdigit() for sign in value)):
        return None
    # `No: 20817 18 May` from a reader that knows no gaps: a number is one token, so this holds more than it
    return None if key.endswith("number") and not one_token else value


def _without_rate(value: str) -> str:
    """`19%  3.20` and `(19 %) 3.20` as `3.20`: the rate of a tax belongs to its label."""
    return re.sub(r"^\(?\d+(?:[.,]\d+)?\s?%\)?[:\s]+(?=\S)", "", value)


def _is_amount(cell: str) -> bool:
    """Whether a cell holds nothing but numbers and currencies."""
    return all(find_number(token, ".") is not None or _CURRENCY_WORD.fullmatch(token) for token in cell.split())


def number_token(value: str) -> str | None:
    """The only number in a value, as printed; None if there is none or more than one."""
    found = [token for token in value.split() if find_number(token, ".") is not None]
    return found[0] if len(found) == 1 and _is_amount(value) else None


def same_value(one: str, other: str) -> bool:
    """Whether two readings of a value say the same; spaces and case are the reader's."""
    return "".join(one.split()).casefold() == "".join(other.split()).casefold()
