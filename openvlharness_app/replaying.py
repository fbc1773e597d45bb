"""Replaying a report under settings: the engine, the texts and the tools of today, and no backend."""

from __future__ import annotations

from openvlharness_app.building.models import profile_of, prompt_bundle
from openvlharness_app.building.services import pillow_codec
from openvlharness_app.building.tools import turn_policy
from openvlharness_app.catalogue import selected_capabilities
from openvlharness_app.settings import Settings
from openvlharness_core import Difference, Report, Toolset, replay


def differences(report: Report, settings: Settings) -> tuple[Difference, ...]:
    """Everything that today's engine would do otherwise than the report says."""
    profile = profile_of(settings)
    prompts = prompt_bundle(settings, profile)
    toolset = Toolset(selected_capabilities(settings))
    policy = turn_policy(settings, profile, prompts)
    return replay(report, toolset, policy, pillow_codec(settings), profile.image_limits)
