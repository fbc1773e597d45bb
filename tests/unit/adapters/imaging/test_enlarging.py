from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.imaging.enlarging import READABLE_SIDE, back_to_source, enlarged, whole_factor
from openvlharness_core.geometry import map_box

SIDES = st.integers(1, 9000)


@given(SIDES, SIDES)
def test_small_pictures_reach_the_readable_side_and_large_ones_stay(height: int, width: int) -> None:
    factor = whole_factor((height, width))
    longer = max(height, width)
    assert factor == whole_factor((width, height)) >= 1
    if longer >= READABLE_SIDE:
        assert factor == 1
    else:
        least = -(-READABLE_SIDE // longer)
        assert factor >= least
        assert factor == least or (longer * factor <= 3200 and min(height, width) * (factor - 1) < 32)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 30))
def test_corners_lead_back_to_corners(height: int, width: int, factor: int) -> None:
    values = np.arange(height * width).reshape(height, width)
    large = enlarged(values, factor)
    assert large.shape == (height * factor, width * factor)
    assert (large[::factor, ::factor] == values).all()
    assert (large[factor - 1 :: factor, factor - 1 :: factor] == values).all()
    corners = map_box((0, 0, width * factor, height * factor), back_to_source(factor))
    assert np.allclose(corners, (0, 0, width, height))
