"""What is kept beside objects belongs to each of them and goes with it."""

from __future__ import annotations

import gc
import weakref

from openvlharness_adapters.models.kept import KeptByIdentity
from openvlharness_core.messages import UserMessage


class _Value:
    pass


def test_an_equal_object_is_another() -> None:
    kept: KeptByIdentity[UserMessage, int] = KeptByIdentity()
    one, other = UserMessage.of_text("q"), UserMessage.of_text("q")
    kept.keep(one, 1)
    assert (one == other, kept.get(one), kept.get(other)) == (True, 1, None)
    kept.keep(one, 2)
    assert (kept.get(one), len(kept)) == (2, 1)


def test_a_value_goes_with_its_object() -> None:
    kept: KeptByIdentity[UserMessage, int] = KeptByIdentity()
    messages = [UserMessage.of_text(str(n)) for n in range(50)]
    for n, message in enumerate(messages):
        kept.keep(message, n)
    del message, messages[10:]
    gc.collect()
    assert len(kept) == 10
    assert [kept.get(message) for message in messages] == list(range(10))


def test_an_id_that_is_used_again_brings_nothing_back() -> None:
    kept: KeptByIdentity[UserMessage, int] = KeptByIdentity()
    for n in range(1000):  # every message takes the memory of the one before it
        message = UserMessage.of_text("q")
        assert kept.get(message) is None
        kept.keep(message, n)
        del message
    assert len(kept) == 0


def test_values_are_free_at_once_when_whoever_keeps_them_goes() -> None:
    kept: KeptByIdentity[UserMessage, _Value] = KeptByIdentity()
    message, value = UserMessage.of_text("q"), _Value()
    kept.keep(message, value)
    gone = weakref.ref(value)
    gc.disable()
    try:
        del kept, value
        assert gone() is None
    finally:
        gc.enable()
