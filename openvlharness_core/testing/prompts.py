"""A fake prompt bundle: every text there is, as plain as possible, so that core runs without the application."""

from __future__ import annotations

from openvlharness_core.prompts import PROMPT_FIELDS, PromptBundle

_WRITTEN = {
    "ocr_text": "Text of $image:\n```text\n$text\n```",
    "ocr_lines": "Places:\n```json\n$lines\n```",
    "coding_program": "```python\n$program\n```",
    "coding_output": "```text\n$output\n```",
    "image_label": "$handle:",
    "failed_call": "Error $code: $message",
    "code_request": "$objective\n$bindings",
    "camera_directions": "right left down up forward backward",
}


def plain_prompts(**texts: str) -> PromptBundle:
    """Each text is its key with its fields, unless given."""
    plain = {
        key: " ".join([key.replace("_", " "), *(f"{field}=${field}" for field in fields)])
        for key, fields in PROMPT_FIELDS.items()
    }
    return PromptBundle(plain | _WRITTEN | texts)
