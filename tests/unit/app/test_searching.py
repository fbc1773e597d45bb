"""The three web backends as a configuration builds them: key and host from the environment, one guard, one client."""

from __future__ import annotations

import json
import traceback
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from openvlharness_app.building.searching import Searching
from openvlharness_app.container import AgentContainer, build_container
from openvlharness_app.faults import ConfigurationError
from openvlharness_app.loading import load_agent_config
from openvlharness_core.errors import BackendUnavailableError
from tests.support.chat_server import ChatServer, Recorded, Step, says
from tests.support.serper_server import KEY, SerperServer, refuses
from tests.unit.app.configurations import small

_BACKENDS = {
    "text_search": "serper_text_search",
    "image_search": "serper_image_search",
    "web_visit": "serper_webpage_visit",
}


def _tree(base: str, **tools: Any) -> dict[str, Any]:
    tree = small()
    tree["capabilities"]["tools"] = {key: {"backend": name} for key, name in _BACKENDS.items()}
    tree["services"]["tools"] = {name: {} | tools for name in _BACKENDS.values()}
    tree["services"]["models"]["auxiliary"] = {"alias": "generic-chat", "model_id": "small", "base": base, "key": "a"}
    return tree


def _container(tree: dict[str, Any], environment: Mapping[str, str], bases: Mapping[str, str]) -> AgentContainer:
    container = build_container(load_agent_config(tree))
    web: Searching = container.web()
    web.environment, web.bases = environment, bases
    return container


@pytest.fixture
async def service() -> AsyncIterator[SerperServer]:
    async with SerperServer() as server:
        yield server


def _auxiliary(request: Recorded) -> Step:
    asked = str(request.json["messages"])
    if "Goal:" in asked:
        return says(json.dumps({"relevant": True, "evidence": "Nine arches.", "summary": "Nine."}))
    return says(json.dumps({"kept": [2], "summary": "It is [2].", "nothing_relevant": None, "suggestions": []}))


async def test_all_three_work_as_configured(service: SerperServer, tmp_path: Path, picture: bytes) -> None:
    environment = {
        "SERPER_API_KEY": KEY,
        "IMAGE_UPLOAD_PROVIDER": "local",
        "IMAGE_UPLOAD_PUBLIC_BASE_URL": "https://images.example",
        "IMAGE_UPLOAD_LOCAL_DIR": str(tmp_path / "uploads"),
    }
    async with ChatServer(_auxiliary, strict=False) as model:
        container = _container(_tree(model.base_url), environment, service.bases)
        try:
            shown = container.image_codec().take_in(picture, container.agent().limits).full
            text = await container.text_search_backend().search("bridge", "news", timeout_seconds=60)
            image = await container.image_search_backend().search(shown, timeout_seconds=60)
            page = await container.page_backend().visit(["https://b.example/"], "arches", timeout_seconds=60)
        finally:
            await container.lifetime().close()
    assert [item.title for item in text.value.items] == ["News 2"]
    assert [item.title for item in image.value.items] == ["Seen on 2"]
    assert page.value[0].evidence == "Nine arches."
    assert service.fetched == [], "loopback is not public, so no thumbnail was fetched"
    assert service.asked[1].json["url"].startswith("https://images.example/")
    assert list((tmp_path / "uploads").iterdir()) == []
    assert model.requests[0].json["model"] == "small"
    assert [len(request.json["messages"][-1]["content"]) for request in model.requests[1:2]] == [2]
    spent = {spent.role for answered in (text, image, page) for spent in answered.usage}  # type: ignore[attr-defined]
    assert spent == {"search", "auxiliary"}


@pytest.mark.parametrize("key", ["text_search", "image_search", "web_visit"])
def test_without_a_key_nothing_is_built_and_the_variable_is_named(key: str) -> None:
    container = _container(
        _tree("http://127.0.0.1:1"), {"GCS_BUCKET_NAME": "b", "GOOGLE_APPLICATION_CREDENTIALS": "k"}, {}
    )
    provider = {"web_visit": "page_backend"}.get(key, f"{key}_backend")
    with pytest.raises(ConfigurationError, match="SERPER_API_KEY: expected the key"):
        getattr(container, provider)()


def test_a_host_that_is_not_set_up_is_told_when_the_search_is_built() -> None:
    container = _container(_tree("http://127.0.0.1:1"), {"SERPER_API_KEY": "k"}, {})
    with pytest.raises(ConfigurationError, match="GCS_BUCKET_NAME"):
        container.image_search_backend()


@pytest.mark.parametrize("provider", ["s3", "gcs"])
def test_object_stores_are_opened_when_they_are_needed_and_not_before(provider: str) -> None:
    environment = {
        "SERPER_API_KEY": "k",
        "IMAGE_UPLOAD_PROVIDER": provider,
        "AWS_S3_BUCKET_NAME": "b",
        "GCS_BUCKET_NAME": "b",
        "GOOGLE_APPLICATION_CREDENTIALS": "none.json",
        "SEARCH_LENS_EMPTY_MAX_ATTEMPTS": "7",
    }
    backend: Any = _container(_tree("http://127.0.0.1:1"), environment, {}).image_search_backend()
    assert backend.host.provider == provider
    assert backend.empty_replies.max_attempts == 7


def test_with_a_router_no_key_is_needed() -> None:
    tree = _tree("http://127.0.0.1:1")
    tree["services"]["client"] = {"base_url": "http://127.0.0.1:9"}
    container = _container(tree, {}, {})
    assert type(container.text_search_backend()).__name__ == "RemoteTextSearch"


async def test_each_search_has_its_own_model_and_its_own_deadline(service: SerperServer) -> None:
    async with ChatServer(_auxiliary, strict=False) as first, ChatServer(_auxiliary, strict=False) as second:
        tree = _tree(first.base_url)
        tree["services"]["models"]["other"] = {**tree["services"]["models"]["auxiliary"], "base": second.base_url}
        tree["services"]["tools"]["serper_webpage_visit"] = {"model_service": "other", "timeout_seconds": 45}
        environment = {"SERPER_API_KEY": KEY, "GCS_BUCKET_NAME": "b", "GOOGLE_APPLICATION_CREDENTIALS": "k"}
        container = _container(tree, environment, service.bases)
        try:
            await container.text_search_backend().search("bridge", "news", timeout_seconds=60)
            await container.page_backend().visit(["https://b.example/"], "arches", timeout_seconds=60)
            seconds: dict[str, float] = {tool.key: tool.timeout_seconds for tool in container.toolset()}
        finally:
            await container.lifetime().close()
    assert (len(first.requests), len(second.requests)) == (1, 1)
    assert seconds == {"text_search": 300.0, "image_search": 300.0, "web_visit": 45.0}


async def test_a_key_is_in_no_failure(service: SerperServer) -> None:
    """The service refuses and quotes the key; the auxiliary model is away."""
    service.replies["/search"] = lambda asked: refuses(400, f"bad request of {asked.headers['x-api-key']}")
    container = _container(_tree("http://127.0.0.1:1"), {"SERPER_API_KEY": KEY}, service.bases)
    try:
        backend = container.text_search_backend()
        with pytest.raises(BackendUnavailableError, match="bad request of") as failure:
            await backend.search("bridge", "search", timeout_seconds=60)
    finally:
        await container.lifetime().close()
    shown = "".join(traceback.format_exception(failure.value)) + repr(backend) + repr(container.web())
    assert KEY not in shown
