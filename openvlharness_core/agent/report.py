"""The record of one question, as a value and as the JSON that outlives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from openvlharness_core.agent.conversation import TurnTokens
from openvlharness_core.agent.state import StopError, StopReason, TurnState
from openvlharness_core.agent.steps import CompactionStep, EnvironmentUpdateStep, ModelStep, Step, ToolStep
from openvlharness_core.geometry import Affine
from openvlharness_core.jsonable import DEEPEST, json_ready
from openvlharness_core.memory.bindings import Binding
from openvlharness_core.memory.images import ImageRecord, Lineage
from openvlharness_core.memory.webpages import PageRecord
from openvlharness_core.messages import ImagePart, Part
from openvlharness_core.money import Prices, costs_of, total_of
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.question import Exchange
from openvlharness_core.usage import Usage, credits_in, summed

REPORT_SCHEMA = "openvlharness.report/1"

SUFFIXES = {"image/jpeg": "jpg", "image/png": "png", "image/webp": "webp"}
"""Media type of a sendable picture to the suffix of its file."""


@attrs.frozen(kw_only=True)
class ModelName:
    """Which model was asked.

    Attributes:
        alias: its name in the configuration.
        model_id: what the provider calls it.
        protocol: how it was spoken to.
        profile: the rules under which it was asked, as plain JSON values, where they are known.
    """

    alias: str = "custom"
    model_id: str = ""
    protocol: str = ""
    profile: Mapping[str, Any] | None = attrs.field(default=None, hash=False)


@attrs.frozen(kw_only=True)
class AskedText:
    """A text part of the question."""

    text: str


@attrs.frozen(kw_only=True)
class AskedImage:
    """A picture part of the question, by its handle, with what was said about it."""

    handle: str
    notes: tuple[str, ...] = ()


Asked = Exchange | AskedText | AskedImage


@attrs.frozen(kw_only=True)
class TurnRecord:
    """What the trajectory does not show of a turn, and a replay of the report needs.

    Attributes:
        extras: further fields that came with the reply, as JSON text.
        tokens: what was counted of it, if anything was.
    """

    extras: str = "{}"
    tokens: TurnTokens | None = None


@attrs.frozen(kw_only=True)
class Report:
    """One question from beginning to end, whatever ended it.

    Attributes:
        task_id: who asked, if anybody said.
        question: earlier exchanges, then the parts of the question in order.
        answer: plain text; `None` when there is none.
        error: why there is none.
        stop_reason: what ended it.
        model: which model was asked.
        steps: the trajectory in order.
        images, bindings, pages: memory at the end.
        seconds: from the question to the end.
        turns: what else is known of each turn, in order; the reply that ended the question may have none.
        fixed_tokens: tokens of opening, tools and framing, if they were counted.
        prices: money per million tokens of the models that were asked, by role; without any, no money is told.
    """

    task_id: str | None
    question: tuple[Asked, ...]
    answer: str | None
    error: StopError | None
    stop_reason: StopReason
    model: ModelName
    steps: tuple[Step, ...]
    images: tuple[ImageRecord, ...]
    bindings: tuple[Binding, ...]
    pages: tuple[PageRecord, ...]
    seconds: float
    turns: tuple[TurnRecord, ...] = ()
    fixed_tokens: int | None = None
    prices: Mapping[str, Prices] = attrs.field(factory=dict, hash=False)

    @property
    def usage(self) -> dict[str, Any]:
        """Summed usage: `total`, the same under `roles`, calls, seconds and search credits of each tool under `tools`.

        Where there are prices, `money` says what `roles` and all of them cost (null where it cannot be told), and by
        which `prices`.
        """
        spent: dict[str, list[Usage]] = {}
        tools: dict[str, dict[str, float]] = {}
        for step in self.steps:
            if isinstance(step, ModelStep):
                spent.setdefault("orchestrator", []).append(step.usage)
            elif isinstance(step, ToolStep):
                row = tools.setdefault(step.tool, {"calls": 0, "failed": 0, "seconds": 0.0})
                row["calls"] += 1
                row["failed"] += not step.result.ok
                row["seconds"] += step.seconds
                for each in step.result.usage:
                    if (searched := credits_in(each)) is None:
                        spent.setdefault(each.role, []).append(each.usage)
                    else:
                        row["search_credits"] = row.get("search_credits", 0) + searched
        roles = {role: summed(usages) for role, usages in spent.items()}
        usage: dict[str, Any] = {"total": summed(roles.values()), "roles": roles, "tools": tools}
        if self.prices:
            costs = {role: costs_of(usages, self.prices.get(role)) for role, usages in spent.items()}
            prices = {role: dict(each) for role, each in self.prices.items()}
            usage["money"] = {"total": total_of(costs.values()), "roles": costs, "prices": prices}
        return usage

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with file names relative to the report's directory."""
        record = {
            "schema": REPORT_SCHEMA,
            "task_id": self.task_id,
            "question": [asked_to_dict(part) for part in self.question],
            "answer": self.answer,
            "error": None if self.error is None else attrs.asdict(self.error),
            "stop_reason": self.stop_reason,
            "model": _model_to_dict(self.model),
            "steps": [step_to_dict(step, position) for position, step in enumerate(self.steps)],
            "images": {record.handle: image_to_dict(record) for record in self.images},
            "bindings": {record.name: record.descriptor() for record in self.bindings},
            "pages": {record.handle: {"url": record.url, "title": record.title} for record in self.pages},
            "usage": self.usage,
            "seconds": self.seconds,
            "private": {
                "turns": [_turn_to_dict(turn) for turn in self.turns],
                "fixed_tokens": self.fixed_tokens,
            },
        }
        # Each recorded value kept to the limit by itself; here they lie a few levels deeper.
        whole: dict[str, Any] = json_ready(record, "report", 3 * DEEPEST)
        return whole


def report_of(state: TurnState, model: ModelName, seconds: float, prices: Mapping[str, Prices] | None = None) -> Report:
    """The report of a question that has ended; `prices` by role."""
    assert state.intake is not None, "a report needs a question"
    assert state.stop_reason is not None, "a report needs an end"
    return Report(
        task_id=state.intake.task_id,
        question=_asked(state),
        answer=state.answer,
        error=state.error,
        stop_reason=state.stop_reason,
        model=model,
        steps=state.steps,
        images=state.workspace.images.records,
        bindings=state.workspace.bindings.records,
        pages=state.workspace.pages.records,
        seconds=seconds,
        turns=tuple(TurnRecord(extras=turn.assistant.extras, tokens=turn.tokens) for turn in state.turns),
        fixed_tokens=state.fixed_tokens,
        prices=prices or {},
    )


def _asked(state: TurnState) -> tuple[Asked, ...]:
    assert state.intake is not None
    parts: list[Asked] = list(state.intake.history)
    records = iter(state.workspace.images.records)
    for part in state.intake.parts:
        if isinstance(part, str):
            parts.append(AskedText(text=part))
        else:
            record = next(records)
            parts.append(AskedImage(handle=record.handle, notes=getattr(part, "notes", ())))
    return tuple(parts)


def _model_to_dict(model: ModelName) -> dict[str, Any]:
    named = {"alias": model.alias, "model_id": model.model_id, "protocol": model.protocol}
    return named if model.profile is None else named | {"profile": dict(model.profile)}


def asked_to_dict(part: Asked) -> dict[str, Any]:
    """One part of the question."""
    match part:
        case Exchange(question=question, answer=answer):
            return {"type": "exchange", "question": question, "answer": answer}
        case AskedText(text=text):
            return {"type": "text", "text": text}
        case AskedImage(handle=handle, notes=notes):
            return {"type": "image", "handle": handle} | ({"notes": list(notes)} if notes else {})


def step_to_dict(step: Step, position: int) -> dict[str, Any]:
    """Step number `position` of the trajectory, from 0."""
    match step:
        case ModelStep():
            return {
                "kind": "model",
                "iteration": step.iteration,
                "text": step.text,
                "reasoning": step.reasoning,
                "calls": [{"id": call.id, "tool": call.tool, "arguments": call.arguments} for call in step.calls],
                "finish_reason": step.finish_reason,
                "usage": dict(step.usage),
                "seconds": step.seconds,
                "private": {"truncated": [call.id for call in step.calls if call.truncated]},
            }
        case ToolStep():
            return _tool_step_to_dict(step, position)
        case EnvironmentUpdateStep():
            return {"kind": "environment_update", "text": step.text}
        case CompactionStep():
            return {
                "kind": "compaction",
                "iteration": step.iteration,
                "reason": step.reason,
                "forms": list(step.forms),
            }


def _tool_step_to_dict(step: ToolStep, position: int) -> dict[str, Any]:
    result = step.result
    return {
        "kind": "tool",
        "call_id": step.call_id,
        "tool": step.tool,
        "arguments": step.arguments,
        "ok": result.ok,
        "error": None if result.failure is None else attrs.asdict(result.failure),
        "data": result.data,
        "evidence": evidence_to_list(result.evidence),
        "artifacts": {
            "images": list(result.artifacts.images),
            "bindings": list(result.artifacts.bindings),
            "pages": list(result.artifacts.pages),
        },
        "usage": [{"role": each.role, "model": each.model, "usage": dict(each.usage)} for each in result.usage],
        "seconds": step.seconds,
        "private": {
            "backend": result.backend,
            "envelope_ref": None if result.envelope is None else envelope_file(position),
            "sidecars": result.sidecars,
            "notes": list(step.notes),
            "performed": result.performed,
            "origins": [
                {"parents": list(origin.parents), "to_source": _rows(origin.to_source)} for origin in result.origins
            ],
            "downloads": list(result.downloads),
        },
    }


def _turn_to_dict(turn: TurnRecord) -> dict[str, Any]:
    return {"extras": turn.extras, "tokens": None if turn.tokens is None else attrs.asdict(turn.tokens)}


def evidence_to_list(parts: Sequence[Part]) -> list[dict[str, str]]:
    """Evidence with pictures by their handles."""
    return [
        {"type": "image", "handle": part.handle} if isinstance(part, ImagePart) else {"type": "text", "text": part.text}
        for part in parts
    ]


def image_to_dict(record: ImageRecord) -> dict[str, Any]:
    """A picture by its file; `file` and `size` are null for a remote one that was never downloaded."""
    return {
        "file": image_file(record),
        "size": None if record.size_hw is None else list(record.size_hw),
        "source": record.url or record.source,
        "parents": list(record.parents),
        "to_source": _rows(record.to_source),
        "private": {
            "url": record.url,
            "tool": record.lineages[-1].tool if record.lineages else None,
            "lineages": [_lineage_to_dict(lineage) for lineage in record.lineages[:-1]],
            "picture": _picture_to_dict(record),
        },
    }


def _picture_to_dict(record: ImageRecord) -> dict[str, Any] | None:
    """`sha256` is of the file; `digest` of the bytes as they came, which were others where they had to change."""
    if record.picture is None:
        return None
    full, sent = record.picture.full, record.picture.sent
    shrunk = None
    if sent != full:
        shrunk = {"file": sent_file(record), "size": list(sent.size_hw), "sha256": sent.digest}
    return {
        "sha256": full.digest,
        "digest": record.picture.digest,
        "notes": list(record.picture.notes),
        "sent": shrunk,
    }


def _lineage_to_dict(lineage: Lineage) -> dict[str, Any]:
    return {"tool": lineage.tool, "parents": list(lineage.parents), "to_source": _rows(lineage.to_source)}


def _rows(affine: Affine | None) -> list[list[float]] | None:
    return None if affine is None else [list(row) for row in affine]


def image_file(record: ImageRecord) -> str | None:
    """Where the full picture lies beside the report."""
    return None if record.picture is None else f"images/{record.handle}.{_suffix(record.picture.full)}"


def sent_file(record: ImageRecord) -> str | None:
    """Where the picture that the model was sent lies beside the report, if it was not the full one."""
    if record.picture is None or record.picture.sent == record.picture.full:
        return None
    return f"images/{record.handle}.sent.{_suffix(record.picture.sent)}"


def _suffix(image: EncodedImage) -> str:
    return SUFFIXES[image.media_type]


def envelope_file(position: int) -> str:
    """Where the raw envelope of step number `position` lies beside the report."""
    return f"envelopes/step_{position}.json"
