"""What an entry of `services.models` may say, given the profile that its alias names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args
from urllib.parse import urlsplit

import attrs

from openvlharness_app.faults import Fault, KeyPath, Misfit, Unfit, nearest, shown
from openvlharness_app.kinds import HttpUrl, Key, PositiveInt, kind_of
from openvlharness_app.registry import Option, packaged_profiles, read_registry
from openvlharness_app.trees import find, items, number, section, text
from openvlharness_core.profile import ModelProfile

ENDPOINTS: Mapping[str, str] = {"chat_completions": "/chat/completions", "responses": "/responses"}
_SPARE_TOKENS = 512


@attrs.frozen(kw_only=True)
class KnownProfiles:
    """What the registries say.

    Attributes:
        by_alias: the profiles that can be used.
        broken: aliases of entries with faults, about which nothing more can be said.
        faults: the faults of the registry files.
        misfits: files that cannot be read.
    """

    by_alias: Mapping[str, ModelProfile]
    broken: frozenset[str] = frozenset()
    faults: tuple[Fault, ...] = ()
    misfits: tuple[Misfit, ...] = ()


def known_profiles(tree: object) -> KnownProfiles:
    """The packaged profiles and those of `models.registry_paths`."""
    by_alias = dict(packaged_profiles())
    broken: set[str] = set()
    faults: list[Fault] = []
    misfits: list[Misfit] = []
    for at, path in enumerate(items(tree, "models", "registry_paths")):
        if not isinstance(path, str):
            continue
        try:
            registry = read_registry(path)
        except Unfit as unfit:
            where = unfit.got if unfit.line is None else f"{unfit.got} in its line {unfit.line}"
            misfits.append((("models", "registry_paths", at), Unfit(unfit.expected, f"{shown(path)}: {where}")))
        else:
            by_alias |= registry.profiles
            broken |= registry.broken
            faults += registry.faults
    return KnownProfiles(by_alias=by_alias, broken=frozenset(broken), faults=tuple(faults), misfits=tuple(misfits))


def model_misfits(tree: object, profiles: KnownProfiles) -> Iterator[Misfit]:
    """What single entries of `services.models` may not say."""
    for name, entry in section(tree, "services", "models").items():
        path: KeyPath = ("services", "models", name)
        alias = text(entry, "alias")
        profile = None if alias is None else profiles.by_alias.get(alias)
        if profile is not None:
            yield from _entry_misfits(path, section(entry), profile)
        elif alias is not None and alias.strip() and alias not in profiles.broken:
            hint = nearest(alias, profiles.by_alias)
            yield (*path, "alias"), Unfit("the alias of a registered profile", shown(alias), suggestion=hint)


def _entry_misfits(path: KeyPath, entry: Mapping[str, object], profile: ModelProfile) -> Iterator[Misfit]:
    embedded = profile.adapter == "embedded"
    if embedded and "base" in entry:
        yield (*path, "base"), Unfit(f"no base: {profile.alias} runs in this process", "one")
    elif not embedded and "base" not in entry:
        yield (*path, "base"), Unfit(_expected(HttpUrl), "nothing")
    elif not embedded:
        yield from _endpoint_misfits(path, entry["base"], profile)
    if embedded and _is_key(entry.get("key")):
        yield (*path, "key"), Unfit(f"no key: {profile.alias} runs in this process", "one")
    if not embedded and not profile.model_id and "model_id" not in entry:
        yield (*path, "model_id"), Unfit(f"a string that is not empty, as {profile.alias} fits any model", "nothing")
    yield from _option_misfits(path, entry, profile)


def _option_misfits(path: KeyPath, entry: Mapping[str, object], profile: ModelProfile) -> Iterator[Misfit]:
    allowed = profile.allowed_options
    for option in get_args(Option):
        if option == "return_token_ids" or option not in entry or option in allowed:
            continue
        yield (*path, option), Unfit(f"an option that {profile.alias} takes ({', '.join(allowed) or 'none'})", option)
    token_ids = find(entry, "return_token_ids")
    asked = token_ids is True or (isinstance(token_ids, str) and token_ids.lower() == "true")
    if asked and ("return_token_ids" not in allowed or profile.raw_trace_format is None):
        yield (*path, "return_token_ids"), Unfit(f"false, as {profile.alias} has no raw trace", "true")
    effort = text(entry, "reasoning_effort")
    if effort is not None and "reasoning_effort" in allowed and effort not in profile.reasoning_efforts:
        levels = ", ".join(profile.reasoning_efforts) or "none"
        hint = nearest(effort, profile.reasoning_efforts)
        expected = f"a level that {profile.alias} takes ({levels})"
        yield (*path, "reasoning_effort"), Unfit(expected, shown(effort), suggestion=hint)


def _endpoint_misfits(path: KeyPath, base: object, profile: ModelProfile) -> Iterator[Misfit]:
    kind = kind_of(HttpUrl)
    if kind is None or not kind.fits(base):
        return
    endpoint = ENDPOINTS[profile.adapter]
    others = [other for other in ENDPOINTS.values() if other != endpoint]
    for other in others:
        if urlsplit(str(base)).path.rstrip("/").endswith(other):
            got = f"an endpoint that ends in {other}"
            yield (*path, "base"), Unfit(f"a service root, a /v1 base or an endpoint that ends in {endpoint}", got)


def service_misfits(tree: object, profiles: KnownProfiles, selected: frozenset[str]) -> Iterator[Misfit]:
    """What goes between `services.models` and those who use its entries."""
    models = section(tree, "services", "models")
    orchestrator = text(tree, "agent", "model_service")
    users: list[tuple[KeyPath, str | None]] = [(("agent", "model_service"), orchestrator)]
    for backend in sorted(selected):
        entry = section(tree, "services", "tools", backend)
        service = text(entry, "model_service")
        if service is None and backend.startswith("serper_") and "model_service" not in entry:
            service = "auxiliary"
        users.append((("services", "tools", backend, "model_service"), service))
    for path, service in users:
        if service is not None and service.strip() and service not in models:
            hint = nearest(service, models)
            yield path, Unfit("the name of an entry of services.models", shown(service), suggestion=hint)
    if orchestrator is not None and orchestrator in models:
        yield from _budget_misfits(tree, orchestrator)
        if "python_coding_agent" in selected:
            yield from _generator_misfits(tree, profiles, orchestrator)


def _budget_misfits(tree: object, orchestrator: str) -> Iterator[Misfit]:
    length = number(tree, PositiveInt, "agent", "max_context_length")
    entry = section(tree, "services", "models", orchestrator)
    reserved = number(entry, PositiveInt, "max_tokens") if "max_tokens" in entry else 4096
    if length is not None and reserved is not None and length <= reserved + _SPARE_TOKENS:
        limit = f"more than max_tokens of {orchestrator} plus {_SPARE_TOKENS} ({reserved + _SPARE_TOKENS})"
        yield ("agent", "max_context_length"), Unfit(limit, str(length))


def _generator_misfits(tree: object, profiles: KnownProfiles, orchestrator: str) -> Iterator[Misfit]:
    path = ("services", "tools", "python_coding_agent", "model_service")
    service = text(tree, *path)
    if service is None:
        return
    mine, theirs = (_identity(tree, profiles, name) for name in (service, orchestrator))
    if mine is not None and theirs is not None and mine != theirs:
        yield path, Unfit(f"a service with the model and protocol of {orchestrator}", shown(service))


def _identity(tree: object, profiles: KnownProfiles, service: str) -> tuple[str, str] | None:
    """Protocol and model of a service."""
    entry = section(tree, "services", "models", service)
    profile = profiles.by_alias.get(text(entry, "alias") or "")
    return None if profile is None else (profile.adapter, text(entry, "model_id") or profile.model_id)


def _is_key(value: Any) -> bool:
    kind = kind_of(Key)
    return kind is not None and kind.fits(value) and bool(kind.build(value))


def _expected(type_: object) -> str:
    kind = kind_of(type_)
    return kind.expected if kind else ""
