from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import ImageDraw

from openvlharness_adapters.imaging import trajectory_view
from openvlharness_adapters.imaging.birds_eye import seen_from_above
from openvlharness_adapters.imaging.lettering import Lettering, shown
from openvlharness_adapters.imaging.palette import Rgb
from openvlharness_adapters.imaging.trajectory_view import draw_trajectory
from openvlharness_core.cameras import CameraTrajectory
from tests.support import evidence_scenes as scenes

Word = tuple[str, tuple[int, int, int, int]]


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> list[Word]:
    """Text and rectangle of everything that is written."""
    written: list[Word] = []
    write = Lettering.draw_text

    def noting(
        lettering: Lettering, draw: ImageDraw.ImageDraw, corner: tuple[int, int], text: str, colour: Rgb
    ) -> None:
        width, height = lettering.text_wh(text)
        written.append((text, (*corner, corner[0] + width, corner[1] + height)))
        write(lettering, draw, corner, text, colour)

    monkeypatch.setattr(Lettering, "draw_text", noting)
    return written


def moved_world(trajectory: CameraTrajectory) -> CameraTrajectory:
    """The same cameras described in another world, whose first camera is not the identity."""
    world = np.eye(4)
    world[:3, :3], world[:3, 3] = scenes.turned(40, 25), (5, -3, 2)
    extrinsics = [(np.vstack([pose, [0, 0, 0, 1]]) @ np.linalg.inv(world))[:3] for pose in trajectory.extrinsics_w2c]
    return CameraTrajectory(
        intrinsics=trajectory.intrinsics,
        extrinsics_w2c=np.stack(extrinsics),
        sizes_hw=list(trajectory.sizes_hw),
        is_metric=trajectory.is_metric,
        translation_known=list(trajectory.translation_known),
    )


def test_places_and_headings_are_in_the_frame_of_the_first_camera() -> None:
    centres = np.array([[0, 0, 0], [1.0, 0.5, 2.0], [-3, 0, 1]])
    axes = [scenes.turned(0), scenes.turned(90), scenes.turned(-30, 20)]
    for trajectory in (scenes.travelled(centres, axes), moved_world(scenes.travelled(centres, axes))):
        view = seen_from_above(trajectory)
        assert np.allclose(view.places_xz, [[0, 0], [1, 2], [-3, 1]], atol=1e-5)
        level = np.cos(np.radians(20))
        assert np.allclose(view.headings_xz, [[0, 1], [1, 0], [-0.5 * level, np.sqrt(3) / 2 * level]], atol=1e-5)
        assert np.allclose(view.looks_down, [0, 0, np.sin(np.radians(20))], atol=1e-5)
        assert np.allclose(view.half_views, np.arctan(512 / 700))


def test_rounding_does_not_make_a_trajectory_of_one_place() -> None:
    axes = [scenes.turned(angle) for angle in (0, 40, 80)]
    far_from_origin = scenes.travelled(np.tile(np.array([[3000.0, 100, -2000]]), (3, 1)), axes)
    assert (seen_from_above(far_from_origin).places_xz == 0).all()


@settings(max_examples=40)
@given(
    st.integers(2, 50),
    st.sampled_from([0.0, 1e-30, 1e-6, 1.0, 1e6, 1e30]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_any_trajectory_is_drawn(count: int, size: float, is_metric: bool, seed: int) -> None:
    chance = np.random.default_rng(seed)
    axes = [scenes.turned(*chance.uniform(-180, 180, 2)) for _ in range(count)]
    known = [True, *(chance.uniform(size=count - 1) < 0.7).tolist()]
    trajectory = scenes.travelled(chance.normal(0, size, (count, 3)), axes, is_metric=is_metric, known=known)
    canvas = draw_trajectory(trajectory, scenes.handles(count))
    assert canvas.mode == "RGB"
    assert canvas.width >= 640


@pytest.mark.parametrize("count", [2, 12, 50])
@pytest.mark.parametrize("radius", [0.0, 2e-7, 2.0, 2e9])
def test_words_neither_overlap_nor_leave_the_sheet(words: list[Word], count: int, radius: float) -> None:
    canvas = draw_trajectory(scenes.along_an_arc(count, radius=radius), scenes.handles(count))
    assert sorted(text for text, _ in words if text.startswith("input")) == sorted(scenes.handles(count))
    for (one, (x1, y1, x2, y2)), (other, (u1, v1, u2, v2)) in combinations(words, 2):
        assert x2 <= u1 or u2 <= x1 or y2 <= v1 or v2 <= y1, f"{one} lies on {other}"
    for text, (x1, y1, x2, y2) in words:
        assert min(x1, y1) >= 0, text
        assert (x2 <= canvas.width, y2 <= canvas.height) == (True, True), text


def test_axes_and_a_round_scale_are_named(words: list[Word]) -> None:
    draw_trajectory(scenes.along_an_arc(12), scenes.handles(12))
    said = [text for text, _ in words]
    assert {"X right", "Z forward", "0.5 m"} <= set(said)
    assert any("input_image_1" in text and "from above" in text for text in said)


def test_an_unknown_scale_is_said(words: list[Word]) -> None:
    draw_trajectory(scenes.along_an_arc(3, is_metric=False), scenes.handles(3))
    said = [text for text, _ in words]
    assert any("scale unknown" in text for text in said)
    assert not any(text.endswith(" m") for text in said)


def test_the_bar_is_as_long_as_it_says() -> None:
    view = seen_from_above(scenes.travelled(np.array([[0, 0, 0], [4.0, 0, 0]]), [scenes.turned(0)] * 2))
    sheet = trajectory_view._sheet(view)
    (x1, _), (x2, _) = sheet.at(view.places_xz[0]), sheet.at(view.places_xz[1])
    assert (x2 - x1) / (sheet.square * sheet.per_unit) == pytest.approx(4 / sheet.square)
    assert sheet.square in (0.5, 1.0)
    forward = sheet.at(np.array([0.0, 1.0]))
    assert forward[1] < sheet.at(np.array([0.0, 0.0]))[1]


def test_without_a_translation_there_is_a_heading_and_a_word_about_it(words: list[Word]) -> None:
    axes = [scenes.turned(yaw) for yaw in (0, 30, -60)]
    known = scenes.travelled(np.zeros((3, 3)), axes, known=[True, False, False])
    canvas = draw_trajectory(known, scenes.handles(3))
    said = dict(words)
    assert any("No translation is known" in text for text in said)
    assert any("heading only" in text for text in said)
    plane = trajectory_view._PLANE_HEIGHT
    assert said["input_image_1"][3] < plane < said["input_image_2"][1]
    assert canvas.height > plane


def test_many_cameras_at_one_place_get_headings_of_their_own(words: list[Word]) -> None:
    axes = [scenes.turned(7.2 * n) for n in range(50)]
    draw_trajectory(scenes.travelled(np.zeros((50, 3)), axes), scenes.handles(50))
    said = dict(words)
    assert any("one place" in text for text in said)
    assert not any("unknown" in text for text in said)
    assert said["input_image_50"][1] > trajectory_view._PLANE_HEIGHT


def test_a_camera_that_looks_straight_down_says_so(words: list[Word]) -> None:
    axes = [scenes.turned(0), scenes.turned(10, 90), scenes.turned(0, -90)]
    draw_trajectory(scenes.travelled(np.array([[0, 0, 0], [1.0, 0, 0], [2, 0, 1]]), axes), ["a", "b", "c"])
    assert {"a", "b, looks down", "c, looks up"} <= {text for text, _ in words}


def test_the_wedge_lies_where_the_camera_looks() -> None:
    centres = np.array([[0, 0, 0], [1.0, 0, 0]])
    for yaw, towards in ((0, (0, -1)), (90, (1, 0)), (180, (0, 1)), (-90, (-1, 0))):
        trajectory = scenes.travelled(centres, [scenes.turned(0), scenes.turned(yaw)])
        drawn = scenes.opened(draw_trajectory(trajectory, ["1", "2"])).astype(int)
        x, y = trajectory_view._sheet(seen_from_above(trajectory)).at(np.array([1.0, 0.0]))
        blueness = drawn[:, :, 2] - drawn[:, :, 0]
        rows, columns = np.nonzero(blueness > 40)
        away = np.array([columns.mean() - x, rows.mean() - y])
        assert away @ np.array(towards) > 8
        assert abs(away @ np.array(towards)[::-1]) < 3


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("input_image_1", "input_image_1"),
        ("  two\nlines ", "two lines"),
        ("naïve → 图", "na?ve ? ?"),
        ("x" * 40, "x" * 13 + ".." + "x" * 13),
    ],
)
def test_labels_are_shown_on_one_line_in_signs_of_the_font(label: str, text: str) -> None:
    assert shown(label) == text


def test_an_empty_label_becomes_a_number(words: list[Word]) -> None:
    draw_trajectory(scenes.along_an_arc(2), ["", "\n"])
    assert {"1", "2"} <= {text for text, _ in words}


def test_a_label_for_every_camera_is_asked_for() -> None:
    with pytest.raises(ValueError, match="labels: expected one for each of 3 cameras, got 2"):
        draw_trajectory(scenes.along_an_arc(3), ["a", "b"])


def test_labels_of_cameras_on_a_line_stand_beside_their_own_marks(words: list[Word]) -> None:
    steps = 0.3 * np.arange(20)
    line = np.stack([np.zeros(20), np.zeros(20), steps], axis=1)
    draw_trajectory(scenes.travelled(line, [scenes.turned(0)] * 20), scenes.handles(20))
    middles = {text: (box[1] + box[3]) / 2 for text, box in words if text.startswith("input_image_")}
    between = np.diff([middles[handle] for handle in scenes.handles(20)])
    assert (between < 0).all()  # the further ahead, the higher up
    assert np.abs(between - between.mean()).max() < 0.6 * -between.mean()
