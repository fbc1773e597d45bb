"""Long texts of a log, each written once.

The same evidence stands in a step, in a message and later in a shorter form of its turn; an inventory is the one before
it with some lines more. So a text has a number from its first appearance on, and one that begins as an earlier one did
is written as runs of that one's lines with what is new between them.
"""

from __future__ import annotations

import attrs

from openvlharness_adapters.files.json_places import Place

SHORT = 64
"""Characters up to which a text is simply written out."""
_HEAD = 32  # characters by which an earlier text is found
_WORTH = 48  # characters that a reference to an earlier text has to save
_RUN = 10  # characters that a run takes


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
            number, pieces = place.items(2)
            base = self.find(number.whole())
            if base is None:
                raise number.wrong("the number of an earlier text")
            text = "\n".join(_piece_from_json(piece, base.split("\n")) for piece in pieces.items())
        self._add(text)

    def _add(self, text: str) -> None:
        self._newest[text[:_HEAD]] = self._numbers[text] = len(self._texts)
        self._texts.append(text)

    def _entry(self, text: str) -> object:
        number = self._newest.get(text[:_HEAD])
        if number is None:
            return text
        pieces = _pieces(text.split("\n"), self._texts[number].split("\n"))
        size = sum(len(piece) + 4 if isinstance(piece, str) else _RUN for piece in pieces)
        return [number, pieces] if size + _WORTH < len(text) else text


def _pieces(lines: list[str], base: list[str]) -> list[object]:
    """`lines` as runs `[first, count]` of the lines of `base` and texts of what is in none; found in one walk."""
    places: dict[str, int] = {}
    for number, line in enumerate(base):
        places.setdefault(line, number)
    pieces: list[object] = []
    run: list[int] = []  # the run that is open, as it stands in `pieces`
    said: list[str] = []  # new lines that stand in no piece yet
    for line in lines:
        following = run[0] + run[1] if run else None
        if following is not None and following < len(base) and base[following] == line:
            run[1] += 1
        elif line in places:
            if said:
                pieces.append("\n".join(said))
            run, said = [places[line], 1], []
            pieces.append(run)
        else:
            run = []
            said.append(line)
    return [*pieces, "\n".join(said)] if said else pieces


def _piece_from_json(place: Place, base: list[str]) -> str:
    if isinstance(place.value, str):
        return place.value
    first, count = (item.whole() for item in place.items(2))
    if first + count > len(base):
        raise place.wrong(f"a run of {len(base)} lines")
    return "\n".join(base[first : first + count])
