"""From the keys of `services` to the router's own side and to the agent's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from openvlharness_adapters.backends.raw_detection import Sam3Backend
from openvlharness_adapters.backends.raw_scene import SceneDepthBackend
from openvlharness_adapters.imaging.zoom import InProcessZoom
from openvlharness_adapters.router.threads import SeatedOffload
from openvlharness_adapters.router_client.backends import RemoteCodeGenerator, RemoteDepth, RemoteGrounding, RemoteOcr
from openvlharness_adapters.router_client.raw import RawCaller
from openvlharness_adapters.router_client.router import RouterCaller
from openvlharness_app import build_container
from openvlharness_app.building import serving
from openvlharness_app.building.serving import Server, embedded_server, router_server
from openvlharness_app.faults import ConfigurationError
from openvlharness_app.loading import load_agent_config
from openvlharness_app.presets import load_preset
from openvlharness_app.settings import Settings
from openvlharness_app.settings_mapping import settings_to_mapping
from tests.support.routing import client_of


def _settings(**services: Any) -> Settings:
    mapping: Any = settings_to_mapping(load_preset("embedded"))
    for name, entry in services.items():
        mapping["services"][name] = {**mapping["services"].get(name, {}), **entry}
    return load_agent_config(mapping)


ROUTED = {"base_url": "http://router:8101", "timeout_seconds": 20.0, "retry": 2, "auth_token": "s3cret"}


# ---- the agent's side ------------------------------------------------------------------------------------------------


def test_with_a_router_everything_travels_but_zoom_and_running_code() -> None:
    container = build_container(_settings(client=ROUTED))
    backends = {tool.key: getattr(tool, "backend", None) for tool in container.toolset()}
    remote = {key for key, backend in backends.items() if isinstance(getattr(backend, "caller", None), RouterCaller)}
    assert remote == {"grounding", "ocr", "camera_pose", "text_search", "image_search", "web_visit"}
    assert isinstance(backends["zoom"], InProcessZoom)
    assert isinstance(container.code_generator(), RemoteCodeGenerator)
    assert type(container.code_executor()).__name__ == "LocalExecutor"


def test_the_client_is_as_the_keys_say() -> None:
    container = build_container(_settings(client=ROUTED))
    ocr = container.ocr_backend()
    assert isinstance(ocr, RemoteOcr)
    caller = ocr.caller
    assert isinstance(caller, RouterCaller)
    assert (caller.base_url, caller.tool) == ("http://router:8101", "embedded_ocr")
    assert (caller.poster.timeout_seconds, caller.poster.retry, caller.poster.token) == (20.0, 2, "s3cret")
    tool = next(tool for tool in container.toolset() if tool.key == "ocr")
    assert tool.timeout_seconds == 3 * 20.0 + 2 * 30.0, "the queue over there may be long"  # type: ignore[attr-defined]


def test_a_backend_that_only_the_router_has_needs_nothing_here() -> None:
    mapping: Any = settings_to_mapping(_settings(client=ROUTED))
    mapping["capabilities"]["tools"] |= {
        "grounding": {"backend": "sam3_segment"},
        "depth": {"backend": "depth_estimation"},
    }
    mapping["services"]["tools"] |= {
        name: {"server_url": "http://gpu"} for name in ("sam3_segment", "depth_estimation")
    }
    container = build_container(mapping)
    assert isinstance(container.grounding_backend(), RemoteGrounding)
    assert isinstance(container.depth_backend(), RemoteDepth)
    del mapping["services"]["client"]["base_url"]
    here = build_container(mapping)
    assert isinstance(here.grounding_backend(), Sam3Backend)
    assert isinstance(here.depth_backend(), SceneDepthBackend)


def test_an_embedded_backend_with_an_address_is_reached_there() -> None:
    container = build_container(
        _settings(tools={"embedded_ocr": {"server_url": "http://cpu:8110/", "timeout_seconds": 7.0}})
    )
    ocr = container.ocr_backend()
    assert isinstance(ocr, RemoteOcr)
    assert isinstance(ocr.caller, RawCaller)
    assert ocr.caller.url == "http://cpu:8110/embedded/ocr"
    assert ocr.caller.poster.timeout_seconds == 7.0
    assert not isinstance(container.grounding_backend(), RemoteGrounding)


# ---- the router's side -----------------------------------------------------------------------------------------------


@pytest.fixture
def router() -> Iterator[Server]:
    settings = _settings(
        client=ROUTED, server={"limits": {"ocr": 3, "sam3": 2}, "auth_token": "t", "max_body_bytes": 5000}
    )
    server = router_server(settings)
    yield server
    asyncio.run(server.container.lifetime().close())


async def _tools(server: Server, token: str = "") -> dict[str, dict[str, Any]]:
    async with client_of(server.app) as client:
        rows = (await client.get("/tools", headers={"Authorization": f"Bearer {token}"})).json()
    return {row["name"]: row for row in rows}


def test_the_router_serves_the_selected_backends_in_their_groups(router: Server) -> None:
    rows = asyncio.run(_tools(router, "t"))
    assert {name: row["group"] for name, row in rows.items()} == {
        "embedded_grounding": "sam3",
        "embedded_ocr": "ocr",
        "embedded_camera": "depth",
        "zoom_in_image_by_bbox": None,
        "embedded_text_search": "search",
        "embedded_image_search": "search",
        "embedded_webpage_visit": "webpage",
        "python_coding_agent": "coding",
    }
    assert [rows[name]["limit"] for name in ("embedded_ocr", "embedded_grounding", "embedded_camera")] == [3, 2, 1]


async def test_the_keys_of_the_server_hold(router: Server) -> None:
    async with client_of(router.app) as client:
        assert (await client.get("/tools")).status_code == 401
        right = {"Authorization": "Bearer t"}
        assert (await client.post("/execute", content=b"x" * 5001, headers=right)).status_code == 413
        assert (await client.post("/execute", content=b"x" * 5000, headers=right)).status_code == 400


def test_nothing_that_the_router_serves_starts_a_thread_that_nobody_notes(router: Server) -> None:
    seen = []
    for provider in ("ocr", "grounding", "camera", "text_search", "image_search", "page", "zoom"):
        backend = getattr(router.container, f"{provider}_backend")()
        for holder in (backend, getattr(backend, "ocr", None)):
            if holder is not None and hasattr(holder, "offload"):
                seen.append(provider)
                assert isinstance(holder.offload, SeatedOffload), provider
    assert seen == ["ocr", "grounding", "grounding", "camera", "text_search", "image_search", "page", "zoom"]


async def test_ready_names_what_is_missing_here(router: Server, tmp_path: Any) -> None:
    async with client_of(router.app) as client:
        backends = (await client.get("/ready", headers={"Authorization": "Bearer t"})).json()["backends"]
    assert backends["embedded_text_search"] == {
        "reachable": False,
        "reason": "there are no documents at openvlharness-corpus.sqlite",
    }
    assert backends["zoom_in_image_by_bbox"]["reachable"] is True


async def test_a_server_that_does_not_answer_makes_the_router_unready() -> None:
    server = router_server(_settings(tools={"embedded_ocr": {"server_url": "http://127.0.0.1:9"}}))
    async with client_of(server.app) as client:
        reply = await client.get("/ready")
    assert reply.status_code == 503
    told = reply.json()["backends"]["embedded_ocr"]
    assert told["reachable"] is False
    assert "http://127.0.0.1:9/health" in told["reason"]
    await server.container.lifetime().close()


def test_a_shared_gate_without_its_client_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.util import find_spec as real

    monkeypatch.setattr(serving, "find_spec", lambda name: None if name == "redis" else real(name))
    with pytest.raises(ConfigurationError, match=r"(?s)services\.server\.gate.*openvlharness\[redis\]") as refused:
        router_server(_settings(server={"gate": "redis://:CANARY@cache:6379/0"}))
    assert "CANARY" not in str(refused.value)


def test_a_shared_gate_opens_nothing_before_it_is_used() -> None:
    pytest.importorskip("redis", reason="needs the extra: pip install 'openvlharness[redis]'")
    server = router_server(_settings(server={"gate": "redis://:CANARY@127.0.0.1:9/0"}))
    assert not [thread for thread in threading.enumerate() if "redis" in thread.name]
    asyncio.run(server.container.lifetime().close())


def test_capacity_grows_with_the_replicas() -> None:
    addresses = [f"http://cpu:{port}" for port in (1, 2, 3)]
    tools: Any = {
        "embedded_ocr": {"server_url": addresses},
        "embedded_text_search": {"server_url": addresses[:2]},
        "embedded_image_search": {"server_url": addresses},
    }
    server = router_server(_settings(server={"limits": {"ocr": 2, "search": 3}}, tools=tools))
    rows = asyncio.run(_tools(server))
    assert rows["embedded_ocr"]["limit"] == 6
    assert rows["embedded_text_search"]["limit"] == rows["embedded_image_search"]["limit"] == 6, "the fewest count"
    asyncio.run(server.container.lifetime().close())


async def test_unready_is_a_backend_none_of_whose_replicas_answers() -> None:
    addresses = ["http://127.0.0.1:9", "http://127.0.0.1:11"]
    server = router_server(_settings(tools={"embedded_ocr": {"server_url": addresses}}))
    async with client_of(server.app) as client:
        told = (await client.get("/ready")).json()["backends"]["embedded_ocr"]
    assert told["reachable"] is False
    assert "http://127.0.0.1:9/health" in told["reason"]
    assert "http://127.0.0.1:11/health" in told["reason"]
    await server.container.lifetime().close()


async def test_the_embedded_server_works_in_process_whatever_the_configuration_says(tmp_path: Any) -> None:
    (tmp_path / "kestrel.md").write_text(
        "# Kestrel bridge\n\nThe Kestrel bridge was opened in 1931.\n", encoding="utf-8"
    )
    settings = _settings(client=ROUTED, tools={"embedded_text_search": {"server_url": "http://127.0.0.1:9"}})
    server = embedded_server(settings, str(tmp_path))
    assert attrs.asdict(settings.services.client)["base_url"] == "http://router:8101"
    async with client_of(server.app) as client:
        reply = await client.post("/embedded/text_search", json={"query": "When was the Kestrel bridge opened?"})
        assert reply.status_code == 200
        assert reply.json()["items"][0]["title"]
        assert (await client.post("/embedded/depth", json={})).status_code == 404
    await server.container.lifetime().close()
