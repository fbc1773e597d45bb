"""Pictures under handles: identity, aliases, and the way back to where a picture came from."""

from __future__ import annotations

import numpy as np
import pytest

from openvlharness_core.calls import Findings, NewImage
from openvlharness_core.capabilities.regions import region_note, to_source_field
from openvlharness_core.code_helpers import map_boxes
from openvlharness_core.errors import ToolFailure
from openvlharness_core.geometry import IDENTITY, Affine, translation
from openvlharness_core.memory.images import ImageMemory, Lineage
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.pictures import RemotePicture
from tests.unit.core.kit import PROMPTS, picture


def memory(*contents: str) -> Workspace:
    """A question with these pictures."""
    workspace = Workspace()
    for content in contents:
        workspace = workspace.with_input(picture(content, 100, 200))
    return workspace


def with_image(
    workspace: Workspace,
    content: str,
    *parents: str,
    to_source: Affine | None = None,
    tool: str = "Zoom_In_Tool",
    height: int = 40,
    width: int = 60,
) -> tuple[Workspace, str]:
    """One more tool picture and its handle."""
    new = NewImage(picture=picture(content, height, width), parents=parents, to_source=to_source)
    after, registered = workspace.register(Findings(data={}, images=(new,)), tool)
    return after, registered.images[0]


def test_pictures_of_the_question_are_numbered_and_never_merged() -> None:
    workspace = memory("a", "b", "a")
    assert [record.handle for record in workspace.images.records] == ["input_image_1", "input_image_2", "input_image_3"]


def test_tool_pictures_share_one_counter_in_registration_order() -> None:
    workspace = memory("q")
    handles = []
    for number, tool in enumerate(["Zoom_In_Tool", "Depth_Tool", "Zoom_In_Tool"]):
        workspace, handle = with_image(workspace, str(number), tool=tool)
        handles.append(handle)
    assert handles == ["tool_generated_image_1", "tool_generated_image_2", "tool_generated_image_3"]


def test_known_bytes_take_the_lowest_handle_that_has_them() -> None:
    workspace = memory("a", "b", "b")
    new = NewImage(picture=picture("b", 100, 200))
    after, registered = workspace.register(Findings(data={}, images=(new, new)), "T")
    assert registered.images == ("input_image_2", "input_image_2")
    assert after.images == workspace.images
    workspace, first = with_image(workspace, "crop")
    workspace, again = with_image(workspace, "crop")
    assert first == again == "tool_generated_image_1"


def test_bytes_that_only_begin_alike_are_another_picture() -> None:
    workspace, first = with_image(memory("q"), "x")
    workspace, second = with_image(workspace, "xx")
    workspace, third = with_image(workspace, "x", height=60, width=40)
    assert len({first, second, third}) == 3


def test_a_remote_picture_meets_known_bytes_once_downloaded() -> None:
    workspace = Workspace().with_input(RemotePicture(url="https://example.com/a.png"))
    workspace, early = with_image(workspace, "same")
    assert early == "tool_generated_image_1", "nobody knows yet"
    workspace = workspace.with_download("input_image_1", picture("same"))
    workspace, late = with_image(workspace, "same")
    assert late == "input_image_1"
    assert workspace.images.records[0].url == "https://example.com/a.png"


def test_known_bytes_with_other_parents_keep_every_lineage_and_the_newest_serves() -> None:
    workspace = memory("q", "r")
    one, two = translation(10, 20), translation(30, 40)
    workspace, handle = with_image(workspace, "blank", "input_image_1", to_source=one)
    workspace, same = with_image(workspace, "blank", "input_image_2", to_source=two)
    record = workspace.images.resolve(handle)
    assert handle == same
    assert record.lineages == (
        Lineage(tool="Zoom_In_Tool", parents=("input_image_1",), to_source=one),
        Lineage(tool="Zoom_In_Tool", parents=("input_image_2",), to_source=two),
    )
    assert (record.parents, record.to_source) == (("input_image_2",), two)
    assert workspace.images.origin(handle) == ("input_image_2", two)
    workspace, _ = with_image(workspace, "blank", "input_image_1", to_source=one)
    record = workspace.images.resolve(handle)
    assert len(record.lineages) == 2, "each once"
    assert record.to_source == one, "the newest again"
    after, _ = with_image(workspace, "blank", "input_image_1", to_source=one)
    assert after.images is workspace.images, "nothing new"


def test_a_picture_of_the_question_that_is_a_crop_of_another_says_so() -> None:
    workspace = memory("whole").with_input(picture("part", 30, 50))
    new = NewImage(picture=picture("part", 30, 50), parents=("input_image_1",), to_source=translation(5, 6))
    workspace, registered = workspace.register(Findings(data={}, images=(new,)), "Zoom_In_Tool")
    assert registered.images == ("input_image_2",)
    record = workspace.images.resolve("input_image_2")
    assert (record.source, record.parents) == ("question", ("input_image_1",))
    assert workspace.images.origin("input_image_2") == ("input_image_1", translation(5, 6))


@pytest.mark.parametrize("to_source", [None, IDENTITY])
def test_a_picture_of_the_question_is_not_its_own_crop(to_source: Affine | None) -> None:
    workspace = memory("whole")
    new = NewImage(picture=picture("whole", 100, 200), parents=("input_image_1",), to_source=to_source)
    after, registered = workspace.register(Findings(data={}, images=(new,)), "T")
    assert registered.images == ("input_image_1",)
    assert after.images is workspace.images


def test_the_way_back_goes_through_two_zooms() -> None:
    workspace = memory("q")
    workspace, outer = with_image(workspace, "1", "input_image_1", to_source=translation(50, 20), height=60, width=80)
    workspace, inner = with_image(workspace, "2", outer, to_source=translation(7, 9), height=10, width=20)
    assert workspace.images.origin(inner) == ("input_image_1", translation(57, 29))
    assert workspace.images.origin("input_image_1") == ("input_image_1", IDENTITY)
    (to_source,) = to_source_field(inner, workspace).values()
    assert isinstance(to_source, np.ndarray), "arrays reach code as arrays"
    assert to_source.tolist() == [[1.0, 0.0, 57.0], [0.0, 1.0, 29.0]]
    assert map_boxes([[1, 2, 3, 4]], to_source).tolist() == [[58, 31, 60, 33]]
    assert to_source_field("input_image_1", workspace) == {}
    (note,) = region_note(inner, workspace, PROMPTS)
    # x 57 to 77 of 200, y 29 to 39 of 100, on the grid
    assert note.text == (f"region of image handle={inner} region=[285, 290, 385, 390] source=input_image_1")
    assert region_note("input_image_1", workspace, PROMPTS) == ()


def test_a_picture_without_a_map_is_its_own_origin() -> None:
    workspace, handle = with_image(memory("q"), "thumbnail", "input_image_1")
    assert workspace.images.origin(handle) == (handle, IDENTITY)
    assert region_note(handle, workspace, PROMPTS) == ()


def test_lineages_that_go_round_end() -> None:
    workspace = memory("q")
    workspace, a = with_image(workspace, "a", "input_image_1", to_source=translation(1, 0))
    workspace, b = with_image(workspace, "b", a, to_source=translation(2, 0))
    workspace, again = with_image(workspace, "a", b, to_source=translation(4, 0))
    assert again == a
    handle, _ = workspace.images.origin(a)
    assert handle in (a, b)


@pytest.mark.parametrize(
    "alias",
    [
        "input_image_2", "INPUT_IMAGE_2", " input_image_2\n", '"input_image_2"', "'input_image_2'", "`input_image_2`",
        "<input_image_2>", "[input_image_2]", "(input_image_2)", "input_image_2.png", "Input_Image_2.JPEG", '"input_image_2.png"',
        '"input_image_2".png', "input_image_2 .png", "\tinput_image_2.webp ",
    ],
)  # fmt: skip
def test_an_alias_names_the_same_picture(alias: str) -> None:
    assert memory("a", "b").images.resolve(alias).handle == "input_image_2"


@pytest.mark.parametrize(
    "alias", ["", "input_image_3", "input_image_", "input_image_22", "photo.png", "\ud83d", "input image 2", "x" * 900]
)
def test_an_unknown_alias_is_told_the_nearest(alias: str) -> None:
    with pytest.raises(ToolFailure, match=r"known ones: .*input_image_2") as raised:
        memory("a", "b").images.resolve(alias)
    assert raised.value.code == "unknown_reference"
    assert len(raised.value.message) < 300


def test_of_many_the_nearest_are_listed_and_the_rest_counted() -> None:
    workspace = memory(*map(str, range(30)))
    with pytest.raises(ToolFailure, match=r"known ones: input_image_10, input_image_1, .* and 25 more"):
        workspace.images.resolve("input_image_100")
    with pytest.raises(ToolFailure, match="there is no image called 'x'; known ones: none"):
        ImageMemory().resolve("x")


def test_sizes_are_height_and_width_and_unknown_before_the_download() -> None:
    workspace = memory("a").with_input(RemotePicture(url="https://example.com/a.png"))
    assert [record.size_hw for record in workspace.images.records] == [(100, 200), None]
