"""The local gate, held to what every gate promises."""

from __future__ import annotations

import pytest

from openvlharness_adapters.router.gates import LocalGate
from tests.unit.adapters.router.gate_rules import GateContract


class TestLocalGate(GateContract):
    @pytest.fixture
    def gate(self) -> LocalGate:
        return LocalGate({"ocr": 2, "depth": 1}, max_queue=3)


async def test_without_a_queue_only_free_seats_are_given() -> None:
    gate = LocalGate({"ocr": 1}, max_queue=0)
    assert await gate.acquire("ocr", lambda: None)
    assert gate.limit("ocr") == 1
    assert await gate.check() is None


@pytest.mark.parametrize(("limits", "queue"), [({"ocr": 0}, 1), ({"ocr": 1}, -1)])
def test_limits_that_are_none_are_refused(limits: dict[str, int], queue: int) -> None:
    with pytest.raises(ValueError, match="expected limits"):
        LocalGate(limits, max_queue=queue)
