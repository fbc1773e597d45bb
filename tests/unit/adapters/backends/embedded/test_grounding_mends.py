"""Layouts that once gave a wrong count or size, each of a kind of its own."""

from __future__ import annotations

import numpy as np
import pytest

from openvlharness_adapters.backends.embedded.vision.matching import detections_of, matched
from openvlharness_adapters.backends.embedded.vision.queries import ShapeQuery, understood_query
from openvlharness_adapters.backends.embedded.vision.scene import scene_of
from tests.support.shapes import asked_of, layout


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        ("overlap", 20003),  # between the tips of a star in front, a scrap looks like a triangle
        ("overlap", 22020),  # the cut corner of a square looks like one too
        ("outline", 21016),  # JPEG leaves a third of a thin stroke's colour
        ("nested", 23002),  # a small thing taken in by the one around it
    ],
)
def test_what_was_miscounted_once(kind: str, seed: int) -> None:
    shown = layout(kind, seed)
    scene = scene_of(shown.pixels)
    for colour, shape in asked_of(shown):
        query = understood_query(f"{colour or ''} {shape}s")
        assert isinstance(query, ShapeQuery)
        found, unnamed = matched(scene, query)
        assert unnamed or len(found) == len(shown.found(colour, shape)), (colour, shape)


def test_a_border_that_looks_like_a_blurred_edge_counts_for_the_size() -> None:
    """A grey border between orange and black has the colour of their mixture: without it another shape is the largest."""
    shown = layout("bordered", 5)
    scene = scene_of(shown.pixels)
    largest = detections_of(scene, ShapeQuery(extreme="largest"), shown.pixels)
    assert largest.unnamed  # by how much it is larger a border decides
    (orange,) = shown.found("orange", "rectangle")
    (box,) = detections_of(scene, ShapeQuery(colour="orange"), shown.pixels).boxes_xyxy_px.tolist()
    rows, columns = np.nonzero(orange.mask)
    assert box == pytest.approx([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1], abs=1.5)


@pytest.mark.parametrize(
    ("seed", "shape"),
    [
        (30065, "star"),  # grey between orange and blue, two pixels, along a star's long outline
        (30232, "shape"),  # grey between orange and white, a pixel and a half, around a star of the size of a triangle
        (30330, "triangle"),  # grey between pink and green, little more than a pixel of it seen
    ],
)
def test_a_border_as_narrow_as_a_blur_may_make_the_smaller_of_two_the_larger(seed: int, shape: str) -> None:
    scene = scene_of(layout("bordered", seed).pixels)
    query = understood_query(f"smallest {shape}")
    assert isinstance(query, ShapeQuery)
    assert matched(scene, query)[1]
