"""Words: how texts are cut for the index, and how a query becomes expressions that the index understands.

The index cuts at everything that is no letter or digit, forgets case and accents, and stems English. Scripts without
spaces are laid out before that: a run of characters ABC becomes `AB BC C`, so that every pair of neighbours is a word,
and every single character is the start of one. A query never reaches the index as it came: only words and numbers are
taken out of it, each in quotes, so nothing in it can be an operator.
"""

from __future__ import annotations

import re
import unicodedata

import attrs

MOST_TERMS = 24
"""Terms of a query that count; the rest of a very long one is left out."""

# Han, kana, Hangul: scripts that write words without spaces between them, or with endings grown to them.
_CJK = "\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
_RUN = re.compile(f"[{_CJK}]+")
_TERM = re.compile(rf"[{_CJK}]+|(?:(?![{_CJK}])[^\W_])+(?:['’.](?:(?![{_CJK}])[^\W_])+)*")

STOP_WORDS = frozenset(
    """a about above after again all also am an and any are as at be because been before being below between both but by
    can could did do does doing down during each few for from further get give had has have having he her here hers him his
    how i if in into is it its itself just know let like look many may me might more most much must my no nor not now of off
    on once one only or other our ours out over own please said same say says she should show so some such tell than that
    the their theirs them then there these they thing things this those through to too under until up us very was we were
    what when where which while who whom whose why will with would you your yours
    called find kind made make mean name named picture pictures image images photo shown type using used
    what's who's where's how's it's there's that's don't doesn't didn't isn't aren't wasn't weren't can't
    der die das ein eine einer und oder ist sind war wer wie wo wann warum was im in den dem des von zu mit auf für nicht
    le la les un une des et ou est sont qui que quoi où quand dans de du au aux pour avec sur pas
    el los las una unos unas y o es son que quien donde cuando como en del por para con""".split()  # noqa: SIM905
)
_PARTICLES = frozenset(
    "のはがをにへともでやかなのだするしたてれんいうえお的了是在和吗呢吧啊就也都很这那哪谁什么怎은는이가을를의에도와과"
)


@attrs.frozen(kw_only=True)
class Terms:
    """A query taken apart.

    Attributes:
        expressions: one for each term that counts, ready for `MATCH`.
        words: the same terms for a reader.
        as_phrase: whether there were only stop words, so that all of them have to stand together as they came.
    """

    expressions: tuple[str, ...]
    words: tuple[str, ...]
    as_phrase: bool = False

    @property
    def needed(self) -> int:
        """How many of the terms a passage must have."""
        return (len(self.expressions) + 1) // 2


def normal(text: str) -> str:
    """One form for what looks alike, lower case; lone surrogates, which no file may hold, are replaced."""
    return unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode("utf-8")).casefold()


def laid_out(text: str) -> str:
    """`text` for the index."""
    return _RUN.sub(lambda run: f" {' '.join(_pairs(run.group()))} {run.group()[-1]} ", normal(text))


def terms_of(query: str) -> Terms:
    """The terms of `query`: stop words dropped unless there is nothing else, each term once."""
    found = [term for match in _TERM.finditer(normal(query)) for term in _cut(match.group())]
    found = list(dict.fromkeys(found))
    telling = [term for term in found if not _is_stop_word(term)][:MOST_TERMS]
    if telling:
        return Terms(expressions=tuple(map(_quoted, telling)), words=tuple(telling))
    if not found or any(_RUN.search(term) for term in found):  # pairs do not stand together in the index as they came
        return Terms(expressions=(), words=())
    phrase = " ".join(match.group() for match in _TERM.finditer(normal(query)))
    return Terms(expressions=(f'"{phrase}"',), words=(phrase,), as_phrase=True)


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _cut(term: str) -> list[str]:
    if _RUN.fullmatch(term):
        return _pairs(term) or [term]
    return [term.replace("’", "'")]


def _is_stop_word(term: str) -> bool:
    if _RUN.fullmatch(term):
        return len(term) > 1 and not _PARTICLES.isdisjoint(term)
    return term in STOP_WORDS or (len(term) == 1 and term.isalpha() and term.isascii())


def _quoted(term: str) -> str:
    alone = len(term) == 1 and _RUN.fullmatch(term)
    return f'"{term}"*' if alone else f'"{term}"'
