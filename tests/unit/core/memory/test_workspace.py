"""Registering all or nothing, pages, modules, and the inventory in words."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from openvlharness_core.calls import Findings, NewBinding, NewImage, NewPage, Registered
from openvlharness_core.errors import MalformedResultError, ToolFailure
from openvlharness_core.geometry import translation
from openvlharness_core.memory.inventory import announced, environment_update
from openvlharness_core.memory.workspace import MemoryModule, Workspace
from openvlharness_core.pictures import EncodedImage, RemotePicture
from tests.unit.core.kit import PROMPTS, picture


def found(**fields: object) -> Findings:
    """One of each, unless given."""
    usual: dict[str, object] = {
        "images": (NewImage(picture=picture("crop"), parents=("input_image_1",), to_source=translation(1, 2)),),
        "bindings": (NewBinding(stem="n", fields={"n": 1, "rows": [1, 2]}, image_id="input_image_1"),),
        "pages": (NewPage(url="https://example.com/a.png", title="A picture's page"),),
    }
    return Findings(data={}, **(usual | fields))  # type: ignore[arg-type]


START = Workspace().with_input(picture("q"))


def test_a_call_registers_pictures_bindings_and_pages() -> None:
    workspace, registered = START.register(found(), "Zoom_In_Tool")
    assert registered == Registered(images=("tool_generated_image_1",), bindings=("n",), pages=("webpage_url_1",))
    assert workspace.images.records[1].source == "Zoom_In_Tool"
    assert Workspace().with_input(picture("q")) == START, "the old value stays as it was"
    assert workspace.images.records[0] is START.images.records[0], "and is shared"


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (
            {"bindings": (NewBinding(stem="ok", fields={"n": 1}), NewBinding(stem="n", fields={"n": np.nan}))},
            "n.n: expected",
        ),
        ({"bindings": (NewBinding(stem="for", fields={}),)}, "binding name"),
        (
            {"images": (NewImage(picture=picture("x"), parents=("input_image_7",)),)},
            "images.parents: .* got 'input_image_7'",
        ),
        (
            {
                "images": (
                    NewImage(
                        picture=attrs.evolve(
                            picture("x"), full=EncodedImage(data=b"x", media_type="image/gif", size_hw=(1, 1))
                        )
                    ),
                )
            },
            "images.media_type: .* got 'image/gif'",
        ),
    ],
)
def test_a_breach_registers_nothing(broken: dict[str, object], said: str) -> None:
    with pytest.raises(MalformedResultError, match=said):
        START.register(found(**broken), "T")
    assert Workspace().with_input(picture("q")) == START


def test_a_known_page_keeps_its_handle() -> None:
    pages = tuple(NewPage(url=f"https://example.com/{name}") for name in ("a", "b", "a"))
    workspace, registered = START.register(found(pages=pages), "T")
    assert registered.pages == ("webpage_url_1", "webpage_url_2", "webpage_url_1")
    assert workspace.pages.resolve("Webpage_URL_2 ").url == "https://example.com/b"
    assert workspace.pages.resolve("https://example.com/a").handle == "webpage_url_1"
    with pytest.raises(ToolFailure, match="there is no page called 'webpage_url_9'; known ones: webpage_url"):
        workspace.pages.resolve("webpage_url_9")


@pytest.mark.parametrize(
    ("modules", "bindings", "pages"),
    [(("image", "tool_context"), ("n",), ()), (("image", "url"), (), ("webpage_url_1",)), (("image",), (), ())],
)
def test_a_module_that_is_off_registers_and_shows_nothing(
    modules: tuple[MemoryModule, ...], bindings: tuple[str, ...], pages: tuple[str, ...]
) -> None:
    workspace, registered = attrs.evolve(START, modules=modules).register(found(), "T")
    assert (registered.bindings, registered.pages) == (bindings, pages)
    assert registered.images == ("tool_generated_image_1",)
    said = environment_update(workspace, PROMPTS, None)
    assert ("update bindings" in said, "update pages" in said) == (bool(bindings), bool(pages))
    assert tuple(workspace.values()) == tuple(workspace.descriptors()) == bindings


def test_the_inventory_names_everything() -> None:
    workspace = START.with_input(RemotePicture(url="https://example.com/far.png"))
    workspace, _ = workspace.register(
        found(
            bindings=(
                NewBinding(
                    stem="m",
                    fields={"boxes": np.zeros((3, 4), np.float32), "masks": None, "rows": [1], "info": {}, "s": "x"},
                ),
            )
        ),
        "Zoom_In_Tool",
    )
    assert environment_update(workspace, PROMPTS, 20).splitlines() == [
        "update preamble",
        "update images",
        "- input_image_1: question, 60x40 px",
        "- input_image_2: question, size unknown",
        "- tool_generated_image_1: Zoom_In_Tool of input_image_1, 60x40 px",
        "update bindings",
        "- m: dict (boxes float32[3, 4], masks None, rows list[1], info dict, s str)",
        "update pages",
        "- webpage_url_1: A picture's page https://example.com/a.png",
    ]


def test_an_empty_inventory_says_so() -> None:
    said = environment_update(Workspace(), PROMPTS, 20)
    assert said.splitlines() == [
        "update preamble", "update images", "update none", "update bindings", "update none", "update pages", "update none",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("limit", "shown"), [(None, [1, 2, 3]), (5, [1, 2, 3]), (3, [1, 2, 3]), (2, [2, 3]), (1, [3]), (0, [])]
)
def test_only_the_newest_pages_are_listed(limit: int | None, shown: list[int]) -> None:
    pages = tuple(NewPage(url=f"https://example.com/{number}") for number in (1, 2, 3))
    workspace, _ = START.register(found(pages=pages), "T")
    lines = environment_update(workspace, PROMPTS, limit).splitlines()
    assert [line for line in lines if "webpage" in line] == [
        f"- webpage_url_{n}: https://example.com/{n}" for n in shown
    ]
    older = f"update older pages count={3 - len(shown)}"
    assert (older in lines) == (len(shown) < 3)
    assert workspace.pages.resolve("webpage_url_1").url == "https://example.com/1", "older ones still resolve"


def test_titles_and_half_characters_do_not_break_the_inventory() -> None:
    page = NewPage(url="https://example.com/\ud83d", title="line one\nline two " + "x" * 500)
    workspace, _ = START.register(found(pages=(page,)), "T")
    said = environment_update(workspace, PROMPTS, 20)
    said.encode()
    assert all(len(line) < 300 for line in said.splitlines())
    assert "line one line two" in said


def test_what_an_update_depends_on() -> None:
    before = announced(START)
    assert announced(START.register(Findings(data={}), "T")[0]) == before
    for part in ({"bindings": (), "pages": ()}, {"images": (), "pages": ()}, {"images": (), "bindings": ()}):
        assert announced(START.register(found(**part), "T")[0]) != before
