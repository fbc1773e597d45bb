"""YAML or a mapping to finished, frozen settings; everything that is wrong is said at once.

The order is fixed: the file is parsed, its placeholders are filled, the values are structured, and the rules between
keys are applied to the same values, so that one broken key hides no other. The environment is read here and now.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

import attrs

from openvlharness_app.faults import ConfigurationError, Fault, Filled, Misfit, Unfit, located, type_of
from openvlharness_app.model_rules import known_profiles, model_misfits, service_misfits
from openvlharness_app.placeholders import fill
from openvlharness_app.rules import backend_misfits, catalogue, choices, memory_misfits, selected_tree
from openvlharness_app.settings import ProcessVariables, Settings
from openvlharness_app.structuring import structured
from openvlharness_app.trees import find, plain, replaced, section, unfilled
from openvlharness_app.yaml_lines import Document, parse_yaml, read_text

_SAMPLE_INDEX = "HARNESS_SEARCH_SAMPLE_INDEX"


def load_agent_config(
    source: str | os.PathLike[str] | Mapping[str, object], environment: Mapping[str, str] | None = None
) -> Settings:
    """The settings in a file, or in a mapping of the same shape.

    Args:
        source: path of a YAML file, or its content as a mapping.
        environment: what fills the placeholders; the variables of this process if left out.

    Raises:
        ConfigurationError: every fault of the configuration and of the registry files it names.
    """
    given = os.environ if environment is None else environment
    if isinstance(source, Mapping):
        return _settings_from(_document_of(source), given, "configuration", None)
    if not isinstance(source, str | os.PathLike):
        raise ConfigurationError([Fault(key="configuration", expected="a path or a mapping", got=type_of(source))])
    path = os.fspath(source)
    try:
        document = parse_yaml(read_text(path))
    except Unfit as unfit:
        failure = Fault(key=path, expected=unfit.expected, got=unfit.got, line=unfit.line)
    else:
        return _settings_from(document, given, path, os.path.dirname(os.path.abspath(path)))
    raise ConfigurationError([failure])  # outside of the handler, so that nothing of the file hangs on it


def settings_from_yaml(text: str, environment: Mapping[str, str] | None = None, *, name: str = "YAML") -> Settings:
    """The settings in YAML text; `name` stands for the file in faults about the whole of it.

    Raises:
        ConfigurationError: every fault.
    """
    try:
        document = parse_yaml(text)
    except Unfit as unfit:
        failure = Fault(key=name, expected=unfit.expected, got=unfit.got, line=unfit.line)
    else:
        return _settings_from(document, os.environ if environment is None else environment, name, None)
    raise ConfigurationError([failure])


def _document_of(mapping: Mapping[str, object]) -> Document:
    try:
        return Document(tree=plain(mapping))
    except Unfit as unfit:
        return Document(tree={}, misfits=(((), unfit),))


def _settings_from(document: Document, environment: Mapping[str, str], name: str, folder: str | None) -> Settings:
    tree = document.tree
    if not isinstance(tree, Mapping):
        if document.misfits:
            raise ConfigurationError(located(document.misfits, tree, document.lines))
        got = "nothing" if tree is None else type_of(tree)
        raise ConfigurationError([Fault(key=name, expected="a mapping of settings", got=got)])
    if document.misfits and not tree:
        raise ConfigurationError(located(document.misfits, tree, document.lines))
    filled, unfilled_leaves = fill(tree, environment)
    assert isinstance(filled, Mapping)
    settings, misfits, faults = _structured(_anchored(filled, folder))
    variables, variable_faults = _variables(environment)
    misfits = [*document.misfits, *unfilled_leaves, *misfits]
    if misfits or faults or variable_faults or settings is None:
        raise ConfigurationError((*located(misfits, tree, document.lines), *faults, *variable_faults))
    return attrs.evolve(settings, variables=variables)


def _structured(tree: Mapping[str, object]) -> tuple[Settings | None, list[Misfit], tuple[Fault, ...]]:
    known = catalogue(tree)
    profiles = known_profiles(tree)
    tools, plugins = selected_tree(tree, known)
    selected = frozenset(name for _, _, _, name in choices(tree))
    pruned = replaced(tree, tools, "services", "tools") if _has_mapping(tree) else tree
    settings, misfits = structured(pruned, Settings)
    misfits += known.misfits
    misfits += profiles.misfits
    misfits += backend_misfits(tree, known)
    misfits += memory_misfits(tree)
    misfits += model_misfits(tree, profiles)
    misfits += service_misfits(tree, profiles, selected)
    if settings is not None and plugins:
        entries = {name: section(unfilled(entry)) for name, entry in plugins.items()}
        with_plugins = attrs.evolve(settings.services.tools, plugins=entries)
        settings = attrs.evolve(settings, services=attrs.evolve(settings.services, tools=with_plugins))
    return settings, misfits, profiles.faults


def _has_mapping(tree: Mapping[str, object]) -> bool:
    """Whether `services.tools` may be replaced without hiding that it, or `services`, has the wrong type."""
    services = tree.get("services")
    return isinstance(services, Mapping) and isinstance(services.get("tools", {}), Mapping)


def _anchored(tree: Mapping[str, object], folder: str | None) -> Mapping[str, object]:
    """`tree` with its relative paths counted from the folder of the file."""
    if folder is None:
        return tree

    def anchor(value: object) -> object:
        if not isinstance(value, str) or not value:
            return value
        joined = os.path.join(folder, value)
        return Filled(joined, names=value.names, whole=False) if isinstance(value, Filled) else joined

    paths = find(tree, "models", "registry_paths")
    if isinstance(paths, list):
        tree = replaced(tree, [anchor(path) for path in paths], "models", "registry_paths")
    places: list[tuple[str, ...]] = [("capabilities", "bank")]
    places += [("services", "tools", name, "corpus") for name in section(tree, "services", "tools")]
    for place in places:
        value = find(tree, *place)
        if isinstance(value, str) and value:
            tree = replaced(tree, anchor(value), *place)
    return tree


def _variables(environment: Mapping[str, str]) -> tuple[ProcessVariables, tuple[Fault, ...]]:
    """What the environment says beside the placeholders; a blank variable counts as not set."""
    defaults = ProcessVariables()
    index = environment.get(_SAMPLE_INDEX, "").strip()
    ocr_model_id = environment.get("OCR_MODEL_ID", "").strip() or defaults.ocr_model_id
    if index and not re.fullmatch(r"[+-]?[0-9]{1,18}", index):
        fault = Fault(key=_SAMPLE_INDEX, expected="an integer", got="a value of type str")
        return defaults, (fault,)
    return ProcessVariables(sample_index=int(index or 0), ocr_model_id=ocr_model_id), ()
