"""The schema of a saved report."""

from __future__ import annotations

from typing import get_args

from openvlharness_core.agent.conversation import Form
from openvlharness_core.agent.report import REPORT_SCHEMA, SUFFIXES
from openvlharness_core.agent.state import StopReason
from openvlharness_core.errors import FAILURE_CODES

from .shapes import (
    AFFINE,
    ANY_OBJECT,
    COUNT,
    DIALECT,
    FLAG,
    NUMBER,
    SHA256,
    SIZE_HW,
    TEXT,
    Schema,
    either,
    entries,
    exactly,
    items,
    one_of,
    or_null,
    record,
)

_SUFFIX = f"({'|'.join(sorted(SUFFIXES.values()))})"
_IMAGE = "(input_image|tool_generated_image)_[1-9][0-9]*"
_USAGE = entries(NUMBER)
_HANDLE: Schema = {"type": "string", "pattern": f"^{_IMAGE}$"}


def report_schema() -> Schema:
    """What `report.json` holds; files that it names lie beside it."""
    return {"$schema": DIALECT, "title": "Report of one question"} | record(
        {
            "schema": exactly(REPORT_SCHEMA),
            "task_id": or_null(TEXT),
            "question": items(_asked()),
            "answer": or_null(TEXT),
            "error": or_null(record({"code": TEXT, "message": TEXT})),
            "stop_reason": one_of(get_args(StopReason)),
            "model": _model(),
            "steps": items(either(_model_step(), _tool_step(), _update_step(), _compaction_step())),
            "images": entries(_image(), f"^{_IMAGE}$"),
            "bindings": entries(_binding(), "^[^0-9][^ ]*$"),
            "pages": entries(record({"url": TEXT, "title": TEXT}), "^webpage_url_[1-9][0-9]*$"),
            "usage": _usage(),
            "seconds": NUMBER,
            "private": record({"turns": items(_turn()), "fixed_tokens": or_null(COUNT)}),
        }
    )


def _model() -> Schema:
    """Profiles may gain fields, so only what every one has is named; reports of before they were kept have none."""
    prompts = record({"system": SHA256, "user_prefix": SHA256, "all_texts": SHA256})
    profile: Schema = {
        "type": "object",
        "properties": {"alias": TEXT, "model_id": TEXT, "adapter": TEXT, "prompts": prompts},
        "required": ["alias", "model_id", "adapter", "prompts"],
    }
    named = {"alias": TEXT, "model_id": TEXT, "protocol": TEXT, "profile": profile}
    return record(named, optional=["profile"])


def _asked() -> Schema:
    return either(
        record({"type": exactly("exchange"), "question": TEXT, "answer": TEXT}),
        record({"type": exactly("text"), "text": TEXT}),
        record({"type": exactly("image"), "handle": _HANDLE, "notes": items(TEXT)}, optional=["notes"]),
    )


def _model_step() -> Schema:
    return record(
        {
            "kind": exactly("model"),
            "iteration": COUNT,
            "text": or_null(TEXT),
            "reasoning": or_null(TEXT),
            "calls": items(record({"id": TEXT, "tool": TEXT, "arguments": TEXT})),
            "finish_reason": or_null(TEXT),
            "usage": _USAGE,
            "seconds": NUMBER,
            "private": record({"truncated": items(TEXT)}),
        }
    )


def _tool_step() -> Schema:
    return record(
        {
            "kind": exactly("tool"),
            "call_id": TEXT,
            "tool": TEXT,
            "arguments": {"type": ["object", "string"]},
            "ok": FLAG,
            "error": or_null(record({"code": one_of(FAILURE_CODES), "message": TEXT})),
            "data": or_null(ANY_OBJECT),
            "evidence": items(
                either(
                    record({"type": exactly("text"), "text": TEXT}),
                    record({"type": exactly("image"), "handle": TEXT}),
                )
            ),
            "artifacts": record({"images": items(TEXT), "bindings": items(TEXT), "pages": items(TEXT)}),
            "usage": items(record({"role": TEXT, "model": or_null(TEXT), "usage": _USAGE})),
            "seconds": NUMBER,
            "private": record(
                {
                    "backend": or_null(TEXT),
                    "envelope_ref": or_null({"type": "string", "pattern": r"^envelopes/step_[0-9]+\.json$"}),
                    "sidecars": ANY_OBJECT,
                    "notes": items(TEXT),
                    "performed": FLAG,
                    "origins": items(record({"parents": items(TEXT), "to_source": or_null(AFFINE)})),
                    "downloads": items(TEXT),
                }
            ),
        }
    )


def _update_step() -> Schema:
    return record({"kind": exactly("environment_update"), "text": TEXT})


def _compaction_step() -> Schema:
    return record(
        {
            "kind": exactly("compaction"),
            "iteration": COUNT,
            "reason": one_of(["tokens", "pictures", "context_error"]),
            "forms": items(one_of(form.name.lower() for form in Form)),
        }
    )


def _image() -> Schema:
    lineage = record({"tool": TEXT, "parents": items(TEXT), "to_source": or_null(AFFINE)})
    sent = record({"file": _file(r"\.sent"), "size": SIZE_HW, "sha256": SHA256})
    picture = record({"sha256": SHA256, "digest": TEXT, "notes": items(TEXT), "sent": or_null(sent)})
    return record(
        {
            "file": or_null(_file("")),
            "size": or_null(SIZE_HW),
            "source": TEXT,
            "parents": items(TEXT),
            "to_source": or_null(AFFINE),
            "private": record(
                {
                    "url": or_null(TEXT),
                    "tool": or_null(TEXT),
                    "lineages": items(lineage),
                    "picture": or_null(picture),
                }
            ),
        }
    )


def _file(infix: str) -> Schema:
    return {"type": "string", "pattern": rf"^images/{_IMAGE}{infix}\.{_SUFFIX}$"}


def _binding() -> Schema:
    field = record(
        {
            "type": TEXT,
            "shape": items(COUNT),
            "keys": items(TEXT),
            "length": COUNT,
            "of": TEXT,
            "note": TEXT,
        },
        optional=["shape", "keys", "length", "of", "note"],
    )
    return record({"type": exactly("dict"), "fields": entries(field), "image_id": or_null(TEXT)})


def _usage() -> Schema:
    tool = record(
        {"calls": COUNT, "failed": COUNT, "seconds": NUMBER, "search_credits": NUMBER}, optional=["search_credits"]
    )
    money = record({"total": or_null(NUMBER), "roles": entries(or_null(NUMBER)), "prices": entries(_USAGE)})
    return record(
        {"total": _USAGE, "roles": entries(_USAGE), "tools": entries(tool), "money": money}, optional=["money"]
    )


def _turn() -> Schema:
    tokens = record({"whole": COUNT, "pictures_as_lines": COUNT, "one_line": COUNT, "update": COUNT})
    return record({"extras": TEXT, "tokens": or_null(tokens)})
