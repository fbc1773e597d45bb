"""Every text that a model reads, as one value.

The texts themselves are data of the application (or of whoever embeds the core); what is fixed here is which texts
there are and which fields each may use. `string.Template` fills them: `$name` or `${name}`, `$$` for a dollar sign.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from string import Template

import attrs

from openvlharness_core.errors import HarnessError

PROMPT_FIELDS: Mapping[str, tuple[str, ...]] = {
    # the opening
    "system": (),
    "user_prefix": (),
    "image_label": ("handle",),
    "image_note": ("handle", "note"),
    "images_not_shown": ("handles",),
    # the inventory
    "update_preamble": (),
    "update_images": (),
    "update_bindings": (),
    "update_pages": (),
    "update_older_pages": ("count",),
    "update_none": (),
    # turns
    "acknowledgement": ("tool",),
    "failed_call": ("code", "message"),
    "one_call_per_turn": ("count",),
    "unknown_tool": ("tool", "available"),
    "arguments_truncated": (),
    "budget_spent": (),
    "nudge": (),
    "final_instruction": (),
    "extra_final_instruction": (),
    "empty_reply": (),
    # shorter forms of old turns
    "picture_line": ("handle",),
    "call_line": ("tool", "outcome"),
    # tools, one description a capability
    "tool_zoom": (),
    "tool_ocr": (),
    "tool_coding": (),
    "tool_grounding": (),
    "tool_depth": (),
    "tool_camera_pose": (),
    "tool_text_search": (),
    "tool_image_search": (),
    "tool_web_visit": (),
    # evidence
    "kept_in_binding": ("binding",),
    "region_of_image": ("handle", "region", "source"),
    "zoom": ("image", "handle", "region", "size"),
    "ocr_text": ("image", "text"),
    "ocr_lines": ("lines",),
    "ocr_rest": ("count", "binding"),
    "ocr_doubtful": ("score", "lines"),
    "ocr_left_out": ("count",),
    "ocr_nothing": ("image",),
    "coding_program": ("program",),
    "coding_output": ("output",),
    "coding_no_output": (),
    "coding_stderr": ("stderr",),
    "coding_variables": ("variables",),
    "coding_error": ("error",),
    "coding_image": ("handle",),
    "grounding_found": ("count", "query", "image", "boxes"),
    "grounding_rest": ("count",),
    "grounding_none": ("query", "image"),
    "grounding_unnamed": ("count",),
    "grounding_masks": ("handle",),
    "grounding_boxes": ("handle",),
    "depth_metric": ("image", "shape", "nearest", "median", "farthest"),
    "depth_relative": ("image", "shape", "nearest", "median", "farthest"),
    "depth_picture": ("handle",),
    "camera_intro": ("count", "reference"),
    "camera_line": ("image", "translation", "rotation", "forward", "yaw", "pitch", "roll"),
    "camera_directions": (),
    "camera_translation_salient": ("direction", "details", "distance"),
    "camera_translation_small": ("details", "distance"),
    "camera_translation_unscaled": ("direction", "details"),
    "camera_translation_unmoved": ("details",),
    "camera_translation_unknown": (),
    "camera_rotation_salient": ("angle",),
    "camera_rotation_small": ("angle",),
    "camera_convention": (),
    "camera_scale_unknown": (),
    "camera_note": ("note",),
    "camera_picture": ("handle",),
    "search_results": ("query", "search_type"),
    "search_nothing": ("query", "reason"),
    "search_summary": ("summary",),
    "search_note": ("note",),
    "search_rest": ("count",),
    "image_search_results": ("image",),
    "image_search_nothing": ("image", "reason"),
    "page_read": ("page", "title", "evidence", "summary"),
    "page_failed": ("page", "url", "reason"),
    # what a code writer reads
    "code_system": (),
    "code_request": ("objective", "bindings"),
    "code_no_bindings": (),
    "code_revision": ("program", "error", "output"),
    # what an auxiliary model reads: summaries of what a search found, and passages of a page
    "summary_system": (),
    "summary_request": ("query", "search_type", "search_types", "items"),
    "summary_image_request": ("search_types", "shown", "items"),
    "extract_system": (),
    "extract_request": ("goal", "page", "part", "parts", "text"),
    "extract_merge": ("goal", "page", "summaries"),
}
"""Key of each text to the fields it may use."""
PROMPT_WORDS: Mapping[str, int] = {"camera_directions": 6}
"""Texts that are lists of words: how many there have to be."""


class PromptBundleError(HarnessError):
    """Texts that do not make a bundle; every fault is in `faults`."""

    def __init__(self, faults: tuple[str, ...]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


@attrs.frozen
class PromptBundle:
    """All the texts, checked: every key there, no key unknown, no field that its key does not have.

    Raises:
        PromptBundleError: with all faults at once.
    """

    texts: Mapping[str, str] = attrs.field(repr=lambda texts: f"<{len(texts)} texts>", hash=False)

    def __attrs_post_init__(self) -> None:
        faults = [f"{key}: expected a text, got none" for key in PROMPT_FIELDS.keys() - self.texts.keys()]
        for key, text in self.texts.items():
            fields = PROMPT_FIELDS.get(key)
            if fields is None:
                faults.append(f"{key}: expected a known key, got one that nothing reads")
            elif not isinstance(text, str):
                faults.append(f"{key}: expected a text, got {type(text).__name__}")
            elif not Template(text).is_valid():
                faults.append(f"{key}: expected $name, ${{name}} or $$, got a stray $")
            elif len(text.split()) != PROMPT_WORDS.get(key, len(text.split())):
                faults.append(f"{key}: expected {PROMPT_WORDS[key]} words, got {len(text.split())}")
            else:
                faults += [
                    f"{key}: expected fields {', '.join(fields) or '(none)'}, got ${name}"
                    for name in Template(text).get_identifiers()
                    if name not in fields
                ]
        if faults:
            raise PromptBundleError(tuple(sorted(faults)))

    def text(self, key: str, /, **fields: object) -> str:
        """The text of `key`, filled; values are put in as they are."""
        return Template(self.texts[key]).substitute(fields)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all keys and texts, in hex."""
        joined = "\0".join(f"{key}\0{self.texts[key]}" for key in sorted(self.texts))
        return hashlib.sha256(joined.encode("utf-8", "replace")).hexdigest()
