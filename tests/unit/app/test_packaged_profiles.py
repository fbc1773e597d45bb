"""The packaged profiles, held to a table written out here, field by field."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from openvlharness_adapters.tokens import PictureRule
from openvlharness_app.prompts import bundle_names
from openvlharness_app.registry import load_profiles
from openvlharness_core.pictures import ImageLimits
from openvlharness_core.profile import ModelProfile
from tests.unit.app.configurations import changed, faults_of, paper

MODEL = "services.models.orchestrator"
SAMPLING = ("temperature", "top_p", "top_k", "repetition_penalty", "presence_penalty")
QWEN: dict[str, Any] = {
    "prompt_bundle": "v8_instruct",
    "final_answer": "answer_tag",
    "context_policy": "local_tokens",
    "allowed_options": ("max_tokens", *SAMPLING, "return_token_ids"),
    "reasoning_efforts": (),
    "image_limits": ImageLimits(max_ratio=200.0),
}
QWEN3 = QWEN | {"boxes": "object_map", "image_token_patch": 32, "image_token_pixels": (65536, 16777216)}
QWEN2_5 = QWEN | {"image_token_patch": 28, "image_token_pixels": (3136, 12845056)}
GPT: dict[str, Any] = {
    "adapter": "responses",
    "extra_final_request": False,
    "continue_empty_answer": False,
    "append_final_message": True,
    "allowed_options": ("max_tokens", "reasoning_effort", "service_tier"),
}
GPT_6 = GPT | {"reasoning_efforts": ("none", "low", "medium", "high", "xhigh", "max")}


def _qwen(family: str, size: str, fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    hub = f"Qwen/{family}-{size}-Instruct"
    alias = f"{family}-{size}-Instruct".lower()
    trace = {"raw_trace_format": "native"} if alias == "qwen3-vl-8b-instruct" else {}
    return alias, fields | {"model_id": hub, "tokenizer": hub} | trace


EXPECTED: dict[str, dict[str, Any]] = {
    **dict(_qwen("Qwen3-VL", size, QWEN3) for size in ("2B", "4B", "8B", "30B-A3B", "32B", "235B-A22B")),
    **dict(_qwen("Qwen2.5-VL", size, QWEN2_5) for size in ("3B", "7B", "32B", "72B")),
    "gpt-5-2025-08-07": GPT
    | {"model_id": "gpt-5-2025-08-07", "reasoning_efforts": ("minimal", "low", "medium", "high")},
    **{alias: GPT_6 | {"model_id": alias} for alias in ("gpt-6-luna", "gpt-6-sol", "gpt-6-astra")},
    "kimi-k3": {
        "model_id": "kimi-k3",
        "final_answer": "answer_tag",
        "allowed_options": ("max_tokens", "temperature", "top_p", "reasoning_effort"),
        "reasoning_efforts": ("low", "medium", "high"),
        "replay_fields": ("reasoning_content",),
    },
    "generic-chat": {},
    "generic-responses": {
        "adapter": "responses",
        "allowed_options": ("max_tokens", "temperature", "top_p", "reasoning_effort", "service_tier"),
    },
    "embedded-planner": {
        "model_id": "embedded-planner",
        "adapter": "embedded",
        "allowed_options": ("max_tokens",),
        "reasoning_efforts": (),
    },
}


def test_there_are_these_and_no_others() -> None:
    assert set(load_profiles()) == set(EXPECTED)


@pytest.mark.parametrize("alias", EXPECTED)
def test_the_values_of_a_profile(alias: str) -> None:
    """What the table leaves out is as in `generic-chat`, whose values the class has."""
    assert attrs.asdict(load_profiles()[alias]) == attrs.asdict(ModelProfile(alias=alias, **EXPECTED[alias]))


@pytest.mark.parametrize("alias", EXPECTED)
def test_a_profile_agrees_with_itself(alias: str) -> None:
    profile = load_profiles()[alias]
    assert profile.prompt_bundle in bundle_names()
    assert profile.prices is None  # nothing that is known says what a token costs
    assert ("reasoning_effort" in profile.allowed_options) == bool(profile.reasoning_efforts)
    if profile.context_policy == "local_tokens":
        assert profile.tokenizer
        assert PictureRule.of(profile).tokens((1024, 1024)) > 0


# ---- what an entry may ask of them -----------------------------------------------------------------------------------

VALUES = {
    "max_tokens": 900,
    "temperature": 0.5,
    "top_p": 0.5,
    "top_k": 5,
    "repetition_penalty": 1.1,
    "presence_penalty": 0.5,
    "service_tier": "flex",
}
SERVED = [alias for alias, fields in EXPECTED.items() if fields.get("adapter") != "embedded"]


def _faults(alias: str, option: str, value: object) -> list[str]:
    entry = {"alias": alias, "model_id": "m", "base": "http://models", option: value}
    return [str(fault) for fault in faults_of(changed(paper(), (MODEL, entry)))]


@pytest.mark.parametrize("alias", SERVED)
@pytest.mark.parametrize("option", VALUES)
def test_an_option_is_taken_or_refused_by_its_key(alias: str, option: str) -> None:
    allowed = load_profiles()[alias].allowed_options
    found = _faults(alias, option, VALUES[option])
    if option in allowed:
        assert found == []
    else:
        assert found == [
            f"{MODEL}.{option}: expected an option that {alias} takes ({', '.join(allowed)}), got {option}"
        ]


@pytest.mark.parametrize("alias", SERVED)
@pytest.mark.parametrize("level", ["none", "minimal", "low", "medium", "high", "xhigh", "max"])
def test_a_level_is_taken_or_refused_by_its_key(alias: str, level: str) -> None:
    profile = load_profiles()[alias]
    found = _faults(alias, "reasoning_effort", level)
    if level in profile.reasoning_efforts:
        assert found == []
    elif "reasoning_effort" in profile.allowed_options:
        [fault] = found
        levels = ", ".join(profile.reasoning_efforts)
        assert fault.startswith(f"{MODEL}.reasoning_effort: expected a level that {alias} takes ({levels}), got")
        assert f"'{level}'" in fault
    else:
        [fault] = found
        assert fault.startswith(f"{MODEL}.reasoning_effort: expected an option that {alias} takes (max_tokens")


@pytest.mark.parametrize("alias", SERVED)
def test_token_ids_are_for_the_one_model_that_has_a_raw_trace(alias: str) -> None:
    found = _faults(alias, "return_token_ids", True)
    if alias == "qwen3-vl-8b-instruct":
        assert found == []
    else:
        assert found == [f"{MODEL}.return_token_ids: expected false, as {alias} has no raw trace, got true"]
    assert _faults(alias, "return_token_ids", False) == []


@pytest.mark.parametrize("alias", SERVED)
def test_only_generic_profiles_need_a_model_id(alias: str) -> None:
    faults = faults_of(changed(paper(), (MODEL, {"alias": alias, "base": "http://models"})))
    assert [fault.key for fault in faults] == ([f"{MODEL}.model_id"] if alias.startswith("generic-") else [])
