"""What the fields of one profile may not say together, or to those who read them."""

from __future__ import annotations

from collections.abc import Iterator

from openvlharness_app.faults import Misfit, Unfit, shown
from openvlharness_core.profile import ModelProfile

OWN_FIELDS = frozenset({"role", "content", "tool_calls"})
"""Fields of an assistant message that the adapter makes itself and refuses to replay."""


def profile_misfits(profile: ModelProfile) -> Iterator[Misfit]:
    """The faults of a profile whose fields fit each for itself, by field; those of its alias under no field."""
    if not profile.alias.strip() or not profile.alias.isprintable():
        yield (), Unfit("an alias of printable characters", shown(profile.alias))
    yield from _replay_misfits(profile)
    if profile.raw_trace_format is not None and profile.adapter != "chat_completions":
        yield (
            ("raw_trace_format",),
            Unfit(f"null, as {profile.adapter} has no raw trace", shown(profile.raw_trace_format)),
        )
    if profile.context_policy == "local_tokens" and not (profile.tokenizer or "").strip():
        expected = "a tokenizer, or the context_policy provider_enforced"
        yield ("tokenizer",), Unfit(expected, shown(profile.tokenizer))
    limits = profile.image_limits
    if limits.min_side is not None and limits.max_side is not None and limits.min_side > limits.max_side:
        expected = f"at most max_side, {limits.max_side}"
        yield ("image_limits", "min_side"), Unfit(expected, shown(limits.min_side))


def _replay_misfits(profile: ModelProfile) -> Iterator[Misfit]:
    seen: set[str] = set()
    for at, name in enumerate(profile.replay_fields):
        path = ("replay_fields", at)
        if name in OWN_FIELDS:
            yield path, Unfit(f"a field beside the message's own {', '.join(sorted(OWN_FIELDS))}", shown(name))
        elif not name.strip():
            yield path, Unfit("the name of a field", shown(name))
        elif name in seen:
            yield path, Unfit("each field once", f"{shown(name)} again")
        seen.add(name)
