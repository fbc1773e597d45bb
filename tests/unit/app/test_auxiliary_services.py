"""Auxiliary models and prices of a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from openvlharness_adapters.http.connections import open_client
from openvlharness_adapters.models.auxiliary import OpenAIAuxiliary
from openvlharness_app.building.auxiliary import auxiliary_model, prices_by_role
from openvlharness_app.faults import ConfigurationError
from openvlharness_app.settings import Settings
from openvlharness_core.testing import FakeClock
from tests.unit.app.configurations import changed, load, paper

AUXILIARY = "services.models.auxiliary"
ADDRESSES = (
    *("TOOL_SERVER", "SAM3_SERVER", "OCR_SERVER", "DEPTH_ESTIMATION_SERVER"),
    *("MODEL_BASE", "AUXILIARY_MODEL_BASE"),
)
VARIABLES = {f"{name}_URL": "http://127.0.0.1:9/v1" for name in ADDRESSES} | {
    "MODEL_API_KEY": "CANARY-1",
    "AUXILIARY_MODEL_API_KEY": "CANARY-2",
}


def _settings(folder: Path, *changes: tuple[str, Any]) -> Settings:
    profiles = {
        "dear": {"model_id": "d", "prices": {"input": 10, "output": 30}},
        "cheap": {"model_id": "c", "prices": {"input": 1, "output": 3}},
        "free": {"model_id": "f"},
        "other": {"model_id": "o", "adapter": "responses"},
    }
    (folder / "profiles.yaml").write_text(yaml.safe_dump(profiles), encoding="utf-8")
    entry = {"alias": "dear", "base": "${MODEL_BASE_URL}", "key": "${MODEL_API_KEY}"}
    auxiliary = {"alias": "cheap", "base": "${AUXILIARY_MODEL_BASE_URL}", "key": "${AUXILIARY_MODEL_API_KEY}"}
    tree = changed(
        paper(),
        ("models", {"registry_paths": [str(folder / "profiles.yaml")]}),
        ("agent.max_context_length", None),
        ("services.models", {"orchestrator": entry, "auxiliary": auxiliary, "second": dict(auxiliary, alias="free")}),
        *changes,
    )
    return load(tree, **VARIABLES)


async def _model(settings: Settings) -> OpenAIAuxiliary:
    async with open_client() as client:
        made = auxiliary_model(settings, "auxiliary", lambda: client, FakeClock())
    assert isinstance(made, OpenAIAuxiliary)
    return made


async def test_by_default_the_sdks_own_attempts_and_time(tmp_path: Path) -> None:
    made = await _model(_settings(tmp_path))
    assert (made.retry, made.timeout_seconds, made.max_tokens, made.temperature) == (2, 600.0, 8192, 0.0)
    assert (made.model_id, made.endpoint) == ("c", "http://127.0.0.1:9/v1/chat/completions")
    assert made.key == "CANARY-2"
    assert "CANARY" not in repr(made)


async def test_the_entry_says_otherwise(tmp_path: Path) -> None:
    changes = ((f"{AUXILIARY}.retry", 5), (f"{AUXILIARY}.timeout", 7), (f"{AUXILIARY}.model_id", "mine"))
    # Options of generation are the orchestrator's alone.
    made = await _model(
        _settings(tmp_path, *changes, (f"{AUXILIARY}.temperature", 1.5), (f"{AUXILIARY}.max_tokens", 9))
    )
    assert (made.retry, made.timeout_seconds, made.model_id) == (5, 7.0, "mine")
    assert (made.max_tokens, made.temperature) == (8192, 0.0)


async def test_another_protocol_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as failure:
        await _model(_settings(tmp_path, (f"{AUXILIARY}.alias", "other")))
    assert [fault.key for fault in failure.value.faults] == [f"{AUXILIARY}.alias"]


def test_each_role_has_the_prices_of_its_model(tmp_path: Path) -> None:
    dear, cheap = {"input": 10.0, "output": 30.0}, {"input": 1.0, "output": 3.0}
    assert prices_by_role(_settings(tmp_path)) == {"orchestrator": dear, "coding": dear, "auxiliary": cheap}


def test_auxiliary_models_that_are_not_priced_alike_have_no_prices(tmp_path: Path) -> None:
    settings = _settings(tmp_path, ("services.tools.serper_text_search.model_service", "second"))
    assert prices_by_role(settings).keys() == {"orchestrator", "coding"}
