"""The texts that a model reads: all of them there, no unknown ones, no field that is never filled."""

from __future__ import annotations

import attrs
import pytest

from openvlharness_core.errors import HarnessError
from openvlharness_core.prompts import PROMPT_FIELDS, PromptBundle, PromptBundleError
from openvlharness_core.testing import plain_prompts

WHOLE = plain_prompts().texts


def test_every_text_is_filled_with_its_fields() -> None:
    bundle = plain_prompts()
    for key, fields in PROMPT_FIELDS.items():
        said = bundle.text(key, **{field: f"<{field}>" for field in fields})
        assert all(f"<{field}>" in said for field in fields), key


def test_a_text_may_leave_fields_out_and_write_dollars() -> None:
    bundle = plain_prompts(call_line="it cost $$5: ${tool}")
    assert bundle.text("call_line", tool="$tool", outcome="x") == "it cost $5: $tool", "values are put in as they are"


def test_all_faults_are_told_at_once() -> None:
    texts: dict[str, object] = {
        **WHOLE,
        "nudge": "go $on",
        "zoom": 5,
        "system": "cost $5",
        "extra": "x",
        "ocr_text": "$image $lines",
    }
    del texts["final_instruction"]
    with pytest.raises(PromptBundleError) as raised:
        PromptBundle(texts)  # type: ignore[arg-type]
    assert isinstance(raised.value, HarnessError)
    assert raised.value.faults == (
        "extra: expected a known key, got one that nothing reads",
        "final_instruction: expected a text, got none",
        "nudge: expected fields (none), got $on",
        "ocr_text: expected fields image, text, got $lines",
        "system: expected $name, ${name} or $$, got a stray $",
        "zoom: expected a text, got int",
    )


def test_no_texts_at_all() -> None:
    with pytest.raises(PromptBundleError) as raised:
        PromptBundle({})
    assert len(raised.value.faults) == len(PROMPT_FIELDS)


@pytest.mark.parametrize("key", sorted(PROMPT_FIELDS))
def test_any_change_of_any_text_changes_the_digest(key: str) -> None:
    changed = PromptBundle({**WHOLE, key: WHOLE[key] + "."})
    assert changed.digest != plain_prompts().digest
    assert len(changed.digest) == 64


def test_the_digest_knows_nothing_of_the_order() -> None:
    assert PromptBundle(dict(reversed(list(WHOLE.items())))).digest == PromptBundle(dict(WHOLE)).digest
    assert attrs.evolve(plain_prompts()).digest == plain_prompts().digest
