"""Bodies in groups."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.http.bodies import GROUP_BYTES, GroupedBody, groups


@given(st.lists(st.binary(max_size=40)), st.integers(1, 30))
def test_groups_are_the_pieces_in_even_portions(pieces: list[bytes], size: int) -> None:
    made = list(groups(pieces, size))
    assert b"".join(made) == b"".join(pieces)
    assert [len(group) for group in made[:-1]] == [size] * (len(made) - 1)
    assert not made or 0 < len(made[-1]) <= size
    assert all(type(group) is bytes for group in made)


async def test_a_body_can_be_sent_again() -> None:
    body = GroupedBody([b"a" * GROUP_BYTES, b"b", b"c" * (2 * GROUP_BYTES)])
    first = [group async for group in body]
    assert [len(group) for group in first] == [GROUP_BYTES] * 3 + [1]
    assert [group async for group in body] == first
    assert body.length == 3 * GROUP_BYTES + 1
    assert "aaa" not in repr(body)
