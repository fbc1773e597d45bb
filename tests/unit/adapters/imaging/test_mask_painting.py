from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.imaging import mask_painting
from openvlharness_adapters.imaging.mask_painting import topmost
from openvlharness_core.masks import encode_mask, runs_of_all


@pytest.fixture(params=[1, 40, 2_000_000])
def at_a_time(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(mask_painting, "_AT_A_TIME", request.param)
    return int(request.param)


@given(st.integers(1, 12), st.integers(1, 12), st.lists(st.floats(0, 1), max_size=5), st.integers(0, 2**32 - 1))
def test_the_last_layer_that_covers_a_pixel_is_on_top(
    height: int, width: int, densities: list[float], seed: int
) -> None:
    chance = np.random.default_rng(seed)
    masks = [chance.random((height, width)) < density for density in densities]
    layers = chance.permutation(len(masks))
    wanted = np.zeros((height, width), dtype=int)
    for position in np.argsort(layers):
        wanted[masks[position]] = position + 1
    runs = runs_of_all([encode_mask(mask) for mask in masks], (height, width))
    assert (topmost(runs, layers) == wanted).all()


def test_large_maps_are_written_piece_by_piece(at_a_time: int) -> None:
    masks = np.zeros((3, 30, 40), dtype=bool)
    masks[0, :, 3:30], masks[1, 4:9, 10:40], masks[2] = True, True, False
    runs = runs_of_all([encode_mask(mask) for mask in masks], (30, 40))
    wanted = np.where(masks[1], 2, np.where(masks[0], 1, 0))
    assert (topmost(runs, np.arange(3)) == wanted).all()


def test_marks_come_again_with_the_ink_they_say() -> None:
    count = 300
    masks = [encode_mask(np.arange(count)[None] == position) for position in range(count)]
    tops = topmost(runs_of_all(masks, (1, count)), np.arange(count))[0]
    assert tops.min() == 1
    assert tops.max() < 128
    assert ((tops - 1) % 6 == np.arange(count) % 6).all()
    assert (tops[1:] != tops[:-1]).all()
