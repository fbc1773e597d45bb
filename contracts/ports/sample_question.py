"""A question that meets what a report can hold: for suites and tests that need a whole run, without model or network.

The model follows a script; the tools are the library's own over fakes, and one that registers pictures, arrays and
pages at once. Every call of `sample_run` gives an equal report.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.agent.report import ModelName, Report
from openvlharness_core.agent.runner import MainAgent
from openvlharness_core.calls import Findings, NewBinding, NewImage, NewPage, Registered
from openvlharness_core.capabilities.base import IMAGE_ID, Capability, object_schema
from openvlharness_core.capabilities.coding import CodingCapability
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.capabilities.ocr import OcrCapability
from openvlharness_core.capabilities.toolset import Toolset
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.errors import ToolFailure
from openvlharness_core.geometry import translation
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import ImagePart, ModelReply, Part, TextPart, VirtualCall
from openvlharness_core.ports.store import ReportStore
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.question import Exchange, ImageInput, Question
from openvlharness_core.results import Outcome
from openvlharness_core.testing.backends import FakeOcr, FakeZoom
from openvlharness_core.testing.code import FakeCodeExecutor, FakeCodeGenerator
from openvlharness_core.testing.images import FakeCodec, FakeFetcher, fake_image
from openvlharness_core.testing.models import ScriptedModel, calling, calling_all, saying
from openvlharness_core.testing.prompts import plain_prompts
from openvlharness_core.testing.time import FakeClock, InlineOffload
from openvlharness_core.usage import Spent

REMOTE = "http://pictures.example/remote.png"

ZOOM, OCR, CODING, SURVEY = "Zoom_In_Tool", "OCR_Tool", "Python_Coding_Agent_Tool", "Survey_Tool"


@attrs.frozen(kw_only=True)
class SurveyCapability:
    """A user's own tool: cuts a picture in half, and registers an array and a page with it; fails on a `reason`."""

    key: str = attrs.field(default="survey", init=False)
    name: str = attrs.field(default=SURVEY, init=False)

    @property
    def parameters(self) -> Mapping[str, object]:
        return object_schema({"image_id": IMAGE_ID, "reason": {"type": "string"}}, ("image_id",))

    def description(self, prompts: PromptBundle) -> str:
        return "Surveys a picture."

    async def perform(self, arguments: Mapping[str, object], hands: Hands) -> Findings:
        record, picture = await hands.image(str(arguments["image_id"]))
        if reason := arguments.get("reason"):
            raise ToolFailure("tool_execution_error", str(reason), usage=(_spent(1.0),))
        height, width = picture.full.size_hw
        half = hands.codec.crop(picture.full, (width // 2, 0, width, height))
        values = np.arange(12, dtype=np.float32).reshape(3, 4) / 7
        fields = {"values": values, "names": ["é", ""], "sizes": {"full": [height, width], "none": None}, "known": True}
        return Findings(
            data={"image_id": record.handle, "mean": float(values.mean()), "rows": [], "label": None},
            images=(
                NewImage(
                    picture=await hands.take_in(half.data),
                    parents=(record.handle,),
                    to_source=translation(width // 2, 0),
                ),
            ),
            bindings=(
                NewBinding(stem="survey", fields=fields, notes={"values": "metres"}, image_id=record.handle),
                NewBinding(stem="counts", fields={"counts": np.array([[1, 2]], dtype=np.int64), "text": np.array("é")}),
            ),
            pages=(NewPage(url=f"http://pages.example/{record.handle}?q=1", title="A “page”"),),
            backend="fake_survey",
            envelope={"result": {"rows": [[1, 2.5, None]], "ok": True}, "meta": {"seconds": 0.25}},
            sidecars={"tried": ["a", "b"]},
            usage=(_spent(3.0),),
        )

    def evidence(
        self, findings: Findings, registered: Registered, workspace: Workspace, prompts: PromptBundle
    ) -> tuple[Part, ...]:
        picture = workspace.images.resolve(registered.images[0]).picture
        assert picture is not None
        names = ", ".join((*registered.images, *registered.bindings, *registered.pages))
        text = f"Surveyed {findings.data['image_id']} (mean {findings.data['mean']:.3f}): {names}. ✓ " + "…" * 80
        return TextPart(text=text), ImagePart(handle=registered.images[0], image=picture.sent)


def _spent(tokens: float) -> Spent:
    return Spent(role="auxiliary", model="small", usage={"completion_tokens": tokens})


def sample_toolset(codec: FakeCodec | None = None) -> Toolset:
    """Zoom, OCR and coding over fakes, and the survey."""
    program = Outcome(stdout="42\n", variables={"n": "42"}, images=(("plot.png", fake_image(8, 9, "plot")),))
    capabilities: list[Capability] = [
        ZoomCapability(backend=FakeZoom(codec or FakeCodec())),
        OcrCapability(backend=FakeOcr(lines=("TOTAL 12.50", "THANK YOU"))),
        CodingCapability(generator=FakeCodeGenerator(), executor=FakeCodeExecutor(outcome=program)),
        SurveyCapability(),
    ]
    return Toolset(capabilities)


def sample_policy(**rules: Any) -> TurnPolicy:
    """Rules with plain texts."""
    return attrs.evolve(TurnPolicy(prompts=plain_prompts()), **rules)


def sample_agent(
    replies: list[Any], *, policy: TurnPolicy | None = None, store: ReportStore | None = None, **fields: Any
) -> MainAgent:
    """An agent whose model follows `replies`."""
    defaults: dict[str, Any] = {
        "model": ScriptedModel(replies),
        "toolset": sample_toolset(),
        "policy": policy or sample_policy(),
        "codec": FakeCodec(),
        "fetcher": FakeFetcher(files={REMOTE: fake_image(30, 30, "remote")}),
        "offload": InlineOffload(),
        "clock": FakeClock(auto=True),
        "report_store": store,
        "remote_images": "pass_url",
        "model_name": ModelName(alias="scripted", model_id="m-1", protocol="chat_completions"),
    }
    return MainAgent(**defaults | fields)


def sample_question() -> Question:
    """Text around two local pictures and a remote one."""
    return Question(
        parts=[
            "What does “the receipt” say?",
            ImageInput.from_bytes(fake_image(40, 60, "receipt")),
            ImageInput.from_url(REMOTE),
            "And then?",
            ImageInput.from_bytes(fake_image(20, 20, "second")),
        ]
    )


HISTORY = (Exchange(question="Earlier?", answer="Yes."),)


def sample_replies() -> list[ModelReply]:
    """Twelve replies: every tool, a tool of no name, several calls at once, cut and bad arguments, then the answer."""
    crop = {"image_id": "input_image_1", "coords": [0, 0, 500, "500"]}
    return [
        attrs.evolve(
            calling(ZOOM, crop, call_id="a", text="Looking."),
            reasoning="Let me see.",
            extras='{"reasoning_details": [{"id": 1}]}',
            usage={"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details.cached_tokens": 64.0},
        ),
        calling(SURVEY, {"image_id": "tool_generated_image_1"}, call_id="a"),
        calling(SURVEY, {"image_id": "input_image_2", "reason": "too dark"}),
        calling(OCR, {"image_id": "Input_Image_1.png"}),
        calling("no such tool", {"x": 1}),
        calling_all([(ZOOM, crop, ""), (OCR, {"image_id": "input_image_1"}, "b")]),
        ModelReply(
            calls=(VirtualCall(id="t", tool=OCR, arguments='{"image_id', truncated=True),), finish_reason="length"
        ),
        calling(OCR, {"image_id": 7, "what": None}),
        calling(OCR, "[1]"),
        calling(CODING, {"objective": "Count."}),
        calling(ZOOM, {"image_id": "input_image_1", "coords": [0, 0, 500, 500], "padding": 2}),
        saying("It says <answer>12.50</answer>.", usage={"prompt_tokens": 900}),
    ]


async def sample_run(*, policy: TurnPolicy | None = None, store: ReportStore | None = None, **fields: Any) -> Report:
    """The report of that question; checkpoints go to `fields["checkpoint_to"]` of the store."""
    location = fields.pop("checkpoint_to", None)
    agent = sample_agent(list(sample_replies()), policy=policy, store=store, **fields)
    return await agent.answer(sample_question(), task_id="sample", history=HISTORY, checkpoint_to=location)
