"""Every result and every call goes over the wire and comes back as it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from openvlharness_adapters.models.wire_json import json_bytes
from openvlharness_adapters.wire import (
    camera_pose,
    coding,
    depth,
    found,
    grounding,
    image_search,
    ocr,
    text_search,
    web_visit,
    zoom,
)
from openvlharness_adapters.wire.arrays import array_from_wire, array_to_wire
from openvlharness_adapters.wire.capabilities import WIRES
from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.depth import DepthMap
from openvlharness_core.detections import Detections
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.masks import encode_mask
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.results import Attempt, Crop, TextLine, Transcription
from openvlharness_core.seeking import SearchItem, SearchResults, VisitedPage
from openvlharness_core.testing.images import FakeCodec, fake_image

IMAGE = EncodedImage(data=fake_image(6, 8), media_type="image/png", size_hw=(6, 8))
_MASK = np.zeros((6, 8), bool)
_MASK[1:4, 2:7] = True


def over(wire: object) -> Any:
    """What the other side reads."""
    return orjson.loads(json_bytes(wire))


def _zoomed(result: object) -> Crop:
    return zoom.result_from_wire(result, FakeCodec())


RESULTS: dict[str, tuple[object, Callable[[Any], dict[str, object]], Callable[[object], object]]] = {
    "grounding": (
        Detections(
            boxes_xyxy_px=[[2, 1, 7, 4], [0.1, 0.2, 1 / 3, 5.5]],
            scores=[0.1, 1],
            masks=[encode_mask(_MASK), {"size": [6, 8], "counts": [48]}],
            size_hw=(6, 8),
            unnamed=2,
        ),
        grounding.result_to_wire,
        grounding.result_from_wire,
    ),
    "boxes alone": (
        Detections(boxes_xyxy_px=[], scores=[], size_hw=(6, 8)),
        grounding.result_to_wire,
        grounding.result_from_wire,
    ),
    "ocr": (
        Transcription(text="Tür 5\nend", lines=(TextLine(text="Tür 5", box_xyxy_px=(0, 1 / 3, 4, 5), score=0.7),)),
        ocr.result_to_wire,
        ocr.result_from_wire,
    ),
    "ocr without places": (Transcription(text=""), ocr.result_to_wire, ocr.result_from_wire),
    "depth": (
        DepthMap(values=np.linspace(0, 1, 12).reshape(3, 4), is_metric=True),
        depth.result_to_wire,
        depth.result_from_wire,
    ),
    "camera_pose": (
        CameraTrajectory(
            intrinsics=[[[100.1, 0, 4], [0, 100.1, 3], [0, 0, 1]]] * 2,
            extrinsics_w2c=[np.eye(4)[:3].tolist()] * 2,
            sizes_hw=((6, 8), (8, 6)),
            is_metric=False,
            translation_known=(True, False),
            notes=("a guess",),
        ),
        camera_pose.result_to_wire,
        camera_pose.result_from_wire,
    ),
    "zoom": (Crop(image=IMAGE, region_xyxy_px=(3, 4, 11, 10)), zoom.result_to_wire, _zoomed),
    "search": (
        SearchResults(
            items=(
                SearchItem(
                    title="a",
                    url="https://a.example/",
                    source="s",
                    snippet="t",
                    thumbnail=b"\x00\xff",
                    details=(("n", "v"),),
                ),
                SearchItem(title="b", thumbnail_url="https://a.example/t.png"),
            ),
            summary="a [1]",
            note="n",
        ),
        found.result_to_wire,
        found.result_from_wire,
    ),
    "nothing found": (
        SearchResults(items=(), nothing_relevant="try other words"),
        found.result_to_wire,
        found.result_from_wire,
    ),
    "web_visit": (
        (
            VisitedPage(url="https://a.example/", title="t", ok=True, evidence="e", summary="s"),
            VisitedPage(url="file://corpus/b", ok=False, reason="gone"),
        ),
        web_visit.result_to_wire,
        web_visit.result_from_wire,
    ),
    "coding": ("print(1)\n", coding.result_to_wire, coding.result_from_wire),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_comes_back_as_it_was(name: str) -> None:
    value, to_wire, from_wire = RESULTS[name]
    assert from_wire(over(to_wire(value))) == value


CALLS: dict[str, tuple[str, Mapping[str, object], object]] = {
    "grounding": (
        "grounding",
        grounding.args_to_wire(IMAGE, "cup"),
        grounding.GroundingCall(image=IMAGE.data, query="cup"),
    ),
    "ocr": ("ocr", ocr.args_to_wire(IMAGE), ocr.OcrCall(image=IMAGE.data)),
    "depth": ("depth", depth.args_to_wire(IMAGE), depth.DepthCall(image=IMAGE.data)),
    "camera_pose": (
        "camera_pose",
        camera_pose.args_to_wire((IMAGE, IMAGE)),
        camera_pose.CameraCall(images=(IMAGE.data,) * 2),
    ),
    "zoom": (
        "zoom",
        zoom.args_to_wire(IMAGE, (0, 1.5, 10, 1000), 3),
        zoom.ZoomCall(image=IMAGE.data, box_xyxy_grid=(0, 1.5, 10, 1000), padding=3),
    ),
    "text_search": (
        "text_search",
        text_search.args_to_wire("q", "news"),
        text_search.TextSearchCall(query="q", search_type="news"),
    ),
    "image_search": ("image_search", image_search.args_to_wire(IMAGE), image_search.ImageSearchCall(image=IMAGE.data)),
    "web_visit": (
        "web_visit",
        web_visit.args_to_wire(["https://a/"], "g"),
        web_visit.VisitCall(urls=("https://a/",), goal="g"),
    ),
    "coding": (
        "coding",
        coding.args_to_wire("o", {"d": {"type": "dict"}}, [Attempt(program="p", error="e", stdout="s")]),
        coding.WriteCall(
            objective="o", descriptors={"d": {"type": "dict"}}, attempts=(Attempt(program="p", error="e", stdout="s"),)
        ),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_comes_back_as_it_was(name: str) -> None:
    capability, args, call = CALLS[name]
    assert WIRES[capability].read(over(args)) == call


def test_every_capability_has_a_wire_and_a_row_here() -> None:
    assert set(WIRES) == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("extra", ["endpoint", "api_key", "server_url", "timeout_seconds", "threshold", "max_tokens"])
def test_an_argument_that_is_none_is_refused_by_name(name: str, extra: str) -> None:
    capability, args, _ = CALLS[name]
    with pytest.raises(MalformedResultError) as caught:
        WIRES[capability].read({**args, extra: 1})
    assert caught.value.field == extra


@given(arrays.arrays(np.float32, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0), elements=st.floats(width=32)))
def test_an_array_travels_bit_by_bit(array: np.ndarray) -> None:
    there = array_from_wire(over(array_to_wire(array)), "depth")
    assert there.shape == array.shape
    assert there.tobytes() == array.tobytes()


def test_an_array_that_is_no_plain_block_travels_as_well() -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]
    assert (array_from_wire(array_to_wire(array), "depth") == array).all()


def test_small_arrays_may_come_as_arrays_or_as_lists() -> None:
    wire = over(grounding.result_to_wire(RESULTS["grounding"][0]))  # type: ignore[arg-type]
    boxes = np.array(wire["pred_boxes"], np.float32)
    assert grounding.result_from_wire({**wire, "pred_boxes": array_to_wire(boxes)}) == RESULTS["grounding"][0]


# ---- nothing broken comes through ------------------------------------------------------------------------------------


def _broken(value: object) -> list[object]:
    """Other values than this one, of the same kind and of others."""
    others: list[object] = [None, True, -1, 1.5, "x", "", [], {}, [None], {"a": 1}, float("1e400"), [[1, 2], [3]]]
    return [other for other in others if other != value or type(other) is not type(value)]


@pytest.mark.parametrize("name", RESULTS)
def test_a_broken_result_is_always_a_malformed_result(name: str) -> None:
    """Each field replaced and left out, at every depth: what is read in spite of it must be a sound value."""
    _, to_wire, from_wire = RESULTS[name]
    whole = over(to_wire(RESULTS[name][0]))
    tried, unnamed = 0, False
    for path in _paths(whole):
        for other in [*_broken(_at(whole, path)), _LEFT_OUT]:
            tried += 1
            try:
                value = from_wire(_changed(whole, path, other))
            except MalformedResultError as error:
                unnamed = unnamed or not (error.field and error.expected)
            else:
                if not isinstance(value, str | tuple):
                    attrs.evolve(value)  # type: ignore[type-var]  # its own rules hold
    assert tried >= 12
    assert not unnamed


@pytest.mark.parametrize(
    ("name", "path", "value", "field"),
    [
        ("grounding", ("pred_boxes", 0), [1, 2, 3], "pred_boxes"),
        ("grounding", ("pred_boxes", 0, 0), True, "pred_boxes"),
        ("grounding", ("pred_scores",), [0.5], "pred_scores"),
        ("grounding", ("num_masks",), 1, "num_masks"),
        ("grounding", ("num_masks",), None, "num_masks"),
        ("grounding", ("pred_masks", 1, "size"), [8, 6], "pred_masks[1].size"),
        ("grounding", ("orig_img_h",), 0, "orig_img_h, orig_img_w"),
        ("ocr", ("lines", 0, "score"), 2, "lines[0].score"),
        ("ocr", ("lines", 0, "box"), [4, 0, 1, 1], "lines[0].box"),
        ("ocr", ("lines", 0, "text"), " ", "lines[0].text"),
        ("depth", ("depth", "dtype"), "float64", "depth.dtype"),
        ("depth", ("depth", "shape"), [4, 3], "depth.shape"),
        ("depth", ("depth", "shape"), [3, 5], "depth.data"),
        ("depth", ("depth", "data"), "AA AA", "depth.data"),
        ("depth", ("size",), [3, 4.0], "size"),
        ("camera_pose", ("extrinsics",), [], "extrinsics"),
        ("camera_pose", ("sizes", 1), [0, 6], "sizes[1]"),
        ("camera_pose", ("translation_known",), [True], "translation_known"),
        ("camera_pose", ("notes", 0), 5, "notes[0]"),
        ("zoom", ("region",), [0, 0, 5, 5], "region"),
        ("zoom", ("image",), "data:image/png;base64,AAAA", "image"),
        ("search", ("items", 1, "title"), "", "items[1].title"),
        ("search", ("items", 0, "url"), "javascript:1", "items[0].url"),
        ("search", ("items", 0, "thumbnail"), "http://a/", "items[0].thumbnail"),
        ("search", ("items", 0, "details", 0), ["n"], "items[0].details[0]"),
        ("search", ("nothing_relevant",), "but there is", "nothing_relevant"),
        ("web_visit", ("pages", 1, "reason"), "", "pages[1].reason"),
        ("web_visit", ("pages", 0, "ok"), 1, "pages[0].ok"),
        ("coding", ("program",), "  ", "program"),
    ],
)
def test_the_field_is_named(name: str, path: tuple[str | int, ...], value: object, field: str) -> None:
    _, to_wire, from_wire = RESULTS[name]
    with pytest.raises(MalformedResultError) as caught:
        from_wire(_changed(over(to_wire(RESULTS[name][0])), path, value))
    assert caught.value.field == field


_LEFT_OUT = object()


def _paths(value: object, place: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for key, each in inside for path in ((*place, key), *_paths(each, (*place, key)))]


def _at(value: Any, path: tuple[str | int, ...]) -> object:
    for key in path:
        value = value[key]
    return value


def _changed(value: Any, path: tuple[str | int, ...], other: object) -> Any:
    copy = orjson.loads(orjson.dumps(value))
    holder = _at(copy, path[:-1])
    if other is _LEFT_OUT:
        del holder[path[-1]]  # type: ignore[attr-defined]
    else:
        holder[path[-1]] = other  # type: ignore[index]
    return copy
