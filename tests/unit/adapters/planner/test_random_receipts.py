"""Receipts and questions drawn at random: the answer is right or there is none, and mostly there is one."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal

import attrs
import pytest

from tests.unit.adapters.planner.desk import Desk, Line, cannot

SYLLABLES = [
    "ba",
    "co",
    "di",
    "fe",
    "gu",
    "ha",
    "jo",
    "ka",
    "li",
    "mo",
    "nu",
    "pa",
    "ri",
    "so",
    "ta",
    "ve",
    "wu",
    "yo",
    "za",
    "che",
    "dro",
    "fli",
    "gre",
    "sto",
]
SUMS = ("Subtotal", "Sub total", "Net total", "Total tax", "Total items", "Total before tax", "Order total", "Totals")
QUALIFIERS = ("not", "red", "handwritten", "crossed-out", "other", "estimated", "except", "half")


@attrs.frozen(kw_only=True)
class Receipt:
    lines: list[str]
    goods: dict[str, Decimal]
    fields: dict[str, set[str]]
    """Label in lower case to every value that a row with just that label shows."""


def _word(rng: random.Random) -> str:
    return "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(2, 4)))


def _amount(rng: random.Random) -> Decimal:
    return Decimal(rng.randint(10, 9999)).scaleb(-2)


def _written(rng: random.Random, amount: Decimal, currency: str) -> str:
    return rng.choice([f"{amount}", f"{currency}{amount}", f"{amount} EUR" if currency == "€" else f"{amount}"])


def _row(rng: random.Random, label: str, value: str) -> str:
    case = rng.choice([str.upper, str.capitalize, str.title])
    return case(label) + rng.choice(["    ", "  ", ": ", ":    ", " ..... ", " "]) + value


def receipt(rng: random.Random, *, sums: bool = True) -> Receipt:
    currency = rng.choice(["$", "€", "£"])
    goods = {_word(rng): _amount(rng) for _ in range(rng.randint(1, 6))}
    lines = [_row(rng, name, _written(rng, price, currency)) for name, price in goods.items()]
    fields = {name: {str(price)} for name, price in goods.items()}
    if sums:
        subtotal = sum(goods.values(), Decimal(0))
        tax = _amount(rng)
        for label, amount in (("subtotal", subtotal), ("tax", tax), ("total", subtotal + tax)):
            lines.append(_row(rng, label, _written(rng, amount, currency)))
            fields[label] = {str(amount)}
    head = [_word(rng).upper()]
    number = str(rng.randint(1000, 99999))
    head.append(f"{rng.choice(['Receipt no', 'Receipt No.', 'Receipt number', 'RECEIPT #'])}: {number}")
    fields["receipt number"] = {number}
    if sums and rng.random() < 0.5:
        head[-1] += f"    Till: {rng.randint(1, 9)}"
    return Receipt(lines=[*head, *lines, "Thank you"], goods=goods, fields=fields)


def crowded(rng: random.Random) -> Receipt:
    """A receipt with rows added that only look like the one that is asked for."""
    plain = receipt(rng)
    lines, fields = list(plain.lines), dict(plain.fields)
    for label in rng.sample(SUMS, rng.randint(1, 4)):
        amount = _amount(rng)
        lines.insert(rng.randint(2, len(lines)), _row(rng, label, str(amount)))
        key = label.casefold().replace("sub total", "subtotal")
        fields[key] = fields.get(key, set()) | {str(amount)}
    if rng.random() < 0.3:
        lines.insert(2, "Item    Price    Total")
    if rng.random() < 0.3:
        lines.append(f"Total of all {_word(rng)} things you bought was {_amount(rng)}")
    return Receipt(lines=lines, goods=plain.goods, fields=fields)


def _number(answer: str) -> str:
    return re.sub(r"[^\d.]", "", answer)


FIELD_QUESTIONS: tuple[Callable[[str], str], ...] = (
    lambda label: f"What is the {label}?",
    lambda label: f"what's the {label}",
    lambda label: f"Please tell me what the {label} is.",
    lambda label: f"What is the {label} on the receipt?",
    lambda label: f'What is the value of "{label}"?',
)
AMOUNT_QUESTIONS: tuple[Callable[[str], str], ...] = (
    lambda label: f"How much is the {label}?",
    lambda label: f"How much does the {label} cost?",
    lambda label: f"What is the price of the {label}?",
)


def _misread(rng: random.Random) -> Callable[[str, int], str]:
    """One look at random, from the second on, takes a digit for another."""
    look_wrong, digit = rng.randint(2, 4), str(rng.randint(0, 9))

    def misread(text: str, look: int) -> str:
        return re.sub(r"\d(?=\D*$)", digit, text) if look == look_wrong else text

    return misread


@pytest.mark.parametrize("kind", [receipt, crowded])
@pytest.mark.parametrize("misreads", [False, True])
async def test_values_are_right_or_missing(kind: Callable[[random.Random], Receipt], misreads: bool) -> None:
    rng = random.Random(f"{kind.__name__} {misreads}")
    tally: Counter[str] = Counter()
    for _ in range(150):
        drawn = kind(rng)
        label = rng.choice([*drawn.fields, "total", "tax", _word(rng)])
        questions = FIELD_QUESTIONS if not label.replace(" ", "").isalpha() or rng.random() < 0.6 else AMOUNT_QUESTIONS
        question = rng.choice(questions)(label)
        report = await Desk([drawn.lines], misread=_misread(rng) if misreads else lambda text, look: text).ask(question)
        truth = drawn.fields.get(label, set())
        if cannot(report):
            tally["cannot" if len(truth) == 1 else "rightly cannot"] += 1
        else:
            assert len(truth) == 1, (question, drawn.lines, report.answer)
            assert _number(report.answer) == next(iter(truth)), (question, drawn.lines, report.answer)
            tally["right"] += 1
    assert tally["right"] > 10 * tally["cannot"], tally


@pytest.mark.parametrize("sums", [True, False])
async def test_arithmetic_is_right_or_missing(sums: bool) -> None:
    rng = random.Random(f"arithmetic {sums}")
    operations: dict[str, Callable[[list[Decimal]], Decimal]] = {
        "What is the sum of the prices?": lambda prices: sum(prices, Decimal(0)),
        "Add up all the prices.": lambda prices: sum(prices, Decimal(0)),
        "What is the average of the prices?": lambda prices: sum(prices, Decimal(0)) / len(prices),
        "What is the highest price?": max,
        "Which price is the lowest?": min,
        "How many prices are there?": lambda prices: Decimal(len(prices)),
    }
    tally: Counter[str] = Counter()
    for _ in range(120):
        drawn = receipt(rng, sums=sums)
        question = rng.choice([*operations])
        report = await Desk([drawn.lines]).ask(question)
        if cannot(report):
            tally["cannot"] += 1
            continue
        truth = operations[question]([*drawn.goods.values()])
        assert abs(Decimal(report.answer) - truth) < Decimal("0.0001"), (question, drawn.lines, report.answer)
        tally["right"] += 1
    assert tally["right"] > 10 * tally["cannot"], tally


async def test_prices_of_a_crowded_receipt_are_right_or_missing() -> None:
    rng = random.Random("crowded prices")
    for _ in range(150):
        drawn = crowded(rng)
        report = await Desk([drawn.lines]).ask("What is the sum of the prices?")
        assert cannot(report) or Decimal(report.answer) == sum(drawn.goods.values()), (drawn.lines, report.answer)


async def test_a_word_too_many_is_never_overlooked() -> None:
    rng = random.Random("qualifiers")
    drawn = receipt(rng)
    questions = [ask(label) for ask in (*FIELD_QUESTIONS, *AMOUNT_QUESTIONS) for label in ("total", "tax")]
    questions += [
        "What is the sum of the prices?",
        "How many lines of text are there?",
        "Read all the text.",
        "Which price is the lowest?",
    ]
    for question in questions:
        words = question.split()
        for at in range(len(words) + 1):
            changed = " ".join([*words[:at], rng.choice(QUALIFIERS), *words[at:]])
            assert cannot(await Desk([drawn.lines]).ask(changed)), changed


async def test_regions_are_right_or_missing() -> None:
    rng = random.Random("regions")
    halves = {
        "left half": (0, 0, 0.5, 1),
        "right half": (0.5, 0, 1, 1),
        "top half": (0, 0, 1, 0.5),
        "bottom half": (0, 0.5, 1, 1),
    }
    corners = {f"{row} {column} quarter": (x, y, x + 0.5, y + 0.5) for row, y in (("top", 0), ("bottom", 0.5)) for column, x in (("left", 0), ("right", 0.5))}  # fmt: skip
    tally: Counter[str] = Counter()
    for _ in range(150):
        height = 360
        lines = []
        for _ in range(rng.randint(1, 6)):
            text = _word(rng)
            x, y = rng.uniform(0, 600 - 12 * len(text)), rng.uniform(0, height - 24)
            if all(abs(y - other.box[1]) > 30 for other in lines):
                lines.append(Line(text, (x, y, x + 12 * len(text), y + 24)))
        name, (x1, y1, x2, y2) = rng.choice([*(halves | corners).items()])
        report = await Desk([[*lines, *[Line("")] * (8 - len(lines))]]).ask(f"Read the text in the {name}.")
        if cannot(report):
            tally["cannot"] += 1
            continue
        inside = {
            line.text: min(line.box[2], x2 * 600) - max(line.box[0], x1 * 600) > 0.8 * (line.box[2] - line.box[0])
            and min(line.box[3], y2 * height) - max(line.box[1], y1 * height) > 0.8 * 24
            for line in lines
        }
        said = set() if report.answer.startswith("No readable text") else set(report.answer.split("\n"))
        assert said == {text for text, is_inside in inside.items() if is_inside}, (name, lines, report.answer)
        tally["right"] += 1
    assert tally["right"] > tally["cannot"], tally
