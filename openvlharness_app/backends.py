"""The names of backends: which capability each serves, which registry knows it, and the plug-ins of others.

A third party registers through an entry point of the group `openvlharness.backends`. The entry point's name is the
registry's, to be listed under `capabilities.registries`; it loads to a mapping of backend names to `PluginBackend`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

PLUGIN_GROUP = "openvlharness.backends"
PACKAGED_REGISTRIES = ("paper", "extensions", "alternates", "embedded")
PERCEPTION_AND_SEEKING = (
    "grounding",
    "ocr",
    "depth",
    "camera_pose",
    "zoom",
    "text_search",
    "image_search",
    "web_visit",
)

Role = Literal["backend", "generator", "executor"]


@attrs.frozen(kw_only=True)
class BackendRecord:
    """One name that configurations may use.

    Attributes:
        name: the concrete name, spelled alike in YAML, on the wire and in traces.
        capability: key of `capabilities.tools` that it serves.
        registry: who knows it.
        role: key under the capability that selects it.
        needs_entry: whether its entry in `services.tools` may not be left out.
    """

    name: str
    capability: str
    registry: str
    role: Role = "backend"
    needs_entry: bool = True


@attrs.frozen(kw_only=True)
class PluginBackend:
    """A backend of a third party.

    Attributes:
        capability: key of `capabilities.tools` that it serves; for `coding` it is a generator.
        build: called once, with the backend's entry of `services.tools`; returns an object that has the capability's port.
    """

    capability: str
    build: Callable[[Mapping[str, object]], object]


def _packaged() -> Iterator[BackendRecord]:
    for registry, names in {
        "paper": {
            "grounding": "sam3_segment",
            "ocr": "ocr",
            "depth": "depth_estimation",
            "camera_pose": "camera_trajectory",
            "zoom": "zoom_in_image_by_bbox",
            "text_search": "serper_text_search",
            "image_search": "serper_image_search",
            "web_visit": "serper_webpage_visit",
        },
        "extensions": {"grounding": "grounding_dino"},
        "alternates": {"ocr": "deepseek_ocr", "depth": "vggt_depth", "camera_pose": "vggt_camera"},
        "embedded": {
            "grounding": "embedded_grounding",
            "ocr": "embedded_ocr",
            "camera_pose": "embedded_camera",
            "text_search": "embedded_text_search",
            "image_search": "embedded_image_search",
            "web_visit": "embedded_webpage_visit",
        },
    }.items():
        for capability, name in names.items():
            needs_entry = registry != "embedded"
            yield BackendRecord(name=name, capability=capability, registry=registry, needs_entry=needs_entry)
    yield BackendRecord(name="python_coding_agent", capability="coding", registry="paper", role="generator")
    for executor in ("python_executor_local", "python_executor_sandboxed"):
        yield BackendRecord(name=executor, capability="coding", registry="paper", role="executor", needs_entry=False)


PACKAGED_BACKENDS: Mapping[str, BackendRecord] = {record.name: record for record in _packaged()}


class PluginRegistryError(Exception):
    """An installed registry cannot be loaded or offers something else than backends."""


def _entry_points() -> EntryPoints:
    from importlib.metadata import entry_points  # costs more than all the rest of this module, and is seldom needed

    return entry_points(group=PLUGIN_GROUP)


def plugin_registries() -> tuple[str, ...]:
    """Names of the installed plug-in registries; nothing of theirs is imported."""
    return tuple(sorted({point.name for point in _entry_points()} - set(PACKAGED_REGISTRIES)))


def load_plugin_registry(registry: str) -> Mapping[str, PluginBackend]:
    """The backends that one installed registry offers. Raises PluginRegistryError."""
    for point in _entry_points():
        if point.name != registry:
            continue
        try:
            offered = point.load()
        except Exception as error:  # noqa: BLE001 - whatever a stranger's module raises is the same to us
            raise PluginRegistryError(f"{type(error).__name__} when it was imported") from None
        if not isinstance(offered, Mapping) or not all(
            isinstance(name, str) and isinstance(backend, PluginBackend) for name, backend in offered.items()
        ):
            raise PluginRegistryError("something else than a mapping of names to PluginBackend")
        return dict(offered)
    raise PluginRegistryError("no entry point of that name")


def plugin_records(registry: str) -> tuple[BackendRecord, ...]:
    """What one installed registry knows. Raises PluginRegistryError."""
    return tuple(
        BackendRecord(
            name=name,
            capability=backend.capability,
            registry=registry,
            role="generator" if backend.capability == "coding" else "backend",
            needs_entry=False,
        )
        for name, backend in load_plugin_registry(registry).items()
    )
