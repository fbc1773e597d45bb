"""Long texts of a log, each written once.

The same evidence stands in a step, in a message and later in a shorter form of its turn; an inventory is the one before
it with a line more. So a text has a number from its first appearance on, and one that begins as an earlier one did is
written as what lies between their common beginning and their common end.
"""

from __future__ import annotations

import attrs

from openvlharness_adapters.files.json_places import Place

SHORT = 64
"""Characters up to which a text is simply written out."""
_HEAD = 32  # characters by which an earlier text is found
_WORTH = 48  # characters that a reference to an earlier text has to save


@attrs.define
class TextTable:
    """Texts by number, in the order of their first appearance; those since the last `commit` can be forgotten again."""

    _texts: list[str] = attrs.field(factory=list, init=False)
    _numbers: dict[str, int] = attrs.field(factory=dict, init=False)
    _newest: dict[str, int] = attrs.field(factory=dict, init=False)
    _entries: list[object] = attrs.field(factory=list, init=False)

    @property
    def fresh(self) -> list[object]:
        """JSON of the texts since the last `commit`."""
        return list(self._entries)

    def commit(self) -> None:
        """What is fresh has been written."""
        self._entries.clear()

    def rollback(self) -> None:
        """What is fresh has not been written, and never was here."""
        for text in self._texts[len(self._texts) - len(self._entries) :]:
            del self._numbers[text]
            self._newest.pop(
                text[:_HEAD], None
            )  # an earlier text of that head is found no more, which costs bytes only
        del self._texts[len(self._texts) - len(self._entries) :]
        self._entries.clear()

    def to_json(self, text: str) -> str | int:
        """The text itself if it is short, else its number."""
        if len(text) <= SHORT:
            return text
        if text not in self._numbers:
            self._entries.append(self._entry(text))
            self._add(text)
        return self._numbers[text]

    def find(self, number: int) -> str | None:
        """The text of that number, if there is one."""
        return self._texts[number] if 0 <= number < len(self._texts) else None

    def learn(self, place: Place) -> None:
        """Take over an entry of `fresh` that was written earlier.

        Raises:
            SavedFileError: no such entry.
        """
        if isinstance(place.value, str):
            text = place.value
        else:
            number, head, tail, middle = place.items(4)
            base = self.find(number.whole())
            if base is None or head.whole() + tail.whole() > len(base):
                raise place.wrong("a number of an earlier text, lengths within it and a text")
            text = base[: head.whole()] + middle.text() + base[len(base) - tail.whole() :]
        self._add(text)

    def _add(self, text: str) -> None:
        self._newest[text[:_HEAD]] = self._numbers[text] = len(self._texts)
        self._texts.append(text)

    def _entry(self, text: str) -> object:
        number = self._newest.get(text[:_HEAD])
        if number is None:
            return text
        base = self._texts[number]
        head = _common(base, text)
        tail = _common(base[: head - 1 if head else None : -1], text[: head - 1 if head else None : -1])
        middle = text[head : len(text) - tail]
        return [number, head, tail, middle] if len(middle) + _WORTH < len(text) else text


def _common(left: str, right: str) -> int:
    """Length of the common beginning, found by halving."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
