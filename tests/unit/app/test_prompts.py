"""The texts that come with the package: complete, and with the anchors that programs look for."""

from __future__ import annotations

import pytest

from openvlharness_app import prompts
from openvlharness_core.prompts import PROMPT_FIELDS, PromptBundleError


def _with_texts(monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    real = prompts._text
    monkeypatch.setattr(prompts, "_text", lambda file: content if file == "texts.yaml" else real(file))
    prompts.load_prompt_bundle.cache_clear()


@pytest.fixture(autouse=True)
def _fresh() -> None:
    prompts.load_prompt_bundle.cache_clear()


@pytest.mark.parametrize("name", prompts.bundle_names())
def test_every_bundle_loads_with_every_text(name: str) -> None:
    bundle = prompts.load_prompt_bundle(name)
    assert bundle.texts.keys() == PROMPT_FIELDS.keys()
    for key, fields in PROMPT_FIELDS.items():
        assert bundle.text(key, **{field: f"<{field} here>" for field in fields}).strip(), key


@pytest.mark.parametrize(
    "key", ["image_label", "image_note", "images_not_shown", "failed_call", "unknown_tool", "zoom", "ocr_text", "ocr_lines"]
    + [key for key in PROMPT_FIELDS if key.startswith(("coding_", "code_"))]
)  # fmt: skip
def test_what_a_model_must_not_miss_is_in_the_text(key: str) -> None:
    fields = PROMPT_FIELDS[key]
    filled = prompts.load_prompt_bundle("openai_v1").text(key, **{field: f"<{field} here>" for field in fields})
    assert all(f"<{field} here>" in filled for field in fields)


def test_the_anchors_stand_where_programs_look_for_them() -> None:
    bundle = prompts.load_prompt_bundle("openai_v1")
    assert "```text\na\nb\n```" in bundle.text("ocr_text", image="input_image_1", text="a\nb")
    assert "```json\n[]\n```" in bundle.text("ocr_lines", lines="[]")
    assert "```python\nprint(1)\n```" in bundle.text("coding_program", program="print(1)")
    assert "```text\n1\n```" in bundle.text("coding_output", output="1")
    assert bundle.text("user_prefix").endswith("Question:")
    assert bundle.text("final_instruction").startswith("Answer now")
    assert bundle.text("extra_final_instruction").startswith("Answer now")
    zoomed = bundle.text(
        "zoom", image="input_image_1", handle="tool_generated_image_1", region=[1, 2, 3, 4], size="2x2"
    )
    assert "tool_generated_image_1" in zoomed
    assert "[1, 2, 3, 4]" in zoomed
    assert "<answer>" in bundle.text("system")


def test_an_unknown_bundle_is_named_with_the_known_ones() -> None:
    with pytest.raises(PromptBundleError, match=r"expected one of .*openai_v1.*, got 'opnai'"):
        prompts.load_prompt_bundle("opnai")


def test_faults_of_the_file_are_told_with_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    _with_texts(monkeypatch, 'zoom: "a"\nnudge: 3\nzoom: "b"\n')
    with pytest.raises(PromptBundleError) as caught:
        prompts.load_prompt_bundle("openai_v1")
    told = str(caught.value)
    assert "texts.yaml: line 2: nudge: expected a text, got int" in told
    assert "texts.yaml: line 3: zoom: expected each key once" in told


def test_a_missing_key_and_a_foreign_field_are_told_together(monkeypatch: pytest.MonkeyPatch) -> None:
    _with_texts(monkeypatch, 'nudge: "$handle"\n')
    with pytest.raises(PromptBundleError) as caught:
        prompts.load_prompt_bundle("openai_v1")
    told = str(caught.value)
    assert "zoom: expected a text, got none" in told
    assert "nudge: expected fields (none), got $handle" in told


def test_broken_yaml_names_file_and_line(monkeypatch: pytest.MonkeyPatch) -> None:
    _with_texts(monkeypatch, 'nudge: "a"\nzoom: [\n')
    with pytest.raises(PromptBundleError, match=r"texts\.yaml: line \d+: expected YAML"):
        prompts.load_prompt_bundle("openai_v1")
