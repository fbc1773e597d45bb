"""The suite of the CodeExecutor port, bound to the executor of local processes."""

from __future__ import annotations

import pytest

from contracts.ports.code_executor import CodeExecutorContract
from openvlharness_adapters.executor.local import LocalExecutor


class TestLocalExecutor(CodeExecutorContract):
    @pytest.fixture
    def executor(self) -> LocalExecutor:
        return LocalExecutor()
