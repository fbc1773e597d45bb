"""Which cells of a page stand on their head: what all letters of the page say counts, not each cell for itself.

A classifier that looks at one cell has little to go by in a short one, and nothing at all in `60`, which is `09` from
the other side: it errs there with full confidence, and the number that comes of it scores as high as the right one. A
page is printed one way round, though. So its cells vote, each by how much better it reads from one side than from the
other and by its classifier, and by as many votes as it has letters that cannot be read from both sides. A cell may then
differ from its page, as a label at a machine's back does, only if it says something plainly better that way.

Cells that were turned by a quarter before they were read are a page of their own: a spine beside upright text says
nothing of that text.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

_BOTH_WAYS = frozenset("0125689OoQDIilHNSZXszxnudpbqMWmw")
"""Signs that are a sign from the other side too, in some font."""
_CLASSIFIER = 0.1  # what the classifier's word is worth, as a difference of scores
_PLAINLY = 0.15  # better, for a cell to stand otherwise than its page
_SURE_LETTERS = 12  # of the classifier's majority, from which nothing needs to be read twice to know the page
_SURE_SHARE = 0.8


@attrs.frozen(kw_only=True)
class Said:
    """What a cell says, and with what score, 0 to 1."""

    text: str
    score: float


@attrs.frozen(kw_only=True)
class Sides:
    """A cell read from both sides.

    Attributes:
        upright: as the picture stands.
        turned: from the other side.
        believed_turned: whether the classifier takes the second for the right one.
    """

    upright: Said
    turned: Said
    believed_turned: bool

    @property
    def vote(self) -> float:
        """Above 0 for a page that is turned, below 0 for an upright one, by the letters that tell."""
        gain = self.turned.score - self.upright.score + (_CLASSIFIER if self.believed_turned else -_CLASSIFIER)
        return gain * telling(self.turned.text if gain > 0 else self.upright.text)


def telling(text: str) -> int:
    """How many of its signs can be read from one side only."""
    return sum(sign.isalnum() and sign not in _BOTH_WAYS for sign in text)


def plain_page(cells: Sequence[tuple[str, bool]]) -> bool | None:
    """Whether a page is turned, by the classifier alone: each cell's text and verdict; `None` if that is not plain."""
    votes = {verdict: sum(telling(text) for text, each in cells if each == verdict) for verdict in (False, True)}
    most = max(votes, key=lambda verdict: votes[verdict])
    is_plain = votes[most] >= max(_SURE_LETTERS, _SURE_SHARE * sum(votes.values()))
    return most if is_plain else None


def page_of(cells: Sequence[Sides]) -> bool:
    """Whether a page is turned; upright where nothing speaks."""
    return sum(cell.vote for cell in cells) > 0


def is_turned(cell: Sides, page: bool) -> bool:
    """Whether a cell is to be read from the other side, on a page that is turned or not."""
    own, other = (cell.turned, cell.upright) if page else (cell.upright, cell.turned)
    if cell.believed_turned == page or not telling(other.text):
        return page
    return page != (other.score >= own.score + _PLAINLY)
