"""The files of `deploy/` and the page about them, held to what the commands and settings really are."""

from __future__ import annotations

import configparser
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from openvlharness_adapters.backends.openai_ocr import OpenAIOcrBackend
from openvlharness_adapters.backends.raw_detection import GroundingDinoBackend, Sam3Backend
from openvlharness_adapters.backends.raw_scene import SceneCameraBackend, SceneDepthBackend
from openvlharness_adapters.router.serving import _LAST_WRITES_SECONDS
from openvlharness_adapters.servers.applications import ServerLimits
from openvlharness_app import build_container
from openvlharness_app.building.model_servers import KINDS
from openvlharness_app.cli.main import cli
from openvlharness_app.presets import load_preset
from openvlharness_app.service_settings import ServerSettings
from openvlharness_app.settings_mapping import settings_to_mapping

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("systemd/*.service"))
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")


def _parsed(arguments: list[str]) -> dict[str, Any]:
    """Parameters of a command line, as click reads them; a fault in it raises."""
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group):
        name, *arguments = arguments
        found = command.get_command(context, name)
        assert found is not None, name
        command, context = found, click.Context(found, parent=context)
    return command.make_context("it", arguments).params


def _drains(arguments: list[str]) -> float:
    """How long the process of a command line may take to end after SIGTERM, in seconds."""
    drain = _parsed(arguments).get("drain_seconds")
    if drain is None:
        assert arguments[0] == "router"
        drain = max(ServerSettings().drain_seconds, load_router().services.server.drain_seconds)
    return float(drain) + _LAST_WRITES_SECONDS


def load_router() -> Any:
    return load_preset("router_gpu", dict.fromkeys(_variables("router_gpu"), "http://host"))


def _variables(preset: str) -> set[str]:
    text = (ROOT / "openvlharness_app" / "presets" / f"{preset}.yaml").read_text(encoding="utf-8")
    return set(re.findall(r"\$\{(\w+)\}", text))


def _unit(path: Path) -> dict[str, str]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(path.read_text(encoding="utf-8"))
    return dict(parser["Service"])


def _seconds(duration: str) -> float:
    found = re.fullmatch(r"(\d+)s?", duration)
    assert found is not None, duration
    return float(found[1])


def test_there_is_a_unit_for_the_router_and_one_for_every_model_server() -> None:
    assert [path.name for path in UNITS] == ["openvlharness-model@.service", "openvlharness-router.service"]


@pytest.mark.parametrize("path", UNITS, ids=[path.stem for path in UNITS])
def test_a_unit_is_not_killed_while_it_drains(path: Path) -> None:
    unit = _unit(path)
    for kind in KINDS if "@" in path.name else ("",):
        program, *arguments = shlex.split(unit["ExecStart"].replace("%i", kind))
        assert program.endswith("/bin/openvlharness")
        assert _seconds(unit["TimeoutStopSec"]) > _drains(arguments)
    assert unit["KillSignal"] == "SIGTERM"


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_a_container_is_not_killed_while_it_drains(name: str) -> None:
    service = COMPOSE["services"][name]
    assert _seconds(service["stop_grace_period"]) > _drains(service["command"])
    assert service["stop_signal"] == "SIGTERM"


def test_the_longest_drain_that_is_a_default_fits_too() -> None:
    shortest = min(_seconds(_unit(path)["TimeoutStopSec"]) for path in UNITS)
    assert shortest > max(ServerLimits().drain_seconds, ServerSettings().drain_seconds) + _LAST_WRITES_SECONDS


def test_the_router_reaches_the_servers_of_the_compose_file() -> None:
    services = COMPOSE["services"]
    addresses = {
        name: value for name, value in services["router"]["environment"].items() if name.endswith("_SERVER_URL")
    }
    assert set(addresses) < _variables("router_gpu")
    for address in addresses.values():
        name, port = re.fullmatch(r"http://([\w-]+):(\d+)", address).groups()  # type: ignore[union-attr]
        kind = KINDS[name]
        assert services[name]["environment"][f"{kind.prefix}_PORT"] == port == str(kind.port)
        assert services[name]["environment"][f"{kind.prefix}_HOST"] == "0.0.0.0"
        assert services[name]["build"]["args"]["EXTRAS"] == kind.extra
        assert f":{port}/ready" in services[name]["healthcheck"]["test"][-1]
        assert services["router"]["depends_on"][name] == {"condition": "service_healthy"}


def test_the_page_names_every_server_with_its_defaults_and_variables() -> None:
    for name, kind in KINDS.items():
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
        wanted = [kind.weights, f"{kind.prefix}_HOST", f"{kind.prefix}_PORT", kind.weights_variable]
        wanted += [kind.served_variable] if kind.served_variable else []
        assert [word for word in wanted if f"`{word}`" not in row] == []
        assert re.search(rf"serve {name}\s+:{kind.port} ", PAGE), name


def test_the_fractions_of_the_page_fit_on_one_card_and_are_those_of_the_files() -> None:
    rows = [line.split("|") for line in PAGE.splitlines() if re.search(r"\| 0\.\d\d \|$", line)]
    fractions = {row[1].strip(): float(row[5]) for row in rows}
    together = fractions["SAM 3"] + fractions["PaddleOCR-VL"] + fractions["Depth Anything 3 nested"]
    assert together == pytest.approx(0.70)
    assert "or 0.70 of the card" in PAGE
    for row in rows:
        plan = float(re.match(r"\s*(\d+) GB", row[4])[1])  # type: ignore[index]
        assert plan / 48 == pytest.approx(float(row[5]), abs=0.015)
    services = COMPOSE["services"]
    assert float(services["sam3"]["environment"]["GPU_MEM_FRACTION"]) == fractions["SAM 3"]
    assert float(services["paddle-ocr"]["environment"]["GPU_MEM_FRACTION"]) == fractions["PaddleOCR-VL"]


def test_launcher_variables_are_read_and_options_win(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "SAM3_PORT": "9001",
        "SAM3_MODEL_PATH": "/weights/sam3",
        "GPU_MEM_FRACTION": "0.25",
        "OCR_MODEL_PATH": "/weights/ocr",
        "OCR_MODEL_ID": "reader",
        "DEPTH_ESTIMATION_MODEL_ID": "depth-anything/DA3-BASE",
    }.items():
        monkeypatch.setenv(name, value)
    sam3 = _parsed(["serve", "sam3"])
    assert (sam3["port"], sam3["weights"], sam3["memory_fraction"]) == (9001, "/weights/sam3", 0.25)
    assert _parsed(["serve", "sam3", "--port", "9002"])["port"] == 9002
    ocr = _parsed(["serve", "paddle-ocr"])
    assert (ocr["weights"], ocr["model_id"], ocr["port"]) == ("/weights/ocr", "reader", 8113)
    assert _parsed(["serve", "depth-anything"])["weights"] == "depth-anything/DA3-BASE"


@pytest.mark.parametrize(("server", "backend"), [("paddle-ocr", "ocr"), ("deepseek-ocr", "deepseek_ocr")])
def test_a_backend_asks_for_the_model_that_its_server_serves(
    server: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = KINDS[server]  # type: ignore[index]
    assert served.served_variable is not None
    for chosen in (None, "of-my-own"):
        if chosen is None:
            monkeypatch.delenv(served.served_variable, raising=False)
        else:
            monkeypatch.setenv(served.served_variable, chosen)
        reader = build_container(_configured("ocr", backend)).ocr_backend()
        assert isinstance(reader, OpenAIOcrBackend)
        assert _parsed(["serve", server])["model_id"] == reader.model_id
        assert chosen in (None, reader.model_id)


def _configured(capability: str, backend: str, address: object = "http://gpu:8111/") -> Any:
    mapping: Any = settings_to_mapping(load_preset("embedded"))
    mapping["capabilities"]["registries"] = ["paper", "extensions", "alternates", "embedded"]
    mapping["capabilities"]["tools"][capability] = {"backend": backend}
    mapping["services"]["tools"][backend] = {"server_url": address, "timeout_seconds": 7.0}
    mapping["services"]["client"] = {"retry": 3}
    return mapping


@pytest.mark.parametrize(
    ("capability", "backend", "kind", "url"),
    [
        ("grounding", "sam3_segment", Sam3Backend, "http://gpu:8111/segment"),
        ("grounding", "grounding_dino", GroundingDinoBackend, "http://gpu:8111/detect"),
        ("ocr", "ocr", OpenAIOcrBackend, "http://gpu:8111/v1/chat/completions"),
        ("ocr", "deepseek_ocr", OpenAIOcrBackend, "http://gpu:8111/v1/chat/completions"),
        ("depth", "depth_estimation", SceneDepthBackend, "http://gpu:8111/depth"),
        ("depth", "vggt_depth", SceneDepthBackend, "http://gpu:8111/depth"),
        ("camera_pose", "camera_trajectory", SceneCameraBackend, "http://gpu:8111/poses"),
        ("camera_pose", "vggt_camera", SceneCameraBackend, "http://gpu:8111/poses"),
    ],
)
def test_each_backend_of_a_configuration_reaches_its_server(
    capability: str, backend: str, kind: type, url: str
) -> None:
    container = build_container(_configured(capability, backend))
    provider = {"camera_pose": "camera_backend"}.get(capability, f"{capability}_backend")
    made = getattr(container, provider)()
    assert type(made) is kind
    assert (made.caller.url, made.caller.tool) == (url, backend)
    assert (made.caller.poster.timeout_seconds, made.caller.poster.retry) == (7.0, 3)


async def test_a_list_of_servers_is_one_client_over_all_of_them() -> None:
    container = build_container(_configured("grounding", "sam3_segment", ["http://gpu1:8111", "http://gpu2:8111"]))
    made = container.grounding_backend()
    assert made.caller.url == "http://gpu1:8111/segment"
    assert made.caller.poster.client is not container.service_client()
    await container.lifetime().close()
    assert made.caller.poster.client.is_closed


@pytest.mark.parametrize("wrong", [["--memory-fraction", "0"], ["--memory-fraction", "1.5"], ["--max-side", "3"]])
def test_options_out_of_range_are_refused(wrong: list[str]) -> None:
    with pytest.raises(click.BadParameter):
        _parsed(["serve", "sam3", *wrong])
