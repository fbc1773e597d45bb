"""The backends behind the tools, one each; those that a configuration does not select are never made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openvlharness_app.building.plugins import find_plugin
from openvlharness_app.settings import Settings
from openvlharness_core import CodeExecutor, OcrBackend, Offload, ZoomBackend

if TYPE_CHECKING:
    from openvlharness_adapters.imaging.codec import PillowCodec


def zoom_backend(settings: Settings, codec: PillowCodec, offload: Offload) -> ZoomBackend:
    """Cropping in this process."""
    from openvlharness_adapters.imaging.zoom import InProcessZoom

    return find_plugin(settings, "zoom") or InProcessZoom(codec=codec, offload=offload)


def ocr_backend(settings: Settings, codec: PillowCodec, offload: Offload) -> OcrBackend:
    """The selected reader."""
    from openvlharness_adapters.backends.embedded.ocr import EmbeddedOcr

    return find_plugin(settings, "ocr") or EmbeddedOcr(pixels=codec.pixels, offload=offload)


def code_executor(settings: Settings) -> CodeExecutor:
    """A disposable process of this machine."""
    from openvlharness_adapters.executor.local import LocalExecutor
    from openvlharness_app.backend_settings import LocalExecutorSettings

    entry = settings.services.tools.python_executor_local or LocalExecutorSettings()
    return LocalExecutor(
        timeout_seconds=entry.timeout_seconds,
        memory_bytes=entry.memory_bytes,
        file_bytes=entry.file_bytes,
        processes=entry.processes,
    )
