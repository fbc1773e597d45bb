"""The texts that come with the package: complete, and with the anchors that programs look for."""

from __future__ import annotations

import re

import pytest

from openvlharness_app import prompts
from openvlharness_app.catalogue import packaged_capabilities
from openvlharness_app.prompts.composing import CAPABILITIES, composed, condition_faults
from openvlharness_core.prompts import PROMPT_FIELDS, PromptBundleError

PUBLIC_NAMES = {capability.key: capability.name for capability in packaged_capabilities()}


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


@pytest.mark.parametrize("name", prompts.bundle_names())
def test_the_grid_is_told_to_who_reads_or_writes_places(name: str) -> None:
    for tool in sorted(CAPABILITIES):
        told = "from 0 to 1000" in prompts.load_prompt_bundle(name, frozenset({tool})).text("system")
        assert told == (tool in {"grounding", "ocr", "zoom"}), tool


@pytest.mark.parametrize("name", prompts.bundle_names())
def test_numbers_in_a_picture_are_named_as_they_are_drawn(name: str) -> None:
    bundle = prompts.load_prompt_bundle(name)
    assert all("#1" in bundle.text(key, handle="h") for key in ("grounding_masks", "grounding_boxes"))
    assert re.search(r"#\d", bundle.text("system"))


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


# ---- what a model is not offered, it is not told about ---------------------------------------------------------------

TOOL_TALK = re.compile(r"tool|call|handle|binding|program|environment update|crop|0 to 1000|search", re.IGNORECASE)
ASKED_WITHOUT_TOOLS = ("system", "user_prefix", "nudge", "final_instruction", "extra_final_instruction")
FEW = [frozenset({key}) for key in sorted(CAPABILITIES)]


@pytest.mark.parametrize("name", prompts.bundle_names())
@pytest.mark.parametrize("key", ASKED_WITHOUT_TOOLS)
def test_without_tools_nothing_speaks_of_them(name: str, key: str) -> None:
    bare = prompts.load_prompt_bundle(name, frozenset()).text(key)
    assert TOOL_TALK.findall(bare) == []
    assert TOOL_TALK.search(prompts.load_prompt_bundle(name).text(key)), "the rule finds nothing where there are tools"


@pytest.mark.parametrize("name", prompts.bundle_names())
def test_without_tools_the_prompt_is_a_few_lines(name: str) -> None:
    bare, whole = prompts.load_prompt_bundle(name, frozenset()), prompts.load_prompt_bundle(name)
    assert len(bare.text("system")) < len(whole.text("system")) / 4
    assert "<answer>" in bare.text("system")
    assert bare.text("final_instruction").startswith("Answer now")
    assert bare.text("extra_final_instruction").startswith("Answer now")
    assert bare.text("user_prefix").endswith("Question:")


@pytest.mark.parametrize("name", prompts.bundle_names())
@pytest.mark.parametrize(
    "tools", [CAPABILITIES, frozenset(), *FEW], ids=lambda tools: "+".join(sorted(tools)) or "none"
)
def test_only_selected_tools_are_named(name: str, tools: frozenset[str]) -> None:
    bundle = prompts.load_prompt_bundle(name, tools)
    told = set(re.findall(r"\b[A-Z]\w+_Tool\b", bundle.text("system") + bundle.text("user_prefix")))
    assert told <= {PUBLIC_NAMES[key] for key in tools}
    assert not re.search(r"\[with|\n\n\n", "\n".join(bundle.texts.values()))


def test_the_prompt_for_small_models_says_when_to_take_each_tool() -> None:
    system = prompts.load_prompt_bundle("v8_instruct").text("system")
    assert all(name in system for name in PUBLIC_NAMES.values())
    for rule in ("one tool call", "handle", "0 to 1000", "Correct the count", "bindings", "Without the tags"):
        assert rule in system, rule


@pytest.mark.parametrize("name", prompts.bundle_names())
def test_a_prompt_is_short(name: str) -> None:
    """It is sent with every request, and small models lose the thread."""
    assert len(prompts.load_prompt_bundle(name).text("system").split()) <= 520


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ((), "always\nnone\nno ocr\n\nend"),
        (("ocr",), "always\nany\nocr or zoom\n\nend"),
        (("zoom",), "always\nany\nocr or zoom\nno ocr\n\nend"),
        (("depth",), "always\nany\nno ocr\n\nend"),
    ],
)
def test_lines_depend_on_the_selection(tools: tuple[str, ...], expected: str) -> None:
    text = """always
[with tools] any
[without tools] none
[with ocr, zoom] ocr or zoom
[without ocr] no ocr

[with coding] never here

end"""
    assert composed(text, tools) == expected


def test_a_line_of_a_handle_is_no_condition() -> None:
    assert composed("[$handle] [with tools]", ()) == "[$handle] [with tools]"
    assert list(condition_faults("[$handle]\n[Not shown: $handles]")) == []


def test_an_unknown_name_in_a_condition_is_told_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(condition_faults("a\n[with ocr, zom] b")) == [
        "line 2: expected capabilities or tools in a condition, got 'zom' (did you mean zoom?)"
    ]
    assert len(list(condition_faults("[without ] b"))) == 1
    real = prompts._text
    broken = "Answer.\n[with orc] Read."
    monkeypatch.setattr(prompts, "_text", lambda file: broken if file == "user_prefix.txt" else real(file))
    with pytest.raises(PromptBundleError, match=r"prompts/user_prefix: line 2: .* got 'orc' \(did you mean ocr\?\)"):
        prompts.load_prompt_bundle("openai_v1")


def test_conditions_name_every_capability_there_is() -> None:
    assert set(PUBLIC_NAMES) == CAPABILITIES
