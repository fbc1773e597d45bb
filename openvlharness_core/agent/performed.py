"""From what a tool found to the result of its call: for a call that was just performed, and for one that is replayed."""

from __future__ import annotations

from openvlharness_core.calls import CapabilityResult, Findings, Origin, Registered
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import Part


def successful_result(findings: Findings, registered: Registered, evidence: tuple[Part, ...]) -> CapabilityResult:
    """The result of a call whose findings have been named and rendered."""
    return CapabilityResult(
        data=findings.data,
        evidence=evidence,
        artifacts=registered,
        backend=findings.backend,
        envelope=findings.envelope,
        sidecars=findings.sidecars,
        usage=findings.usage,
        origins=tuple(Origin(parents=tuple(image.parents), to_source=image.to_source) for image in findings.images),
    )


def downloaded(before: Workspace, after: Workspace) -> tuple[str, ...]:
    """Handles of the pictures whose bytes came in between."""
    pairs = zip(before.images.records, after.images.records, strict=False)
    return tuple(now.handle for was, now in pairs if was.picture is None and now.picture is not None)
