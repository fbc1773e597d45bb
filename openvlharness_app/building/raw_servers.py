"""The backends that a raw model server answers for, by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from openvlharness_app.building.plugins import selected_name
from openvlharness_app.building.remote import Remotes
from openvlharness_core import Offload

if TYPE_CHECKING:
    from openvlharness_adapters.router_client.caller import Caller

_ENDPOINTS: Mapping[str, str] = {
    "sam3_segment": "/segment",
    "grounding_dino": "/detect",
    "depth_estimation": "/depth",
    "vggt_depth": "/depth",
    "camera_trajectory": "/poses",
    "vggt_camera": "/poses",
}
RAW_BACKENDS = (*_ENDPOINTS, "ocr", "deepseek_ocr")


def find_raw_backend(remotes: Remotes, capability: str, offload: Offload) -> Any:
    """The selected backend of a capability, if a raw model server answers for it; else `None`.

    The names that OCR servers give their models are those of `OCR_MODEL_ID` and `DEEPSEEK_OCR_MODEL_ID`.
    """
    name = selected_name(remotes.settings, capability)
    if name not in RAW_BACKENDS:
        return None
    if name in {"ocr", "deepseek_ocr"}:
        return _reader(name, remotes)
    caller = remotes.server(name, _behind(_ENDPOINTS[name]))
    return None if caller is None else _MAKERS[name](caller, offload)


def _behind(suffix: str) -> Callable[[str], str]:
    return lambda base: base.rstrip("/") + suffix


def _reader(name: str, remotes: Remotes) -> Any:
    from openvlharness_adapters.backends import openai_ocr
    from openvlharness_adapters.http.endpoints import endpoint_of

    def address(base: str) -> str:
        return endpoint_of(base, openai_ocr.ENDPOINT, name=f"services.tools.{name}.server_url")

    caller = remotes.server(name, address, openai_ocr.chat_result)
    if caller is None:
        return None
    if name == "ocr":
        model_id = os.environ.get("OCR_MODEL_ID") or openai_ocr.DEFAULT_MODEL_ID
        return openai_ocr.OpenAIOcrBackend(caller=caller, model_id=model_id)
    model_id = os.environ.get("DEEPSEEK_OCR_MODEL_ID") or openai_ocr.DEEPSEEK_MODEL_ID
    return openai_ocr.OpenAIOcrBackend(caller=caller, model_id=model_id, prompt=openai_ocr.DEEPSEEK_PROMPT)


def _sam3(caller: Caller, offload: Offload) -> object:
    from openvlharness_adapters.backends.raw_detection import Sam3Backend

    return Sam3Backend(caller=caller)


def _dino(caller: Caller, offload: Offload) -> object:
    from openvlharness_adapters.backends.raw_detection import GroundingDinoBackend

    return GroundingDinoBackend(caller=caller)


def _depth(caller: Caller, offload: Offload) -> object:
    from openvlharness_adapters.backends.raw_scene import SceneDepthBackend

    return SceneDepthBackend(caller=caller, offload=offload)


def _camera(caller: Caller, offload: Offload) -> object:
    from openvlharness_adapters.backends.raw_scene import SceneCameraBackend

    return SceneCameraBackend(caller=caller)


_MAKERS: Mapping[str, Callable[[Caller, Offload], object]] = {
    "sam3_segment": _sam3,
    "grounding_dino": _dino,
    "depth_estimation": _depth,
    "vggt_depth": _depth,
    "camera_trajectory": _camera,
    "vggt_camera": _camera,
}
