"""Taking a question in: every part read, fetched where it is shown, and made ready to be sent, before any request."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import attrs

from openvlharness_core.errors import FetchError, InvalidQuestionError, UnreadableImageError
from openvlharness_core.pictures import ImageLimits, Picture, RemotePicture
from openvlharness_core.ports.fetcher import ImageFetcher
from openvlharness_core.ports.imaging import ImageCodec
from openvlharness_core.ports.offload import Offload
from openvlharness_core.question import Exchange, ImageInput, Intake, Question
from openvlharness_core.texts import clean_text, excerpt


@attrs.frozen(kw_only=True)
class Receptionist:
    """Takes questions in for one agent.

    Attributes:
        limits: what the model takes.
        remote_images: whether a remote picture is downloaded now or shown by its URL.
        codec, fetcher, offload: the ports that do it.
        note: (kind, text) for the trace.
    """

    limits: ImageLimits
    remote_images: Literal["download", "pass_url"]
    codec: ImageCodec
    fetcher: ImageFetcher
    offload: Offload
    note: Callable[[str, str], None]

    async def take_in(self, question: Question, task_id: str | None, history: Iterable[Exchange]) -> Intake:
        """The question with every part taken in, pictures side by side.

        Raises:
            InvalidQuestionError: a part that cannot be taken in, by its number and name.
        """
        intake = unread(question, task_id, history)
        jobs = [asyncio.ensure_future(self._part(part, place)) for part, place in _placed(question)]
        try:
            return attrs.evolve(intake, parts=tuple(await asyncio.gather(*jobs)))
        finally:
            for job in jobs:  # one part that fails is enough; nobody waits for the others
                job.cancel()

    async def _part(self, part: str | ImageInput, place: str) -> str | Picture | RemotePicture:
        if isinstance(part, str):
            return clean_text(part)
        if part.kind == "url" and self.remote_images == "pass_url":
            return RemotePicture(url=clean_text(str(part.value)))
        try:
            data = await self._bytes(part)
            if part.kind == "data_url":
                self._note_declared(str(part.value), data, place)
            return await self.offload.run(lambda: self.codec.take_in(data, self.limits))
        except FetchError as error:
            raise InvalidQuestionError(place, error.reason) from error
        except UnreadableImageError as error:
            raise InvalidQuestionError(place, error.problem) from error

    async def _bytes(self, part: ImageInput) -> bytes:
        match part.kind:
            case "bytes":
                assert isinstance(part.value, bytes)
                return part.value
            case "data_url":
                return await self.offload.run(lambda: self.codec.data_of_url(str(part.value)))
            case "path" | "url":
                return await self.fetcher.fetch(str(part.value))

    def _note_declared(self, url: str, data: bytes, place: str) -> None:
        """Tell the trace when a data URL declares another type than its bytes have; the bytes are what counts."""
        declared = re.split("[;,]", url[len("data:") :], maxsplit=1)[0].strip().lower()
        actual = self.codec.probe(data).media_type
        if declared.replace("image/jpg", "image/jpeg") != actual:
            self.note("type_corrected", f"{place}: declared as {excerpt(declared, 40) or 'nothing'}, is {actual}")


def unread(question: Question, task_id: str | None, history: Iterable[Exchange]) -> Intake:
    """The question with no picture read: what is known of it when it ends before its pictures are there.

    Raises:
        InvalidQuestionError: no question at all, or earlier exchanges that are none.
    """
    if not isinstance(question, Question):
        raise InvalidQuestionError("question", f"expected a Question, got {type(question).__name__}")
    parts = tuple(
        clean_text(part)
        if isinstance(part, str)
        else RemotePicture(url=clean_text(str(part.value)) if part.kind == "url" else part.name or place)
        for part, place in _placed(question)
    )
    return Intake(parts=parts, task_id=task_id, history=tuple(map(_exchange, history, itertools.count(1))))


def _placed(question: Question) -> Iterator[tuple[str | ImageInput, str]]:
    """Each part with what errors call it."""
    number = 0
    for part in question.parts:
        if isinstance(part, str):
            yield part, "text"
        else:
            number += 1
            yield part, f"image {number}" + (f" ({part.name})" if part.name else "")


def _exchange(exchange: object, number: int) -> Exchange:
    if not isinstance(exchange, Exchange):
        raise InvalidQuestionError(f"history {number}", f"expected an Exchange, got {type(exchange).__name__}")
    for name in ("question", "answer"):
        text = getattr(exchange, name)
        if not isinstance(text, str):
            raise InvalidQuestionError(f"history {number}", f"expected a text as {name}, got {type(text).__name__}")
    if not exchange.question.strip():
        raise InvalidQuestionError(f"history {number}", "expected a question, got no text")
    return Exchange(question=clean_text(exchange.question), answer=clean_text(exchange.answer))
