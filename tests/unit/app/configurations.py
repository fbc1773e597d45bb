"""Configurations for tests: plain mappings to change at dotted keys, and where a key ends up in the settings."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from openvlharness_app.faults import ConfigurationError, Fault
from openvlharness_app.loading import load_agent_config
from openvlharness_app.settings import Settings

Tree = dict[str, Any]


class _Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


def small() -> Tree:
    """The least that loads: no tools, the planner as orchestrator."""
    return {
        "agent_name": "MainAgent",
        "agent": {"model_service": "orchestrator"},
        "memory": {"modules": [{"name": "image"}]},
        "capabilities": {"registries": ["paper"], "tools": {}},
        "services": {"models": {"orchestrator": {"alias": "embedded-planner"}}},
    }


def paper() -> Tree:
    """Everything that the reference table shows, all nine capabilities, with its placeholders."""
    tools = {
        "grounding": "sam3_segment",
        "ocr": "ocr",
        "depth": "depth_estimation",
        "camera_pose": "camera_trajectory",
        "zoom": "zoom_in_image_by_bbox",
        "text_search": "serper_text_search",
        "image_search": "serper_image_search",
        "web_visit": "serper_webpage_visit",
    }
    coding = {"generator": "python_coding_agent", "executor": "python_executor_local"}
    return {
        "agent_name": "MainAgent",
        "agent_config_version": "paper_v1",
        "agent": {
            "model_service": "orchestrator",
            "max_iterations": 15,
            "max_context_length": 168000,
            "tool_choice": "auto",
            "paired_sampling_seed": False,
        },
        "memory": {
            "modules": [
                {"name": "image"},
                {"name": "tool_context"},
                {"name": "url", "webpage_env_update_limit": 20},
            ],
            "emit_policy": "always",
        },
        "capabilities": {
            "registries": ["paper"],
            "tools": {name: {"backend": backend} for name, backend in tools.items()} | {"coding": coding},
        },
        "services": {
            "client": {"base_url": "${TOOL_SERVER_URL}", "timeout_seconds": 600, "retry": 8},
            "server": {"host": "127.0.0.1", "port": 8101, "registration": "configured_only"},
            "tools": {
                "sam3_segment": {"server_url": "${SAM3_SERVER_URL}"},
                "ocr": {"server_url": "${OCR_SERVER_URL}"},
                "depth_estimation": {"server_url": "${DEPTH_ESTIMATION_SERVER_URL}"},
                "camera_trajectory": {"server_url": "${DEPTH_ESTIMATION_SERVER_URL}"},
                "zoom_in_image_by_bbox": {},
                "serper_text_search": {"model_service": "auxiliary"},
                "serper_image_search": {"model_service": "auxiliary"},
                "serper_webpage_visit": {"model_service": "auxiliary"},
                "python_coding_agent": {"model_service": "orchestrator", "context": "fresh", "generation": "fixed"},
                "python_executor_local": {"transport": "local", "timeout_seconds": 30},
            },
            "models": {
                "orchestrator": {
                    "alias": "generic-chat",
                    "model_id": "some-model",
                    "base": "${MODEL_BASE_URL}",
                    "key": "${MODEL_API_KEY}",
                    "timeout": 600,
                    "retry": 8,
                    "max_tokens": 12800,
                },
                "auxiliary": {
                    "alias": "generic-chat",
                    "model_id": "another-model",
                    "base": "${AUXILIARY_MODEL_BASE_URL}",
                    "key": "${AUXILIARY_MODEL_API_KEY}",
                    "timeout": 600,
                    "retry": 2,
                },
            },
        },
    }


PAPER_ENVIRONMENT = {
    "TOOL_SERVER_URL": "http://router:8101",
    "SAM3_SERVER_URL": "http://gpu:8201",
    "OCR_SERVER_URL": "http://gpu:8202",
    "DEPTH_ESTIMATION_SERVER_URL": "http://gpu:8203",
    "MODEL_BASE_URL": "http://models:8000/v1",
    "MODEL_API_KEY": "key-of-the-model",
    "AUXILIARY_MODEL_BASE_URL": "http://models:8001/v1",
    "AUXILIARY_MODEL_API_KEY": "key-of-the-helper",
}


def changed(tree: Tree, *changes: tuple[str, object]) -> Tree:
    """A copy of `tree` with other values at dotted keys; ABSENT removes a key; numbers are positions in lists."""
    tree = copy.deepcopy(tree)
    for key, value in changes:
        *way, last = key.split(".")
        place: Any = tree
        for part in way:
            place = place[int(part)] if part.isdigit() else place.setdefault(part, {})
        if value is ABSENT:
            place.pop(last, None)
        elif last.isdigit():
            place[int(last)] = copy.deepcopy(value)
        else:
            place[last] = copy.deepcopy(value)
    return tree


def load(tree: Mapping[str, object], **environment: str) -> Settings:
    return load_agent_config(tree, {**PAPER_ENVIRONMENT, **environment})


def faults_of(tree: Any, environment: Mapping[str, str] | None = None) -> tuple[Fault, ...]:
    """The faults of a configuration; none if it loads."""
    try:
        load_agent_config(tree, PAPER_ENVIRONMENT if environment is None else environment)
    except ConfigurationError as error:
        faults, message = error.faults, str(error)
    else:
        return ()
    assert faults
    assert message.splitlines() == [str(fault) for fault in faults]
    return faults


def value_at(settings: object, key: str) -> Any:
    """The setting of a dotted key."""
    value: Any = settings
    for part in key.split("."):
        if part.isdigit():
            value = value[int(part)]
        else:
            value = value[part] if isinstance(value, Mapping) else getattr(value, part)
    return value
