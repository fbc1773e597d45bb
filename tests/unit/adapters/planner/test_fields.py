"""Looking up the value that stands behind a label."""

from __future__ import annotations

import pytest

from openvlharness_adapters.models.planner.evidence import Row
from openvlharness_adapters.models.planner.fields import find_fields, number_token, same_value


def _values(label: str, *rows: str) -> list[str]:
    return [field.value for field in find_fields([Row(text=row) for row in rows], label)]


@pytest.mark.parametrize(
    ("label", "row", "value"),
    [
        ("total", "TOTAL    23.40", "23.40"),
        ("total", "Total: 23.40", "23.40"),
        ("total", "Total 23.40", "23.40"),
        ("total", "TOTAL23.40", "23.40"),
        ("total", "TOTAL ........ 23.40", "23.40"),
        ("total", "Total:    EUR 23.40", "EUR 23.40"),
        ("total", "Total    $23.40", "$23.40"),
        ("total", "Total due    23.40", "23.40"),
        ("total", "GRAND TOTAL EUR    23.40", "23.40"),
        ("tax", "Tax 9%    2.24", "2.24"),
        ("tax", "Tax (9 %) 2.24", "2.24"),
        ("tax", "Tax    9%", "9%"),
        ("invoice number", "Invoice No. 20817", "20817"),
        ("invoice number", "INVOICENUMBER: INV-7", "INV-7"),  # readers lose spaces
        ("invoice no", "Invoice number: INV-7", "INV-7"),
        ("invoice #", "Invoice # 7", "7"),
        ("receipt number", "Receipt no: 20817    18 May 2025", "20817"),
        ("receipt number", "Receipt no: 20817 18 May 2025", None),
        ("date", "Date: 18 May 2025", "18 May 2025"),
        ("date", "Invoice no: 7    Date: 18 May 2025", "18 May 2025"),
        ("name", "Name: Ada Lovelace", "Ada Lovelace"),
        ("name", "Name    Ada", None),
        ("time", "Time: 10:42", "10:42"),
        ("time", "Time 10:42", "10:42"),
        ("total", "Subtotal    20.00", None),
        ("total", "Sub total    20.00", None),
        ("total", "Total tax    3.00", None),
        ("total", "Total items: 3", None),
        ("total", "Total", None),
        ("total", "Total:", None),
        ("total", "The total    23.40", None),
        ("total", "Total    Tax", None),
        ("total", "Total    12.00    23.40", None),
        ("total", "Totals    23.40", None),
        ("item 1", "Item 12    3.00", None),
        ("item 1", "Item 1.50", None),
        ("invoice number", "Invoice number    Date    Due", None),
        ("pears", "Pears 1.2 kg    3.96", None),
        ("pears 1.2 kg", "Pears 1.2 kg    3.96", "3.96"),
    ],
)  # fmt: skip
def test_a_value_is_found_or_left_alone(label: str, row: str, value: str | None) -> None:
    assert _values(label, row) == ([] if value is None else [value])


def test_the_label_alone_goes_before_the_label_with_empty_words() -> None:
    assert _values("total", "Total due    9.00", "Total    5.00", "Grand total    7.00") == ["5.00"]
    assert _values("total", "Total due    9.00", "Grand total    7.00") == ["9.00", "7.00"]
    assert _values("total due", "Total    5.00", "Total due    9.00") == ["9.00"]


@pytest.mark.parametrize(
    ("value", "token"), [("$23.40", "$23.40"), ("EUR 23.40", "23.40"), ("18 May", None), ("1 2", None), ("INV-7", None)]
)
def test_the_number_of_an_amount(value: str, token: str | None) -> None:
    assert number_token(value) == token


def test_spaces_and_case_do_not_make_values_differ() -> None:
    assert same_value("18 May 2025", "18MAY 2025")
    assert not same_value("23.40", "28.40")
