"""Whether a sentence says what a question asks.

Words alone do not tell: `founded by Otto Lind` holds all words of `when was Otto Lind founded`. So the phrases of a question
must stand together in the sentence and not be part of longer ones, in the part that the question gives them; and what is
asked for, a name, a date, a number of the thing, must be there and belong to them.
"""

from __future__ import annotations

from openvlharness_adapters.models.planner.amounts import counts_of, is_date, is_new_place, is_number
from openvlharness_adapters.models.planner.clauses import (
    Context,
    Span,
    be_behind,
    clause_end,
    has_break,
    is_subject,
    said_of,
    spans_of,
)
from openvlharness_adapters.models.planner.wh_questions import MEASURES, Reading
from openvlharness_adapters.models.planner.wording import (
    BE,
    DENIALS,
    DETERMINERS,
    EMPTY,
    PREPOSITIONS,
    QUOTES,
    Sentence,
    is_form,
    is_mark,
    is_name,
    is_past,
    words_of,
)

_PLACES = words_of("in at on near by between behind beside under over above below across along from to")


def says(sentence: Sentence, reading: Reading, context: Context) -> bool:
    """Whether a sentence says what one reading of a question asks."""
    if any(word in DENIALS and word not in context.asked for word in sentence.words):
        return False
    if reading.verb is None:
        return _fits(sentence, reading, context, None)
    verbs = [at for at, word in enumerate(sentence.words) if is_form(reading.verb, word)]
    if reading.is_past is not None:
        verbs = [at for at in verbs if _is_past(sentence.words, at) in (None, reading.is_past)]
    return any(_fits(sentence, reading, context, at) for at in verbs)


def _fits(sentence: Sentence, reading: Reading, context: Context, verb: int | None) -> bool:
    places = []
    for phrase in reading.phrases:
        spans = list(spans_of(sentence, phrase, context, verb))
        if verb is not None and all(word.isdigit() for word in phrase.words):
            spans = [span for span in spans if span[0] in said_of(sentence.words, verb)]
        if not spans:
            return False
        places.append(spans)
    subjects = next((p for p, phrase in zip(places, reading.phrases, strict=True) if phrase.is_subject), [])
    others = [p for p, phrase in zip(places, reading.phrases, strict=True) if not phrase.is_subject]
    asked = context.asked
    match reading.kind:
        case "topic":
            return verb is None or any(is_subject(sentence, span, verb) for span in subjects)
        case "who did":
            return verb is not None and _who_did(sentence, verb, [*([subjects] if subjects else []), *others], asked)
        case "who is":
            return any(_is_somebody(sentence, span, asked) for span in subjects)
        case "how many":
            return any(
                _takes_part(sentence, reading, verb, at, subjects, others)
                for at in counts_of(sentence, reading.counted)
            )
    if reading.measure is not None:
        return any(_measured(sentence, reading, span, verb) for span in subjects)
    if verb is None:
        anchors = [at for span in subjects for at in be_behind(sentence, span)]
    else:
        anchors = [verb] if _takes_part(sentence, reading, verb, verb, subjects, others) else []
    return any(_asked_for(sentence, reading, at, asked) for at in anchors)


def _asked_for(sentence: Sentence, reading: Reading, anchor: int, asked: frozenset[str]) -> bool:
    """Whether what is asked for belongs to the verb at `anchor`."""
    words, near = sentence.words, said_of(sentence.words, anchor)
    match reading.kind:
        case "when":
            return any(is_date(words, at) and words[at] not in asked for at in near)
        case "where":
            return any(words[at] in _PLACES and is_new_place(sentence, at + 1, asked) for at in near)
        case "why":
            return any(word in ("because", "since", "so") for word in words[anchor:])
    return any(word not in asked | EMPTY and not is_mark(word) for word in words)


# --- who took which part -------------------------------------------------------------------------------------------


def _is_passive(words: tuple[str, ...], verb: int) -> bool:
    return any(word in BE for word in words[max(0, verb - 3) : verb]) or words[verb + 1 : verb + 2] == ("by",)


def _is_past(words: tuple[str, ...], verb: int) -> bool | None:
    helpers = [word for word in words[max(0, verb - 3) : verb] if word in BE]
    return helpers[-1] in ("was", "were", "been") if helpers else is_past(words[verb])


def _has_object(words: tuple[str, ...], verb: int) -> bool:
    """Whether what follows a verb is what it is done to."""
    follows = words[verb + 1] if verb + 1 < len(words) else "."
    return not (follows in PREPOSITIONS or is_mark(follows) or follows.endswith("ly") or follows in ("and", "again"))


def _takes_part(
    sentence: Sentence, reading: Reading, verb: int | None, anchor: int, subjects: list[Span], others: list[list[Span]]
) -> bool:
    """Whether the subject of a question is that of the verb, or of the number at `anchor`; by whom it was done counts too."""
    if not subjects:
        return True
    at = anchor if verb is None else verb
    if (
        verb is not None
        and not reading.is_active
        and not _is_passive(sentence.words, verb)
        and _has_object(sentence.words, verb)
    ):
        return False
    if any(is_subject(sentence, span, at) for span in subjects):
        return not (
            reading.is_active
            and others
            and verb is not None
            and _is_passive(sentence.words, verb)
            and sentence.words[verb + 1 : verb + 2] == ("by",)
        )
    if not reading.is_active or verb is None or not _is_passive(sentence.words, verb):
        return False
    words = sentence.words
    done_by = any(
        start > verb and words[start - 1 - (words[start - 1] in DETERMINERS)] == "by" for start, _ in subjects
    )
    return done_by and bool(others) and any(is_subject(sentence, span, verb) for span in others[0])


def _who_did(sentence: Sentence, verb: int, things: list[list[Span]], asked: frozenset[str]) -> bool:
    words = sentence.words
    if not things:
        return False
    if any(is_subject(sentence, span, verb) or span == (0, 1) for span in things[0] if span[1] <= verb):
        behind = range(verb + 1, clause_end(words, verb + 1))
        if any(words[at] == "by" and _new_name(sentence, at + 1, asked) for at in behind):
            return True
        before = [
            at
            for at in range(verb)
            if words[at] == "by" and (end := _new_name(sentence, at + 1, asked)) and words[end:verb] in ((), (",",))
        ]
        return bool(before)
    if _is_passive(words, verb) or not any(
        start > verb and not has_break(sentence, verb + 1, start) and _is_object(words, verb, start)
        for start, _ in things[0]
    ):
        return False
    end = verb
    while end > 0 and (words[end - 1] in ("has", "had", "have", "first") or words[end - 1].endswith("ly")):
        end -= 1
    if end > 0 and words[end - 1] == "," and "," in words[: end - 1]:
        comma = max(at for at in range(end - 1) if words[at] == ",")
        end = comma if words[comma + 1] in DETERMINERS else end
    start = end
    while start > 0 and is_name(sentence.written[start - 1]):
        start -= 1
    return start < end and any(word not in asked for word in words[start:end])


def _is_object(words: tuple[str, ...], verb: int, start: int) -> bool:
    """Whether what starts there is what the verb is done to: nothing but small words between them, and no preposition."""
    return all(word in DETERMINERS or word in QUOTES or word in ("both", "and") for word in words[verb + 1 : start])


def _is_somebody(sentence: Sentence, span: Span, asked: frozenset[str]) -> bool:
    """Whether a sentence says the name of what stands at `span`: `X is N`, `N is X`, `X, N,` or `N, X,`."""
    words, (start, end) = sentence.words, span
    if (
        words[end : end + 1] == (",",)
        and (stop := _new_name(sentence, end + 1, asked))
        and words[stop : stop + 1] != ("and",)
    ):
        return True
    if any(_new_name(sentence, at + 1, asked) for at in be_behind(sentence, span)):
        return True
    before = start
    while before > 0 and words[before - 1] in DETERMINERS:
        before -= 1
    if before < 2 or (words[before - 1] not in BE and words[before - 1] != ","):
        return False
    first = before - 1
    while first > 0 and is_name(sentence.written[first - 1]):
        first -= 1
    return any(word not in asked for word in words[first : before - 1])


def _new_name(sentence: Sentence, start: int, asked: frozenset[str]) -> int:
    """Where a name that the question lacks ends, if one starts there; else 0."""
    words = sentence.words
    while start < len(words) and words[start] in DETERMINERS:
        start += 1
    end = start
    while end < len(words) and is_name(sentence.written[end]):
        end += 1
    return end if any(word not in asked for word in words[start:end]) else 0


def _measured(sentence: Sentence, reading: Reading, span: Span, verb: int | None) -> bool:
    """Whether a number, of the quantity that is asked for, is said of a phrase."""
    words = sentence.words
    kinds = MEASURES.get(reading.measure or "")
    others = frozenset[str]().union(*MEASURES.values()) - (kinds or frozenset())
    if kinds is not None and not any(word in kinds for word in words[span[1] :]):
        return False
    if kinds is not None and any(
        word in others and word not in _words_of_phrases(reading) for word in words[span[1] :]
    ):
        return False
    if verb is not None and not is_subject(sentence, span, verb):
        return False
    numbers = [at for at in range(span[1], len(words)) if is_number(words, at)]
    return any(is_subject(sentence, span, at) for at in numbers[:1])


def _words_of_phrases(reading: Reading) -> frozenset[str]:
    """The words of a reading's phrases."""
    return frozenset(word for phrase in reading.phrases for word in phrase.words)
