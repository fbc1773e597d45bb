"""What is known of a model: which protocol it speaks, how it ends, what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

from openvlharness_core.pictures import ImageLimits


@attrs.frozen(kw_only=True)
class ModelProfile:
    """A registered model. The defaults are those of `generic-chat`.

    Attributes:
        alias: the name configurations use.
        model_id: what the provider calls it; empty when the configuration must say.
        adapter: protocol, or the planner that is built in.
        prompt_bundle: names the system prompt's file.
        final_answer: where an answer is looked for: in a tag only, or in the tag and else in the text.
        extra_final_request: one more request without tools when the budget is spent.
        continue_empty_answer: an empty answer is followed by a nudge, not by the end.
        append_final_message: the answering reply becomes the recorded conversation's last message.
        context_policy: whether tokens are counted here or the provider enforces its limit.
        context_error_fallback: compact and retry once on the provider's context error.
        allowed_options: generation options that an entry may set.
        reasoning_efforts: levels this model takes.
        boxes: how evidence writes boxes.
        tokenizer: path of a `tokenizer.json` or a hub name.
        image_token_patch: side of one image token, in pixels.
        image_token_pixels: least and most pixels of a picture as the model sees it.
        replay_fields: fields of a reply that are sent back as they came.
        prices: money per million tokens under `input`, `cache_read`, `cache_write`, `output`.
        raw_trace_format: format of the raw trace export, if the model has one.
        raw_trace_tokenizer_revision: the tokenizer revision that the export names.
        remote_images: whether a remote picture is shown downloaded or by its URL.
        image_limits: what pictures it takes.
        empty_content: what stands beside calls when there is no text: null or an empty string.
        alternate_roles: user messages between two assistant messages are sent as one.
    """

    alias: str
    model_id: str = ""
    adapter: Literal["chat_completions", "responses", "embedded"] = "chat_completions"
    prompt_bundle: str = "openai_v1"
    final_answer: Literal["answer_tag", "answer_tag_or_text"] = "answer_tag_or_text"
    extra_final_request: bool = True
    continue_empty_answer: bool = True
    append_final_message: bool = False
    context_policy: Literal["local_tokens", "provider_enforced"] = "provider_enforced"
    context_error_fallback: bool = True
    allowed_options: tuple[str, ...] = (
        "max_tokens",
        "temperature",
        "top_p",
        "top_k",
        "repetition_penalty",
        "presence_penalty",
        "reasoning_effort",
    )
    reasoning_efforts: tuple[str, ...] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
    boxes: Literal["bbox_2d", "object_map"] = "bbox_2d"
    tokenizer: str | None = None
    image_token_patch: int | None = None
    image_token_pixels: tuple[int, int] | None = None
    replay_fields: tuple[str, ...] = ()
    prices: Mapping[str, float] | None = attrs.field(default=None, hash=False)
    raw_trace_format: str | None = None
    raw_trace_tokenizer_revision: str | None = None
    remote_images: Literal["download", "pass_url"] = "download"
    image_limits: ImageLimits = ImageLimits()
    empty_content: Literal["null", ""] = "null"
    alternate_roles: bool = False
