"""Which executor a configuration brings, and with which limits."""

from __future__ import annotations

import pytest

from openvlharness_adapters.executor.local import LocalExecutor
from openvlharness_adapters.executor.sandboxed import SandboxedExecutor
from openvlharness_app.building.executors import code_executor, executor_entry
from openvlharness_app.loading import load_agent_config
from tests.unit.app.configurations import PAPER_ENVIRONMENT, paper

LIMITS = {"timeout_seconds": 5.0, "memory_bytes": 1024**3, "file_bytes": 1024**2, "processes": 400}


@pytest.mark.parametrize(
    ("name", "kind"), [("python_executor_local", LocalExecutor), ("python_executor_sandboxed", SandboxedExecutor)]
)
def test_the_selected_executor_has_the_limits_of_its_entry(name: str, kind: type[LocalExecutor]) -> None:
    tree = paper()
    tree["capabilities"]["tools"]["coding"]["executor"] = name
    tree["services"]["tools"].pop("python_executor_local")
    tree["services"]["tools"][name] = LIMITS
    settings = load_agent_config(tree, PAPER_ENVIRONMENT)
    assert code_executor(settings) == kind(**LIMITS)  # type: ignore[arg-type]
    assert type(code_executor(settings)) is kind
    assert executor_entry(settings).timeout_seconds == 5.0
