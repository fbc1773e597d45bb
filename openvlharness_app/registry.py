"""Profiles of models: the packaged ones and those of the user's own files.

A registry file is `{alias: {fields}}` with the fields of `ModelProfile`; what an entry leaves out has the value of
`generic-chat`, also in an entry that stands in for a packaged one.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Annotated, Any, Literal

import attrs

from openvlharness_app.faults import ConfigurationError, Fault, Unfit, located, nearest, shown, type_of
from openvlharness_app.kinds import Kind, NonNegativeNumber, Omittable, PositiveInt, Printable, Ratio, String
from openvlharness_app.profile_rules import profile_misfits
from openvlharness_app.prompts import bundle_names
from openvlharness_app.service_settings import ReasoningEffort
from openvlharness_app.structuring import structured
from openvlharness_app.yaml_lines import Document, parse_yaml, read_text
from openvlharness_core.pictures import ImageLimits
from openvlharness_core.profile import ModelProfile

Option = Literal[
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "repetition_penalty",
    "presence_penalty",
    "reasoning_effort",
    "service_tier",
    "return_token_ids",
]


def _is_pair(value: object) -> bool:
    whole = isinstance(value, list | tuple) and len(value) == 2 and all(type(side) is int for side in value)
    return whole and isinstance(value, list | tuple) and 0 < value[0] <= value[1]


PixelRange = Annotated[
    tuple[int, int],
    Kind(
        expected="two integers of 1 or more, the smaller one first",
        fits=_is_pair,
        schema={"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 2, "maxItems": 2},
        build=tuple,
    ),
]


@attrs.frozen(kw_only=True)
class PriceFields:
    """Money per million tokens."""

    input: Omittable[NonNegativeNumber] = None
    cache_read: Omittable[NonNegativeNumber] = None
    cache_write: Omittable[NonNegativeNumber] = None
    output: Omittable[NonNegativeNumber] = None


@attrs.frozen(kw_only=True)
class ImageLimitFields:
    """`ImageLimits` with the ranges of its numbers."""

    max_side: PositiveInt | None = None
    min_side: PositiveInt | None = None
    max_ratio: Ratio | None = None
    max_pictures: PositiveInt | None = None


@attrs.frozen(kw_only=True)
class ProfileFields:
    """`ModelProfile` as a file may write it: the same names, the types as strict as the loader can be."""

    model_id: Printable
    adapter: Literal["chat_completions", "responses", "embedded"]
    prompt_bundle: String
    final_answer: Literal["answer_tag", "answer_tag_or_text"]
    extra_final_request: bool
    continue_empty_answer: bool
    append_final_message: bool
    context_policy: Literal["local_tokens", "provider_enforced"]
    context_error_fallback: bool
    allowed_options: tuple[Option, ...]
    reasoning_efforts: tuple[ReasoningEffort, ...]
    boxes: Literal["bbox_2d", "object_map"]
    tokenizer: String | None
    image_token_patch: PositiveInt | None
    image_token_pixels: PixelRange | None
    replay_fields: tuple[String, ...]
    prices: PriceFields | None
    raw_trace_format: Literal["native"] | None
    raw_trace_tokenizer_revision: String | None
    remote_images: Literal["download", "pass_url"]
    image_limits: ImageLimitFields
    empty_content: Literal["null", ""]
    alternate_roles: bool

    def as_profile(self, alias: str) -> ModelProfile:
        """The value that the core works with."""
        prices = None if self.prices is None else attrs.asdict(self.prices, filter=lambda _, price: price is not None)
        fields: dict[str, Any] = attrs.asdict(self, recurse=False)
        fields |= {"prices": prices, "image_limits": ImageLimits(**attrs.asdict(self.image_limits))}
        return ModelProfile(alias=alias, **fields)


@attrs.frozen(kw_only=True)
class RegistryFile:
    """What one file says.

    Attributes:
        profiles: the entries that can be used, by alias.
        broken: aliases of the other entries.
        faults: what is wrong with those.
    """

    profiles: Mapping[str, ModelProfile]
    broken: frozenset[str]
    faults: tuple[Fault, ...]


def load_profiles(paths: Iterable[str | os.PathLike[str]] = ()) -> Mapping[str, ModelProfile]:
    """The packaged profiles and those of the files, by alias; a later file wins.

    Raises:
        ConfigurationError: every fault of every file, by file, alias and field.
    """
    profiles = dict(packaged_profiles())
    faults: list[Fault] = []
    for path in paths:
        try:
            registry = read_registry(path)
        except Unfit as unfit:
            whole = Fault(key=os.fspath(path), expected=unfit.expected, got=unfit.got, line=unfit.line)
            faults.append(whole)
        else:
            profiles |= registry.profiles
            faults += registry.faults
    if faults:
        raise ConfigurationError(faults)
    return profiles


def read_registry(path: str | os.PathLike[str]) -> RegistryFile:
    """What one file says. Raises Unfit if it is no file of entries."""
    return _read(parse_yaml(read_text(path)), _defaults(), os.fspath(path))


@functools.cache
def packaged_profiles() -> Mapping[str, ModelProfile]:
    """The profiles that come with the library."""
    folder = files("openvlharness_app") / "profiles"
    profiles: dict[str, ModelProfile] = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".yaml"):
            document = parse_yaml(file.read_text(encoding="utf-8"))
            registry = _read(document, _defaults(), file.name)
            if registry.faults:
                raise ConfigurationError(registry.faults)
            profiles |= registry.profiles
    return profiles


@functools.cache
def _defaults() -> Mapping[str, object]:
    generic = (files("openvlharness_app") / "profiles" / "generic.yaml").read_text(encoding="utf-8")
    tree = parse_yaml(generic).tree
    fields = tree.get("generic-chat") if isinstance(tree, Mapping) else None
    assert isinstance(fields, Mapping)
    return fields


def _read(document: Document, defaults: Mapping[str, object], file: str) -> RegistryFile:
    tree = {} if document.tree is None else document.tree
    if not isinstance(tree, Mapping):
        raise Unfit("a mapping of aliases to fields", type_of(tree))
    profiles: dict[str, ModelProfile] = {}
    misfits = list(document.misfits)
    for alias, fields in tree.items():
        if not isinstance(fields, Mapping):
            misfits.append(((alias,), Unfit("a mapping of fields", type_of(fields))))
            continue
        entry, faulty = structured({**defaults, **fields}, ProfileFields)
        misfits += [((alias, *path), unfit) for path, unfit in faulty]
        if entry is None:
            continue
        profile = entry.as_profile(alias)
        further = [((alias, *path), unfit) for path, unfit in profile_misfits(profile)]
        if (unfit := _bundle_misfit(entry.prompt_bundle)) is not None:
            further.append(((alias, "prompt_bundle"), unfit))
        if not further:
            profiles[alias] = profile
        misfits += further
    broken = frozenset(str(path[0]) for path, _ in misfits if path)
    return RegistryFile(profiles=profiles, broken=broken, faults=located(misfits, tree, document.lines, file))


def _bundle_misfit(name: str) -> Unfit | None:
    known = bundle_names()
    if name in known:
        return None
    return Unfit(f"one of {', '.join(known)}", shown(name), suggestion=nearest(name, known))
