"""Raw traces for whoever asks: settings that bring them about, and a recording that becomes a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import attrs

from openvlharness_app.faults import ConfigurationError, Fault
from openvlharness_app.settings import Settings
from openvlharness_core import ModelProfile, Report, Tracer
from openvlharness_core.agent.raw_trace import RawTraceRecorder

_OPTION = "return_token_ids"


def traced_settings(settings: Settings) -> Settings:
    """The same settings with the orchestrator asked for token ids, in one piece: streams carry none.

    Raises:
        ConfigurationError: its profile has no raw trace.
    """
    from openvlharness_app.building.models import profile_of

    service = settings.agent.model_service
    profile = profile_of(settings)
    if profile.raw_trace_format is None or _OPTION not in profile.allowed_options:
        expected = f"a profile with a raw_trace_format and the option {_OPTION}, such as qwen3-vl-8b-instruct"
        fault = Fault(key=f"services.models.{service}.alias", expected=expected, got=profile.alias)
        raise ConfigurationError([fault])
    entry = attrs.evolve(settings.orchestrator, return_token_ids=True, stream=False)
    services = attrs.evolve(settings.services, models={**settings.services.models, service: entry})
    return attrs.evolve(settings, services=services)


@attrs.define(eq=False)
class Recording:
    """Records one question; `tracer` is given to its agent.

    Attributes:
        inner: a tracer that sees everything too.
        tracer: what records.
    """

    inner: Tracer | None = None
    tracer: RawTraceRecorder = attrs.field(init=False)

    @tracer.default
    def _around(self) -> RawTraceRecorder:
        return RawTraceRecorder(self.inner)

    def export(self, report: Report, profile: ModelProfile) -> Mapping[str, bytes]:
        """The one file to lie beside the report: `raw_trace.json`, or `raw_trace_error.json` with the reason.

        Blocks while the tokenizer of the profile is loaded, from the hub if it is nowhere else.
        """
        from openvlharness_adapters.files.raw_trace import raw_trace_file

        recorded = [exchange for question in self.tracer.question_ids for exchange in self.tracer.take(question)]
        return raw_trace_file(recorded, report, profile, lambda: _tokenizer(profile))


def _tokenizer(profile: ModelProfile) -> Callable[[str], Sequence[int]]:
    from openvlharness_adapters.tokens.loading import open_tokenizer
    from openvlharness_core.errors import TokenizerUnavailableError

    if not profile.tokenizer:
        raise TokenizerUnavailableError(f"profile {profile.alias}", "expected a tokenizer, got none")
    tokenizer = open_tokenizer(profile.tokenizer, profile.raw_trace_tokenizer_revision)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def find_problem(files: Mapping[str, bytes]) -> str | None:
    """Why there is no trace, where `Recording.export` made none."""
    from openvlharness_adapters.files.raw_trace import RAW_TRACE_ERROR

    if RAW_TRACE_ERROR not in files:
        return None
    message: str = json.loads(files[RAW_TRACE_ERROR])["error"]["message"]
    return message
