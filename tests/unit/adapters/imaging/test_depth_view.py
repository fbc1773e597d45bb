from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from openvlharness_adapters.imaging import depth_view
from openvlharness_adapters.imaging.colormaps import colours
from openvlharness_adapters.imaging.colour_bar import Scale
from openvlharness_adapters.imaging.depth_view import draw_depth, spread_of
from openvlharness_adapters.imaging.enlarging import whole_factor
from openvlharness_core.depth import DepthMap
from openvlharness_core.ports.imaging import COLORMAPS, Colormap
from tests.support import evidence_scenes as scenes

FLOAT32 = st.floats(0, float(np.finfo(np.float32).max), width=32)


def depth(values: object, *, is_metric: bool = True) -> DepthMap:
    return DepthMap(values=np.asarray(values, np.float32), is_metric=is_metric)


def scale_of(depth_map: DepthMap, monkeypatch: pytest.MonkeyPatch) -> Scale:
    """What the bar of a view says."""
    said: list[Scale] = []
    monkeypatch.setattr(depth_view, "draw_bar", lambda _canvas, _table, scale: said.append(scale))
    draw_depth(depth_map, "inferno")
    return said[0]


@settings(max_examples=60)
@given(
    st.sampled_from([(1, 1), (3, 300), (300, 3), (32, 32), (90, 639), (640, 7), (500, 700)]),
    st.sampled_from(COLORMAPS),
    FLOAT32,
    FLOAT32,
    st.booleans(),
)
def test_any_map_is_drawn(size_hw: tuple[int, int], colormap: Colormap, low: float, high: float, metric: bool) -> None:
    values = np.linspace(low, high, size_hw[0] * size_hw[1]).reshape(size_hw)
    canvas = draw_depth(depth(values, is_metric=metric), colormap)
    factor = whole_factor(size_hw)
    assert canvas.mode == "RGB"
    assert canvas.size == (size_hw[1] * factor, size_hw[0] * factor)


@given(st.lists(FLOAT32, min_size=2, max_size=50), st.sampled_from(COLORMAPS))
def test_of_two_pixels_the_closer_is_never_darker(depths: list[float], colormap: Colormap) -> None:
    values = np.array([depths], np.float32)
    entries = depth_view._entries(values, spread_of(values))[0].astype(int)
    order = np.argsort(values[0], kind="stable")
    assert (np.diff(entries[order]) <= 0).all()


def test_colours_are_spread_between_percentiles(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.linspace(1, 3, 10_000).reshape(100, 100)
    values[0, 0], values[99, 99] = 0.1, 900.0  # two stray pixels
    spread = spread_of(values.astype(np.float32))
    assert (spread.near, spread.far) == pytest.approx((1.04, 2.96), abs=0.005)
    assert (spread.is_cut_near, spread.is_cut_far) == (True, True)
    said = scale_of(depth(values), monkeypatch)
    assert said == Scale(near="<1.04", middle="2.00", far=">2.96", unit="m")
    assert scale_of(depth(values, is_metric=False), monkeypatch).unit == "(relative)"


def test_a_small_object_before_a_flat_wall_is_seen() -> None:
    values = np.full((100, 100), 5.0, np.float32)
    values[50:55, 50:55] = 1.0
    spread = spread_of(values)
    assert (spread.near, spread.far, spread.is_cut_near, spread.is_cut_far) == (1.0, 5.0, False, False)
    drawn = scenes.opened(draw_depth(depth(values), "viridis"))
    assert (drawn[7 * 52, 7 * 52] == colours("viridis")[255]).all()
    assert (drawn[7 * 20, 7 * 20] == colours("viridis")[0]).all()


@pytest.mark.parametrize("value", [0.0, 3.2, 1e-30, 3e38])
def test_a_flat_map_shows_one_middle_colour_and_its_value(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    noisy = np.full((60, 80), value, np.float32)
    noisy[::2] = np.nextafter(noisy[::2], np.float32(np.inf)) if value > 1 else noisy[::2]
    drawn = scenes.opened(draw_depth(depth(noisy), "inferno"))
    assert (drawn[: len(drawn) // 2] == colours("inferno")[128]).all()
    said = scale_of(depth(noisy), monkeypatch)
    assert said.is_flat
    assert float(said.middle) == pytest.approx(value, rel=0.01)


def test_strips_of_a_large_map_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).uniform(1, 9, (61, 67)).astype(np.float32)
    whole = depth_view._entries(values, spread_of(values))
    monkeypatch.setattr(depth_view, "_STRIP_PIXELS", 200)
    assert (depth_view._entries(values, spread_of(values)) == whole).all()


@pytest.mark.parametrize("size_hw", [(480, 640), (640, 480), (24, 640), (640, 24), (12, 1000), (3000, 200)])
def test_the_scale_is_inset_and_in_the_lower_right_corner(size_hw: tuple[int, int]) -> None:
    values = np.full(size_hw, 2.0)
    drawn = scenes.opened(draw_depth(depth(values), "grayscale"))
    rows, columns = np.nonzero((drawn != 128).any(axis=2))
    assert rows.size
    height, width = size_hw
    assert rows.mean() >= height / 2 - 1
    assert columns.mean() >= width / 2 - 1
    assert (np.ptp(rows) + 1) * (np.ptp(columns) + 1) < 0.2 * height * width


def test_without_room_for_a_scale_there_is_none() -> None:
    drawn = scenes.opened(draw_depth(depth(np.tile(np.arange(700.0), (3, 1))), "grayscale"))
    assert drawn.shape == (3, 700, 3)
    assert (np.diff(drawn[:, :, 0].astype(int), axis=1) <= 0).all()


def test_the_bar_runs_from_near_to_far() -> None:
    canvas = Image.new("RGB", (640, 480))
    depth_view.draw_bar(canvas, colours("grayscale"), Scale(near="1", middle="2", far="3", unit="m"))
    rows = scenes.opened(canvas)[:, :, 0].astype(int)
    steps = [row[row.argmax() : row.argmax() + 300] for row in rows if row.max() == 255]
    assert any((np.diff(row) <= 0).all() and row[-1] < 80 for row in steps)
