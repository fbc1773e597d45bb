"""Texts that a model reads, as files beside this one, and the door through which they become a `PromptBundle`.

A bundle is `<name>_system.txt`, which is its own, with `user_prefix.txt` and `texts.yaml`, which all bundles share. Lines
may depend on the selected tools: see `composing`.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from openvlharness_app.faults import Unfit
from openvlharness_app.prompts.composing import CAPABILITIES, composed, condition_faults
from openvlharness_app.yaml_lines import parse_yaml
from openvlharness_core.prompts import PromptBundle, PromptBundleError

_SYSTEM = "_system.txt"


def bundle_names() -> tuple[str, ...]:
    """The bundles there are, sorted."""
    found = (entry.name for entry in _folder().iterdir())
    return tuple(sorted(name.removesuffix(_SYSTEM) for name in found if name.endswith(_SYSTEM)))


@cache
def load_prompt_bundle(name: str, tools: frozenset[str] = CAPABILITIES) -> PromptBundle:
    """The bundle called `name`, read once for each selection of tools.

    Args:
        name: one of `bundle_names()`.
        tools: keys of the capabilities that the model is offered; the texts speak of no other.

    Raises:
        PromptBundleError: no such bundle, a file that cannot be read, or texts that do not make a bundle; every fault
            names its file.
    """
    known = bundle_names()
    if name not in known:
        raise PromptBundleError((f"prompt bundle: expected one of {', '.join(known)}, got {name!r}",))
    texts = _texts("texts.yaml")
    faults = [
        f"texts.yaml: {key}: expected in a file of its own, got it here"
        for key in ("system", "user_prefix")
        if key in texts
    ]
    if faults:
        raise PromptBundleError(tuple(faults))
    own = {"system": _text(f"{name}{_SYSTEM}"), "user_prefix": _text("user_prefix.txt")}
    whole = texts | own
    faults = [f"prompts/{key}: {fault}" for key, text in whole.items() for fault in condition_faults(text)]
    if faults:
        raise PromptBundleError(tuple(faults))
    try:
        return PromptBundle({key: composed(text, tools) for key, text in whole.items()})
    except PromptBundleError as error:
        raise PromptBundleError(tuple(f"prompts/{fault}" for fault in error.faults)) from None


def _folder() -> Traversable:
    return files(__name__)


def _text(file: str) -> str:
    try:
        text = _folder().joinpath(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise PromptBundleError((f"{file}: expected a UTF-8 text, got {type(error).__name__}",)) from error
    if not text:
        raise PromptBundleError((f"{file}: expected a text, got none",))
    return text


def _texts(file: str) -> dict[str, str]:
    """The mapping in a YAML file; each fault with its line."""
    try:
        document = parse_yaml(_text(file))
    except Unfit as unfit:
        raise PromptBundleError((f"{file}: line {unfit.line}: {unfit}",)) from None
    faults = [f"{file}: line {unfit.line}: {'.'.join(map(str, path))}: {unfit}" for path, unfit in document.misfits]
    if not isinstance(document.tree, dict):
        raise PromptBundleError((*faults, f"{file}: expected keys with texts, got {type(document.tree).__name__}"))
    faults += [
        f"{file}: line {document.lines[(key,)]}: {key}: expected a text, got {type(text).__name__}"
        for key, text in document.tree.items()
        if not isinstance(text, str)
    ]
    if faults:
        raise PromptBundleError(tuple(faults))
    return {str(key): str(text) for key, text in document.tree.items()}
