from __future__ import annotations

import numpy as np
import pytest

from openvlharness_adapters.imaging.colormaps import ENTRIES, colours
from openvlharness_adapters.imaging.palette import luminance
from openvlharness_core.ports.imaging import COLORMAPS, Colormap

# Entries 0, 64, 128, 192 and 255 of matplotlib's own tables.
_MATPLOTLIB = {
    "inferno": [(0, 0, 4), (87, 16, 110), (188, 55, 84), (249, 142, 9), (252, 255, 164)],
    "viridis": [(68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)],
    "grayscale": [(0, 0, 0), (64, 64, 64), (128, 128, 128), (192, 192, 192), (255, 255, 255)],
}


@pytest.mark.parametrize("name", COLORMAPS)
def test_no_entry_is_darker_than_the_one_before(name: Colormap) -> None:
    table = colours(name)
    assert table.shape == (ENTRIES, 3)
    assert not table.flags.writeable
    light = [luminance(tuple(entry)) for entry in table.tolist()]
    assert (np.diff(light) >= 0).all()
    assert len(np.unique(table, axis=0)) > 200
    assert light[-1] - light[0] > 0.6
    assert light[64] < light[128] < light[192]


@pytest.mark.parametrize("name", _MATPLOTLIB)
def test_polynomials_stay_close_to_the_tables_they_stand_for(name: Colormap) -> None:
    entries = colours(name)[[0, 64, 128, 192, 255]].astype(int)
    assert np.abs(entries - np.array(_MATPLOTLIB[name])).max() <= 6


def test_turbo_starts_dark_and_ends_in_its_brightest_green() -> None:
    first, last = (colours("turbo")[at].astype(int) for at in (0, -1))
    assert first.max() < 60
    assert last.tolist() == pytest.approx([137, 253, 87], abs=12)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of inferno, grayscale, viridis, turbo, got 'jet'"):
        colours("jet")  # type: ignore[arg-type]
