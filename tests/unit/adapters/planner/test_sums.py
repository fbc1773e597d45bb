"""Which prices are added up: the receipt's own sums must say so."""

from __future__ import annotations

import pytest

from tests.unit.adapters.planner.desk import Desk, cannot

GOODS = ("Tea    2.50", "Cake    4.00")
QUESTION = "What is the sum of the prices?"


@pytest.mark.parametrize(
    "sums",
    [(), ("Total    6.50",), ("Tax    0.50", "Total    7.00"), ("Subtotal    6.50", "Tax    0.50", "Total    7.00")],
)
async def test_prices_that_agree_with_every_sum_are_added_up(sums: tuple[str, ...]) -> None:
    assert (await Desk([(*GOODS, *sums)]).ask(QUESTION)).answer == "6.50"


@pytest.mark.parametrize(
    "others", [("Cash    6.50",), ("Tax    0.50",), ("Tip    1.00", "Cash    7.50"), ("Total    6.50", "Total    9.00")]
)
async def test_lines_that_are_no_goods_without_a_sum_that_agrees_leave_open_what_was_bought(
    others: tuple[str, ...],
) -> None:
    report = await Desk([(*GOODS, *others)]).ask(QUESTION)
    assert cannot(report)
    assert "do not add up" in str(report.answer)
