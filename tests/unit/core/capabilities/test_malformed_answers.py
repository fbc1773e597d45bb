"""Backends that answer with anything: nothing is registered, no update is sent, and the model reads which field was wrong.

Each tool meets a good answer with one thing changed, made from a list of junk for every field and from the mistakes
that real services make.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

from openvlharness_core.agent.steps import EnvironmentUpdateStep, ToolStep
from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.capabilities.base import Capability
from openvlharness_core.capabilities.camera_pose import CameraPoseCapability
from openvlharness_core.capabilities.coding import CodingCapability
from openvlharness_core.capabilities.depth import DepthCapability
from openvlharness_core.capabilities.grounding import GroundingCapability
from openvlharness_core.capabilities.image_search import ImageSearchCapability
from openvlharness_core.capabilities.ocr import OcrCapability
from openvlharness_core.capabilities.text_search import TextSearchCapability
from openvlharness_core.capabilities.toolset import Toolset
from openvlharness_core.capabilities.web_visit import WebVisitCapability
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.depth import DepthMap
from openvlharness_core.detections import Detections
from openvlharness_core.masks import encode_mask
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.question import Question
from openvlharness_core.results import Answered, Crop, Outcome, TextLine, Transcription
from openvlharness_core.seeking import SearchItem, SearchResults, VisitedPage
from openvlharness_core.testing import FakeCodeExecutor, FakeCodeGenerator, calling, fake_image, saying
from openvlharness_core.usage import Spent
from tests.unit.core.agents import agent, image, model_of
from tests.unit.core.capabilities.stage import IMAGE, Backend, Renderer
from tests.unit.core.kit import text_of

NAN, INF = float("nan"), float("inf")
HEIGHT, WIDTH = 40, 60
LOOP: list[object] = []
LOOP.append(LOOP)
JUNK: list[object] = [
    None, "", "text", b"\x00", True, False, 0, -1, 3, 2.5, NAN, INF, 10**400, [], {}, [None], ["x"], [True], [NAN], [[1, 2], [3]],
    {"a": 1}, object(), LOOP, np.array(3.0), np.array(["x"]), np.zeros((0, 3)), 1 + 2j, {1, 2},
]  # fmt: skip
"""For any field; each tool leaves out what happens to fit."""


def among(value: object, *fitting: object) -> bool:
    """Equality that no array and no list that holds itself breaks."""
    return any(type(value) is type(each) and repr(value) == repr(each) for each in fitting)


@attrs.frozen(kw_only=True)
class Case:
    """One malformed answer.

    Attributes:
        name: for the report of the test.
        make: gives the answer, or raises as an adapter would while it builds the value.
        field: what the model has to be told was wrong.
        code: how the failure is called.
    """

    name: str
    make: Callable[..., Any]
    field: str
    code: str = "malformed_result"


@attrs.frozen(kw_only=True)
class Tool:
    """A tool, how it is called, and a good answer as the fields of a value."""

    of: Callable[[Backend], Capability]
    arguments: dict[str, object]
    kind: Callable[..., Any]
    good: dict[str, Any]
    wrap: Callable[[Any], Any] = lambda value: value

    def answer(self, **changes: Any) -> Callable[..., Any]:
        """A backend's answer with some fields changed."""
        return lambda *asked: self.wrap(self.kind(**(self.good | changes)))

    def junk(self, field: str, named: str, fits: Callable[[object], bool]) -> list[Case]:
        """Every junk value in one field, but what fits there."""
        return [
            Case(name=f"{field}={value!r:.30}", make=self.answer(**{field: value}), field=named)
            for value in JUNK
            if not fits(value)
        ]

    def case(self, name: str, field: str, **changes: Any) -> Case:
        """One change by name."""
        return Case(name=name, make=self.answer(**changes), field=field)


def anything_else(tool: str) -> list[Case]:
    """Answers that are no values of ours at all, and bugs."""

    def fails(error: Exception) -> Callable[..., Any]:
        def make(*asked: object) -> Any:
            raise error

        return make

    return [
        *(Case(name=f"value {v!r:.20}", make=lambda *_, v=v: v, field=f"{tool} value") for v in (None, "x", {}, [], 3)),
        Case(name="no answer", make=lambda *_: NotImplemented, field=f"{tool} backend"),
        *(
            Case(name=type(error).__name__, make=fails(error), field="failed with", code="tool_execution_error")
            for error in (
                KeyError("pred_boxes"),
                TypeError("'NoneType' object is not subscriptable"),
                IndexError("list index"),
            )
        ),
    ]


def block(x1: int, y1: int, x2: int, y2: int, size: tuple[int, int] = (HEIGHT, WIDTH)) -> np.ndarray:
    mask = np.zeros(size, bool)
    mask[y1:y2, x1:x2] = True
    return mask


MASK = block(10, 5, 30, 25)
RLE = encode_mask(MASK)
TEXT = str(RLE["counts"])
BOX = [10.0, 5.0, 30.0, 25.0]
GROUNDING = Tool(
    of=lambda backend: GroundingCapability(backend=backend, renderer=Renderer()),
    arguments={"query": "cup", **IMAGE},
    kind=Detections,
    good={
        "boxes_xyxy_px": [BOX, BOX],
        "scores": [0.5, 0.25],
        "masks": [RLE, RLE],
        "size_hw": (HEIGHT, WIDTH),
        "unnamed": None,
    },
)


def _with_mask(name: str, mask: object, field: str = "pred_masks[1]") -> Case:
    return GROUNDING.case(f"mask {name}", field, masks=[RLE, mask])


def _with_box(name: str, *box: object) -> Case:
    return GROUNDING.case(f"box {name}", "pred_boxes", boxes_xyxy_px=[BOX, list(box)])


GROUNDING_CASES = [
    *GROUNDING.junk("boxes_xyxy_px", "pred_", lambda value: False),
    *GROUNDING.junk("scores", "pred_scores", lambda value: False),
    *GROUNDING.junk("masks", "pred_masks", lambda value: value is None),
    *GROUNDING.junk("size_hw", "size", lambda value: False),
    *GROUNDING.junk("unnamed", "unnamed", lambda value: value is None or (type(value) is int and value >= 0)),
    _with_box("swapped in x", 30, 5, 10, 25), _with_box("swapped in y", 10, 25, 30, 5), _with_box("beyond the right", 10, 5, 62, 25),
    _with_box("beyond the bottom", 10, 5, 30, 42), _with_box("before the left", -2, 5, 30, 25), _with_box("NaN", NAN, 5, 30, 25),
    _with_box("infinite", 10, 5, INF, 25), _with_box("too large for float32", 10, 5, 1e39, 25), _with_box("text", "10", 5, 30, 25),
    _with_box("flag", True, 5, 30, 25), _with_box("null", None, 5, 30, 25), _with_box("three", 10, 5, 30), _with_box("five", 1, 2, 3, 4, 5),
    GROUNDING.case("on the grid of 1000", "pred_boxes", boxes_xyxy_px=[[166, 125, 500, 625], BOX]),
    GROUNDING.case("one box too few", "pred_scores", boxes_xyxy_px=[BOX]),
    GROUNDING.case("score above 1", "pred_scores", scores=[0.5, 1.01]), GROUNDING.case("score below 0", "pred_scores", scores=[-0.1, 0.5]),
    GROUNDING.case("score in percent", "pred_scores", scores=[50, 25]), GROUNDING.case("score flag", "pred_scores", scores=[True, 0.5]),
    GROUNDING.case("scores as column", "pred_scores", scores=[[0.5], [0.25]]),
    GROUNDING.case("one mask", "pred_masks", masks=[RLE]), GROUNDING.case("three masks", "pred_masks", masks=[RLE] * 3),
    *(_with_mask(f"{junk!r:.20}", junk) for junk in JUNK),
    _with_mask("without counts", {"size": [HEIGHT, WIDTH]}), _with_mask("without size", {"counts": TEXT}),
    _with_mask("of width by height", {"size": [WIDTH, HEIGHT], "counts": TEXT}), _with_mask("as array", MASK),
    _with_mask("row by row", {"size": [HEIGHT, WIDTH], "counts": encode_mask(MASK.T)["counts"]}),
    _with_mask("of another thing", encode_mask(block(40, 30, 50, 39))), _with_mask("cut", RLE | {"counts": TEXT[:-1]}),
    _with_mask("empty text", RLE | {"counts": ""}), _with_mask("longer", RLE | {"counts": TEXT + "5"}),
    _with_mask("foreign sign", RLE | {"counts": TEXT + " "}), _with_mask("negative", RLE | {"counts": [HEIGHT * WIDTH + 5, -5]}),
    _with_mask("one pixel short", RLE | {"counts": [HEIGHT * WIDTH - 1]}), _with_mask("flags", RLE | {"counts": [HEIGHT * WIDTH - 1, True]}),
    _with_mask("huge count", RLE | {"counts": [2**62, 2**62]}), _with_mask("huge size", {"size": [2**31, 2**31], "counts": [2**62]}),
    _with_mask("fractions", RLE | {"counts": [2400.0]}),
    GROUNDING.case("picture of another size", "size", size_hw=(HEIGHT + 1, WIDTH), masks=None),
    GROUNDING.case("nothing found in another picture", "size", boxes_xyxy_px=[], scores=[], masks=None, size_hw=(WIDTH, HEIGHT)),
    *anything_else("grounding"),
]  # fmt: skip

PLANE = np.linspace(1, 5, HEIGHT * WIDTH).reshape(HEIGHT, WIDTH)
DEPTH = Tool(
    of=lambda backend: DepthCapability(backend=backend, renderer=Renderer()),
    arguments=IMAGE,
    kind=DepthMap,
    good={"values": PLANE, "is_metric": True},
)


def _with_pixel(name: str, value: float, dtype: type = np.float64) -> Case:
    plane = PLANE.astype(dtype)
    plane[3, 4] = value
    return DEPTH.case(f"pixel {name}", "depth.values", values=plane)


DEPTH_CASES = [
    *DEPTH.junk("values", "depth.values", lambda value: False),
    *DEPTH.junk("is_metric", "depth.is_metric", lambda value: isinstance(value, bool)),
    _with_pixel("NaN", NAN), _with_pixel("infinite", INF), _with_pixel("minus infinite", -INF), _with_pixel("negative", -0.01),
    _with_pixel("too large for float32", 1e39),
    DEPTH.case("width by height", "depth.values", values=PLANE.T), DEPTH.case("half size", "depth.values", values=PLANE[::2, ::2]),
    DEPTH.case("one row short", "depth.values", values=PLANE[1:]), DEPTH.case("flat list", "depth.values", values=PLANE.ravel()),
    DEPTH.case("with batch", "depth.values", values=PLANE[None]), DEPTH.case("with channels", "depth.values", values=PLANE[..., None]),
    DEPTH.case("ragged", "depth.values", values=[[1.0] * WIDTH] * (HEIGHT - 1) + [[1.0]]),
    DEPTH.case("flags", "depth.values", values=PLANE > 2), DEPTH.case("a flag in a list", "depth.values", values=[[1.0, True]]),
    DEPTH.case("texts", "depth.values", values=PLANE.astype(str)), DEPTH.case("objects", "depth.values", values=PLANE.astype(object)),
    DEPTH.case("complex", "depth.values", values=PLANE + 1j), DEPTH.case("no pixels", "depth.values", values=np.zeros((0, WIDTH))),
    DEPTH.case("bytes", "depth.values", values=PLANE.astype(np.float32).tobytes()),
    *anything_else("depth"),
]  # fmt: skip

K = [[50.0, 0, 30], [0, 50, 20], [0, 0, 1]]
STILL = [[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
CAMERAS = Tool(
    of=lambda backend: CameraPoseCapability(backend=backend, renderer=Renderer()),
    arguments={"image_ids": ["input_image_1", "input_image_2"]},
    kind=CameraTrajectory,
    good={
        "intrinsics": [K, K],
        "extrinsics_w2c": [STILL, STILL],
        "sizes_hw": [(HEIGHT, WIDTH)] * 2,
        "is_metric": True,
        "translation_known": [True, True],
        "notes": (),
    },
)


def _changed(matrix: list[list[float]], row: int, column: int, value: Any) -> list[list[Any]]:
    return [[value if (r, c) == (row, column) else v for c, v in enumerate(line)] for r, line in enumerate(matrix)]


def _with_extrinsics(name: str, matrix: Any) -> Case:
    return CAMERAS.case(f"extrinsics {name}", "extrinsics", extrinsics_w2c=[STILL, matrix])


def _with_intrinsics(name: str, matrix: Any) -> Case:
    return CAMERAS.case(f"intrinsics {name}", "intrinsics", intrinsics=[K, matrix])


CAMERA_CASES = [
    *CAMERAS.junk("intrinsics", "intrinsics", lambda value: False),
    *CAMERAS.junk("extrinsics_w2c", "extrinsics", lambda value: False),
    *CAMERAS.junk("sizes_hw", "sizes", lambda value: False),
    *CAMERAS.junk("is_metric", "is_metric", lambda value: isinstance(value, bool)),
    *CAMERAS.junk("translation_known", "translation_known", lambda value: False),
    *CAMERAS.junk("notes", "notes", lambda value: among(value, [], ["x"])),
    _with_extrinsics("mirrored", _changed(STILL, 0, 0, -1)), _with_extrinsics("scaled", (2 * np.array(STILL)).tolist()),
    _with_extrinsics("sheared", _changed(STILL, 0, 1, 0.01)), _with_extrinsics("zero", np.zeros((3, 4))),
    _with_extrinsics("NaN", _changed(STILL, 1, 3, NAN)), _with_extrinsics("infinite", _changed(STILL, 1, 3, INF)),
    _with_extrinsics("too large", _changed(STILL, 1, 3, 1e39)), _with_extrinsics("enormous rotation", _changed(STILL, 1, 1, 1e30)),
    _with_extrinsics("4 by 4", np.eye(4)), _with_extrinsics("transposed", np.transpose(STILL)), _with_extrinsics("a flag", _changed(STILL, 0, 0, True)),
    _with_extrinsics("a text", _changed(STILL, 0, 0, "1")), _with_extrinsics("rotation alone", np.eye(3)), _with_extrinsics("null", None),
    CAMERAS.case("all 4 by 4", "extrinsics", extrinsics_w2c=[np.eye(4)] * 2), CAMERAS.case("flat", "extrinsics", extrinsics_w2c=[[0.0] * 12] * 2),
    CAMERAS.case("one camera", "extrinsics", extrinsics_w2c=[STILL]), CAMERAS.case("three cameras", "intrinsics", extrinsics_w2c=[STILL] * 3),
    _with_intrinsics("transposed", np.transpose(K)), _with_intrinsics("focal length 0", _changed(K, 0, 0, 0)),
    _with_intrinsics("negative focal length", _changed(K, 1, 1, -50)), _with_intrinsics("NaN", _changed(K, 0, 2, NAN)),
    _with_intrinsics("3 by 4", np.zeros((3, 4))), _with_intrinsics("last row 0", _changed(K, 2, 2, 0)), _with_intrinsics("a flag", _changed(K, 2, 2, True)),
    CAMERAS.case("one size", "sizes", sizes_hw=[(HEIGHT, WIDTH)]), CAMERAS.case("width by height", "sizes", sizes_hw=[(WIDTH, HEIGHT)] * 2),
    CAMERAS.case("sizes of working copies", "sizes", sizes_hw=[(HEIGHT // 2, WIDTH // 2)] * 2),
    CAMERAS.case("fractional size", "sizes[1]", sizes_hw=[(HEIGHT, WIDTH), (40.0, 60.0)]),
    CAMERAS.case("negative size", "sizes[0]", sizes_hw=[(-HEIGHT, -WIDTH), (HEIGHT, WIDTH)]),
    CAMERAS.case("one flag", "translation_known", translation_known=[True]),
    CAMERAS.case("numbers for flags", "translation_known", translation_known=[1, 0]),
    CAMERAS.case("other cameras for other pictures", "sizes", intrinsics=[K] * 3, extrinsics_w2c=[STILL] * 3,
                 sizes_hw=[(HEIGHT, WIDTH)] * 3, translation_known=[True] * 3),
    *anything_else("camera_pose"),
]  # fmt: skip


def _results(**fields: Any) -> SearchResults:
    """Results with one item; fields that an item has are its own."""
    names = {field.name for field in attrs.fields(SearchItem)}
    item = {"title": "A", "url": "https://example.com/a"} | {k: v for k, v in fields.items() if k in names}
    rest = {k: v for k, v in fields.items() if k not in names}
    return SearchResults(**({"items": (SearchItem(**item),)} | rest))


def search_cases(tool: Tool) -> list[Case]:
    return [
        *tool.junk("title", "items.title", lambda value: isinstance(value, str) and bool(value.strip())),
        *tool.junk("url", "items.url", lambda value: value is None),
        *tool.junk("source", "items.source", lambda value: isinstance(value, str)),
        *tool.junk("snippet", "items.snippet", lambda value: isinstance(value, str)),
        *tool.junk("thumbnail", "items.thumbnail", lambda value: value is None or isinstance(value, bytes)),
        *tool.junk("thumbnail_url", "items.thumbnail_url", lambda value: value is None),
        *tool.junk("details", "items.details", lambda value: among(value, [])),
        *tool.junk("summary", "results.summary", lambda value: isinstance(value, str)),
        *tool.junk("note", "results.note", lambda value: isinstance(value, str)),
        *tool.junk("nothing_relevant", "nothing_relevant", lambda value: among(value, "")),
        *tool.junk("items", "", lambda value: False),
        tool.case("address without a scheme", "items.url", url="//example.com/a"),
        tool.case("address of a script", "items.url", url="javascript:alert(1)"),
        tool.case("picture in an address", "items.thumbnail_url", thumbnail_url="data:image/png;base64,AA=="),
        tool.case("items and a reason for none", "nothing_relevant", nothing_relevant="try again"),
        *anything_else("search"),
    ]


TEXT_SEARCH = Tool(
    of=lambda backend: TextSearchCapability(backend=backend), arguments={"query": "cups"}, kind=_results, good={}
)
IMAGE_SEARCH = Tool(of=lambda backend: ImageSearchCapability(backend=backend), arguments=IMAGE, kind=_results, good={})
URL = "https://example.com/a"
VISIT = Tool(
    of=lambda backend: WebVisitCapability(backend=backend),
    arguments={"urls": [URL], "goal": "the date"},
    kind=VisitedPage,
    good={"url": URL, "title": "A", "ok": True, "evidence": "passage", "summary": "short", "reason": ""},
    wrap=lambda page: (page,),
)
PAGE = VisitedPage(url=URL, ok=True)
VISIT_CASES = [
    *VISIT.junk("url", "pages.url", lambda value: False),
    *VISIT.junk("title", "pages.title", lambda value: isinstance(value, str)),
    *VISIT.junk("ok", "pages.", lambda value: value is True),
    *VISIT.junk("evidence", "pages.evidence", lambda value: isinstance(value, str)),
    *VISIT.junk("summary", "pages.summary", lambda value: isinstance(value, str)),
    *VISIT.junk("reason", "pages.reason", lambda value: among(value, "")),
    VISIT.case("another address", "pages", url="https://example.com/b"),
    *(
        Case(name=name, make=lambda *_, pages=pages: pages, field=field)
        for name, pages, field in [
            ("no page", (), "pages"), ("two pages", (PAGE, PAGE), "pages"), ("pages in a list", [PAGE], "web_visit value"),
            ("a page alone", PAGE, "web_visit value"), ("texts", ("x",), "pages"), ("null", (None,), "pages"),
        ]
    ),
    *anything_else("web_visit"),
]  # fmt: skip

LINE: dict[str, Any] = {"text": "EXIT", "box_xyxy_px": (1.0, 2.0, 5.0, 8.0), "score": 0.9}


def _read(**fields: Any) -> Transcription:
    """One line of text; fields that begin with `line_` are the line's own."""
    line = LINE | {name.removeprefix("line_"): value for name, value in fields.items() if name.startswith("line_")}
    rest = {name: value for name, value in fields.items() if not name.startswith("line_")}
    return Transcription(**({"text": "EXIT", "lines": (TextLine(**line),)} | rest))


OCR = Tool(of=lambda backend: OcrCapability(backend=backend), arguments=IMAGE, kind=_read, good={})


def _with_place(name: str, *box: object) -> Case:
    return OCR.case(f"box {name}", ".box", line_box_xyxy_px=box)


OCR_CASES = [
    *OCR.junk("text", "text", lambda value: among(value, "text")),
    *OCR.junk("lines", "lines", lambda value: value is None),
    *OCR.junk("left_out", "left_out", lambda value: type(value) is int and value >= 0),
    *OCR.junk("line_text", "lines.text", lambda value: among(value, "text")),
    *OCR.junk("line_box_xyxy_px", "lines.box", lambda value: False),
    *OCR.junk("line_score", "lines.score", lambda value: among(value, 0)),
    _with_place("of three", 1, 2, 5), _with_place("of five", 1, 2, 5, 8, 9), _with_place("NaN", 1, 2, NAN, 8), _with_place("a flag", True, 2, 5, 8),
    _with_place("text", "1", "2", "5", "8"), _with_place("null", None, 2, 5, 8), _with_place("swapped in x", 5, 2, 1, 8),
    _with_place("swapped in y", 1, 8, 5, 2), _with_place("outside", 1000, 1000, 2000, 2000), _with_place("beyond the right", 1, 2, WIDTH + 2, 8),
    _with_place("beyond the bottom", 1, 2, 5, HEIGHT + 2), _with_place("before the left", -2, 2, 5, 8), _with_place("above the top", 1, -2, 5, 8),
    _with_place("no float", 1, 2, 10**400, 8),
    OCR.case("corner points", "lines.box", line_box_xyxy_px=((1, 2), (5, 2), (5, 8), (1, 8))),
    OCR.case("score in percent", "lines.score", line_score=90), OCR.case("score just above", "lines.score", line_score=1.001),
    OCR.case("a blank line", "lines.text", line_text=" \n"), OCR.case("lines of a blank text", "lines", text=" \n"),
    OCR.case("lines as texts", "lines", lines=("EXIT",)), OCR.case("a line that is null", "lines", lines=(TextLine(**LINE), None)),
    *anything_else("ocr"),
]  # fmt: skip


def _cropped(**fields: Any) -> Crop:
    """The upper left quarter; `image` stands for the whole of bytes and size."""
    data, size = fields.get("data", fake_image(HEIGHT // 2, WIDTH // 2, "crop")), fields.get("size_hw", (20, 30))
    whole = fields.get("image", EncodedImage(data=data, media_type="image/png", size_hw=size))
    return Crop(image=whole, region_xyxy_px=fields.get("region_xyxy_px", (0, 0, 30, 20)))


ZOOM = Tool(
    of=lambda backend: ZoomCapability(backend=backend), arguments=IMAGE | {"coords": [0, 0, 500, 500]}, kind=_cropped, good={}
)  # fmt: skip


def _with_region(name: str, *region: object) -> Case:
    return ZOOM.case(f"region {name}", "region", region_xyxy_px=region)


ZOOM_CASES = [
    *ZOOM.junk("region_xyxy_px", "region", lambda value: False),
    *ZOOM.junk("image", "image", lambda value: False),
    *ZOOM.junk("data", "image", lambda value: False),
    *ZOOM.junk("size_hw", "image.size", lambda value: False),
    _with_region("of fractions", 0.0, 0.0, 30.0, 20.0), _with_region("of flags", False, False, 30, 20), _with_region("of three", 0, 0, 30),
    _with_region("of texts", "0", "0", "30", "20"), _with_region("before the left", -1, 0, 29, 20), _with_region("above the top", 0, -1, 30, 19),
    _with_region("swapped", 30, 20, 0, 0), _with_region("by height first", 0, 0, 20, 30), _with_region("one pixel wider", 0, 0, 31, 20),
    _with_region("elsewhere in the picture", 30, 20, 60, 40), _with_region("outside the picture", 60, 0, 90, 20),
    _with_region("enormous", 0, 0, 10**400, 20),
    ZOOM.case("no picture", "image", data=b"<html>not found</html>"), ZOOM.case("no bytes", "image", data=b""),
    ZOOM.case("the whole picture", "image.size", data=fake_image(HEIGHT, WIDTH)), ZOOM.case("half the size", "image.size", data=fake_image(10, 15)),
    ZOOM.case("another size than its region", "region", size_hw=(HEIGHT, WIDTH)),
    *anything_else("zoom"),
]  # fmt: skip


OUTCOME = Tool(
    of=lambda backend: CodingCapability(generator=FakeCodeGenerator(), executor=backend),
    arguments={"objective": "count"},
    kind=Outcome,
    good={
        "stdout": "1\n",
        "variables": {"n": "1"},
        "images": (("plot.png", fake_image(8, 9, "plot")),),
        "seconds": 0.5,
    },
)
OUTCOME_CASES = [
    *OUTCOME.junk("stdout", "outcome.stdout", lambda value: isinstance(value, str)),
    *OUTCOME.junk("stderr", "outcome.stderr", lambda value: isinstance(value, str)),
    *OUTCOME.junk("variables", "outcome.variables", lambda value: among(value, {})),
    *OUTCOME.junk("images", "outcome.images", lambda value: among(value, [])),
    *OUTCOME.junk("error", "outcome.error", lambda value: value is None or isinstance(value, str)),
    *OUTCOME.junk("timed_out", "outcome.", lambda value: value is False),
    *OUTCOME.junk("seconds", "outcome.seconds", lambda value: type(value) in (int, float) and among(value, 0, 3, 2.5)),
    OUTCOME.case("a variable that is a number", "outcome.variables", variables={"n": 1}),
    OUTCOME.case("a variable without a name", "outcome.variables", variables={1: "n"}),
    OUTCOME.case("pictures by name", "outcome.images", images={"plot.png": fake_image(8, 9)}),
    OUTCOME.case("a picture without a name", "outcome.images", images=(fake_image(8, 9),)),
    OUTCOME.case("a picture as text", "outcome.images", images=(("plot.png", "iVBORw0KGgo="),)),
    OUTCOME.case("a null picture", "outcome.images", images=(("plot.png", None),)),
    OUTCOME.case("a deadline as text", "outcome.timed_out", timed_out="no", error="late"),
    OUTCOME.case("late without a reason", "outcome.error", timed_out=True),
    OUTCOME.case("a level that is a number", "outcome.kill_level", kill_level=3),
    *(Case(name=f"outcome {v!r:.20}", make=lambda *_, v=v: v, field="outcome: ") for v in (None, "x", {}, [], 3, NotImplemented)),
    Case(name="outcome in a wrapper", make=lambda *_: Answered(value=Outcome(), backend="stage"), field="outcome: "),
    *(case for case in anything_else("coding") if case.code == "tool_execution_error"),
]  # fmt: skip
PROGRAM = Tool(
    of=lambda backend: CodingCapability(generator=backend, executor=FakeCodeExecutor()),
    arguments={"objective": "count"},
    kind=lambda program: program,
    good={"program": "print(1)"},
)
PROGRAM_CASES = [
    *PROGRAM.junk("program", "coding value", lambda value: among(value, "text")),
    *(
        PROGRAM.case(name, "coding value", program=program)
        for name, program in [
            ("spaces", "  "), ("line ends", "\n\r\n"), ("bytes", b"print(1)"), ("lines", ["print(1)"]), ("by key", {"program": "print(1)"}),
            ("an outcome", Outcome()), ("two programs", ("print(1)", "print(2)")), ("a list of characters", list("print(1)")),
        ]
    ),
    *(case for case in anything_else("coding") if case.name != "value 'x'"),
]  # fmt: skip

TOOLS = [
    (GROUNDING, GROUNDING_CASES), (DEPTH, DEPTH_CASES), (CAMERAS, CAMERA_CASES), (TEXT_SEARCH, search_cases(TEXT_SEARCH)),
    (IMAGE_SEARCH, search_cases(IMAGE_SEARCH)), (VISIT, VISIT_CASES), (OCR, OCR_CASES), (ZOOM, ZOOM_CASES),
    (OUTCOME, OUTCOME_CASES), (PROGRAM, PROGRAM_CASES),
]  # fmt: skip
TOOL_NAMES = [
    "grounding", "depth", "camera_pose", "text_search", "image_search", "web_visit", "ocr", "zoom", "outcome", "program",
]  # fmt: skip
QUESTION = Question("How many?", [image("a"), image("b")])


async def told(tool: Tool, make: Callable[..., Any]) -> tuple[Any, ToolStep, list[str], str]:
    """The report, the call's record, the updates, and what the model reads after its call."""
    capability = tool.of(Backend(make))
    made = agent(
        [calling(capability.name, tool.arguments), saying("<answer>3</answer>")], toolset=Toolset([capability])
    )
    report = await made.answer(QUESTION)
    (step,) = [step for step in report.steps if isinstance(step, ToolStep)]
    updates = [step.text for step in report.steps if isinstance(step, EnvironmentUpdateStep)]
    return report, step, updates, text_of(model_of(made).requests[-1].messages[-1])


@pytest.mark.parametrize(("tool", "cases"), TOOLS, ids=TOOL_NAMES)
async def test_the_good_answer_is_good(tool: Tool, cases: list[Case]) -> None:
    _, step, updates, _ = await told(tool, tool.answer())
    assert step.result.ok, step.result.failure
    assert len(updates) == 2


@pytest.mark.parametrize(("tool", "cases"), TOOLS, ids=TOOL_NAMES)
async def test_a_malformed_answer_registers_nothing_and_is_told_by_its_field(tool: Tool, cases: list[Case]) -> None:
    assert len(cases) >= 40
    assert len({case.name for case in cases}) == len(cases)
    for case in cases:
        report, step, updates, read = await told(tool, case.make)
        failure = step.result.failure
        assert failure is not None, case.name
        assert (case.name, failure.code) == (case.name, case.code)
        assert case.field in failure.message, (case.name, failure.message)
        assert len(failure.message) < 500, case.name
        if case.code == "malformed_result":
            assert "expected" in failure.message, case.name
        else:
            assert "subscriptable" not in failure.message
            assert "pred_boxes" not in failure.message
        assert failure.message in read, case.name
        assert failure.code in read, case.name
        assert step.result.evidence == ()
        assert [record.handle for record in report.images] == ["input_image_1", "input_image_2"], case.name
        assert (report.bindings, report.pages) == ((), ()), case.name
        assert len(updates) == 1, f"{case.name}: a failed call has no update"
        assert report.answer == "3", case.name


async def test_what_was_spent_counts_although_the_answer_was_malformed() -> None:
    spent = (Spent(role="vision", model="m", usage={"calls": 1.0}),)
    for tool, other in (
        (GROUNDING, "x"),
        (GROUNDING, GROUNDING.answer(boxes_xyxy_px=[], scores=[], masks=None, size_hw=(1, 1))()),
    ):
        _, step, _, _ = await told(tool, lambda *_, other=other: Answered(value=other, backend="stage", usage=spent))
        assert step.result.failure is not None
        assert step.result.usage == spent


async def test_a_program_was_paid_for_although_its_outcome_is_malformed() -> None:
    for make in (lambda *_: None, OUTCOME.answer(seconds=-1)):
        _, step, _, _ = await told(OUTCOME, make)
        assert step.result.failure is not None
        assert [spent.role for spent in step.result.usage] == ["coding"]


async def test_trace_data_that_is_no_json_is_refused_by_its_place() -> None:
    def make(*asked: object) -> Answered[Any]:
        return Answered(value=GROUNDING.answer()(), backend="stage", sidecars={"timing": {"ms": math.nan}})

    report, step, _, _ = await told(GROUNDING, make)
    assert step.result.failure is not None
    assert step.result.failure.code == "malformed_result"
    assert "sidecars.timing.ms" in step.result.failure.message
    assert report.bindings == ()
