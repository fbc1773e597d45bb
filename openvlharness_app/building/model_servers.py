"""The raw model servers: what each loads by default, which variables its launcher reads, and how it is put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from openvlharness_adapters.servers.applications import ModelServer, ServerLimits
    from openvlharness_adapters.servers.devices import Device
    from openvlharness_adapters.servers.sources import Weights

Kind = Literal["sam3", "grounding-dino", "paddle-ocr", "deepseek-ocr", "depth-anything", "vggt"]


@attrs.frozen(kw_only=True)
class ServerKind:
    """One kind of raw server.

    Attributes:
        prefix: of its launcher variables: `<prefix>_HOST`, `<prefix>_PORT`.
        weights_variable: names the folder or hub name of its weights.
        weights: hub name of those that are loaded otherwise.
        port: where it listens otherwise.
        extra: what has to be installed for it.
        modules: what that extra brings.
        endpoints: what it answers, for its help.
        served_variable: names the model that requests ask for, on servers of the chat endpoint.
        served_as: that name otherwise: what a backend asks for if nothing is set.
    """

    prefix: str
    weights_variable: str
    weights: str
    port: int
    extra: str
    modules: tuple[str, ...] = ("torch", "transformers")
    endpoints: str
    served_variable: str | None = None
    served_as: str | None = None


KINDS: Mapping[Kind, ServerKind] = {
    "sam3": ServerKind(
        prefix="SAM3",
        weights_variable="SAM3_MODEL_PATH",
        weights="facebook/sam3",
        port=8111,
        extra="sam3",
        endpoints="POST /segment",
    ),
    "grounding-dino": ServerKind(
        prefix="GROUNDING_DINO",
        weights_variable="GROUNDING_DINO_MODEL_PATH",
        weights="IDEA-Research/grounding-dino-base",
        port=8112,
        extra="dino",
        endpoints="POST /detect",
    ),
    "paddle-ocr": ServerKind(
        prefix="OCR",
        weights_variable="OCR_MODEL_PATH",
        weights="PaddlePaddle/PaddleOCR-VL-1.5",
        port=8113,
        extra="ocr",
        endpoints="POST /v1/chat/completions",
        served_variable="OCR_MODEL_ID",
        served_as="PaddlePaddle/PaddleOCR-VL-1.5",
    ),
    "deepseek-ocr": ServerKind(
        prefix="DEEPSEEK_OCR",
        weights_variable="DEEPSEEK_OCR_MODEL_PATH",
        weights="deepseek-community/DeepSeek-OCR-2",  # the layout that transformers loads
        port=8114,
        extra="ocr",
        endpoints="POST /v1/chat/completions",
        served_variable="DEEPSEEK_OCR_MODEL_ID",
        served_as="deepseek-ai/DeepSeek-OCR-2",
    ),
    "depth-anything": ServerKind(
        prefix="DEPTH_ESTIMATION",
        weights_variable="DEPTH_ESTIMATION_MODEL_ID",
        weights="depth-anything/DA3NESTED-GIANT-LARGE",
        port=8115,
        extra="server",
        modules=("torch", "depth_anything_3"),
        endpoints="POST /depth and /poses",
    ),
    "vggt": ServerKind(
        prefix="VGGT",
        weights_variable="VGGT_MODEL_ID",
        weights="facebook/VGGT-1B",
        port=8116,
        extra="server",
        modules=("torch", "vggt"),
        endpoints="POST /depth and /poses",
    ),
}


def model_server(
    kind: Kind,
    weights: Weights,
    *,
    served_as: str | None,
    device: str | None,
    memory_fraction: float | None,
    limits: ServerLimits,
) -> ModelServer:
    """A server whose model is loaded.

    Args:
        kind: which.
        weights: what to load.
        served_as: the name that requests of the chat endpoint give; `None` for that of the kind.
        device: as torch calls it; `None` takes a graphics card if there is one.
        memory_fraction: share of the card's memory, above 0 up to 1.
        limits: what the server takes.

    Raises:
        HarnessError: no such device, or weights that cannot be loaded.
    """
    from openvlharness_adapters.runtime import SystemClock
    from openvlharness_adapters.servers.applications import chat_server, detection_server, scene_server
    from openvlharness_adapters.servers.devices import opened

    place = opened(device, memory_fraction)
    model = _loaded(kind, weights, place)
    clock, release = SystemClock(), place.release
    if kind == "sam3":
        return detection_server("sam3", "segment", model, release=release, clock=clock, limits=limits)
    if kind == "grounding-dino":
        return detection_server("grounding_dino", "detect", model, release=release, clock=clock, limits=limits)
    name = kind.replace("-", "_")
    if kind in {"paddle-ocr", "deepseek-ocr"}:
        model_id = served_as or str(KINDS[kind].served_as)
        return chat_server(name, model_id, model, release=release, clock=clock, limits=limits)
    return scene_server(name, model, release=release, clock=clock, limits=limits)


def _loaded(kind: Kind, weights: Weights, device: Device) -> object:
    if kind == "sam3":
        from openvlharness_adapters.servers.models import sam3

        return sam3.load(weights, device)
    if kind == "grounding-dino":
        from openvlharness_adapters.servers.models import grounding_dino

        return grounding_dino.load(weights, device)
    if kind in {"paddle-ocr", "deepseek-ocr"}:
        from openvlharness_adapters.servers.models import readers

        return (readers.load_paddle if kind == "paddle-ocr" else readers.load_deepseek)(weights, device)
    if kind == "depth-anything":
        from openvlharness_adapters.servers.models import depth_anything

        return depth_anything.load(weights, device)
    from openvlharness_adapters.servers.models import vggt

    return vggt.load(weights, device)
