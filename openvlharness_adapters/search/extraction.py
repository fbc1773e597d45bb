"""What a page says about a goal. A text over the extractor's budget is read in parts, none of it silently left out."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import attrs

from openvlharness_adapters.search.asking import Asked, Asker
from openvlharness_adapters.search.envelopes import Extract, extract_from_text, merged_from_text
from openvlharness_adapters.search.page_texts import PageText
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.texts import excerpt
from openvlharness_core.usage import Spent
from openvlharness_core.waiting import within

PART_CHARACTERS = 60_000
"""Of one request: some 15 000 tokens of English, and under 60 000 of any script."""
MOST_PARTS = 80
AT_A_TIME = 4
EVIDENCE_CHARACTERS = 24_000
_BEGINNING_CHARACTERS = 6000
_MERGED_CHARACTERS = 24_000
_BREAKS = ("\n\n", "\n", ". ", "。", " ")


@attrs.frozen(kw_only=True)
class Extracted:
    """What was picked out.

    Attributes:
        evidence: passages; empty if none serves the goal.
        summary: what they say, with what has to be said about how it was read.
        parts: how many parts the text has.
        problems: why parts were not read, one a part.
        usage: of the auxiliary model.
    """

    evidence: str
    summary: str
    parts: int
    problems: tuple[str, ...] = ()
    usage: tuple[Spent, ...] = ()


@attrs.frozen(kw_only=True)
class Extractor:
    """Picks passages out of pages.

    Attributes:
        asker: asks the auxiliary model.
        prompts: its texts.
        part_characters: longest text of one request.
    """

    asker: Asker
    prompts: PromptBundle
    part_characters: int = PART_CHARACTERS

    async def extract(self, page: PageText, goal: str, url: str, *, timeout_seconds: float) -> Extracted:
        """What `page` says about `goal`; its beginning where no part could be read."""
        clock = self.asker.clock
        ends = clock.monotonic() + timeout_seconds
        parts = parts_of(page.text, self.part_characters)
        name = excerpt(page.title or url, 300)
        asked = await self._all_parts(parts[:MOST_PARTS], goal, name, timeout_seconds * 0.8)
        usage = tuple(spent for each in asked for spent in each.usage)
        problems = tuple(each.problem for each in asked if each.value is None)
        read = [each.value for each in asked if each.value is not None]
        notes = [page.note] if page.note else []
        if not read:
            notes.append(f"no passages could be picked out ({problems[0]}): the evidence is the beginning of the page")
            beginning = page.text[:_BEGINNING_CHARACTERS]
            return Extracted(
                evidence=beginning, summary=_noted("", notes), parts=len(parts), problems=problems, usage=usage
            )
        if len(read) < len(parts):
            missing = len(parts) - len(read)
            why = problems[0] if problems else f"at most {MOST_PARTS} are"
            notes.append(f"{missing} of {len(parts)} parts of the page were not read ({why})")
        relevant = [extract for extract in read if extract.relevant]
        evidence = "\n\n…\n\n".join(extract.evidence for extract in relevant)
        if len(evidence) > EVIDENCE_CHARACTERS:
            notes.append(f"{len(evidence) - EVIDENCE_CHARACTERS} more characters of passages were left out")
            evidence = evidence[:EVIDENCE_CHARACTERS]
        summary, spent = await self._summary(relevant or read[:1], goal, name, ends - clock.monotonic())
        return Extracted(
            evidence=evidence,
            summary=_noted(summary, notes),
            parts=len(parts),
            problems=problems,
            usage=(*usage, *spent),
        )

    async def _all_parts(self, parts: Sequence[str], goal: str, name: str, seconds: float) -> list[Asked[Extract]]:
        """Every part side by side, a few at a time; what is not read in time says so."""
        unread: Asked[Extract] = Asked(problem=f"the time ran out after {seconds:.0f} s")
        done: list[Asked[Extract]] = [unread] * len(parts)
        seats = asyncio.Semaphore(AT_A_TIME)

        async def one(number: int, text: str) -> None:
            async with seats:
                prompt = self.prompts.text(
                    "extract_request", goal=goal, page=name, part=number + 1, parts=len(parts), text=text
                )
                done[number] = await self.asker.ask(
                    prompt, extract_from_text, system=self.prompts.text("extract_system"), timeout_seconds=seconds
                )

        async def every() -> None:
            await asyncio.gather(*(one(number, text) for number, text in enumerate(parts)))

        try:
            await within(self.asker.clock, seconds, every())
        except TimeoutError:
            return done  # with `unread` where nothing came
        return done

    async def _summary(
        self, extracts: Sequence[Extract], goal: str, name: str, seconds: float
    ) -> tuple[str, tuple[Spent, ...]]:
        said = [extract.summary for extract in extracts if extract.summary]
        joined = "\n".join(f"- {summary}" for summary in said)
        if len(said) < 2 or len(joined) > _MERGED_CHARACTERS:
            return (said[0] if len(said) == 1 else joined), ()
        asked = await self.asker.ask(
            self.prompts.text("extract_merge", goal=goal, page=name, summaries=joined),
            merged_from_text,
            system=self.prompts.text("extract_system"),
            timeout_seconds=seconds * 0.9,
        )
        return (joined if asked.value is None else asked.value), asked.usage


def parts_of(text: str, size: int) -> list[str]:
    """`text` in pieces of at most `size` characters, cut between paragraphs, lines, sentences or words if it can be."""
    parts = []
    start = 0
    while len(text) - start > size:
        window = text[start : start + size]
        ends = (window.rfind(mark, size // 2) + len(mark) for mark in _BREAKS if window.rfind(mark, size // 2) >= 0)
        cut = next(ends, size)
        parts.append(window[:cut])
        start += cut
    parts.append(text[start:])
    return [part for part in parts if re.search(r"\S", part)]


def _noted(summary: str, notes: Sequence[str]) -> str:
    return "\n".join(filter(None, (summary, f"({'; '.join(notes)})" if notes else "")))
