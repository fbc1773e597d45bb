"""Doubles that ship with the library: everything here is a fake and says so in its name or its first line."""

from __future__ import annotations

from openvlharness_core.testing.auxiliary import ScriptedAuxiliary
from openvlharness_core.testing.backends import FakeOcr, FakeZoom
from openvlharness_core.testing.cameras import FakeCamera
from openvlharness_core.testing.code import FakeCodeExecutor, FakeCodeGenerator
from openvlharness_core.testing.depth import FakeDepth
from openvlharness_core.testing.grounding import FakeGrounding
from openvlharness_core.testing.images import FakeCodec, FakeFetcher, fake_image
from openvlharness_core.testing.models import ScriptedModel, calling, saying
from openvlharness_core.testing.prompts import plain_prompts
from openvlharness_core.testing.rendering import FakeRenderer
from openvlharness_core.testing.seeking import FakeImageSearch, FakePages, FakeTextSearch
from openvlharness_core.testing.stores import InMemoryReportStore
from openvlharness_core.testing.time import FakeClock, InlineOffload
from openvlharness_core.testing.tracing import RecordingTracer, WordCounter

__all__ = [
    "FakeCamera",
    "FakeClock",
    "FakeCodeExecutor",
    "FakeCodeGenerator",
    "FakeCodec",
    "FakeDepth",
    "FakeFetcher",
    "FakeGrounding",
    "FakeImageSearch",
    "FakeOcr",
    "FakePages",
    "FakeRenderer",
    "FakeTextSearch",
    "FakeZoom",
    "InMemoryReportStore",
    "InlineOffload",
    "RecordingTracer",
    "ScriptedAuxiliary",
    "ScriptedModel",
    "WordCounter",
    "calling",
    "fake_image",
    "plain_prompts",
    "saying",
]
