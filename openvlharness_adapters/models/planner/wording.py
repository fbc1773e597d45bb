"""Words of English texts: which forms belong to one word, and which words carry no meaning of their own.

Known endings are taken off, no more: `opened` and `opens` are forms of `open`, while `paintings` is none of `paint`. What
cannot be told apart by its ending, such as `found` and `founded`, is told apart by a list of irregular verbs.
"""

from __future__ import annotations

import re

import attrs


def words_of(words: str) -> frozenset[str]:
    """The words of a list with spaces between them."""
    return frozenset(words.split())


EMPTY = words_of(
    """a an the of in on at by for from to with and or is are was were be been being do does did has have had who whom
    whose what when where which why how many much long far old this that these those it its there their his her he she
    they you i we me us can could will tell about please say said called named there into onto as any some"""
)
DETERMINERS = words_of("""the a an its his her their this that these those our""")
BE = words_of("""is are was were be been being""")
PREPOSITIONS = words_of(
    """of in on at by for from to with into onto over under near between behind beside across along through around
    above below inside outside after before since until during against towards about without within beyond"""
)
QUOTES = frozenset("\"“”„«»*_'")
DENIALS = words_of(
    """not never no nor neither without cannot hardly would might planned supposed meant rumoured unless except
    almost nearly t"""
)
"""Words that turn what a sentence says, so that it says something else unless the question has them too."""
MONTHS_AND_DAYS = words_of(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays"""
)
NUMBER_WORDS = words_of(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand dozen"""
)
_IRREGULAR = """
bear bore born,become became become,begin began begun,break broke broken,bring brought brought,build built built,
bend bent bent,bind bound bound,burn burnt burnt,buy bought bought,cast cast cast,catch caught caught,
choose chose chosen,come came come,cost cost cost,cut cut cut,
deal dealt dealt,dig dug dug,draw drew drawn,drive drove driven,eat ate eaten,fall fell fallen,feed fed fed,fight fought fought,
find found found,fly flew flown,forget forgot forgotten,freeze froze frozen,get got got,give gave given,go went gone,
grow grew grown,hear heard heard,hide hid hidden,hit hit hit,hold held held,keep kept kept,know knew known,lay laid laid,
lead led led,leave left left,lend lent lent,let let let,lose lost lost,make made made,meet met met,pay paid paid,put put put,
read read read,rebuild rebuilt rebuilt,ride rode ridden,rise rose risen,run ran run,see saw seen,sell sold sold,send sent sent,set set set,
shine shone shone,shoot shot shot,show showed shown,shut shut shut,sing sang sung,sink sank sunk,speak spoke spoken,
spin spun spun,split split split,spread spread spread,spend spent spent,stand stood stood,steal stole stolen,
strike struck struck,swim swam swum,take took taken,teach taught taught,
tear tore torn,think thought thought,throw threw thrown,wear wore worn,weave wove woven,win won won,write wrote written"""
_BASE_OF: dict[str, str] = {}
_PARTICIPLES: set[str] = set()
for _row in _IRREGULAR.split(","):
    _base, _past, _participle = _row.split()
    _BASE_OF |= {_past: _base, _participle: _base}
    _PARTICIPLES.add(_participle)

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+|\d*[^\W_]+|[^\w\s]")


@attrs.frozen(kw_only=True)
class Sentence:
    """A sentence as its words and marks: as written, and in lower case."""

    written: tuple[str, ...]
    words: tuple[str, ...]


def cut(text: str) -> Sentence:
    """A text's words and marks. What follows an apostrophe is a word of its own, `s` of a genitive for one."""
    written = tuple(_TOKEN.findall(text.replace("’", "'")))
    return Sentence(written=written, words=tuple(word.casefold() for word in written))


def bases(word: str) -> frozenset[str]:
    """What a word in lower case may be a form of, itself among them."""
    if word in _BASE_OF:
        return frozenset((word, _BASE_OF[word])) if word == _BASE_OF[word] else frozenset((f"{word}*", _BASE_OF[word]))
    found = {word}
    if len(word) > 4 and word.endswith(("ies", "ied")):
        found.add(f"{word[:-3]}y")
    elif len(word) > 3 and word.endswith("ed"):
        stem = word[:-2]
        found.add(word[:-1])
        if len(stem) > 2 and stem[-1] == stem[-2]:
            found |= {stem, stem[:-1]}
        elif len(stem) > 2 and not re.fullmatch("[^aeiou]*[aeiou][^aeiouwxy]", stem):  # that would have been doubled
            found.add(stem)
    elif len(word) > 3 and word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        found |= {word[:-2], word[:-1]}
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        found.add(word[:-1])
    return frozenset(found)


def is_form(one: str, other: str) -> bool:
    """Whether two words in lower case are forms of one word; numbers have one form only."""
    return one == other or (not one.isdigit() and not bases(one).isdisjoint(bases(other)))


def is_participle(word: str) -> bool:
    """Whether a word may follow `was` as what was done."""
    return word in _PARTICIPLES or (len(word) > 4 and word.endswith("ed"))


def is_past(verb: str) -> bool | None:
    """Whether a form of a verb tells of the past; `None` if it has one form for both."""
    if verb in _BASE_OF:
        return None if _BASE_OF[verb] == verb else True
    return verb.endswith("ed")


def as_done(word: str) -> str | None:
    """`opened` for `opening`; `None` for what is no such word."""
    return f"{word[:-3]}ed" if len(word) > 5 and word.endswith("ing") else None


def is_name(written: str) -> bool:
    """Whether a word is written as a name is; a sentence's first word may be so by its place alone."""
    folded = written.casefold()
    return written[:1].isupper() and folded not in MONTHS_AND_DAYS | EMPTY and len(written) > 1


def is_mark(word: str) -> bool:
    """Whether it is no word but a mark."""
    return not word[0].isalnum()
