"""Numbers as people write them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.models.planner.numbers import decimal_mark, find_number, numbers_of, shown


@pytest.mark.parametrize(
    ("token", "mark", "value"),
    [
        ("7", None, "7"),
        ("1,234.50", None, "1234.50"),
        ("1.234,50", None, "1234.50"),
        ("1'234.50", None, "1234.50"),
        ("1.234.567", None, "1234567"),
        ("3,20", None, "3.20"),
        ("$3.20", None, "3.20"),
        ("3,20€", None, "3.20"),
        ("EUR3.20", None, "3.20"),
        ("3.20EUR", None, "3.20"),
        ("-4", None, "-4"),
        ("−4.5", None, "-4.5"),
        ("$-4", None, "-4"),
        ("-$4", None, "-4"),
        ("4.10-", None, "-4.10"),
        ("(4.10)", None, "-4.10"),
        ("+4", None, "4"),
        ("19%", None, "19"),
        ("12.50,", None, "12.50"),
        (".75", None, "0.75"),
        ("0.125", None, "0.125"),
        ("1,234", ".", "1234"),
        ("1,234", ",", "1.234"),
        ("1.234", ",", "1234"),
        ("12345.678", None, "12345.678"),
    ],
)
def test_a_number_is_read(token: str, mark: str | None, value: str) -> None:
    assert find_number(token, mark) == Decimal(value)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "-",
        "%",
        "abc",
        "2x",
        "10:42",
        "12/03/2024",
        "18.05.2025",
        "INV-12",
        "1,23,4",
        "1.2.3",
        "A4",
        "€",
        "()",
        "1,234",
    ],
)
def test_what_is_not_plainly_a_number_is_none(token: str) -> None:
    assert find_number(token) is None


def test_the_text_around_a_number_tells_what_a_comma_means() -> None:
    assert decimal_mark("bread 3,20\nwine 12,50") == ","
    assert decimal_mark("bread 3.20\nrent 1,200") == "."
    assert decimal_mark("bread 3.20\nwine 12,50") is None
    assert decimal_mark("18.05.2025") is None
    assert numbers_of("rent 1.200\nbread 3,20") == ([Decimal(1200), Decimal("3.20")], [])
    assert numbers_of("rent 1.200") == ([], ["1.200"])


@pytest.mark.parametrize(
    ("text", "unclear"), [("at 10:42", "10:42"), ("1. bread 3.20", "1."), ("sum 1 234", "1 234"), ("4 x A4", "A4")]
)
def test_tokens_that_may_or_may_not_count_are_told(text: str, unclear: str) -> None:
    assert unclear in numbers_of(text)[1]


def test_columns_part_numbers_and_one_space_does_not() -> None:
    assert numbers_of("8  680    12\n7\t431  9") == ([Decimal(each) for each in (8, 680, 12, 7, 431, 9)], [])
    assert numbers_of("8 680  12")[1] == ["8 680"]
    assert numbers_of("1.  bread    3.20")[1] == ["1."]


@given(st.decimals(min_value=-(10**6), max_value=10**6, places=2))
def test_what_is_shown_is_read_back(number: Decimal) -> None:
    assert find_number(shown(number)) == number
    assert find_number(f"{number:,}", ".") == number


@pytest.mark.parametrize(
    ("number", "text"),
    [("-0.00", "0.00"), ("1E+3", "1000"), ("3.3333333", "3.3333"), ("20.000001", "20"), ("2.50", "2.50")],
)
def test_numbers_are_shown_as_people_write_them(number: str, text: str) -> None:
    assert shown(Decimal(number)) == text


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    numbers_of(text)
