"""An agent from a configuration, with the server of a test as its model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from contracts.ports.pictures import png_of
from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.http.endpoints import endpoint_of
from openvlharness_adapters.models import chat_completions, responses
from openvlharness_adapters.models.served import ServedModel
from openvlharness_adapters.runtime import SystemClock
from openvlharness_app import build_container, load_agent_config, open_agent
from openvlharness_core import MainAgent, ModelProfile, PromptBundle, Report, ToolStep
from openvlharness_core.agent.steps import CompactionStep, ModelStep
from openvlharness_core.seeking import SearchItem
from openvlharness_core.testing import FakeOcr, FakeTextSearch

ALIASES = ("generic-chat", "generic-responses")
BOTH = pytest.mark.parametrize("alias", ALIASES)
EITHER_WAY = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
TIMEOUT_SECONDS = 600.0  # the machine may be busy with anything else
RETRY = 2  # the small model's server closes a connection now and then just as the next request leaves on it

TOOLS = {
    "zoom": {"backend": "zoom_in_image_by_bbox"},
    "ocr": {"backend": "embedded_ocr"},
    "text_search": {"backend": "embedded_text_search"},
}
SERVICES = {"zoom_in_image_by_bbox": {}, "embedded_ocr": {}, "embedded_text_search": {"corpus": "none"}}


def configuration(
    address: str, alias: str, model_id: str, tools: tuple[str, ...], max_iterations: int, options: Mapping[str, Any]
) -> dict[str, Any]:
    backends = [TOOLS[tool]["backend"] for tool in tools]
    model = {"alias": alias, "model_id": model_id, "base": address, "key": "any", "retry": RETRY, **options}
    return {
        "agent_name": "MainAgent",
        "agent_config_version": "peers_v1",
        "agent": {"model_service": "orchestrator", "max_iterations": max_iterations},
        "memory": {"modules": [{"name": name} for name in ("image", "tool_context", "url")]},
        "capabilities": {"registries": ["paper", "embedded"], "tools": {tool: TOOLS[tool] for tool in tools}},
        "services": {
            "tools": {backend: SERVICES[backend] for backend in backends},
            "models": {"orchestrator": {"timeout": TIMEOUT_SECONDS, **model}},
        },
    }


@asynccontextmanager
async def agent_of(
    address: str,
    alias: str,
    *,
    tools: tuple[str, ...],
    model_id: str = "any",
    found: tuple[SearchItem, ...] = (),
    prompts: PromptBundle | None = None,
    max_iterations: int = 4,
    **options: Any,
) -> AsyncIterator[MainAgent]:
    """An agent as the application makes it; what reads and what searches are doubles."""
    tree = configuration(address, alias, model_id, tools, max_iterations, options)
    container = build_container(load_agent_config(json.loads(json.dumps(tree)), {}))
    if "ocr" in tools:  # an override selects its tool
        container.ocr_backend.override(FakeOcr(("TOTAL 12.50",)))
    if "text_search" in tools:
        container.text_search_backend.override(FakeTextSearch(found))
    if prompts is not None:
        container.prompts.override(prompts)
    async with open_agent(container) as agent:
        yield agent


@asynccontextmanager
async def model_of(
    address: str, alias: str, *, model_id: str = "any", stream: bool, **options: object
) -> AsyncIterator[ServedModel]:
    """The adapter alone."""
    made, endpoint = (
        (chat_completions.ChatCompletionsModel, chat_completions.ENDPOINT)
        if alias == "generic-chat"
        else (responses.ResponsesModel, responses.ENDPOINT)
    )
    async with open_client() as client:
        yield made(
            client=client,
            endpoint=endpoint_of(address, endpoint),
            profile=ModelProfile(alias=alias, model_id=model_id),
            clock=SystemClock(),
            options=options,
            retry=0,
            timeout_seconds=TIMEOUT_SECONDS,
            stream=stream,
        )


def model_steps(report: Report) -> list[ModelStep]:
    return [step for step in report.steps if isinstance(step, ModelStep)]


def tool_steps(report: Report) -> list[ToolStep]:
    return [step for step in report.steps if isinstance(step, ToolStep)]


def compactions(report: Report) -> list[CompactionStep]:
    return [step for step in report.steps if isinstance(step, CompactionStep)]


def picture() -> bytes:
    """A small picture, as a PNG."""
    return png_of(np.full((100, 200, 3), 200, np.uint8))
