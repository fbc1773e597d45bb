"""What the aliases of a configuration came to: the whole profile of every model service, as records keep it.

An alias alone does not say under which rules a model was asked: its registry entry and the prompts may be others today.
"""

from __future__ import annotations

from openvlharness_app.building.models import profile_of, profile_record, prompt_bundle
from openvlharness_app.settings import Settings


def resolved_profiles(settings: Settings) -> dict[str, dict[str, object]]:
    """For each entry of `services.models`, by name: its profile with the model id that is asked for, and `prompts`.

    `prompts` has the SHA-256 in hex of the system prompt, of the prefix of the question and of all texts together, in the
    words for the tools that are selected. Profiles that nothing refers to are not in it, and no key or address is.
    """
    return {name: _resolved(settings, name) for name in sorted(settings.services.models)}


def _resolved(settings: Settings, service: str) -> dict[str, object]:
    profile = profile_of(settings, service)
    return profile_record(profile, prompt_bundle(settings, profile))
