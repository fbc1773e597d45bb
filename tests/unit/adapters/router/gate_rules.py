"""What every `Gate` promises, for any implementation: subclass with a fixture `gate` that has two seats of `ocr`, one of
`depth`, and room for three waiting calls in each group.
"""

from __future__ import annotations

import asyncio
import random

import pytest

from openvlharness_adapters.router.gates import Gate, QueueFullError, Seat
from openvlharness_core.testing.time import settle


def _never() -> None:
    raise AssertionError("no seat was to be lost")


class GateContract:
    """See the module."""

    async def test_no_more_seats_are_out_than_there_are(self, gate: Gate) -> None:
        seats = [await gate.acquire("ocr", _never) for _ in range(2)]
        third = asyncio.ensure_future(gate.acquire("ocr", _never))
        await settle()
        assert not third.done()
        await gate.release(seats[0])
        assert isinstance(await third, Seat)

    async def test_groups_do_not_wait_for_each_other(self, gate: Gate) -> None:
        await gate.acquire("depth", _never)
        assert await asyncio.wait_for(gate.acquire("ocr", _never), 5)

    async def test_seats_are_given_in_the_order_of_tickets(self, gate: Gate) -> None:
        held = await gate.acquire("depth", _never)
        order: list[int] = []

        async def come(number: int) -> None:
            seat = await gate.acquire("depth", _never)
            order.append(number)
            await gate.release(seat)

        coming = []
        for number in range(3):
            coming.append(asyncio.ensure_future(come(number)))
            await settle()
        await gate.release(held)
        await asyncio.gather(*coming)
        assert order == [0, 1, 2]

    async def test_who_leaves_loses_the_place_and_no_seat(self, gate: Gate) -> None:
        held = await gate.acquire("depth", _never)
        waiting = [asyncio.ensure_future(gate.acquire("depth", _never)) for _ in range(3)]
        await settle()
        waiting[0].cancel()
        await settle()
        another = asyncio.ensure_future(gate.acquire("depth", _never))  # there is room for it now
        await settle()
        assert not another.done()
        await gate.release(held)
        for place in (*waiting[1:], another):
            await gate.release(await asyncio.wait_for(place, 5))

    async def test_a_seat_given_to_who_leaves_in_the_same_moment_goes_on(self, gate: Gate) -> None:
        held = await gate.acquire("depth", _never)
        leaving, staying = (asyncio.ensure_future(gate.acquire("depth", _never)) for _ in range(2))
        await settle()
        await gate.release(held)
        leaving.cancel()
        assert isinstance(await asyncio.wait_for(staying, 5), Seat)

    async def test_a_full_queue_is_said_at_once(self, gate: Gate) -> None:
        await gate.acquire("depth", _never)
        waiting = [asyncio.ensure_future(gate.acquire("depth", _never)) for _ in range(3)]
        await settle()
        with pytest.raises(QueueFullError) as full:
            await asyncio.wait_for(gate.acquire("depth", _never), 5)
        assert full.value.group == "depth"
        for place in waiting:
            place.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    async def test_giving_back_twice_gives_one_seat(self, gate: Gate) -> None:
        held = await gate.acquire("depth", _never)
        await gate.release(held)
        await gate.release(held)
        await gate.acquire("depth", _never)
        second = asyncio.ensure_future(gate.acquire("depth", _never))
        await settle()
        assert not second.done()
        second.cancel()

    @pytest.mark.parametrize("seed", range(5))
    async def test_whatever_happens_the_limit_holds_and_nothing_is_lost(self, gate: Gate, seed: int) -> None:
        chance = random.Random(seed)
        out, most, served, full = 0, 0, 0, 0

        async def visit() -> None:
            nonlocal out, most, served, full
            try:
                seat = await gate.acquire("ocr", _never)
            except QueueFullError:
                full += 1
                return
            out += 1
            most = max(most, out)
            try:
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(0)
                served += 1
            finally:
                out -= 1
                await gate.release(seat)

        visits: list[asyncio.Future[None]] = []
        for _ in range(200):
            visits.append(asyncio.ensure_future(visit()))
            if chance.random() < 0.4:
                chance.choice(visits).cancel()
            if chance.random() < 0.7:
                await asyncio.sleep(0)
        await asyncio.gather(*visits, return_exceptions=True)
        assert most <= 2
        assert served + full + sum(visit.cancelled() for visit in visits) == 200
        for _ in range(2):
            await asyncio.wait_for(gate.acquire("ocr", _never), 5)
