"""Rules between keys. They read plain values, so that they find their faults beside those of single keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from openvlharness_app.backend_settings import ToolSettings
from openvlharness_app.backends import (
    PACKAGED_BACKENDS,
    PACKAGED_REGISTRIES,
    PERCEPTION_AND_SEEKING,
    BackendRecord,
    PluginRegistryError,
    plugin_records,
    plugin_registries,
)
from openvlharness_app.faults import KeyPath, Misfit, Unfit, nearest, shown
from openvlharness_app.trees import find, items, section, text

_MODULES = ("image", "tool_context", "url")


@attrs.frozen(kw_only=True)
class Catalogue:
    """Backends by name.

    Attributes:
        listed: those of the registries that the configuration lists.
        others: those that an unlisted registry knows.
        misfits: registries that cannot be used.
    """

    listed: Mapping[str, BackendRecord]
    others: Mapping[str, BackendRecord]
    misfits: tuple[Misfit, ...] = ()


def catalogue(tree: object) -> Catalogue:
    """Who is known. A plug-in is imported if its registry is listed, or while a name in use is known to nobody."""
    path = ("capabilities", "registries")
    names = [name for name in items(tree, *path) if isinstance(name, str)]
    in_use = {name for _, _, _, name in choices(tree)} | section(tree, "services", "tools").keys()
    misfits: list[Misfit] = []
    counted = {*names, "paper"}  # without paper there is one fault, not another for each of its backends
    listed = {name: record for name, record in PACKAGED_BACKENDS.items() if record.registry in counted}
    others = {name: record for name, record in PACKAGED_BACKENDS.items() if record.registry not in counted}
    packaged_suffice = set(names) <= set(PACKAGED_REGISTRIES) and in_use <= PACKAGED_BACKENDS.keys()
    installed = () if packaged_suffice else plugin_registries()
    for registry in sorted(installed, key=lambda registry: registry not in names):
        if registry not in names and in_use <= {*listed, *others}:
            break
        try:
            records = {one.name: one for one in plugin_records(registry) if one.name not in PACKAGED_BACKENDS}
        except PluginRegistryError as error:
            if registry in names:
                unloadable = Unfit("a registry that can be loaded", f"{registry}: {error}")
                misfits.append(((*path, names.index(registry)), unloadable))
        else:
            (listed if registry in names else others).update(records)
    known = (*PACKAGED_REGISTRIES, *installed)
    for at, name in enumerate(items(tree, *path)):
        if isinstance(name, str) and name.strip() and name not in known:
            unknown = Unfit(f"a registry ({', '.join(known)})", shown(name), suggestion=nearest(name, known))
            misfits.append(((*path, at), unknown))
    if isinstance(find(tree, *path), list) and "paper" not in names:
        without = ", ".join(map(shown, names)) or "an empty one"
        misfits.append((path, Unfit("a list that includes paper", without)))
    return Catalogue(listed=listed, others=others, misfits=tuple(misfits))


def choices(tree: object) -> Iterator[tuple[KeyPath, str, str, str]]:
    """Every selected backend: path, capability, role, name."""
    tools = ("capabilities", "tools")
    roles = [(name, "backend") for name in PERCEPTION_AND_SEEKING] + [("coding", "generator"), ("coding", "executor")]
    for capability, role in roles:
        name = text(tree, *tools, capability, role)
        if name is not None and name.strip():
            yield (*tools, capability, role), capability, role, name


def backend_misfits(tree: object, known: Catalogue) -> Iterator[Misfit]:
    """Selected backends that are unknown, unlisted, of another capability or without their entry; unknown entries."""
    everyone = {**known.others, **known.listed}
    entries = section(tree, "services", "tools")
    for path, capability, role, name in choices(tree):
        record = everyone.get(name)
        fitting = [one.name for one in known.listed.values() if (one.capability, one.role) == (capability, role)]
        what = f"a backend for {capability} ({', '.join(fitting) or 'no listed registry has one'})"
        if record is None:
            yield path, Unfit(what, shown(name), suggestion=nearest(name, fitting))
        elif (record.capability, record.role) != (capability, role):
            yield path, Unfit(what, f"{shown(name)}, which is for {record.capability}")
        elif name not in known.listed:
            where = f"{shown(name)}, which needs {record.registry} in capabilities.registries"
            yield path, Unfit(what, where)
        elif record.needs_entry and name not in entries:
            yield ("services", "tools", name), Unfit(f"a mapping, as {'.'.join(map(str, path))} selects it", "nothing")
    for name in entries.keys() - everyone.keys():
        hint = nearest(name, everyone)
        yield ("services", "tools", name), Unfit("the name of a backend", "one that no registry knows", suggestion=hint)


def selected_tree(tree: object, known: Catalogue) -> tuple[dict[str, object], dict[str, Mapping[str, object]]]:
    """`services.tools` of the selected backends alone: packaged ones, with `{}` where none is needed, and plug-ins."""
    entries = section(tree, "services", "tools")
    fields = {field.name for field in attrs.fields(ToolSettings)}
    packaged: dict[str, object] = {}
    plugins: dict[str, Mapping[str, object]] = {}
    for _, _, _, name in choices(tree):
        record = known.listed.get(name)
        if record is None:
            continue
        if name in fields and name in PACKAGED_BACKENDS:
            if name in entries or not record.needs_entry:
                packaged[name] = entries.get(name, {})
        else:
            plugins[name] = section(entries, name)
    return packaged, plugins


def memory_misfits(tree: object) -> Iterator[Misfit]:
    """Modules that are missing, repeated or out of order."""
    path = ("memory", "modules")
    if not isinstance(find(tree, *path), list):
        return
    seen: list[str] = []
    for at, module in enumerate(items(tree, "memory", "modules")):
        name = text(module, "name")
        if name not in _MODULES:
            continue
        if name in seen:
            yield (*path, at), Unfit("each module once", f"{name} again")
        elif seen and _MODULES.index(name) < _MODULES.index(seen[-1]):
            yield (*path, at), Unfit(f"modules in the order {', '.join(_MODULES)}", f"{name} after {seen[-1]}")
        seen.append(name)
    if "image" not in seen and (text(tree, "ablation") or "full") == "full":
        yield path, Unfit("a list that includes image, as tools need registered pictures", "one without it")
