"""The configuration reference, row by row: the default of each key, what fits it and what does not."""

from __future__ import annotations

import math
from typing import Any

import attrs
import pytest

from openvlharness_app.secret import Secret
from openvlharness_app.settings import PlainModule, UrlModule
from tests.unit.app.configurations import ABSENT, changed, faults_of, load, paper, value_at

REQUIRED = object()
ROOT_URLS: tuple[Any, ...] = ("http://host", "https://host:8443/v1", "http://[::1]:8000", "HTTP://127.0.0.1/deep/base")
NO_URLS: tuple[Any, ...] = (
    "", "host", "host:8000", "ftp://host", "http://", "http:///v1", "http://host:99999", "http://host:port", "http://a b",
    "http://host/\n", "http://u:p@host", "https://u@host/v1", "http://host?key=1", "http://host#x", "http://\\host", 8000,
    None, ["http://host"], {"url": "http://host"}, True,
)  # fmt: skip
NO_STRINGS: tuple[Any, ...] = (None, 7, 0.5, True, [], {})
NO_NAMES: tuple[Any, ...] = ("", "  ", *NO_STRINGS)
NO_FLAGS: tuple[Any, ...] = ("false", "true", "yes", 0, 1, None, [], {})
NO_COUNTS: tuple[Any, ...] = (
    -1,
    0.7,
    8.0,
    True,
    False,
    "8",
    None,
    [],
    {},
    math.inf,
    "many",
)  # also no non-negative integers
NO_POSITIVE: tuple[Any, ...] = (0, *NO_COUNTS)
NO_SECONDS: tuple[Any, ...] = (0, -5, math.inf, math.nan, "30", True, None, [], 10**400)
NO_MAPPINGS: tuple[Any, ...] = (None, "text", 7, True, [])


@attrs.frozen(kw_only=True)
class Row:
    key: str
    default: Any = ABSENT
    fits: tuple[Any, ...] = ()
    refused: tuple[Any, ...]
    beside: tuple[tuple[str, Any], ...] = ()  # other changes that the key needs
    refused_at: str | None = None  # where the fault stands, if not at the key
    reads_as: Any = None  # how a fitting value is kept


def _models(name: str, **row: Any) -> Row:
    return Row(key=f"services.models.orchestrator.{name}", **row)


def _tool(name: str, **row: Any) -> Row:
    return Row(key=f"services.tools.{name}", **row)


def _url(value: str) -> str:
    return value.rstrip("/")


def _as_urls(value: Any) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


DINO = (
    ("capabilities.registries", ["paper", "extensions"]),
    ("capabilities.tools.grounding.backend", "grounding_dino"),
    ("services.tools.grounding_dino", {"server_url": "http://gpu"}),
)
EMBEDDED = (
    ("capabilities.registries", ["paper", "embedded"]),
    ("capabilities.tools.ocr.backend", "embedded_ocr"),
    ("capabilities.tools.text_search.backend", "embedded_text_search"),
)
SANDBOX = (("capabilities.tools.coding.executor", "python_executor_sandboxed"),)
NOT_A_URL_OR_LIST: tuple[Any, ...] = (*(url for url in NO_URLS if not isinstance(url, list)), [])

ROWS = [
    Row(key="agent_name", default=REQUIRED, fits=("MainAgent",), refused=("mainagent", "Other", *NO_NAMES)),
    Row(key="agent_config_version", default=None, fits=("paper_v1", "v1.2-b"), refused=("a/b", "..", *NO_NAMES)),
    Row(key="agent.model_service", default=REQUIRED, fits=("orchestrator",), refused=("orchestrater", *NO_NAMES)),
    Row(key="agent.max_iterations", default=15, fits=(1, 15, 400), refused=NO_POSITIVE),
    Row(
        key="agent.max_context_length",
        default=None,
        fits=(None, 13313, 168000),
        refused=(*(value for value in NO_POSITIVE if value is not None), 12800, 13312),
    ),
    Row(key="agent.tool_choice", default="auto", fits=("auto", "required", "whatever"), refused=NO_STRINGS),
    Row(key="agent.paired_sampling_seed", default=False, fits=(True, False), refused=NO_FLAGS),
    Row(
        key="agent.deadline_seconds",
        default=None,
        fits=(None, 0.5, 60),
        refused=tuple(value for value in NO_SECONDS if value is not None),
    ),
    Row(
        key="memory.modules",
        default=REQUIRED,
        fits=([{"name": "image"}], [{"name": "image"}, {"name": "url"}]),
        refused=(None, "image", {}, [], [{"name": "tool_context"}, {"name": "url"}]),
        reads_as=lambda value: tuple(
            UrlModule(name="url") if item["name"] == "url" else PlainModule(name=item["name"]) for item in value
        ),
    ),
    Row(
        key="memory.modules.1",
        refused=(
            None,
            "url",
            {"name": "cache"},
            {"name": None},
            {},
            {"name": "image"},
            [],
        ),
        refused_at="memory.modules[",
    ),
    Row(
        key="memory.modules.2.webpage_env_update_limit",
        default=20,
        fits=(None, 1, 500),
        refused=tuple(value for value in NO_POSITIVE if value is not None),
        refused_at="memory.modules[url].webpage_env_update_limit",
    ),
    Row(
        key="memory.modules.1.webpage_env_update_limit",
        refused=(20, None),
        refused_at="memory.modules[tool_context].webpage_env_update_limit",
    ),
    Row(key="memory.emit_policy", default="always", fits=("always", "on_change"), refused=("never", *NO_NAMES)),
    Row(key="memory.images_per_search", default=10, fits=(0, 3), refused=NO_COUNTS),
    Row(
        key="capabilities.registries",
        default=REQUIRED,
        fits=(["paper"], ["paper", "extensions", "alternates", "embedded"]),
        refused=(None, "paper", {}, [], ["embedded"]),
        reads_as=tuple,
    ),
    Row(key="capabilities.registries.0", refused=NO_NAMES, refused_at="capabilities.registries"),
    Row(key="capabilities.tools", default=REQUIRED, refused=NO_MAPPINGS),
    *(
        Row(key=f"capabilities.tools.{name}", default=None, refused=NO_MAPPINGS)
        for name in (
            "grounding",
            "ocr",
            "depth",
            "camera_pose",
            "zoom",
            "text_search",
            "image_search",
            "web_visit",
            "coding",
        )
    ),
    Row(
        key="capabilities.tools.grounding.backend",
        default=REQUIRED,
        fits=("sam3_segment",),
        refused=("grounding_dino", "ocr", "sam3", "python_coding_agent", *NO_NAMES),
    ),
    Row(key="capabilities.tools.grounding.backend", fits=("grounding_dino",), refused=("dino",), beside=DINO),
    Row(
        key="capabilities.tools.coding.generator",
        default=REQUIRED,
        fits=("python_coding_agent",),
        refused=("python_executor_local", "coder", *NO_NAMES),
    ),
    Row(
        key="capabilities.tools.coding.executor",
        default=REQUIRED,
        fits=("python_executor_local", "python_executor_sandboxed"),
        refused=("python_coding_agent", "sandbox", *NO_NAMES),
    ),
    Row(key="capabilities.bank", default=None, fits=("built/tools.yaml",), refused=("", *NO_STRINGS)),
    Row(key="services.client", refused=NO_MAPPINGS),
    Row(key="services.client.base_url", default=None, fits=ROOT_URLS, refused=NO_URLS),
    Row(key="services.client.timeout_seconds", default=600.0, fits=(0.1, 600), refused=NO_SECONDS),
    Row(key="services.client.retry", default=8, fits=(0, 8), refused=NO_COUNTS),
    Row(
        key="services.client.auth_token",
        default=Secret(),
        fits=("token", None),
        refused=("a\nb", 7, True, [], {}),
        reads_as=lambda value: Secret(value or ""),
    ),
    Row(key="services.server", refused=NO_MAPPINGS),
    Row(key="services.server.host", default="127.0.0.1", fits=("0.0.0.0", "::1"), refused=NO_NAMES),
    Row(
        key="services.server.port",
        default=8101,
        fits=(1, 65535),
        refused=(0, 65536, -1, "8101", 8101.0, True, None, []),
    ),
    Row(
        key="services.server.registration",
        default="configured_only",
        fits=("configured_only",),
        refused=("all", *NO_NAMES),
    ),
    *(
        Row(key=f"services.server.limits.{group}", default=limit, fits=(1, 64), refused=NO_POSITIVE)
        for group, limit in {
            "depth": 1,
            "sam3": 1,
            "dino": 2,
            "ocr": 10,
            "webpage": 8,
            "search": 4,
            "coding": 10,
        }.items()
    ),
    Row(key="services.server.limits.camera", refused=(1,)),
    Row(key="services.server.limits", refused=NO_MAPPINGS),
    Row(key="services.server.max_body_bytes", default=67108864, fits=(1,), refused=NO_POSITIVE),
    Row(key="services.server.drain_seconds", default=30.0, fits=(0, 2.5), refused=NO_SECONDS[1:]),
    Row(key="services.server.max_queue", default=256, fits=(0, 9), refused=NO_COUNTS),
    Row(
        key="services.server.gate",
        default=None,
        fits=("redis://cache:6379/0", "rediss://:secret@cache"),
        refused=("http://cache", "redis://", "cache:6379", "", 6379, None, True, []),
        reads_as=lambda value: value,
    ),
    Row(key="services.server.lease_seconds", default=10.0, fits=(0.5,), refused=NO_SECONDS),
    Row(key="services.server.answer_cache_bytes", default=268435456, fits=(0,), refused=NO_COUNTS),
    Row(key="services.server.auth_token", default=Secret(), refused=("a\tb", 7, True, [], {})),
    Row(key="services.tools", refused=NO_MAPPINGS),
    *(
        _tool(
            f"{name}.server_url",
            default=REQUIRED,
            fits=(*ROOT_URLS, list(ROOT_URLS)),
            refused=NOT_A_URL_OR_LIST,
            reads_as=_as_urls,
        )
        for name in ("sam3_segment", "ocr", "depth_estimation", "camera_trajectory")
    ),
    _tool(
        "grounding_dino.server_url",
        default=REQUIRED,
        fits=ROOT_URLS,
        refused=NOT_A_URL_OR_LIST,
        beside=DINO,
        reads_as=_as_urls,
    ),
    _tool("sam3_segment.timeout_seconds", default=300.0, fits=(12,), refused=NO_SECONDS),
    _tool(
        "embedded_ocr.server_url",
        default=None,
        fits=ROOT_URLS,
        refused=NOT_A_URL_OR_LIST,
        beside=EMBEDDED,
        reads_as=_as_urls,
    ),
    _tool("embedded_ocr.corpus", refused=("docs",), beside=EMBEDDED),
    _tool("embedded_text_search.corpus", default=None, fits=("docs",), refused=("", *NO_STRINGS), beside=EMBEDDED),
    *(
        _tool(
            f"serper_{name}.model_service", default="auxiliary", fits=("orchestrator",), refused=("helper", *NO_NAMES)
        )
        for name in ("text_search", "image_search", "webpage_visit")
    ),
    _tool(
        "python_coding_agent.model_service",
        default=None,
        fits=("orchestrator",),
        refused=("auxiliary", "helper", *NO_NAMES),
    ),
    _tool("python_coding_agent.context", default="fresh", fits=("fresh",), refused=("shared", *NO_NAMES)),
    _tool("python_coding_agent.generation", default="fixed", fits=("fixed", "inherit"), refused=("free", *NO_NAMES)),
    _tool("python_coding_agent.mode", default="single_shot", fits=("revise",), refused=("loop", *NO_NAMES)),
    _tool("python_coding_agent.max_revisions", default=2, fits=(0, 5), refused=NO_COUNTS),
    _tool("python_executor_local.transport", default="local", fits=("local",), refused=("remote", *NO_NAMES)),
    _tool("python_executor_local.timeout_seconds", default=30.0, fits=(0.5, 90), refused=NO_SECONDS),
    *(
        _tool(f"{executor}.{name}", default=default, fits=(1,), refused=NO_POSITIVE, beside=beside)
        for executor, beside in (("python_executor_local", ()), ("python_executor_sandboxed", SANDBOX))
        for name, default in {"memory_bytes": 4294967296, "file_bytes": 268435456, "processes": 301}.items()
    ),
    _tool("python_executor_sandboxed.transport", refused=("local",), beside=SANDBOX),
    _tool("zoom_in_image_by_bbox", default=REQUIRED, refused=NO_MAPPINGS),
    _tool("zoom_in_image_by_bbox.padding", refused=(8,)),
    Row(key="services.models", default=REQUIRED, refused=NO_MAPPINGS),
    Row(key="services.models.orchestrator", refused=NO_MAPPINGS),
    _models("alias", default=REQUIRED, fits=("generic-chat",), refused=("generic_chat", "gpt", *NO_NAMES)),
    _models(
        "base",
        default=REQUIRED,
        fits=(*ROOT_URLS, "http://h/v1/chat/completions"),
        refused=("http://h/v1/responses", *NO_URLS),
    ),
    _models(
        "key",
        default=Secret(),
        fits=("sk-1", "", "  ", "empty", None),
        refused=("a\nb", "sk-1\n", " sk-1", "sk-…", "\x00", 7, 0.5, True, [], {}),
        reads_as=lambda value: Secret(value or ""),
    ),
    _models("timeout", default=600.0, fits=(1800, 0.5), refused=NO_SECONDS),
    _models("retry", default=None, fits=(0, 8), refused=NO_COUNTS),
    _models("max_tokens", default=4096, fits=(1, 12800), refused=NO_POSITIVE),
    _models("temperature", default=None, fits=(0, 0.7, 2), refused=(-0.1, 2.1, "0.7", None, True, math.nan, [])),
    _models("top_p", default=None, fits=(0.8, 1), refused=(0, 1.01, "1", None, True, math.nan)),
    _models("top_k", default=None, fits=(1, 20), refused=NO_POSITIVE),
    _models("repetition_penalty", default=None, fits=(0.5, 1.0), refused=(0, -1, "1", None, True, math.inf)),
    _models("presence_penalty", default=None, fits=(-2, 0, 1.5, 2), refused=(-2.1, 2.1, "0", None, False, math.nan)),
    _models(
        "reasoning_effort",
        default=None,
        fits=("none", "minimal", "low", "medium", "high", "xhigh", "max"),
        refused=("huge", *NO_NAMES),
    ),
    _models("return_token_ids", default=False, fits=(False,), refused=(*NO_FLAGS, True)),
    _models("model_id", default=REQUIRED, fits=("org/model",), refused=NO_NAMES),
    _models("stream", default=False, fits=(True,), refused=NO_FLAGS),
    _models("service_tier", default=None, refused=("flex", *NO_NAMES)),
    Row(key="models.registry_paths", default=(), refused=(None, "file.yaml", {}, True)),
    Row(
        key="models.registry_paths.0",
        refused=("", None, 7, []),
        beside=(("models.registry_paths", [""]),),
        refused_at="models.registry_paths[0]",
    ),
    Row(key="images.max_pixels", default=89478485, fits=(1,), refused=NO_POSITIVE),
    Row(key="security.allow_private_addresses", default=False, fits=(True,), refused=NO_FLAGS),
    Row(
        key="security.fetch_hosts",
        default=(),
        fits=([], ["host:80", "127.0.0.1:8000", "[::1]:443"]),
        refused=(None, "host:80", {}),
        reads_as=tuple,
    ),
    Row(
        key="security.fetch_hosts.0",
        refused=("host", "host:", ":80", "host:0", "host:70000", "http://host:80", "u@h:80", "h:80\n", 80, None),
        beside=(("security.fetch_hosts", [""]),),
        refused_at="security.fetch_hosts[0]",
    ),
    Row(
        key="ablation",
        default="full",
        fits=("baseline", "tool", "capability_layer", "textual_memory", "full"),
        refused=("none", *NO_NAMES),
    ),
]

by_key = pytest.mark.parametrize("row", [pytest.param(row, id=f"{row.key}-{at}") for at, row in enumerate(ROWS)])


@by_key
def test_a_value_that_fits_is_kept(row: Row) -> None:
    for value in row.fits:
        kept = value_at(load(changed(paper(), *row.beside, (row.key, value))), row.key)
        expected = row.reads_as(value) if row.reads_as else value
        if row.key == "services.server.gate":
            kept = kept.reveal()
        assert kept == expected, f"{row.key}: {value!r}"
        assert isinstance(kept, bool) == isinstance(expected, bool)


@by_key
def test_a_key_left_out_has_its_default_or_is_asked_for(row: Row) -> None:
    if row.default is ABSENT:
        return
    tree = changed(paper(), *row.beside, (row.key, ABSENT))
    if row.default is REQUIRED:
        assert (row.key, "nothing") in [(fault.key, fault.got) for fault in faults_of(tree)]
    else:
        kept = value_at(load(tree), row.key)
        assert kept == row.default
        assert type(kept) is type(row.default)


@by_key
def test_a_value_that_does_not_fit_is_named_by_its_key(row: Row) -> None:
    for value in row.refused:
        faults = faults_of(changed(paper(), *row.beside, (row.key, value)))
        at = row.refused_at or row.key
        assert any(fault.key.startswith(at) for fault in faults), f"{row.key}: {value!r} gave {faults}"
        line = next(str(fault) for fault in faults if fault.key.startswith(at))
        assert ": expected " in line
        assert ", got " in line
        assert "\n" not in line


def test_every_key_of_the_settings_has_a_row() -> None:
    """A new setting without a row here is a setting that nobody checked."""
    from openvlharness_app.settings_mapping import settings_to_mapping

    def keys(tree: Any, path: str = "") -> list[str]:
        if isinstance(tree, dict) and tree:
            return [key for name, item in tree.items() for key in keys(item, f"{path}.{name}" if path else name)]
        return [path]

    rows = {row.key for row in ROWS}
    written = keys(settings_to_mapping(load(changed(paper(), *EMBEDDED))))
    elsewhere = ("services.models.auxiliary.",)  # an entry like the orchestrator's
    sections = {key.rpartition(".")[0] for key in written}
    unchecked = [key for key in written if not {key, f"{key}.0", key.rpartition(".")[0]} & rows and key not in sections]
    assert [key for key in unchecked if not key.startswith(elsewhere) and not key.endswith(".timeout_seconds")] == []
