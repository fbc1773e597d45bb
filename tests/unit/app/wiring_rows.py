"""The rows of test_wiring: each key of the configuration, and where its effect shows; and the keys that have none yet."""

from __future__ import annotations

import contextlib
from typing import Any

import attrs

from openvlharness_adapters.tokens import TokenizerCounter
from openvlharness_core.errors import BackendUnavailableError, MalformedResultError
from openvlharness_core.messages import ImagePart, UserMessage
from openvlharness_core.pictures import EncodedImage
from tests.unit.app.configurations import ABSENT
from tests.unit.app.wired import TOOLS, Seen, Wired

MODEL = "services.models.orchestrator"
PROFILE = "profile"
SET = object()
TOKENIZER = "the small tokenizer"
"""Stands for the file of a tokenizer, which is made where the test runs."""


@attrs.frozen(kw_only=True)
class Row:
    """One key and its effect.

    Attributes:
        key: the dotted key; below `profile.`, a field of the model's profile; in capitals, a variable.
        value: what is set.
        seen: where the effect shows.
        expected: what is seen then; the value itself if left out.
        beside: other changes that the key needs, made with and without it.
        note: tells rows of one key apart.
        responses: whether the service speaks Responses; the entry is then that of a model that does.
    """

    key: str
    value: Any
    seen: Seen
    expected: Any = SET
    beside: tuple[tuple[str, Any], ...] = ()
    note: str = ""
    responses: bool = False


# ---- where to look ---------------------------------------------------------------------------------------------------


def policy(name: str) -> Seen:
    return lambda wired: getattr(wired.policy, name)


def agent(name: str) -> Seen:
    return lambda wired: getattr(wired.container.agent(), name)


def limits(name: str) -> Seen:
    return lambda wired: getattr(wired.container.agent().limits, name)


def model(name: str) -> Seen:
    return lambda wired: getattr(wired.container.chat_model(), name)


def generator(name: str) -> Seen:
    """An attribute of the model that writes programs."""
    return lambda wired: getattr(wired.container.code_generator().model, name)  # type: ignore[attr-defined]


def executor(name: str) -> Seen:
    return lambda wired: getattr(wired.container.code_executor(), name)


def tool(key: str, name: str) -> Seen:
    return lambda wired: getattr(wired.tool(key), name)


def offered(key: str) -> Seen:
    return lambda wired: wired.tool(key) is not None


def corpus(provider: str) -> Seen:
    return lambda wired: str(getattr(wired.container, provider)().corpus.path)


def pixels_of_corpus(wired: Wired) -> object:
    """What limits the pictures of local documents."""
    return wired.container.image_search_backend().corpus.decode.__self__.max_pixels  # type: ignore[attr-defined]


async def _body(wired: Wired, name: str, number: int) -> object:
    return (await wired.body(number)).get(name)


def body(name: str, number: int = 0) -> Seen:
    return lambda wired: _body(wired, name, number)


async def key_sent(wired: Wired) -> object:
    return (await wired.request()).headers.get("authorization")


async def path_asked(wired: Wired) -> object:
    return (await wired.request()).path


async def written(wired: Wired) -> object:
    """Where a program was asked for, and with which key."""
    with contextlib.suppress(MalformedResultError, BackendUnavailableError):  # the scripted model writes no program
        await wired.container.code_generator().write("count", {}, timeout_seconds=10.0)
    [request] = wired.server.requests
    return request.path, request.headers.get("authorization")


async def seed(wired: Wired) -> object:
    return "seed" in await wired.body()


async def replayed(wired: Wired) -> object:
    (said,) = [message for message in (await wired.body(1))["messages"] if message["role"] == "assistant"]
    return said


async def content_beside_calls(wired: Wired) -> object:
    return (await replayed(wired))["content"]  # type: ignore[index]


async def reasoning_sent_back(wired: Wired) -> object:
    return (await replayed(wired)).get("reasoning_content")  # type: ignore[attr-defined]


async def roles_after_the_call(wired: Wired) -> object:
    return [message["role"] for message in (await wired.body(1))["messages"]][3:]


async def money(wired: Wired) -> object:
    return (await wired.answered()).usage.get("money", {}).get("total")


async def says_numbered_steps(wired: Wired) -> object:
    """Whether the system prompt that is sent is the one for small models."""
    return "\n2. " in (await wired.body())["messages"][0]["content"]


def counted_with(wired: Wired) -> object:
    """Without a tokenizer nothing is built, so what is seen then are the faults."""
    return wired.faults() or type(wired.container.token_counter()).__name__


def picture_costs(wired: Wired) -> object:
    """Tokens of a message that is a picture of 640 by 480, without what surrounds it."""
    image = EncodedImage(media_type="image/png", data=b"x", size_hw=(480, 640))
    counter = wired.container.token_counter()
    assert isinstance(counter, TokenizerCounter)
    picture, _ = counter.count([(UserMessage(parts=(ImagePart(handle="a", image=image),)),)], ())
    return picture - 7


async def stopped(wired: Wired) -> object:
    return (await wired.answered()).stop_reason


def kind_of_model(wired: Wired) -> object:
    return wired.faults() or type(wired.container.chat_model()).__name__


async def model_asked(wired: Wired) -> object:
    return wired.faults() or (await wired.body())["model"]


# ---- the rows --------------------------------------------------------------------------------------------------------

_SECOND = ("services.models.second", {"alias": "generic-chat", "model_id": "m2", "base": "${SERVER}"})
_CODING = "services.tools.python_coding_agent"
_LOCAL = "services.tools.python_executor_local"
_MINE = ("models.registry_paths", ["${REGISTRY}"])  # a file with the profile `mine`; a profile's field is set there
_TRACED = (
    _MINE,
    (f"{MODEL}.alias", "mine"),
    (f"{PROFILE}.allowed_options", ["max_tokens", "return_token_ids"]),
    (f"{PROFILE}.raw_trace_format", "native"),
)
WITH_MINE = (_MINE, (f"{MODEL}.alias", "mine"))
_THINKING = (f"{MODEL}.reasoning_effort", "high")
_COUNTED = (f"{PROFILE}.context_policy", "local_tokens")
_LONG = ("agent.max_context_length", 50_000)
_PATCHES = ((f"{PROFILE}.image_token_patch", 32), (f"{PROFILE}.image_token_pixels", [65_536, 16_777_216]))
_COUNTABLE = (*_PATCHES, (f"{PROFILE}.tokenizer", TOKENIZER))
_CODER = (
    "services.models.coder",
    {"alias": "generic-chat", "model_id": "m", "base": "${SERVER}/coder", "key": "sk-2", "timeout": 9.5},
)

AGENT = [
    Row(key="agent.model_service", value="second", seen=body("model"), expected="m2", beside=(_SECOND,)),
    Row(key="agent.max_iterations", value=3, seen=policy("max_iterations")),
    Row(key="agent.max_context_length", value=50_000, seen=policy("max_context_length")),
    Row(
        key="agent.max_context_length",
        value=50_000,
        seen=counted_with,
        expected="TokenizerCounter",
        beside=(*WITH_MINE, *_COUNTABLE, _COUNTED),
        note="counted",
    ),
    Row(key="agent.tool_choice", value="required", seen=body("tool_choice")),
    Row(key="agent.paired_sampling_seed", value=True, seen=seed),
    Row(key="agent.deadline_seconds", value=7.5, seen=policy("deadline_seconds")),
    Row(key="HARNESS_SEARCH_SAMPLE_INDEX", value="5", seen=policy("sample_index"), expected=5),
    Row(
        key="memory.modules",
        value=[{"name": "image"}, {"name": "url"}],
        seen=policy("modules"),
        expected=("image", "url"),
    ),
    Row(key="memory.modules.2.webpage_env_update_limit", value=3, seen=policy("webpage_env_update_limit")),
    Row(key="memory.emit_policy", value="on_change", seen=policy("emit_policy")),
    *(
        Row(key="memory.images_per_search", value=2, seen=tool(key, "images_per_search"), note=key)
        for key in ("text_search", "image_search")
    ),
    *(
        Row(key=f"capabilities.tools.{key}", value=ABSENT, seen=offered(key), expected=False)
        for key in (*TOOLS, "coding")
    ),
    Row(key="images.max_pixels", value=1000, seen=lambda wired: wired.container.image_codec().max_pixels),
    Row(
        key="images.max_pixels",
        value=1000,
        seen=pixels_of_corpus,
        note="corpus",
    ),
    Row(key="security.allow_private_addresses", value=True, seen=Wired.fetched, expected="let through"),
    Row(key="security.fetch_hosts", value=["${SERVER_HOST}"], seen=Wired.fetched, expected="let through"),
    Row(
        key="models.registry_paths",
        value=["${REGISTRY}"],
        seen=Wired.faults,
        expected=[],
        beside=((f"{MODEL}.alias", "mine"),),
    ),
]

SERVICES = [
    Row(key=f"{MODEL}.alias", value="mine", seen=agent("remote_images"), expected="pass_url", beside=(_MINE,)),
    Row(key=f"{MODEL}.model_id", value="other", seen=body("model")),
    Row(
        key=f"{MODEL}.model_id",
        value="other",
        seen=lambda wired: wired.container.agent().model_name.model_id,
        note="report",
    ),
    Row(key=f"{MODEL}.base", value="${SERVER}/deep/v1", seen=path_asked, expected="/deep/v1/chat/completions"),
    Row(key=f"{MODEL}.key", value="sk-1", seen=key_sent, expected="Bearer sk-1"),
    Row(key=f"{MODEL}.timeout", value=12.5, seen=model("timeout_seconds")),
    Row(key=f"{MODEL}.retry", value=1, seen=model("retry")),
    Row(key=f"{MODEL}.retry", value=1, seen=generator("retry"), note="code"),
    Row(key=f"{MODEL}.stream", value=True, seen=body("stream")),
    Row(key=f"{MODEL}.max_tokens", value=77, seen=body("max_tokens")),
    Row(key=f"{MODEL}.max_tokens", value=77, seen=policy("reserved_output_tokens"), note="reserved"),
    Row(key=f"{MODEL}.temperature", value=0.25, seen=body("temperature")),
    Row(key=f"{MODEL}.top_p", value=0.5, seen=body("top_p")),
    Row(key=f"{MODEL}.top_k", value=9, seen=body("top_k")),
    Row(key=f"{MODEL}.repetition_penalty", value=1.5, seen=body("repetition_penalty")),
    Row(key=f"{MODEL}.presence_penalty", value=-0.5, seen=body("presence_penalty")),
    Row(key=f"{MODEL}.reasoning_effort", value="high", seen=body("reasoning_effort")),
    Row(key=f"{MODEL}.return_token_ids", value=True, seen=body("return_token_ids"), beside=_TRACED),
    Row(key=f"{MODEL}.return_token_ids", value=True, seen=model("keep_native"), beside=_TRACED, note="kept"),
    Row(
        key=f"{MODEL}.reasoning_effort",
        value="high",
        seen=generator("options"),
        expected={"max_tokens": 4096, "reasoning_effort": "medium"},
        note="code",
    ),
    Row(
        key=f"{MODEL}.service_tier",
        value="flex",
        seen=body("service_tier"),
        beside=(_MINE, (f"{MODEL}.alias", "mine"), (f"{PROFILE}.allowed_options", ["max_tokens", "service_tier"])),
    ),
    *(
        Row(key=f"{MODEL}.{key}", value=value, seen=body(field), expected=expected, note="responses", responses=True)
        for key, value, field, expected in (
            ("max_tokens", 77, "max_output_tokens", 77),
            ("temperature", 0.25, "temperature", 0.25),
            ("top_p", 0.5, "top_p", 0.5),
            ("reasoning_effort", "high", "reasoning", {"effort": "high"}),
            ("service_tier", "flex", "service_tier", "flex"),
            ("stream", True, "stream", True),
            ("model_id", "other", "model", "other"),
        )
    ),
    Row(
        key=f"{MODEL}.base",
        value="${SERVER}/deep/v1",
        seen=path_asked,
        expected="/deep/v1/responses",
        note="responses",
        responses=True,
    ),
    Row(key=f"{MODEL}.key", value="sk-1", seen=key_sent, expected="Bearer sk-1", note="responses", responses=True),
    Row(
        key=f"{_CODING}.model_service",
        value="coder",
        seen=written,
        expected=("/coder/v1/chat/completions", "Bearer sk-2"),
        beside=(_CODER,),
    ),
    Row(
        key=f"{_CODING}.model_service",
        value="coder",
        seen=tool("coding", "generation_timeout_seconds"),
        expected=9.5,
        beside=(_CODER, (f"{_CODING}.generation", "inherit")),
        note="inherit",
    ),
    Row(
        key=f"{_CODING}.generation",
        value="inherit",
        seen=generator("options"),
        expected={"max_tokens": 77, "reasoning_effort": "high"},
        beside=((f"{MODEL}.max_tokens", 77), _THINKING),
    ),
    Row(
        key=f"{_CODING}.generation",
        value="inherit",
        seen=generator("timeout_seconds"),
        expected=12.5,
        beside=((f"{MODEL}.timeout", 12.5),),
        note="attempt",
    ),
    Row(
        key=f"{_CODING}.generation",
        value="inherit",
        seen=tool("coding", "generation_timeout_seconds"),
        expected=12.5,
        beside=((f"{MODEL}.timeout", 12.5),),
        note="call",
    ),
    *(
        Row(key=f"services.tools.{TOOLS[key]}.timeout_seconds", value=5.5, seen=tool(key, "timeout_seconds"))
        for key in TOOLS
        if key != "zoom"
    ),
    *(
        Row(key=f"services.tools.{TOOLS[key]}.corpus", value="/shelf", seen=corpus(f"{provider}_backend"))
        for key, provider in (("text_search", "text_search"), ("image_search", "image_search"), ("web_visit", "page"))
    ),
    *(
        Row(key=f"{_LOCAL}.{name}", value=value, seen=executor(name))
        for name, value in (("timeout_seconds", 3.5), ("memory_bytes", 10**9), ("file_bytes", 4096), ("processes", 7))
    ),
    Row(key=f"{_LOCAL}.timeout_seconds", value=3.5, seen=tool("coding", "deadline_seconds"), note="call"),
]

PROFILES = [
    Row(key="model_id", value="of-profile", seen=model_asked, beside=((f"{MODEL}.model_id", ABSENT),)),
    Row(
        key="adapter",
        value="embedded",
        seen=kind_of_model,
        expected="EmbeddedPlanner",
        beside=((f"{MODEL}.base", ABSENT),),
    ),
    Row(
        key="adapter",
        value="responses",
        seen=lambda wired: wired.container.agent().model_name.protocol,
        note="responses",
    ),
    Row(key="prompt_bundle", value="v8_instruct", seen=says_numbered_steps, expected=True),
    Row(key="final_answer", value="answer_tag", seen=policy("final_answer")),
    Row(key="extra_final_request", value=False, seen=policy("extra_final_request")),
    Row(key="continue_empty_answer", value=False, seen=policy("continue_empty_answer")),
    Row(key="append_final_message", value=True, seen=policy("append_final_message")),
    Row(
        key="context_policy",
        value="local_tokens",
        seen=policy("count_tokens"),
        expected=True,
        beside=((f"{PROFILE}.tokenizer", TOKENIZER),),
    ),
    Row(
        key="context_policy",
        value="local_tokens",
        seen=stopped,
        expected="context_exceeded",
        beside=(*_COUNTABLE, ("agent.max_context_length", 800), (f"{MODEL}.max_tokens", 100)),
        note="counted",
    ),
    Row(
        key="tokenizer",
        value=TOKENIZER,
        seen=counted_with,
        expected="TokenizerCounter",
        beside=(*_PATCHES, _COUNTED, _LONG),
    ),
    Row(
        key="image_token_patch",
        value=16,
        seen=picture_costs,
        expected=1200,
        beside=(*_COUNTABLE, _COUNTED, _LONG),
    ),
    Row(
        key="image_token_pixels",
        value=[65_536, 102_400],
        seen=picture_costs,
        expected=88,
        beside=(*_COUNTABLE, _COUNTED, _LONG),
    ),
    Row(key="context_error_fallback", value=False, seen=policy("context_error_fallback")),
    Row(key="prices", value={"input": 2, "output": 8}, seen=money, expected=0.00056),
    Row(
        key="allowed_options",
        value=["max_tokens"],
        seen=Wired.faults,
        expected=[f"{MODEL}.reasoning_effort"],
        beside=(_THINKING,),
    ),
    Row(
        key="reasoning_efforts",
        value=["low"],
        seen=Wired.faults,
        expected=[f"{MODEL}.reasoning_effort"],
        beside=(_THINKING,),
    ),
    Row(key="boxes", value="object_map", seen=tool("grounding", "boxes")),
    Row(key="replay_fields", value=["reasoning_content"], seen=reasoning_sent_back, expected="Closer."),
    Row(key="remote_images", value="download", seen=agent("remote_images")),
    Row(key="image_limits", value={"max_side": 99}, seen=limits("max_side"), expected=99, note="max_side"),
    Row(key="image_limits", value={"min_side": 9}, seen=limits("min_side"), expected=9, note="min_side"),
    Row(key="image_limits", value={"max_ratio": 2.5}, seen=limits("max_ratio"), expected=2.5, note="max_ratio"),
    Row(key="image_limits", value={"max_pictures": 4}, seen=policy("max_pictures"), expected=4, note="max_pictures"),
    Row(key="empty_content", value="", seen=content_beside_calls),
    Row(key="alternate_roles", value=True, seen=roles_after_the_call, expected=["tool", "user"]),
]
ROWS = [
    *AGENT,
    *SERVICES,
    *(attrs.evolve(row, key=f"{PROFILE}.{row.key}", beside=(*WITH_MINE, *row.beside)) for row in PROFILES),
]

# ---- what changes nothing yet ----------------------------------------------------------------------------------------

NO_EFFECT_YET = {
    "agent_name": "there is one agent",
    "agent_config_version": "names evaluation runs",
    "ablation": "evaluation; anything but `full` is refused",
    "variables.ocr_model_id": "the OCR server",
    "capabilities.registries": "says what may be selected, which the loader checks",
    "capabilities.bank": "built tools; refused",
    "services.client": "the tool router; see test_serving",
    "services.server": "the tool router; see test_serving",
    f"{_CODING}.context": "has one value",
    f"{_CODING}.mode": "anything but `single_shot` is refused",
    f"{_CODING}.max_revisions": "for `revise`",
    f"{_CODING}.timeout_seconds": "the tool router; here `generation` says how long writing may take",
    f"{_LOCAL}.transport": "has one value",
    "services.tools.python_executor_sandboxed": "refused",
    **dict.fromkeys(
        (f"services.tools.{name}.server_url" for name in TOOLS.values() if name.startswith("embedded_")),
        "`openvlharness serve embedded`; see test_serving",
    ),
    **dict.fromkeys(
        (
            f"services.tools.{name}"
            for name in (
                "sam3_segment",
                "grounding_dino",
                "ocr",
                "deepseek_ocr",
                "depth_estimation",
                "vggt_depth",
                "camera_trajectory",
                "vggt_camera",
            )
        ),
        "backends over a wire; refused",
    ),
    **dict.fromkeys(
        (f"services.tools.serper_{name}" for name in ("text_search", "image_search", "webpage_visit")),
        "searching the web; see test_searching",
    ),
    "services.tools.plugins": "plug-ins have tests of their own",
    f"{PROFILE}.alias": "the name of the entry",
    f"{PROFILE}.raw_trace_format": "the raw trace",
    f"{PROFILE}.raw_trace_tokenizer_revision": "the raw trace",
    "capabilities.tools.depth": "needs a plug-in",
}
SPELLED = {"HARNESS_SEARCH_SAMPLE_INDEX": "variables.sample_index"}
