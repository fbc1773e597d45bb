"""What every AuxiliaryModel promises.

Subclass `AuxiliaryModelContract` in a test module as `Test…` and supply a fixture `stage` that gives an
`AuxiliaryStage`: models of your kind, each made to behave in one way. A stage that cannot make its kind behave so raises
`CannotStage` of the ChatModel suite, and the promise is skipped.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Sequence
from typing import Protocol

import pytest

from openvlharness_core.errors import ContextLengthError, ModelRefusedError, ModelUnavailableError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.auxiliary import AuxiliaryModel, Written

from .chat_model import CannotStage

_GREY_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000000a49444154789c6368"
    "00000082008177cd72b60000000049454e44ae426082"
)


class AuxiliaryStage(Protocol):
    """Makes models behave. Every model is asked on the loop that runs the test."""

    async def that_writes(self, texts: Sequence[str]) -> AuxiliaryModel:
        """A model that writes these texts in turn."""
        ...

    async def that_is_cut(self, text: str) -> AuxiliaryModel:
        """A model whose output limit ended `text`."""
        ...

    async def that_is_away(self) -> AuxiliaryModel:
        """A model whose service cannot be reached or keeps failing."""
        ...

    async def that_refuses(self) -> AuxiliaryModel:
        """A model whose service refuses the request."""
        ...

    async def that_is_full(self) -> AuxiliaryModel:
        """A model for which the prompt is too long."""
        ...

    async def that_never_answers(self) -> AuxiliaryModel:
        """A model that is still at it whenever one looks."""
        ...

    async def until_asked(self) -> None:
        """Return when the model of `that_never_answers` has been asked and has not been left."""
        ...

    async def until_left(self) -> None:
        """Return when nobody waits any more for the model of `that_never_answers`."""
        ...


async def _staged(make: Awaitable[AuxiliaryModel]) -> AuxiliaryModel:
    try:
        return await make
    except CannotStage as why:
        pytest.skip(str(why) or "this kind of model cannot be made to behave so")


class AuxiliaryModelContract:
    """See the module."""

    async def test_text_comes_as_it_was_written(self, stage: AuxiliaryStage) -> None:
        model = await _staged(stage.that_writes(["  Two [1] of three.\n🙂"]))
        written = await model.write("Summarise.")
        assert isinstance(written, Written)
        assert written.text == "  Two [1] of three.\n🙂"
        assert not written.cut

    async def test_it_says_what_was_spent(self, stage: AuxiliaryStage) -> None:
        model = await _staged(stage.that_writes(["x"]))
        spent = (await model.write("Summarise.")).spent
        assert spent.role == "auxiliary"
        assert spent.model
        assert spent.usage
        assert all(math.isfinite(number) for number in spent.usage.values())

    async def test_a_cut_text_is_marked(self, stage: AuxiliaryStage) -> None:
        model = await _staged(stage.that_is_cut("The first of"))
        written = await model.write("Summarise.")
        assert written.text == "The first of"
        assert written.cut

    async def test_a_system_text_and_pictures_may_come_along(self, stage: AuxiliaryStage) -> None:
        pixel = EncodedImage(data=_GREY_PIXEL, media_type="image/png", size_hw=(1, 1))
        model = await _staged(stage.that_writes(["grey"]))
        assert (await model.write("What is it?", system="Be short.", images=[pixel, pixel])).text == "grey"

    async def test_any_text_can_be_sent(self, stage: AuxiliaryStage) -> None:
        model = await _staged(stage.that_writes(["a", "b"]))
        assert (await model.write("half a pair: \ud83d", system="\udc00")).text == "a"
        assert (await model.write("\x00\u2028 \U0010ffff")).text == "b"

    async def test_several_may_ask_at_a_time(self, stage: AuxiliaryStage) -> None:
        model = await _staged(stage.that_writes(["0", "1", "2", "3"]))
        written = await asyncio.gather(*(model.write("Summarise.") for _ in range(4)))
        assert sorted(each.text for each in written) == ["0", "1", "2", "3"]

    async def test_an_unreachable_service_is_unavailable(self, stage: AuxiliaryStage) -> None:
        model = await _staged(stage.that_is_away())
        with pytest.raises(ModelUnavailableError) as failure:
            await model.write("Summarise.")
        assert failure.value.code
        assert failure.value.message

    async def test_a_refusal_is_told_apart(self, stage: AuxiliaryStage) -> None:
        model = await _staged(stage.that_refuses())
        with pytest.raises(ModelRefusedError):
            await model.write("Summarise.")

    async def test_a_full_context_is_told_apart(self, stage: AuxiliaryStage) -> None:
        model = await _staged(stage.that_is_full())
        with pytest.raises(ContextLengthError):
            await model.write("Summarise.")

    async def test_cancelling_ends_the_request(self, stage: AuxiliaryStage) -> None:
        model = await _staged(stage.that_never_answers())
        asking = asyncio.ensure_future(model.write("Summarise."))
        await stage.until_asked()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await stage.until_left()
