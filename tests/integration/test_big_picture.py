"""A big picture of one question must not hold up the loop that others run on.

Nothing is timed: while the heavy work is held on a gate inside its worker, everybody else gets an answer.
"""

from __future__ import annotations

import asyncio
import io
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import attrs
import numpy as np
import pytest
from PIL import Image

from openvlharness_adapters.imaging import codec as codec_module
from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.zoom import InProcessZoom
from openvlharness_adapters.runtime import SystemClock, ThreadOffload
from openvlharness_core import (
    EncodedImage,
    ImageInput,
    ImageLimits,
    MainAgent,
    ModelReply,
    ModelRequest,
    Offload,
    Picture,
    Question,
    Toolset,
    TurnPolicy,
)
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.geometry import PixelBox
from openvlharness_core.messages import ToolMessage
from openvlharness_core.testing import FakeFetcher, calling, plain_prompts, saying

T = TypeVar("T")
QUESTIONS = 32
LIMITS = ImageLimits(max_side=1024)  # the picture and half of it are larger: both are decoded and encoded to be sent
_PATIENCE = 120.0  # only for a machine that is stuck: a gate that never opens is a failure, not a hang


class ZoomsOnce:
    """A double that zooms once and then answers; stateless, so that it serves many questions at once."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        await asyncio.sleep(0)
        if any(isinstance(message, ToolMessage) for message in request.messages):
            return saying("<answer>x</answer>")
        return calling("Zoom_In_Tool", {"image_id": "input_image_1", "coords": [100, 100, 600, 600]})


@attrs.define
class MarkedOffload:
    """The threads of the app; code that runs in one of them can tell."""

    threads: ThreadOffload = attrs.field(factory=ThreadOffload)
    here: threading.local = attrs.field(factory=threading.local, init=False)

    async def run(self, call: Callable[[], T]) -> T:
        def marked() -> T:
            self.here.inside = True
            try:
                return call()
            finally:
                self.here.inside = False

        return await self.threads.run(marked)

    @property
    def inside(self) -> bool:
        return getattr(self.here, "inside", False)


@attrs.define(kw_only=True, eq=False)
class WatchedCodec(PillowCodec):
    """The codec of the app, which says what was done for which purpose and where, and holds `held` until the gate opens.

    Attributes:
        offload: knows whether the current thread runs one of its calls.
        held: bytes of the picture that waits.
        did: (purpose, work, inside an offloaded call), for each decode, encode and crop.
    """

    offload: MarkedOffload
    held: bytes
    begun: threading.Event = attrs.field(factory=threading.Event, init=False)
    gate: threading.Event = attrs.field(factory=threading.Event, init=False)
    did: list[tuple[str, str, bool]] = attrs.field(factory=list, init=False)
    purpose: threading.local = attrs.field(factory=threading.local, init=False)

    def note(self, work: str) -> None:
        self.did.append((self.purpose.name, work, self.offload.inside))

    def take_in(self, data: bytes, limits: ImageLimits) -> Picture:
        self.purpose.name = "intake" if data == self.held else "hands"
        self.note("take_in")
        if data == self.held:
            self.begun.set()
            assert self.offload.inside, "the loop itself takes a picture in: nobody could ever open the gate"
            assert self.gate.wait(_PATIENCE), "the others never came to an end"
        return super().take_in(data, limits)

    def crop(self, image: EncodedImage, region_xyxy_px: PixelBox) -> EncodedImage:
        self.purpose.name = "zoom"
        self.note("crop")
        return super().crop(image, region_xyxy_px)


def _watch(codec: WatchedCodec, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the two functions that touch every pixel say where they run."""
    for name, work in (("decode", "decode"), ("encoded", "encode")):
        original = getattr(codec_module, name)

        def told(*args: object, _original: Callable[..., object] = original, _work: str = work) -> object:
            codec.note(_work)
            return _original(*args)

        monkeypatch.setattr(codec_module, name, told)


def _agent(codec: PillowCodec, offload: Offload) -> MainAgent:
    return MainAgent(
        model=ZoomsOnce(),
        toolset=Toolset([ZoomCapability(backend=InProcessZoom(codec=codec, offload=offload))]),
        policy=TurnPolicy(prompts=plain_prompts()),
        codec=codec,
        fetcher=FakeFetcher(),
        offload=offload,
        clock=SystemClock(),
        limits=LIMITS,
    )


@pytest.fixture(scope="module")
def photos() -> tuple[bytes, bytes]:
    """Twelve megapixels stored sideways, so that taking them in decodes, turns and encodes; and a small picture."""
    random = np.random.default_rng(1)
    noise = Image.fromarray(random.integers(0, 255, (1000, 750, 3), np.uint8)).resize((3000, 4000))
    big, small = io.BytesIO(), io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    noise.save(big, "JPEG", quality=90, exif=exif)
    noise.resize((64, 64)).save(small, "JPEG")
    return big.getvalue(), small.getvalue()


async def test_32_questions_are_answered_while_12_megapixels_are_taken_in(
    photos: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    big, small = photos
    offload = MarkedOffload()
    codec = WatchedCodec(offload=offload, held=big)
    _watch(codec, monkeypatch)
    agent = _agent(codec, offload)
    started = time.perf_counter()
    heavy = asyncio.create_task(agent.answer(Question("?", [ImageInput.from_bytes(big)])))
    try:
        assert await asyncio.to_thread(codec.begun.wait, _PATIENCE)
        others = [agent.answer(Question("?", [ImageInput.from_bytes(small)])) for _ in range(QUESTIONS)]
        answers = [report.answer for report in await asyncio.gather(*others)]
        others_took = time.perf_counter() - started
        assert answers == ["x"] * QUESTIONS
        assert not heavy.done()
        of_others = len(codec.did)
    finally:
        codec.gate.set()
    released = time.perf_counter()
    assert (await heavy).answer == "x"
    heavy_took = time.perf_counter() - released
    offload.threads.close()

    done = {(purpose, work) for purpose, work, _ in codec.did[of_others:]}
    assert {("intake", "decode"), ("intake", "encode"), ("zoom", "crop"), ("zoom", "encode")} <= done
    assert {("zoom", "decode"), ("hands", "decode"), ("hands", "encode")} <= done
    assert [(purpose, work) for purpose, work, inside in codec.did if not inside] == []
    with capsys.disabled():
        print(f"\n12 megapixels: {heavy_took:.2f} s of work; {QUESTIONS} others beside it: {others_took:.2f} s")
