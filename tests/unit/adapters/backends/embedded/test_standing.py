"""Which cells stand on their head: the vote of a page, and the real recogniser on numbers that read both ways."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from openvlharness_adapters.backends.embedded import recogniser
from openvlharness_adapters.backends.embedded.standing import Said, Sides, is_turned, page_of, plain_page, telling


def _cell(upright: str, turned: str, scores: tuple[float, float], *, believed_turned: bool) -> Sides:
    return Sides(
        upright=Said(text=upright, score=scores[0]),
        turned=Said(text=turned, score=scores[1]),
        believed_turned=believed_turned,
    )


NINETY = _cell("90", "06", (0.99, 1.0), believed_turned=True)
TOTAL = _cell("Total", "1eto丄", (0.99, 0.6), believed_turned=False)
FROM_BEHIND = _cell("1eto丄", "Total", (0.6, 0.99), believed_turned=True)


@pytest.mark.parametrize(("text", "letters"), [("90", 0), ("SOS", 0), ("-1.8 %", 0), ("845", 1), ("Total 90", 3)])
def test_only_signs_that_read_from_one_side_tell(text: str, letters: int) -> None:
    assert telling(text) == letters


@pytest.mark.parametrize(
    ("cells", "page"),
    [
        ([NINETY], False),
        ([NINETY, TOTAL], False),
        ([NINETY, FROM_BEHIND], True),
        ([FROM_BEHIND, TOTAL, TOTAL], False),
        ([_cell("7", "L", (1.0, 1.0), believed_turned=False)], False),
        ([_cell("L", "7", (1.0, 1.0), believed_turned=True)], True),
        ([_cell("37", "LE", (1.0, 0.8), believed_turned=True)], False),
    ],
)
def test_the_letters_that_tell_decide_and_upright_is_what_nothing_speaks_against(
    cells: list[Sides], page: bool
) -> None:
    assert page_of(cells) is page


def test_a_number_that_reads_both_ways_follows_its_page() -> None:
    assert not is_turned(NINETY, page=False)
    assert is_turned(NINETY, page=True)
    assert is_turned(_cell("06", "90", (1.0, 0.9), believed_turned=False), page=True)


def test_a_cell_differs_from_its_page_only_where_it_reads_plainly_better() -> None:
    assert is_turned(FROM_BEHIND, page=False)
    assert not is_turned(TOTAL, page=True)
    assert not is_turned(_cell("94", "46", (0.98, 1.0), believed_turned=True), page=False)


@pytest.mark.parametrize(
    ("cells", "page"),
    [
        ([("Great breakfast", False), ("06", True)], False),
        ([("Great breakfast", True), ("90", False)], True),
        ([("Tea", False)], None),
        ([("Great breakfast", False), ("Harbour cafe at the gate", True)], None),
        ([], None),
    ],
)
def test_many_letters_with_one_verdict_need_no_second_reading(cells: list[tuple[str, bool]], page: bool | None) -> None:
    assert plain_page(cells) is page


# --- the real recogniser -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> recogniser.Recogniser:
    pytest.importorskip("rapidocr", reason="needs the extra: pip install 'openvlharness[embedded]'")
    return recogniser.shared_recogniser()


def _page(*texts: str) -> np.ndarray:
    image = Image.new("RGB", (300, 20 + 50 * len(texts)), "white")
    for at, text in enumerate(texts):
        ImageDraw.Draw(image).text((30, 10 + 50 * at), text, "black", ImageFont.load_default(size=28))
    return np.asarray(image)


def _texts(cells: list[recogniser.Cell]) -> list[str]:
    return sorted(cell.text for cell in cells)


@pytest.mark.parametrize("texts", [("60", "90", "68", "89", "19"), ("6", "9", "66", "99", "98"), ("906", "609", "86")])
def test_numbers_that_read_both_ways_are_read_upright(real: recogniser.Recogniser, texts: tuple[str, ...]) -> None:
    cells = real(_page(*texts))
    assert _texts(cells) == sorted(texts)
    assert not any(cell.flipped for cell in cells)


@pytest.mark.parametrize("texts", [("pens 60", "cups 9", "98"), ("845", "94", "90", "570"), ("Exit", "66", "Milk")])
@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
def test_a_page_is_read_whichever_way_it_is_turned(
    real: recogniser.Recogniser, texts: tuple[str, ...], quarters: int
) -> None:
    cells = real(np.rot90(_page(*texts), quarters))
    if quarters == 2:
        assert all(cell.flipped for cell in cells)
    long = [text for text in texts if quarters % 2 == 0 or len(text) > 4]  # what is short is no strip to be turned
    assert set(long) <= set(_texts(cells))
