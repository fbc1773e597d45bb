"""A model beside the conversation, which reads a text and writes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import attrs

from openvlharness_core.pictures import EncodedImage
from openvlharness_core.usage import Spent


@attrs.frozen(kw_only=True)
class Written:
    """What an auxiliary model wrote.

    Attributes:
        text: as it came; empty when the model had nothing to say.
        spent: what it cost, under the role that asked.
        cut: whether the output limit ended it.
    """

    text: str
    spent: Spent
    cut: bool = False


class AuxiliaryModel(Protocol):
    """Writes summaries, extracts pages, describes pictures and gives verdicts; several calls at once.

    Every call stands for itself: nothing is remembered, no tools are offered, and decoding is greedy.
    """

    async def write(self, prompt: str, *, system: str | None = None, images: Sequence[EncodedImage] = ()) -> Written:
        """Return what the model writes to `prompt`, which may show pictures behind its text.

        Cancelling the task ends the request.

        Raises:
            ModelUnavailableError: unreachable, timed out or failing, the adapter's own retries included.
            ModelRefusedError: the service refused the request, or what came is no reply.
            ContextLengthError: the prompt does not fit the model's context.
        """
        ...
