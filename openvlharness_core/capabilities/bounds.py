"""How much of something the model is shown, whatever a backend brings.

Each tool bounds each text; what comes in numbers is bounded by number and by characters together, since a hundred long
rows are no better than one long text.
"""

from __future__ import annotations

from collections.abc import Iterable

from openvlharness_core.texts import excerpt

NAMED_LIMIT = 64
"""Pictures or pages that one call may name."""
QUERY_LIMIT = 300
"""Characters of a query that are repeated to the model that wrote it."""
ADDRESS_LIMIT = 500
"""Characters of an address that are shown; a cut one leads nowhere, but it says which site it was."""
EVIDENCE_LIMIT = 120_000
"""Characters of all texts of any tool's evidence; a test holds every tool to it."""


def fitting(rows: Iterable[str], most: int, characters: int) -> list[str]:
    """The first rows, at most `most` of them and `characters` together; what comes after a row too many is left out."""
    shown: list[str] = []
    for row in rows:
        characters -= len(row)
        if len(shown) == most or characters < 0:
            break
        shown.append(row)
    return shown


def address(url: str) -> str:
    """`url` as it is shown."""
    return excerpt(url, ADDRESS_LIMIT)
