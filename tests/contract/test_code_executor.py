"""The suite of the CodeExecutor port, bound to every way of running a program in processes of this machine."""

from __future__ import annotations

import sys

import pytest

from contracts.ports.code_executor import CodeExecutorContract
from openvlharness_adapters.executor import sandbox
from openvlharness_adapters.executor.local import LocalExecutor
from openvlharness_adapters.executor.sandboxed import SandboxedExecutor


class TestLocalExecutor(CodeExecutorContract):
    @pytest.fixture
    def executor(self) -> LocalExecutor:
        return LocalExecutor()


class TestSpawningExecutor(CodeExecutorContract):
    """The way that is left on a machine without namespaces and Landlock."""

    @pytest.fixture
    def executor(self) -> LocalExecutor:
        return LocalExecutor(kill_level="subreaper")


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's")
class TestSandboxedExecutor(CodeExecutorContract):
    @pytest.fixture
    def executor(self) -> SandboxedExecutor:
        assert sandbox.find_obstacle() is None
        return SandboxedExecutor()
