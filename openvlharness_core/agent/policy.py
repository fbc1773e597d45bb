"""Everything that decides how a question goes and that does not change while it does."""

from __future__ import annotations

import attrs

from openvlharness_core.agent.answers import AnswerPolicy
from openvlharness_core.memory.inventory import EmitPolicy
from openvlharness_core.memory.workspace import ALL_MODULES, MemoryModule
from openvlharness_core.messages import ToolSpec
from openvlharness_core.profile import ModelProfile
from openvlharness_core.prompts import PromptBundle


def _positive(instance: object, attribute: attrs.Attribute[int], value: int) -> None:
    if type(value) is not int or value < 1:
        raise ValueError(f"{attribute.name}: expected a whole number above 0, got {value!r}")


@attrs.frozen(kw_only=True)
class TurnPolicy:
    """The rules of one question.

    Attributes:
        prompts: every text that the model reads.
        tools: offered tools, sorted by public name; the agent fills them in from its toolset.
        max_iterations: requests, the last of which asks for the final answer.
        final_answer: where an answer is looked for.
        extra_final_request: one more request without tools when the budget is spent.
        continue_empty_answer: an empty answer is followed by a nudge, not by the end.
        append_final_message: the answering reply becomes the conversation's last message.
        context_error_fallback: compact and retry once on the provider's context error.
        count_tokens: count here, and compact before the context would overflow.
        max_context_length: tokens of prompt and reserved output together; `None` leaves it to the provider.
        reserved_output_tokens: what the answer of a request may take.
        max_pictures: pictures in one request; `None` means no limit.
        emit_policy: an Environment Update after every successful call, or only when something changed.
        webpage_env_update_limit: newest pages listed in an update; `None` lists all.
        modules: memory modules that are on.
        tool_choice: sent as it is with offered tools.
        paired_sampling_seed: requests of a question with a task id carry a seed derived from it.
        sample_index: which sample of the same task this is.
        deadline_seconds: bounds the whole question; `None` means no limit.
    """

    prompts: PromptBundle
    tools: tuple[ToolSpec, ...] = ()
    max_iterations: int = attrs.field(default=15, validator=_positive)
    final_answer: AnswerPolicy = "answer_tag_or_text"
    extra_final_request: bool = True
    continue_empty_answer: bool = True
    append_final_message: bool = False
    context_error_fallback: bool = True
    count_tokens: bool = False
    max_context_length: int | None = None
    reserved_output_tokens: int = 4096
    max_pictures: int | None = None
    emit_policy: EmitPolicy = "always"
    webpage_env_update_limit: int | None = 20
    modules: tuple[MemoryModule, ...] = ALL_MODULES
    tool_choice: str | None = "auto"
    paired_sampling_seed: bool = False
    sample_index: int = 0
    deadline_seconds: float | None = None

    @property
    def counts(self) -> bool:
        """Whether requests are counted before they are sent."""
        return self.count_tokens and self.max_context_length is not None

    def with_profile(self, profile: ModelProfile) -> TurnPolicy:
        """These rules with what the profile decides."""
        return attrs.evolve(
            self,
            final_answer=profile.final_answer,
            extra_final_request=profile.extra_final_request,
            continue_empty_answer=profile.continue_empty_answer,
            append_final_message=profile.append_final_message,
            context_error_fallback=profile.context_error_fallback,
            count_tokens=profile.context_policy == "local_tokens",
            max_pictures=profile.image_limits.max_pictures,
        )
