"""The models beside the conversation, and what all the models of an agent cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from openvlharness_app.building.models import coding_service, profile_of
from openvlharness_app.building.services import HttpClient
from openvlharness_app.faults import ConfigurationError, Fault
from openvlharness_app.settings import Settings
from openvlharness_core import AuxiliaryModel, Clock


def auxiliary_model(settings: Settings, service: str, client: Callable[[], HttpClient], clock: Clock) -> AuxiliaryModel:
    """The model service that summarises and extracts.

    Of its entry `alias`, `model_id`, `base`, `key`, `timeout` and `retry` count; decoding is the same for all.

    Raises:
        ConfigurationError: its profile speaks another protocol than auxiliary calls do.
    """
    from openvlharness_adapters.http.endpoints import endpoint_of
    from openvlharness_adapters.models.auxiliary import ENDPOINT, OpenAIAuxiliary

    entry = settings.services.models[service]
    profile = profile_of(settings, service)
    if profile.adapter != "chat_completions":
        expected = "a profile of the protocol chat_completions, which auxiliary calls are made over"
        got = f"{entry.alias} with {profile.adapter}"
        raise ConfigurationError([Fault(key=f"services.models.{service}.alias", expected=expected, got=got)])
    return OpenAIAuxiliary(
        client=client(),
        endpoint=endpoint_of(str(entry.base), ENDPOINT),
        model_id=profile.model_id,
        key=entry.key.reveal(),
        retry=entry.auxiliary_retry,
        timeout_seconds=entry.timeout,
        clock=clock,
    )


def prices_by_role(settings: Settings) -> Mapping[str, Mapping[str, float]]:
    """Money per million tokens of the model behind each role, for roles whose profile has prices.

    Search tools may each have an auxiliary model of their own; where those are not priced alike, that role has none.
    """
    services = {"orchestrator": {settings.agent.model_service}, "coding": {coding_service(settings)}}
    if auxiliary := set(auxiliary_services(settings)):
        services["auxiliary"] = auxiliary
    prices: dict[str, Mapping[str, float]] = {}
    for role, names in services.items():
        first, *others = [profile_of(settings, name).prices for name in sorted(names)]
        if first is not None and all(other == first for other in others):
            prices[role] = first
    return prices


def auxiliary_services(settings: Settings) -> Iterator[str]:
    """The model services of the selected search tools, in the order of the tools."""
    tools = settings.services.tools
    for entry in (tools.serper_text_search, tools.serper_image_search, tools.serper_webpage_visit):
        if entry is not None:
            yield entry.model_service
