"""Tools on a stage: used one after the other as the runner uses them, over backends that answer what a test says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from openvlharness_core.agent.returned import sound_evidence, sound_findings
from openvlharness_core.calls import Findings, Registered
from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.capabilities.arguments import check_arguments
from openvlharness_core.capabilities.base import Capability
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.depth import DepthMap
from openvlharness_core.detections import Detections
from openvlharness_core.geometry import IDENTITY, Affine
from openvlharness_core.memory.workspace import MemoryModule, Workspace
from openvlharness_core.messages import ImagePart, Part, TextPart
from openvlharness_core.pictures import EncodedImage, ImageLimits
from openvlharness_core.ports.imaging import Colormap, RenderedImage
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.results import Answered
from openvlharness_core.testing import FakeClock, FakeCodec, FakeFetcher, InlineOffload, fake_image
from tests.support.report_schema import schema
from tests.unit.core.kit import PROMPTS, picture

IMAGE = {"image_id": "input_image_1"}


@attrs.define
class Backend:
    """Any backend: answers with `make(what it was asked)`, which may raise; an `Answered` goes out as it is.

    Attributes:
        asked: the arguments of each call, without the time limit.
    """

    make: Callable[..., Any]
    asked: list[tuple[Any, ...]] = attrs.field(factory=list, init=False)

    async def ground(self, *asked: Any, timeout_seconds: float) -> Any:
        return await self._answer(*asked)

    async def estimate(self, *asked: Any, timeout_seconds: float) -> Any:
        return await self._answer(*asked)

    async def trace(self, *asked: Any, timeout_seconds: float) -> Any:
        return await self._answer(*asked)

    async def search(self, *asked: Any, timeout_seconds: float) -> Any:
        return await self._answer(*asked)

    async def visit(self, *asked: Any, timeout_seconds: float) -> Any:
        return await self._answer(*asked)

    async def read(self, *asked: Any, timeout_seconds: float) -> Any:
        return await self._answer(*asked)

    async def crop(self, *asked: Any, timeout_seconds: float) -> Any:
        return await self._answer(*asked)

    async def write(self, *asked: Any, timeout_seconds: float) -> Any:
        return await self._answer(*asked)

    async def run(self, *asked: Any) -> Any:
        self.asked.append(asked)
        return self.make(*asked)  # an executor's answer has no wrapper

    async def _answer(self, *asked: Any) -> Any:
        self.asked.append(asked)
        made = self.make(*asked)
        return made if isinstance(made, Answered) or made is NotImplemented else Answered(value=made, backend="stage")


@attrs.define
class Renderer:
    """Draws fake pictures whose content says what was drawn, and remembers it."""

    to_source: Affine = IDENTITY
    drawn: list[Any] = attrs.field(factory=list, init=False)

    def overlay(self, image: EncodedImage, detections: Detections) -> RenderedImage:
        self.drawn.append(detections)
        return RenderedImage(image=_fake(image.size_hw, f"overlay {len(self.drawn)}"), to_source=self.to_source)

    def depth_view(self, depth: DepthMap, colormap: Colormap) -> RenderedImage:
        self.drawn.append((depth, colormap))
        return RenderedImage(image=_fake(depth.size_hw, f"depth {len(self.drawn)}"), to_source=self.to_source)

    def trajectory_view(self, trajectory: CameraTrajectory, labels: Sequence[str]) -> EncodedImage:
        self.drawn.append((trajectory, list(labels)))
        return _fake((64, 64), f"cameras {len(self.drawn)}")


def _fake(size_hw: tuple[int, int], content: str) -> EncodedImage:
    return EncodedImage(data=fake_image(*size_hw, content), media_type="image/png", size_hw=size_hw)


@attrs.frozen(kw_only=True)
class Shown:
    """What came of a call."""

    findings: Findings
    registered: Registered
    parts: tuple[Part, ...]

    @property
    def data(self) -> Any:
        """Canonical data."""
        return self.findings.data

    @property
    def text(self) -> str:
        """All words of the evidence; a picture as its handle in angle brackets."""
        return "\n".join(part.text if isinstance(part, TextPart) else f"<{part.handle}>" for part in self.parts)

    @property
    def pictures(self) -> list[str]:
        """Handles of the pictures in the evidence."""
        return [str(part.handle) for part in self.parts if isinstance(part, ImagePart)]


@attrs.define
class Stage:
    """Memory of one question, with one picture of 60 by 40 unless told otherwise."""

    sizes: tuple[tuple[int, int], ...] = ((40, 60),)
    modules: tuple[MemoryModule, ...] = ("image", "tool_context", "url")
    prompts: PromptBundle = PROMPTS
    clock: FakeClock = attrs.field(factory=FakeClock)
    notes: list[tuple[str, str]] = attrs.field(factory=list, init=False)
    workspace: Workspace = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.workspace = Workspace(modules=self.modules)
        for position, (height, width) in enumerate(self.sizes):
            self.workspace = self.workspace.with_input(picture(f"q{position}", height, width))

    def hands(self) -> Hands:
        """What a capability works with."""
        return Hands(
            workspace=self.workspace,
            limits=ImageLimits(),
            codec=FakeCodec(),
            fetcher=FakeFetcher(),
            offload=InlineOffload(),
            clock=self.clock,
            note=lambda kind, text: self.notes.append((kind, text)),
        )

    async def use(self, tool: Capability, **arguments: object) -> Shown:
        """Check, perform, register and render; the data of our own tools has to fit its schema."""
        hands = self.hands()
        findings = sound_findings(await tool.perform(check_arguments(tool.parameters, arguments).values, hands))
        schema(f"canonical/{tool.key}.json").validate(findings.data)
        self.workspace, registered = hands.workspace.register(findings, tool.name)
        parts = sound_evidence(tool.evidence(findings, registered, self.workspace, self.prompts))
        again = tool.evidence(findings, registered, self.workspace, self.prompts)
        assert sound_evidence(again) == parts, "evidence depends on data and names alone"
        return Shown(findings=findings, registered=registered, parts=parts)

    def binding(self, name: str) -> Any:
        """The values that a program gets under a name."""
        return self.workspace.values()[name]

    def fields(self, name: str) -> Any:
        """The fields of the descriptor that a code writer gets."""
        return self.workspace.descriptors()[name]["fields"]
