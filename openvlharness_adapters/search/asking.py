"""Asking an auxiliary model for a JSON envelope within a limit, so that a search never fails for want of a summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import attrs

from openvlharness_adapters.search.envelopes import EnvelopeError
from openvlharness_core.errors import ContextLengthError, ModelError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.auxiliary import AuxiliaryModel
from openvlharness_core.ports.clock import Clock
from openvlharness_core.usage import Spent
from openvlharness_core.waiting import within

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Asked(Generic[T]):
    """What became of asking.

    Attributes:
        value: the envelope; `None` if there is none that fits.
        problem: why not, in half a sentence without anything secret; empty if there is one.
        usage: what it cost either way.
    """

    value: T | None = None
    problem: str = ""
    usage: tuple[Spent, ...] = ()


@attrs.frozen(kw_only=True)
class Asker:
    """Asks an auxiliary model.

    Attributes:
        model: who is asked; its own retries are all there are.
        clock: keeps the limit.
    """

    model: AuxiliaryModel
    clock: Clock

    async def ask(
        self,
        prompt: str,
        read: Callable[[str], T],
        *,
        system: str,
        images: Sequence[EncodedImage] = (),
        timeout_seconds: float,
    ) -> Asked[T]:
        """The envelope that `read` makes of the reply, or why there is none.

        Args:
            prompt: what is asked.
            read: raises EnvelopeError for a reply that does not fit.
            system: what comes before it.
            images: pictures behind the prompt.
            timeout_seconds: how long it may take.
        """
        if timeout_seconds <= 0:
            return Asked(problem="no time was left for it")
        try:
            call = self.model.write(prompt, system=system, images=images)
            written = await within(self.clock, timeout_seconds, call)
        except TimeoutError:
            return Asked(problem=f"the auxiliary model did not answer within {timeout_seconds:.0f} s")
        except ContextLengthError:
            return Asked(problem="the text is longer than the auxiliary model takes")
        except ModelError as error:
            return Asked(problem=f"the auxiliary model failed ({error.code})")
        usage = (written.spent,)
        if written.cut:
            return Asked(problem="the auxiliary model's reply was cut off", usage=usage)
        try:
            return Asked(value=read(written.text), usage=usage)
        except EnvelopeError as wrong:
            return Asked(problem=f"the auxiliary model's reply did not fit: {wrong}", usage=usage)
