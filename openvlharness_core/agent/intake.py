"""Taking a question in: every part read, fetched where it is shown, and made ready to be sent, before any request."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Literal

import attrs

from openvlharness_core.errors import FetchError, InvalidQuestionError, UnreadableImageError
from openvlharness_core.pictures import ImageLimits, Picture, RemotePicture
from openvlharness_core.ports.fetcher import ImageFetcher
from openvlharness_core.ports.imaging import ImageCodec
from openvlharness_core.ports.offload import Offload
from openvlharness_core.question import Exchange, ImageInput, Intake, Question
from openvlharness_core.texts import clean_text


@attrs.frozen(kw_only=True)
class Receptionist:
    """Takes questions in for one agent.

    Attributes:
        limits: what the model takes.
        remote_images: whether a remote picture is downloaded now or shown by its URL.
        codec, fetcher, offload: the ports that do it.
    """

    limits: ImageLimits
    remote_images: Literal["download", "pass_url"]
    codec: ImageCodec
    fetcher: ImageFetcher
    offload: Offload

    async def take_in(self, question: Question, task_id: str | None, history: Iterable[Exchange]) -> Intake:
        """The question with every part taken in, pictures side by side.

        Raises:
            InvalidQuestionError: a part that cannot be taken in, by its number and name.
        """
        if not isinstance(question, Question):
            raise InvalidQuestionError("question", f"expected a Question, got {type(question).__name__}")
        number = 0
        jobs = []
        for part in question.parts:
            number += isinstance(part, ImageInput)
            jobs.append(self._part(part, number))
        parts = await asyncio.gather(*jobs)
        return Intake(parts=tuple(parts), task_id=task_id, history=tuple(history))

    async def _part(self, part: str | ImageInput, number: int) -> str | Picture | RemotePicture:
        if isinstance(part, str):
            return clean_text(part)
        place = f"image {number}" + (f" ({part.name})" if part.name else "")
        if part.kind == "url" and self.remote_images == "pass_url":
            return RemotePicture(url=str(part.value))
        try:
            data = await self._bytes(part)
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
