"""Arithmetic over what was read, by the coding tool.

The planner only chooses what is computed: whole texts, or the lines of a receipt that hold prices. The programs read the
bindings themselves.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from openvlharness_adapters.models.planner.computing import run_objective
from openvlharness_adapters.models.planner.evidence import Reading, Row
from openvlharness_adapters.models.planner.fields import label_key, number_token
from openvlharness_adapters.models.planner.looks import Answer, Cannot, Plan, each_for_itself, look, whole
from openvlharness_adapters.models.planner.numbers import decimal_mark, find_number, numbers_of
from openvlharness_adapters.models.planner.objectives import Kind, Objective, Source
from openvlharness_adapters.models.planner.questions import Compute, Subtract
from openvlharness_adapters.models.planner.values import no_region, read_all, value_of

_PRICE = re.compile(r"\d[.,]\d\d(?!\d)")
_MISREAD_LETTERS = 3  # what is longer and has no digit is a word, however it was read
_ONE_PLAIN_WORD = "total"  # in any label, also inside a word: subtotal, totals
_NOT_GOODS = frozenset(
    re.findall(
        "[a-z]+",
        """sum tax vat gst cash change card visa mastercard credit debit balance tip gratuity due discount saving savings
        payment paid rounding deposit amount service fee refund coupon voucher tendered net gross""",
    )
)
_TAXES = frozenset(["tax", "vat", "gst"])


def compute(ask: Compute, pictures: tuple[str, ...]) -> Plan[Answer]:
    """One operation over all numbers, prices, lines or words."""
    no_region(ask.place)
    if len(pictures) > 1 and ask.place.which == "any":
        raise Cannot(f"the question does not say which of the pictures it means: {', '.join(pictures)}")
    if ask.place.which == "each" and len(pictures) > 1:
        return (yield from each_for_itself(pictures, lambda picture: _computed(ask, (picture,))))
    return (yield from _computed(ask, pictures))


def _computed(ask: Compute, pictures: tuple[str, ...]) -> Plan[Answer]:
    sources: list[Source] = []
    for picture in pictures:
        reading = whole((yield from look(picture)), picture)
        if ask.domain in ("numbers", "prices") and (doubt := _doubt(reading, ask.domain)):
            raise Cannot(f"{doubt} in {picture}")
        if reading.binding is None:
            raise Cannot(f"no data binding with the text of {picture} is listed")
        lines, proven = _price_lines(reading.rows) if ask.domain == "prices" else (None, False)
        if not proven and (doubt := _unsure(reading, ask.domain, lines)):
            raise Cannot(f"{doubt} in {picture}")
        sources.append(Source(binding=reading.binding, lines=lines))
    kinds: dict[str, Kind] = {"lines": "lines", "words": "words"}
    kind = kinds.get(ask.domain, "numbers")
    objective = Objective(operation=ask.operation, kind=kind, sources=tuple(sources))
    return (yield from run_objective(objective, f"the {ask.domain} in {', '.join(pictures)}"))


def _unsure(reading: Reading, domain: str, lines: tuple[int, ...] | None) -> str | None:
    """Why something may have been misread or missed, if it may; a sum that is printed proves that nothing was."""
    if reading.left_out:
        return f"{reading.left_out} passages were too unsure to be read, so I could miss some of the {domain}"
    if domain in ("lines", "words"):
        return None
    for position, row in enumerate(reading.rows, 1):
        may_be_number = re.search(r"\d", row.text) is not None or len(row.text) <= _MISREAD_LETTERS
        counts = position in lines if lines is not None else may_be_number
        if counts and position in reading.doubtful:
            return f"“{row.text}” was read with doubt"
    return None


def _doubt(reading: Reading, domain: str) -> str | None:
    """Why it is not plain which numbers are meant, if it is not."""
    if domain == "prices":
        return None
    numbers, unclear = numbers_of(reading.text)
    if unclear:
        return f"“{unclear[0]}” may or may not be meant as a number"
    return None if numbers else "there are no numbers"


# --- which lines of a receipt are prices of goods ------------------------------------------------------------------


def _price_lines(rows: Sequence[Row]) -> tuple[tuple[int, ...], bool]:
    """Positions, from 1, of the lines that end in the price of something, and whether a printed sum agrees with them.

    Words such as `tax` tell sums and payments from goods. Since no list of such words is complete, the receipt's own sums
    must agree with the choice; where it has none, no line may end in a number that could be a price written otherwise.
    """
    mark = decimal_mark("\n".join(row.text for row in rows))
    goods: list[tuple[int, Decimal]] = []
    others: list[tuple[str, Decimal]] = []
    doubtful = ""
    for position, row in enumerate(rows, 1):
        tokens = row.text.split()
        prices = [token for token in tokens if _PRICE.search(token) and find_number(token, mark) is not None]
        if not prices:
            if tokens and find_number(tokens[-1], mark) is not None and "number" not in label_key(row.text):
                doubtful = doubtful or row.text
            continue
        if len(prices) > 1 or numbers_of(row.text, mark)[0][-1:] != [find_number(prices[0], mark)]:
            raise Cannot(f"it is not plain which price the line “{row.text}” means")
        label = " ".join(tokens[: tokens.index(prices[0])])
        amount = find_number(prices[0], mark)
        assert amount is not None
        if _ONE_PLAIN_WORD in label_key(label) or _NOT_GOODS & set(re.findall("[a-z]+", label.casefold())):
            others.append((label_key(label), amount))
        else:
            goods.append((position, amount))
    if not goods:
        raise Cannot("there are no prices")
    if doubtful and not others:
        raise Cannot(f"“{doubtful}” may or may not be a price")
    if others and not _adds_up(sum((amount for _, amount in goods), Decimal(0)), others):
        raise Cannot("the lines that look like prices do not add up to the sum that is printed")
    return tuple(position for position, _ in goods), bool(others)


def _adds_up(goods: Decimal, others: list[tuple[str, Decimal]]) -> bool:
    subtotals = [amount for label, amount in others if label.startswith("subtotal")]
    if subtotals:
        return subtotals == [goods] * len(subtotals)
    taxes = sum((amount for label, amount in others if re.match("|".join(_TAXES), label)), Decimal(0))
    totals = [amount for label, amount in others if label.startswith("total")]
    return bool(totals) and all(total in (goods, goods + taxes) for total in totals)


# --- the difference of two values ----------------------------------------------------------------------------------


def subtract(ask: Subtract, pictures: tuple[str, ...]) -> Plan[Answer]:
    """The first value minus the second, as the question names them; the sign is left out, since it asks for a difference."""
    no_region(ask.place)
    if len(pictures) > 1 and ask.place.which in ("all", "each"):
        raise Cannot("I can take the difference of two values in one picture only")
    readings = yield from read_all(pictures)
    values = []
    for label in ask.labels:
        answer = yield from value_of(label, readings, is_amount=True)
        token = number_token(answer.text)
        assert token is not None
        values.append(token)
    mark = decimal_mark(" ".join(values))
    numbers = [find_number(value, mark) for value in values]
    if numbers[0] is None or numbers[1] is None:
        raise Cannot(f"{' and '.join(values)} can be read in two ways")
    if numbers[0] < numbers[1]:
        values.reverse()
    objective = Objective(operation="difference", values=tuple(values))
    return (yield from run_objective(objective, f"{' and '.join(values)}"))
