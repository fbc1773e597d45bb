"""An agent built from a configuration, in front of a scripted server: where a test looks for what a key brought about."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import attrs
from PIL import Image

from openvlharness_app import build_container
from openvlharness_app.container import AgentContainer
from openvlharness_app.faults import ConfigurationError
from openvlharness_core import Capability, ImageInput, Question, Report, TurnPolicy
from tests.support import responses_server
from tests.support.chat_server import ChatServer, Completion, Recorded, Script, calls, says
from tests.support.responses_server import ResponsesServer
from tests.unit.app.configurations import Tree, load, small

TOOLS = {
    "grounding": "embedded_grounding",
    "ocr": "embedded_ocr",
    "camera_pose": "embedded_camera",
    "zoom": "zoom_in_image_by_bbox",
    "text_search": "embedded_text_search",
    "image_search": "embedded_image_search",
    "web_visit": "embedded_webpage_visit",
}


def served() -> Tree:
    """Every tool of this version, and a model behind the scripted server, whose address is `${SERVER}`."""
    tree = small()
    tree["memory"]["modules"] += [{"name": "tool_context"}, {"name": "url"}]
    coding = {"generator": "python_coding_agent", "executor": "python_executor_local"}
    tree["capabilities"] = {
        "registries": ["paper", "embedded"],
        "tools": {name: {"backend": backend} for name, backend in TOOLS.items()} | {"coding": coding},
    }
    tree["services"]["tools"] = {"zoom_in_image_by_bbox": {}, "python_coding_agent": {}}
    tree["services"]["models"]["orchestrator"] = {"alias": "generic-chat", "model_id": "m", "base": "${SERVER}"}
    return tree


def answering(request: Recorded) -> Completion:
    """A model that thinks, zooms once and answers."""
    if any(message["role"] == "assistant" for message in request.json["messages"]):
        return says("<answer>red</answer>")
    zoom = ("Zoom_In_Tool", {"image_id": "input_image_1", "coords": [0, 0, 500, 500]})
    return calls(zoom, reasoning_content="Closer.")


def responding(request: Recorded) -> Completion:
    """The same model over the Responses protocol."""
    if any(item["type"] == "function_call_output" for item in request.json["input"] if "type" in item):
        return responses_server.says("<answer>red</answer>")
    zoom = ("Zoom_In_Tool", {"image_id": "input_image_1", "coords": [0, 0, 500, 500]})
    return responses_server.calls(zoom, before=[responses_server.reasoning()])


def red_square() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 40), "red").save(buffer, "PNG")
    return buffer.getvalue()


@attrs.define
class Wired:
    """One configuration and everything that can be seen of it.

    Attributes:
        server: stands for the model's service.
        tree: the configuration.
        environment: the variables beside those that every configuration has.
    """

    server: ChatServer
    tree: Tree
    environment: Mapping[str, str]
    _container: AgentContainer | None = attrs.field(default=None, init=False)

    @property
    def container(self) -> AgentContainer:
        """Built when it is first looked at."""
        if self._container is None:
            self._container = build_container(load(self.tree, **self.environment))
        return self._container

    @property
    def built(self) -> bool:
        return self._container is not None

    @property
    def policy(self) -> TurnPolicy:
        return self.container.agent().policy

    def tool(self, key: str) -> Capability | None:
        """The capability of that key, if the model is offered it."""
        return next((tool for tool in self.container.toolset() if tool.key == key), None)

    def faults(self) -> list[str]:
        """The keys of the faults with which it is refused."""
        try:
            load(self.tree, **self.environment)
        except ConfigurationError as error:
            return [fault.key for fault in error.faults]
        return []

    async def answered(self) -> Report:
        """The report of a question with a task id and a picture, answered over the wire."""
        question = Question("Which colour?", [ImageInput.from_bytes(red_square())])
        return await self.container.agent().answer(question, task_id="task")

    async def request(self, number: int = 0) -> Recorded:
        """A request of that question, the first one by default."""
        if not self.server.requests:
            await self.answered()
        return self.server.requests[number]

    async def body(self, number: int = 0) -> dict[str, Any]:
        """What it says."""
        return (await self.request(number)).json

    async def fetched(self) -> str:
        """What comes of a picture at a private address."""
        from openvlharness_core import FetchError

        try:
            await self.container.image_fetcher().fetch(f"{self.server.base_url}/a.png")
        except FetchError as error:
            return "kept from it" if "not public" in error.reason else "let through"
        raise AssertionError("the scripted server has no such picture")


Seen = Callable[[Wired], object]


@asynccontextmanager
async def wired(
    tree: Tree, environment: Mapping[str, str], script: Script | None = None, *, responses: bool = False
) -> AsyncIterator[Wired]:
    """`tree` in front of a server that runs until the block ends; then everything that was opened is closed.

    The server speaks Chat Completions, or Responses; by default a model answers after one call.
    """
    made = ResponsesServer(script or responding) if responses else ChatServer(script or answering)
    async with made as server:
        places = {"SERVER": server.base_url, "SERVER_HOST": f"127.0.0.1:{server.port}"}
        stage = Wired(server, tree, places | dict(environment))
        yield stage
        assert not server.violations, server.violations
        if stage.built:
            await stage.container.lifetime().close()
