"""Settings of single backends: the entries of `services.tools`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

from openvlharness_app.kinds import (
    FilePath,
    HttpUrl,
    Name,
    NonNegativeInt,
    Omittable,
    OneOrMany,
    PositiveInt,
    Seconds,
)

NOT_IN_FILE = "not_in_file"
"""Metadata of an attribute that no key of the file sets."""


@attrs.frozen(kw_only=True)
class ServerBackendSettings:
    """A backend that a raw server answers for.

    Attributes:
        server_url: base of the raw server without an endpoint suffix, or a list of them, one a replica.
        timeout_seconds: deadline of one call, in seconds from taking the seat.
    """

    server_url: OneOrMany[HttpUrl]
    timeout_seconds: Seconds = 300.0


@attrs.frozen(kw_only=True)
class EmbeddedBackendSettings:
    """A backend that runs in this process on a CPU.

    Attributes:
        server_url: base of an `openvlharness serve embedded`, or a list of them; left out, the work is done in process.
        timeout_seconds: deadline of one call, in seconds from taking the seat.
    """

    server_url: Omittable[OneOrMany[HttpUrl]] = None
    timeout_seconds: Seconds = 300.0


@attrs.frozen(kw_only=True)
class EmbeddedSearchSettings:
    """A search over local documents.

    Attributes:
        corpus: a folder of documents or the index made of them; a relative path counts from the configuration's folder.
        server_url: base of an `openvlharness serve embedded`, or a list of them; left out, the work is done in process.
        timeout_seconds: deadline of one call, in seconds from taking the seat.
    """

    corpus: Omittable[FilePath] = None
    server_url: Omittable[OneOrMany[HttpUrl]] = None
    timeout_seconds: Seconds = 300.0


@attrs.frozen(kw_only=True)
class ZoomSettings:
    """Cropping takes no options."""


@attrs.frozen(kw_only=True)
class SerperSettings:
    """A search or page visit through Serper; its key comes from the environment.

    Attributes:
        model_service: entry of `services.models` that summarises and extracts.
        timeout_seconds: deadline of one call, in seconds from taking the seat.
    """

    model_service: Name = "auxiliary"
    timeout_seconds: Seconds = 300.0


@attrs.frozen(kw_only=True)
class CodeGeneratorSettings:
    """How programs are written.

    Attributes:
        model_service: entry of `services.models`; left out, the orchestrator's.
        context: `fresh`: a prompt of its own instead of the conversation.
        generation: `fixed`: 4096 tokens, medium effort, 600 seconds; `inherit`: the options of the model's entry.
        mode: `single_shot`: one program; `revise`: it sees its own error and output and may be written anew.
        max_revisions: how often it may be, with `revise`.
        timeout_seconds: deadline of one call, in seconds from taking the seat.
    """

    model_service: Omittable[Name] = None
    context: Literal["fresh"] = "fresh"
    generation: Literal["fixed", "inherit"] = "fixed"
    mode: Literal["single_shot", "revise"] = "single_shot"
    max_revisions: NonNegativeInt = 2
    timeout_seconds: Seconds = 300.0


@attrs.frozen(kw_only=True)
class SandboxedExecutorSettings:
    """Limits of a program that runs without network and outside its folder's reach.

    Attributes:
        timeout_seconds: deadline of one program, in seconds, start and previews included.
        memory_bytes: address space of one process.
        file_bytes: size of one file.
        processes: processes of one program at a time.
    """

    timeout_seconds: Seconds = 30.0
    memory_bytes: PositiveInt = 4 * 1024**3
    file_bytes: PositiveInt = 256 * 1024**2
    processes: PositiveInt = 301


@attrs.frozen(kw_only=True)
class LocalExecutorSettings:
    """Limits of a program that runs with the permissions of this process.

    Attributes:
        transport: `local`: a subprocess of this machine.
        timeout_seconds: deadline of one program, in seconds, start and previews included.
        memory_bytes: address space of one process.
        file_bytes: size of one file.
        processes: processes of one program at a time.
    """

    transport: Literal["local"] = "local"
    timeout_seconds: Seconds = 30.0
    memory_bytes: PositiveInt = 4 * 1024**3
    file_bytes: PositiveInt = 256 * 1024**2
    processes: PositiveInt = 301


def _no_plugins() -> Mapping[str, Mapping[str, object]]:
    return {}


@attrs.frozen(kw_only=True)
class ToolSettings:
    """The entries of the selected backends; `None` for every other backend, whose entry nobody reads.

    Attributes:
        plugins: entries of selected plug-in backends as they stand in the file, placeholders filled.
    """

    sam3_segment: Omittable[ServerBackendSettings] = None
    grounding_dino: Omittable[ServerBackendSettings] = None
    embedded_grounding: Omittable[EmbeddedBackendSettings] = None
    ocr: Omittable[ServerBackendSettings] = None
    deepseek_ocr: Omittable[ServerBackendSettings] = None
    embedded_ocr: Omittable[EmbeddedBackendSettings] = None
    depth_estimation: Omittable[ServerBackendSettings] = None
    vggt_depth: Omittable[ServerBackendSettings] = None
    camera_trajectory: Omittable[ServerBackendSettings] = None
    vggt_camera: Omittable[ServerBackendSettings] = None
    embedded_camera: Omittable[EmbeddedBackendSettings] = None
    zoom_in_image_by_bbox: Omittable[ZoomSettings] = None
    serper_text_search: Omittable[SerperSettings] = None
    embedded_text_search: Omittable[EmbeddedSearchSettings] = None
    serper_image_search: Omittable[SerperSettings] = None
    embedded_image_search: Omittable[EmbeddedSearchSettings] = None
    serper_webpage_visit: Omittable[SerperSettings] = None
    embedded_webpage_visit: Omittable[EmbeddedSearchSettings] = None
    python_coding_agent: Omittable[CodeGeneratorSettings] = None
    python_executor_local: Omittable[LocalExecutorSettings] = None
    python_executor_sandboxed: Omittable[SandboxedExecutorSettings] = None
    plugins: Mapping[str, Mapping[str, object]] = attrs.field(
        factory=_no_plugins, repr=lambda plugins: f"<{len(plugins)} entries>", hash=False, metadata={NOT_IN_FILE: True}
    )
