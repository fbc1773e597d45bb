"""`check --live`: each service there or not, the reason by name, never a key; time is moved by hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.http.proxies import ProxySettings
from openvlharness_app.cli.main import cli
from openvlharness_app.faults import ConfigurationError
from openvlharness_app.live import Asker, ServiceState
from openvlharness_app.search_variables import search_key
from openvlharness_core.testing import FakeClock
from tests.support.chat_server import ChatServer, Hang, Respond, says
from tests.support.service_server import ServiceServer, keyed, listing
from tests.unit.app.configurations import Tree, changed, load, paper, small

MODEL = "services.models.orchestrator"
CANARY = "CANARY-1"
OTHER = "CANARY-2"
PAGE = b"<!doctype html><title>Login</title><p>Please log in"


def _tree(base: str, *changes: tuple[str, Any]) -> Tree:
    entry = {"alias": "generic-chat", "model_id": "m", "base": base, "key": CANARY}
    return changed(small(), (MODEL, entry), *changes)


async def _states(
    tree: Tree,
    *,
    variables: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    clock: FakeClock | None = None,
    **load_with: str,
) -> dict[str, ServiceState]:
    """By service; later ones of the same service win."""
    proxies = ProxySettings.from_variables(variables or {})
    async with open_client(proxies=proxies) as client:
        asker = Asker(
            settings=load(tree, **load_with),
            client=client,
            clock=clock or FakeClock(),
            environment=environment or {},
            timeout_seconds=9.0,
        )
        states = await asker.ask_all()
    told = json.dumps([str(state) for state in states]) + repr(asker)
    assert CANARY not in told
    assert OTHER not in told
    return {state.service: state for state in states}


async def _model(tree: Tree, **how: Any) -> ServiceState:
    return (await _states(tree, **how))[MODEL]


# Models


async def test_a_list_with_the_model_for_the_right_key_is_enough() -> None:
    async with ServiceServer([], pages={"/v1/models": keyed(CANARY, listing("other", "m"))}) as server:
        state = await _model(_tree(server.base_url))
    assert (state.ok, state.detail, state.roles) == (True, "takes the key and lists m", ("orchestrator",))
    assert state.address == f"{server.base_url}/"
    assert [request.method for request in server.requests] == ["GET", "GET"]


async def test_without_a_key_one_question_is_enough() -> None:
    async with ServiceServer([], pages={"/v1/models": listing("m")}) as server:
        state = await _model(_tree(f"{server.base_url}/v1", (f"{MODEL}.key", "empty")))
    assert (state.ok, state.detail) == (True, "lists m")
    assert len(server.requests) == 1
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    "pages",
    [
        {},
        {"/v1/models": listing("another")},
        {"/v1/models": listing("m")},
        {"/v1/models": Respond(200, b'{"data": 3}')},
        {"/v1/models": Respond(405)},
    ],
    ids=["no list", "not listed", "a list for anybody", "no such list", "not allowed"],
)
async def test_where_the_list_does_not_tell_a_short_request_does(pages: dict[str, Any]) -> None:
    async with ServiceServer([says("ok")], pages=pages) as server:
        state = await _model(_tree(server.endpoint, (f"{MODEL}.max_tokens", 9000), (f"{MODEL}.stream", True)))
        server.assert_spent()
    assert (state.ok, state.detail) == (True, "answered a request for 16 tokens as m")
    asked = server.requests[-1]
    assert asked.json["max_tokens"] == 16
    assert "stream" not in asked.json
    assert asked.headers["authorization"] == f"Bearer {CANARY}"


async def test_a_wrong_key_is_said_without_the_key() -> None:
    async with ServiceServer([], pages={"/v1/models": keyed(OTHER, listing("m"))}) as server:
        state = await _model(_tree(server.base_url))
    assert not state.ok
    assert state.detail == f"{server.base_url}/v1/models: 401 Unauthorized: Incorrect API key provided"
    async with ServiceServer(
        [Respond.error(401, f"no such key {CANARY}")], pages={"/v1/models": listing("m")}
    ) as server:
        state = await _model(_tree(server.base_url))
    assert not state.ok
    assert f"{server.endpoint}: 401 Unauthorized" in state.detail


async def test_a_model_that_is_not_served() -> None:
    refusal = Respond.error(404, "The model `m` does not exist.")
    async with ServiceServer([refusal], pages={"/v1/models": listing("another")}) as server:
        state = await _model(_tree(server.base_url))
    assert not state.ok
    assert "404 Not Found: The model `m` does not exist." in state.detail


async def test_a_port_where_nobody_listens() -> None:
    async with ServiceServer([]) as server:
        base = server.base_url
    state = await _model(_tree(base))
    assert not state.ok
    assert state.detail.startswith(f"{base}/v1/models: the connection failed or broke (ConnectError)")


async def test_a_service_that_is_slow() -> None:
    clock = FakeClock()
    async with ServiceServer([], pages={"/v1/models": Hang()}) as server:
        asking = asyncio.create_task(_model(_tree(server.base_url), clock=clock))
        await server.until(lambda it: it.hanging == 1)
        await clock.advance(9.0)
        state = await asking
        await server.until(lambda it: it.departed == 1)
    assert (state.ok, state.detail) == (False, f"{server.base_url}/v1/models: no answer within 9 s")


async def test_a_service_that_is_slow_to_say_anything() -> None:
    clock = FakeClock()
    async with ServiceServer([Hang()]) as server:
        asking = asyncio.create_task(_model(_tree(server.base_url), clock=clock))
        await server.until(lambda it: it.hanging == 1)
        await clock.advance(9.0)
        state = await asking
    assert not state.ok
    assert f"{server.endpoint}: no answer within 9 s" in state.detail


async def test_a_web_page_instead_of_a_service() -> None:
    async with ServiceServer([Respond(200, PAGE)], pages={"/v1/models": Respond(200, PAGE)}) as server:
        state = await _model(_tree(server.base_url))
    assert not state.ok
    assert "an HTML page" in state.detail
    async with ServiceServer([], pages={"/v1/models": Respond(500, PAGE)}) as server:
        state = await _model(_tree(server.base_url))
    assert not state.ok
    assert "500 Internal Server Error: an HTML page" in state.detail


# Proxies


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_dead_proxy_is_not_used_for_this_machine(host: str) -> None:
    dead = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "ALL_PROXY": "http://127.0.0.1:9"}
    async with ServiceServer([], pages={"/v1/models": keyed(CANARY, listing("m"))}) as server:
        base = server.base_url.replace("127.0.0.1", host)
        assert (await _model(_tree(base), variables=dead)).ok


async def test_a_dead_proxy_of_another_host_is_told() -> None:
    state = await _model(_tree("http://models.example"), variables={"HTTP_PROXY": "http://127.0.0.1:9"})
    assert not state.ok
    assert state.detail.startswith("http://models.example/v1/models: the connection failed")


@pytest.mark.parametrize("status", [502, 503, 403])
async def test_a_refusal_of_a_proxy_is_named_as_one(status: int) -> None:
    pages = {"http://models.example/v1/models": Respond(status, PAGE)}
    async with ServiceServer([], pages=pages) as proxy:
        state = await _model(_tree("http://models.example"), variables={"HTTP_PROXY": proxy.base_url})
    assert not state.ok
    assert state.address == "http://models.example/"
    assert f", from or through the proxy {proxy.base_url}" in state.detail


async def test_a_proxy_that_opens_no_tunnel_is_named() -> None:
    async with ChatServer([]) as proxy:  # answers 404 to CONNECT
        state = await _model(_tree("https://models.example"), variables={"HTTPS_PROXY": proxy.base_url})
    assert not state.ok
    assert "the proxy answered 404 Not Found and opened no connection" in state.detail


# Everything else

VARIABLES = ("TOOL_SERVER_URL", "SAM3_SERVER_URL", "OCR_SERVER_URL", "DEPTH_ESTIMATION_SERVER_URL")


def _paper(model: str, *changes: tuple[str, Any]) -> Tree:
    entry = {"alias": "generic-chat", "model_id": "m", "base": model, "key": CANARY}
    models = {"orchestrator": entry, "auxiliary": dict(entry, key=OTHER, model_id="a")}
    return changed(paper(), ("services.models", models), ("agent.max_context_length", None), *changes)


async def test_every_service_of_a_configuration_in_process() -> None:
    pages = {
        "/v1/models": lambda request: (
            listing("m" if CANARY in request.headers.get("authorization", "") else "a")
            if "authorization" in request.headers
            else Respond.error(401, "no key")
        ),
        "/health": Respond(200, b'{"status": "ok"}'),
    }
    async with ChatServer([]) as away:
        pass
    async with ServiceServer([], pages=pages) as server:
        tree = _paper(server.base_url, ("services.client", {}))
        addresses = dict.fromkeys(VARIABLES, server.base_url) | {"OCR_SERVER_URL": f"{server.base_url}/v1/"}
        addresses["DEPTH_ESTIMATION_SERVER_URL"] = away.base_url
        states = await _states(tree, environment={"SERPER_API_KEY": OTHER}, **addresses)
    assert {name: state.ok for name, state in states.items()} == {
        "services.models.orchestrator": True,
        "services.models.auxiliary": True,
        "services.tools.sam3_segment": True,
        "services.tools.ocr": True,
        "services.tools.depth_estimation": False,
        "services.tools.camera_trajectory": False,
        "SERPER_API_KEY": True,
    }
    assert states["services.models.auxiliary"].roles == ("auxiliary",)
    assert states["services.models.orchestrator"].roles == ("orchestrator", "coding")
    assert f"{away.base_url}/health: the connection failed" in states["services.tools.depth_estimation"].detail


@pytest.mark.parametrize(
    ("pages", "ok", "words"),
    [
        ({"/ready": keyed(OTHER, Respond(200, b'{"ready": true}'))}, True, "is ready"),
        ({"/ready": Respond(401)}, False, "/ready: 401 Unauthorized"),
        ({"/ready": Respond(503, b'{"ready": false, "backends": {"ocr": {"reason": "refused"}}}')}, False, "refused"),
        ({"/health": Respond(200, b'{"status": "ok"}')}, True, "does not say whether its backends are ready"),
        ({}, False, "/health: 404 Not Found"),
        ({"/ready": Respond(200, PAGE)}, False, "an HTML page, expected the answer of a router"),
    ],
)
async def test_a_router_answers_for_its_backends(pages: dict[str, Any], ok: bool, words: str) -> None:
    async with ServiceServer([], pages=pages) as server:
        base = f"{server.base_url}/"
        tree = _paper(server.base_url, ("services.client.auth_token", OTHER))
        states = await _states(tree, **(dict.fromkeys(VARIABLES, "http://127.0.0.1:9") | {"TOOL_SERVER_URL": base}))
    assert [name for name in states if not name.startswith("services.models.")] == ["services.client"]
    state = states["services.client"]
    assert (state.ok, state.address) == (ok, server.base_url)
    assert words in state.detail


@pytest.mark.parametrize(
    ("pages", "ok"),
    [
        ({"/health": Respond(200, b"")}, True),
        ({"/health": Respond(200, PAGE)}, False),
        ({"/health": Respond(503)}, False),
        ({"/v1/models": listing("ocr")}, True),
        ({}, False),
    ],
)
async def test_replicas_of_an_ocr_server_are_asked_one_by_one(pages: dict[str, Any], ok: bool) -> None:
    async with ServiceServer([], pages=pages) as first, ServiceServer([], pages=pages) as second:
        tools = {"ocr": {"backend": "ocr"}}
        tree = _tree(
            first.base_url,
            ("capabilities.tools", tools),
            ("services.tools", {"ocr": {"server_url": [first.base_url, f"{second.base_url}/v1"]}}),
        )
        state = (await _states(tree))["services.tools.ocr"]
        assert {request.path for server in (first, second) for request in server.requests} >= {"/health"}
    assert state.ok is ok
    assert state.address == f"{second.base_url}/v1"


async def test_the_search_key(tmp_path: Path) -> None:
    blank, full, inner = tmp_path / "blank", tmp_path / "full", tmp_path / "inner"
    blank.write_text(" \n", encoding="utf-8")
    full.write_text(f"{OTHER}\n", encoding="utf-8")
    inner.write_text(f"{OTHER}\n{OTHER}\n", encoding="utf-8")
    tree = _paper("http://127.0.0.1:9", ("services.client", {}))
    cases: list[tuple[dict[str, str], bool, str]] = [
        ({}, False, "got neither"),
        ({"SERPER_API_KEY": " "}, False, "got neither"),
        ({"SERPER_API_KEY": f"{CANARY}\n"}, False, "control character"),
        ({"SERPER_API_KEY": f"{CANARY}ü"}, False, "printable ASCII"),
        ({"SERPER_API_KEY": CANARY}, True, "is set"),
        ({"SERPER_API_KEY_FILE": str(full)}, True, "holds one"),
        ({"SERPER_API_KEY_FILE": str(inner)}, False, "control character"),
        ({"SERPER_API_KEY_FILE": str(blank)}, False, "is blank"),
        ({"SERPER_API_KEY_FILE": str(tmp_path / "none")}, False, "cannot be read"),
    ]
    for environment, ok, words in cases:
        states = await _states(tree, environment=environment, **dict.fromkeys(VARIABLES, "http://127.0.0.1:9"))
        assert states["SERPER_API_KEY"].ok is ok
        assert words in states["SERPER_API_KEY"].detail
        assert CANARY not in states["SERPER_API_KEY"].detail
        # what building says of the same variables
        if ok:
            search_key(environment)
        else:
            with pytest.raises(ConfigurationError):
                search_key(environment)


async def test_an_auxiliary_model_of_another_protocol_is_refused_unasked() -> None:
    async with ServiceServer([], pages={"/v1/models": keyed(CANARY, listing("m"))}) as server:
        auxiliary = {"alias": "generic-responses", "model_id": "m", "base": server.base_url}
        tree = _paper(server.base_url, ("services.models.auxiliary", auxiliary), ("services.client", {}))
        state = (await _states(tree, **dict.fromkeys(VARIABLES, server.base_url)))["services.models.auxiliary"]
    assert not state.ok
    assert "services.models.auxiliary.alias: expected a profile of the protocol chat_completions" in state.detail


# The command


def _check(tree: Tree, folder: Path, *options: str) -> Any:
    (folder / "agent.yaml").write_text(yaml.safe_dump(tree), encoding="utf-8")
    return CliRunner().invoke(cli, ["check", str(folder / "agent.yaml"), *options])


def test_the_command_says_each_service_and_ends_with_0_or_1(tmp_path: Path) -> None:
    with ServiceServer([], pages={"/v1/models": keyed(CANARY, listing("m"))}).in_thread() as server:
        fine = _check(_tree(server.base_url), tmp_path, "--live")
        wrong = _check(_tree(server.base_url, (f"{MODEL}.key", OTHER)), tmp_path, "--live", "--json")
    assert fine.exit_code == 0
    assert fine.stdout == f"ok  {MODEL} (orchestrator) at {server.base_url}/: takes the key and lists m\n"
    assert wrong.exit_code == 1
    told = json.loads(wrong.stdout)
    assert told["faults"] == []
    assert [(state["service"], state["ok"], state["roles"]) for state in told["services"]] == [
        (MODEL, False, ["orchestrator"])
    ]
    assert OTHER not in wrong.output


def test_a_wrong_configuration_is_not_asked_about(tmp_path: Path) -> None:
    with ServiceServer([]).in_thread() as server:
        result = _check(_tree(server.base_url, (f"{MODEL}.timeout", -1)), tmp_path, "--live", "--json")
        assert not server.requests
    assert result.exit_code == 2
    told = json.loads(result.stdout)
    assert [fault["key"] for fault in told["faults"]] == [f"{MODEL}.timeout"]
    assert told["services"] == []


def test_a_configuration_without_services(tmp_path: Path) -> None:
    result = _check(small(), tmp_path, "--live")
    assert (result.exit_code, result.stdout) == (0, "ok, and there is no service to ask\n")


def test_a_time_limit_of_ones_own(tmp_path: Path) -> None:
    with ServiceServer([], pages={"/v1/models": Hang()}).in_thread() as server:
        result = _check(_tree(server.base_url), tmp_path, "--live", "--timeout", "0.05")
    assert result.exit_code == 1
    assert "no answer within 0.05 s" in result.stdout
    assert _check(small(), tmp_path, "--live", "--timeout", "0").exit_code == 2
