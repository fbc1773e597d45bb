"""A big picture of one question must not hold up the loop that others run on."""

from __future__ import annotations

import asyncio
import io
import time

import numpy as np
from PIL import Image

from openvlharness_adapters.imaging.codec import PillowCodec
from openvlharness_adapters.imaging.zoom import InProcessZoom
from openvlharness_adapters.runtime import SystemClock, ThreadOffload
from openvlharness_core import (
    ImageInput,
    ImageLimits,
    MainAgent,
    ModelReply,
    ModelRequest,
    Question,
    Toolset,
    TurnPolicy,
)
from openvlharness_core.capabilities.zoom import ZoomCapability
from openvlharness_core.messages import ToolMessage
from openvlharness_core.testing import FakeFetcher, calling, plain_prompts, saying

QUESTIONS = 32


class ZoomsOnce:
    """A double that zooms once and then answers; stateless, so that it serves many questions at once."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        await asyncio.sleep(0.001)
        if any(isinstance(message, ToolMessage) for message in request.messages):
            return saying("<answer>x</answer>")
        return calling("Zoom_In_Tool", {"image_id": "input_image_1", "coords": [100, 100, 600, 600]})


async def _longest_pause(until: asyncio.Event) -> float:
    longest, last = 0.0, time.perf_counter()
    while not until.is_set():
        await asyncio.sleep(0)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return longest


async def test_twelve_megapixels_beside_32_other_questions() -> None:
    random = np.random.default_rng(1)
    noise = Image.fromarray(random.integers(0, 255, (1000, 750, 3), np.uint8)).resize((3000, 4000))
    big, small = io.BytesIO(), io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # stored sideways, so that taking it in decodes, turns and encodes it
    noise.save(big, "JPEG", quality=90, exif=exif)
    noise.resize((64, 64)).save(small, "JPEG")

    codec, offload = PillowCodec(), ThreadOffload()
    agent = MainAgent(
        model=ZoomsOnce(),
        toolset=Toolset([ZoomCapability(backend=InProcessZoom(codec=codec, offload=offload))]),
        policy=TurnPolicy(prompts=plain_prompts()),
        codec=codec,
        fetcher=FakeFetcher(),
        offload=offload,
        clock=SystemClock(),
        limits=ImageLimits(max_side=2048),
    )
    done = asyncio.Event()
    watcher = asyncio.create_task(_longest_pause(done))
    started = time.perf_counter()
    heavy = asyncio.create_task(agent.answer(Question("?", [ImageInput.from_bytes(big.getvalue())])))
    others = [agent.answer(Question("?", [ImageInput.from_bytes(small.getvalue())])) for _ in range(QUESTIONS)]
    answers = [report.answer for report in await asyncio.gather(*others)]
    others_took = time.perf_counter() - started
    answers.append((await heavy).answer)
    heavy_took = time.perf_counter() - started
    done.set()
    pause = await watcher
    offload.close()
    assert answers == ["x"] * (QUESTIONS + 1)
    print(f"12 megapixels: {heavy_took:.2f} s; {QUESTIONS} others: {others_took:.2f} s; longest pause {pause:.3f} s")
    assert pause < heavy_took  # the work was done beside the loop, not on it
