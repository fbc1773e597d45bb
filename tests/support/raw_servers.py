"""Raw model servers in this process: doubles of the models' own classes, and backends that reach them over the whole wire."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import attrs
import httpx
import numpy as np

from contracts.ports.pictures import png_of
from openvlharness_adapters.router_client.posting import Poster
from openvlharness_adapters.router_client.raw import RawCaller
from openvlharness_adapters.runtime import SystemClock
from openvlharness_adapters.servers.applications import (
    ModelServer,
    ServerLimits,
    chat_server,
    detection_server,
    scene_server,
)
from openvlharness_adapters.servers.chat import Reading
from openvlharness_adapters.servers.detecting import Found
from openvlharness_adapters.servers.models.depth_anything import DepthAnything
from openvlharness_adapters.servers.models.vggt import Vggt
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing.time import FakeClock

MODEL_ID = "PaddlePaddle/PaddleOCR-VL-1.5"


def picture(pixels: np.ndarray) -> EncodedImage:
    return EncodedImage(data=png_of(pixels), media_type="image/png", size_hw=pixels.shape[:2])


def blank(height: int, width: int, shade: int = 200) -> EncodedImage:
    return picture(np.full((height, width, 3), shade, np.uint8))


def data_url(image: EncodedImage) -> str:
    return f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"


@attrs.define
class ColourDetector:
    """Finds the connected columns of one colour that a query names; really looks at the pixels it is shown.

    Attributes:
        masks: whether it draws masks.
        before: called with the picture before it looks.
        shown: (height, width) of each picture, and the threshold that came with it.
    """

    masks: bool = True
    before: Callable[[Any], None] = lambda image: None
    shown: list[tuple[tuple[int, int], float | None]] = attrs.field(factory=list)

    def found(self, image: Any, query: str, threshold: float | None) -> Found:
        self.shown.append(((image.height, image.width), threshold))
        self.before(image)
        channel = {"red": 0, "green": 1, "blue": 2}.get(query.split()[0])
        pixels = np.asarray(image, dtype=int)
        lit = (
            np.zeros(pixels.shape[:2], bool)
            if channel is None
            else (pixels[..., channel] > 150) & (pixels.sum(axis=2) < 400)
        )
        columns = np.flatnonzero(np.diff(np.concatenate([[False], lit.any(axis=0), [False]]).astype(int)))
        boxes, masks = [], []
        for left, right in columns.reshape(-1, 2):
            mask = lit.copy()
            mask[:, :left], mask[:, right:] = False, False
            rows = np.flatnonzero(mask.any(axis=1))
            boxes.append([left, rows[0], right, rows[-1] + 1])
            masks.append(mask)
        scores = np.linspace(0.5, 0.9, len(boxes), dtype=np.float32)
        found = np.array(boxes, np.float32).reshape(-1, 4)
        return Found(boxes_xyxy_px=found, scores=scores, masks=masks if self.masks else None)


def _moved(position: int) -> list[list[float]]:
    """World to camera of one that has gone `position` steps to the right."""
    return [[1, 0, 0, -0.5 * position], [0, 1, 0, 0], [0, 0, 1, 0]]


@attrs.define
class FakeDepthAnything3:
    """Answers `inference` as Depth Anything 3 does: float32 arrays at its own size, longest side 504, multiples of 14.

    Attributes:
        is_metric: `{}` is what models without a metric scale leave there.
        seen: sizes (height, width) of the pictures of each call.
    """

    is_metric: object = attrs.field(factory=dict)
    skew: float = 0.0
    seen: list[list[tuple[int, int]]] = attrs.field(factory=list)

    def inference(self, images: Sequence[Any], process_res: int, process_res_method: str) -> Any:
        assert process_res_method == "upper_bound_resize"
        self.seen.append([(image.height, image.width) for image in images])
        assert len(set(self.seen[-1])) == 1, "pictures of several sizes would be cropped by the package"
        longest = max(images[0].size)
        width, height = (max(14, round(side * process_res / longest / 14) * 14) for side in images[0].size)
        ramp = np.linspace(1, 9, width, dtype=np.float32)[None].repeat(height, axis=0)
        intrinsics = [[[width, 0, width / 2], [0, width, height / 2], [0, 0, 1]] for _ in images]
        extrinsics = np.array([_moved(position) for position in range(len(images))], np.float32)
        extrinsics[:, 0, 1] += self.skew  # as half precision leaves it
        return SimpleNamespace(
            depth=np.stack([ramp for _ in images]),
            intrinsics=np.array(intrinsics, np.float32),
            extrinsics=extrinsics,
            is_metric=self.is_metric,
        )


def fake_vggt() -> Vggt:
    """Answers as VGGT does: planes from 0 to 1 in, a leading batch axis out."""

    def network(images: np.ndarray) -> dict[str, np.ndarray]:
        count, channels, height, width = images.shape
        assert channels == 3
        assert height % 14 == width % 14 == 0
        assert 0 <= images.min() <= images.max() <= 1
        ramp = np.linspace(1, 9, width, dtype=np.float32)[None].repeat(height, axis=0)
        return {"pose_enc": np.zeros((1, count, 9)), "depth": np.stack([ramp] * count)[None, ..., None]}

    def decode(encoding: np.ndarray, size_hw: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        height, width = size_hw
        count = encoding.shape[1]
        matrix = [[width, 0, width / 2], [0, width, height / 2], [0, 0, 1]]
        return np.array([[_moved(position) for position in range(count)]]), np.array([[matrix] * count])

    return Vggt(network=network, decode=decode, tensor=lambda array: array, quietly=nullcontext)


@attrs.define
class ToldReader:
    """Writes what it was told; remembers what it was shown and asked."""

    text: str
    asked: list[tuple[tuple[int, int], str, int]] = attrs.field(factory=list)

    def read(self, image: Any, prompt: str, max_new_tokens: int) -> Reading:
        self.asked.append(((image.height, image.width), prompt, max_new_tokens))
        return Reading(text=self.text, prompt_tokens=11, completion_tokens=len(self.text.split()), finished=True)


@attrs.define
class Served:
    """A server, and what reaches it.

    Attributes:
        server: with its threads, which are closed with `close`.
        released: how often memory was given back.
    """

    server: ModelServer
    released: list[int]

    @property
    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.ASGITransport(self.server.app), base_url="http://server")

    def caller(self, path: str, tool: str, **changes: Any) -> RawCaller:
        poster = Poster(client=self.client, clock=FakeClock(), retry=0)
        return RawCaller(poster=poster, url=f"http://server{path}", tool=tool, **changes)


def served(kind: str, model: object, **limits: Any) -> Served:
    """A server of `segment`, `detect`, `scene` or `chat` over a model."""
    released: list[int] = []
    common: dict[str, Any] = {
        "release": lambda: released.append(1),
        "clock": SystemClock(),
        "limits": ServerLimits(**limits),
    }
    if kind == "chat":
        return Served(chat_server("paddle_ocr", MODEL_ID, model, **common), released)
    if kind == "scene":
        return Served(scene_server("depth_anything", model, **common), released)
    name = "sam3" if kind == "segment" else "grounding_dino"
    return Served(detection_server(name, kind, model, **common), released)


def scene_models() -> dict[str, Any]:
    return {"depth_anything": DepthAnything(network=FakeDepthAnything3()), "vggt": fake_vggt()}
