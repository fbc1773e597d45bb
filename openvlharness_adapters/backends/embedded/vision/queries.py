"""The closed grammar of embedded grounding.

::

    query    := article* modifier* shape?        "the largest dark red circles", "red", "shapes"
              | article* "text" quoted?          "text", 'the text "Total"'
              | article* quoted                  '"Grand total"'
              | article* "face"                  "faces"
    modifier := colour | "dark" | "light" | "smallest" | "largest"

Every word has to be consumed. What is left over is named to the caller, since an answer to a part of the query would be
an answer to another question.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

import attrs

Colour = Literal[
    "red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "grey"
]  # fmt: skip
Shape = Literal["circle", "ellipse", "triangle", "square", "rectangle", "star", "pentagon", "hexagon"]
Tone = Literal["dark", "light"]
Extreme = Literal["smallest", "largest"]

COLOURS: tuple[Colour, ...] = get_args(Colour)
SHAPES: tuple[Shape, ...] = get_args(Shape)
TONES: tuple[Tone, ...] = get_args(Tone)
EXTREMES: tuple[Extreme, ...] = get_args(Extreme)

VOCABULARY = (
    f"colours {', '.join(COLOURS)}; shapes {', '.join(SHAPES)}, or shape for any of them; {', '.join(TONES)}; "
    f"{', '.join(EXTREMES)}; text; words in quotation marks; face"
)
"""What is understood, in a line, for whoever asked something else."""

_ARTICLES = frozenset({"a", "an", "the"})
_SPELLINGS: dict[str, Colour] = {**{colour: colour for colour in COLOURS}, "gray": "grey"}
_NOUNS: dict[str, Shape | None] = {"shape": None, **{shape: shape for shape in SHAPES}}
_TOKENS = re.compile(r"\"([^\"]*)\"|“([^”]*)”|«([^»]*)»|(?<!\w)['‘]([^'’]*)['’](?!\w)|([^\s\"“”«»]+)")
_EDGES = ".,;:?!()[]"


@attrs.frozen(kw_only=True)
class ShapeQuery:
    """Coloured shapes.

    Attributes:
        shape: which, rectangle including square and ellipse including circle; `None` for any.
        colour: which, or `None` for any.
        tone: dark or light within that colour, or of any colour; `None` for either.
        extreme: only the smallest or the largest of those, by area.
    """

    shape: Shape | None = None
    colour: Colour | None = None
    tone: Tone | None = None
    extreme: Extreme | None = None


@attrs.frozen(kw_only=True)
class TextQuery:
    """Written text: every line, or each place where these words stand.

    Attributes:
        words: as quoted, spaces normalised; `None` for all text.
    """

    words: str | None = None


@attrs.frozen(kw_only=True)
class FaceQuery:
    """Frontal faces of people."""


Query = ShapeQuery | TextQuery | FaceQuery


class NotInGrammarError(ValueError):
    """A query outside the grammar.

    Attributes:
        word: the first word that could not be consumed; empty if there was no word to consume.
        problem: what is wrong, in a sentence that names the word and the vocabulary.
    """

    def __init__(self, word: str, problem: str) -> None:
        super().__init__(f"{problem}; understood are {VOCABULARY}")
        self.word = word
        self.problem = str(self)


@attrs.frozen
class _Token:
    text: str
    quoted: bool


def understood_query(query: str) -> Query:
    """What `query` asks for; case, articles, plural and punctuation around words do not matter.

    Raises:
        NotInGrammarError: a word that is not in the vocabulary, that says a second time what was said, or that does not
            apply to what is asked for.
    """
    tokens = _tokens(query)
    if not tokens:
        raise NotInGrammarError("", "the query says nothing to look for")
    if any(token.quoted for token in tokens) or any(_singular(token.text) in ("text", "face") for token in tokens):
        return _read_or_face(tokens)
    return _shapes(tokens)


def _tokens(query: str) -> list[_Token]:
    tokens: list[_Token] = []
    for found in _TOKENS.finditer(query):
        quoted = next((group for group in found.groups()[:4] if group is not None), None)
        if quoted is not None:
            tokens.append(_Token(" ".join(quoted.split()), True))
            continue
        for word in re.split(r"[-–]", found[5]):
            stripped = word.strip(_EDGES).casefold()
            if stripped and stripped not in _ARTICLES:
                tokens.append(_Token(stripped, False))
    return tokens


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _read_or_face(tokens: list[_Token]) -> Query:
    first, rest = tokens[0], tokens[1:]
    if first.quoted:
        query: Query = _quoted(first)
    elif _singular(first.text) == "text":
        query = _quoted(rest.pop(0)) if rest and rest[0].quoted else TextQuery()
    elif _singular(first.text) == "face":
        query = FaceQuery()
    else:
        raise _unfit(first)
    if rest:
        raise _unfit(rest[0])
    return query


def _quoted(token: _Token) -> TextQuery:
    if not any(sign.isalnum() for sign in token.text):
        raise NotInGrammarError(token.text, f"no word stands in the quotation marks around “{token.text}”")
    return TextQuery(words=token.text)


def _unfit(token: _Token) -> NotInGrammarError:
    known = token.quoted or token.text in _SPELLINGS or token.text in (*TONES, *EXTREMES)
    known = known or _singular(token.text) in (*_NOUNS, "text", "face")
    if not known:
        return NotInGrammarError(token.text, f"“{token.text}” is not understood")
    return NotInGrammarError(token.text, f"“{token.text}” cannot stand beside text, quoted words or face, or there")


def _shapes(tokens: list[_Token]) -> ShapeQuery:
    colour: Colour | None = None
    tone: Tone | None = None
    extreme: Extreme | None = None
    for position, token in enumerate(tokens):
        word = token.text
        noun = _singular(word)
        if noun in _NOUNS:
            if position + 1 < len(tokens):
                raise _left_over(tokens[position + 1].text, f"cannot stand behind “{word}”")
            return ShapeQuery(shape=_NOUNS[noun], colour=colour, tone=tone, extreme=extreme)
        if word in _SPELLINGS and colour is None:
            colour = _SPELLINGS[word]
        elif word in TONES and tone is None:
            tone = "dark" if word == "dark" else "light"
        elif word in EXTREMES and extreme is None:
            extreme = "smallest" if word == "smallest" else "largest"
        else:
            raise _left_over(word, "cannot stand beside another of its kind")
    return ShapeQuery(colour=colour, tone=tone, extreme=extreme)


def _left_over(word: str, why: str) -> NotInGrammarError:
    known = word in _SPELLINGS or word in (*TONES, *EXTREMES) or _singular(word) in _NOUNS
    return NotInGrammarError(word, f"“{word}” {why if known else 'is not understood'}")
