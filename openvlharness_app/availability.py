"""What a valid configuration may ask for that this version does not bring: said before anything is built."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from openvlharness_app.backends import PACKAGED_BACKENDS
from openvlharness_app.faults import Fault
from openvlharness_app.settings import Settings

BACKENDS_HERE = (
    "camera_trajectory",
    "deepseek_ocr",
    "depth_estimation",
    "embedded_camera",
    "embedded_grounding",
    "embedded_image_search",
    "embedded_ocr",
    "embedded_text_search",
    "embedded_webpage_visit",
    "grounding_dino",
    "ocr",
    "python_coding_agent",
    "python_executor_local",
    "python_executor_sandboxed",
    "sam3_segment",
    "serper_image_search",
    "serper_text_search",
    "serper_webpage_visit",
    "vggt_camera",
    "vggt_depth",
    "zoom_in_image_by_bbox",
)
"""Packaged backends that can be built."""


def unavailable(settings: Settings) -> tuple[Fault, ...]:
    """One fault for each thing that the configuration selects and that is not there."""
    return tuple(_faults(settings))


def _faults(settings: Settings) -> Iterator[Fault]:
    here = f"one that this version brings ({', '.join(BACKENDS_HERE)}) or a plug-in's"
    tools = settings.capabilities.tools
    routed = settings.services.client.base_url is not None
    for field in attrs.fields(type(tools)):
        choice = getattr(tools, field.name)
        for role, name in () if choice is None else attrs.asdict(choice).items():
            if routed and field.name != "zoom" and role != "executor":
                continue  # the router's own matter
            if name in PACKAGED_BACKENDS and name not in BACKENDS_HERE:
                yield Fault(key=f"capabilities.tools.{field.name}.{role}", expected=here, got=str(name))
    generator = settings.services.tools.python_coding_agent
    if tools.coding is not None and generator is not None and generator.mode != "single_shot":
        expected = "single_shot in this version"
        yield Fault(key="services.tools.python_coding_agent.mode", expected=expected, got=generator.mode)
    if settings.ablation != "full":
        yield Fault(key="ablation", expected="full in this version", got=settings.ablation)
    if settings.capabilities.bank is not None:
        yield Fault(key="capabilities.bank", expected="nothing in this version", got="a path")
