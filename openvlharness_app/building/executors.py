"""What runs generated programs: the selected executor and its limits."""

from __future__ import annotations

from openvlharness_app.backend_settings import LocalExecutorSettings, SandboxedExecutorSettings
from openvlharness_app.building.plugins import selected_name
from openvlharness_app.settings import Settings
from openvlharness_core import CodeExecutor


def executor_entry(settings: Settings) -> LocalExecutorSettings | SandboxedExecutorSettings:
    """The limits of the selected executor, of the local one where none is selected."""
    tools = settings.services.tools
    if selected_name(settings, "coding", "executor") == "python_executor_sandboxed":
        return tools.python_executor_sandboxed or SandboxedExecutorSettings()
    return tools.python_executor_local or LocalExecutorSettings()


def code_executor(settings: Settings) -> CodeExecutor:
    """Disposable processes of this machine, in the sandbox where the configuration selects it."""
    from openvlharness_adapters.executor.local import LocalExecutor
    from openvlharness_adapters.executor.sandboxed import SandboxedExecutor

    entry = executor_entry(settings)
    executor = SandboxedExecutor if isinstance(entry, SandboxedExecutorSettings) else LocalExecutor
    return executor(
        timeout_seconds=entry.timeout_seconds,
        memory_bytes=entry.memory_bytes,
        file_bytes=entry.file_bytes,
        processes=entry.processes,
    )
