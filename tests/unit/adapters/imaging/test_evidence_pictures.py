"""Drawings against stored ones; `python -m tests.support.draw_evidence` writes those anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from openvlharness_adapters.imaging.overlays import draw_overlay
from tests.support import evidence_scenes as scenes
from tests.support.draw_evidence import DRAWN, FOLDER, small

MEAN, WORST_TILE = 0.5, 6.0
"""Largest absolute differences, of 255, over all and over any tile of 16 x 16: font renderers differ by less."""


def differences(drawn: Image.Image, stored: Image.Image) -> tuple[float, float]:
    assert drawn.size == stored.size
    off = np.abs(scenes.opened(drawn).astype(float) - scenes.opened(stored)).mean(axis=2)
    rows, columns = (np.arange(0, side, 16) for side in off.shape)
    sums = np.add.reduceat(np.add.reduceat(off, rows, axis=0), columns, axis=1)
    areas = np.outer(np.diff(np.append(rows, off.shape[0])), np.diff(np.append(columns, off.shape[1])))
    return float(off.mean()), float((sums / areas).max())


@pytest.mark.parametrize("name", DRAWN)
def test_drawings_look_as_they_did(name: str) -> None:
    with Image.open(FOLDER / f"{name}.png") as stored:
        mean, worst = differences(small(DRAWN[name]()), stored)
    assert (mean <= MEAN, worst <= WORST_TILE) == (True, True), f"{mean:.2f} on average, {worst:.1f} in the worst tile"


def test_every_stored_picture_is_compared() -> None:
    assert sorted(path.stem for path in Path(FOLDER).iterdir()) == sorted(DRAWN)


def test_the_comparison_sees_one_exchanged_number() -> None:
    boxes = scenes.ellipses(12, (120, 160))
    pixels = scenes.painted(boxes, (120, 160))
    exchanged = [*boxes[:4], boxes[5], boxes[4], *boxes[6:]]
    drawings = [small(draw_overlay(pixels, scenes.detected(some, (120, 160)))) for some in (boxes, exchanged)]
    assert differences(*drawings)[1] > WORST_TILE
