"""Grounding: where the things are that a query names, as boxes, masks and a numbered picture."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Literal, cast

import attrs
import numpy as np

from openvlharness_core.calls import Findings, NewBinding, NewImage, Registered
from openvlharness_core.capabilities.answered import value_of
from openvlharness_core.capabilities.base import IMAGE_ID, object_schema
from openvlharness_core.capabilities.bounds import QUERY_LIMIT, fitting
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.capabilities.regions import region_note, to_source_field, to_source_note
from openvlharness_core.detections import Detections
from openvlharness_core.errors import MalformedResultError
from openvlharness_core.geometry import GRID, Box, pixels_to_grid
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import ImagePart, Part, TextPart
from openvlharness_core.ports.imaging import EvidenceRenderer
from openvlharness_core.ports.perception import GroundingBackend
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.texts import excerpt

BOXES_LIMIT = 200
"""Boxes that the model is shown; the binding holds all."""
LABEL_LIMIT = 200
"""Characters of the query that are repeated with every box."""
ROWS_LIMIT = 60_000
"""Characters of all boxes together; signs that JSON has to escape make a label longer."""
_STEM_LIMIT = 40

_PARAMETERS = object_schema(
    {
        "query": {
            "type": "string",
            "minLength": 1,
            "description": "What to find, as a short noun phrase in the singular, such as: red cup.",
        },
        "image_id": IMAGE_ID,
    },
    ("query", "image_id"),
)
_NOTES = {
    "pred_boxes": "x1, y1, x2, y2 corners in pixels of image_id",
    "pred_scores": "confidence 0-1, one a box",
    "pred_masks": "COCO RLE, column-major; decode with decode_masks(binding); None if there are no masks",
    "num_masks": "number of masks; None if the backend gives boxes only",
    "orig_img_h": "height of image_id in pixels",
    "orig_img_w": "width of image_id in pixels",
    "label": "the query",
}


@attrs.frozen(kw_only=True)
class GroundingCapability:
    """Finds what a query names.

    Canonical data: `image_id`, `query`, `num_objects`, `objects` (list of `bbox_2d` on the 0-1000 grid, `box_grid`
    with two decimals, and `score`), `num_masks` (null when the backend gives boxes only), `unnamed` (regions that it
    saw and could not name; null when it does not tell), `binding`. Rows of the binding, of the list and the drawn numbers
    are in one order: by the rounded corners x1, y1, x2, y2.
    """

    backend: GroundingBackend
    renderer: EvidenceRenderer
    boxes: Literal["bbox_2d", "object_map"] = "bbox_2d"
    timeout_seconds: float = 300.0
    key: str = attrs.field(default="grounding", init=False)
    name: str = attrs.field(default="Visual_Grounding_Tool", init=False)

    @property
    def parameters(self) -> Mapping[str, object]:
        """An image and a query."""
        return _PARAMETERS

    def description(self, prompts: PromptBundle) -> str:
        """In the bundle's words."""
        return prompts.text("tool_grounding")

    async def perform(self, arguments: Mapping[str, object], hands: Hands) -> Findings:
        """Ask the backend, sort what it found, and draw it."""
        query = str(arguments["query"])
        record, picture = await hands.image(str(arguments["image_id"]))
        answered = await hands.within(
            self.timeout_seconds,
            "grounding",
            self.backend.ground(picture.full, query, timeout_seconds=self.timeout_seconds),
        )
        detections = value_of(answered, Detections, "grounding")
        if detections.size_hw != picture.full.size_hw:
            expected = f"{list(picture.full.size_hw)} like {record.handle}, got {list(detections.size_hw)}"
            raise MalformedResultError("size", expected, usage=answered.usage)
        found, grid = in_reading_order(detections)
        images: tuple[NewImage, ...] = ()
        if len(found):
            drawn = await hands.offload.run(lambda: self.renderer.overlay(picture.full, found))
            drawing = await hands.take_in(drawn.image.data)
            images = (NewImage(picture=drawing, parents=(record.handle,), to_source=drawn.to_source),)
        binding = _binding(found, query, record.handle, hands.workspace)
        data = {
            "image_id": record.handle,
            "query": query,
            "num_objects": len(found),
            "objects": [
                {"bbox_2d": list(box), "box_grid": _exact_grid(row, found.size_hw), "score": round(float(score), 4)}
                for box, row, score in zip(grid, found.boxes_xyxy_px, found.scores, strict=True)
            ],
            "num_masks": None if found.masks is None else len(found.masks),
            "unnamed": found.unnamed,
            "binding": hands.workspace.name_for(binding),
        }
        return Findings.of(answered, data, images=images, bindings=(binding,))

    def evidence(
        self, findings: Findings, registered: Registered, workspace: Workspace, prompts: PromptBundle
    ) -> tuple[Part, ...]:
        """The count, the boxes and the numbered picture; or one sentence that nothing was found."""
        data = findings.data
        handle, query = str(data["image_id"]), excerpt(str(data["query"]), QUERY_LIMIT)
        count = cast(int, data["num_objects"])
        parts: list[Part] = []
        if count:
            objects = cast("list[dict[str, object]]", data["objects"])
            rows = fitting(self._rows(objects, query), BOXES_LIMIT, ROWS_LIMIT)
            opening, closing = "{}" if self.boxes == "object_map" else "[]"
            listed = "\n".join([opening, ",\n".join(rows), closing])
            text = prompts.text("grounding_found", count=count, query=query, image=handle, boxes=listed)
            if count > len(rows):
                text += "\n" + prompts.text("grounding_rest", count=count - len(rows))
                if data["binding"]:
                    text += " " + prompts.text("kept_in_binding", binding=data["binding"])
            parts.append(TextPart(text=text))
        else:
            parts.append(TextPart(text=prompts.text("grounding_none", query=query, image=handle)))
        if data["unnamed"]:
            parts.append(TextPart(text=prompts.text("grounding_unnamed", count=data["unnamed"])))
        parts.extend(region_note(handle, workspace, prompts))
        if count:
            drawing = registered.images[0]
            picture = workspace.images.resolve(drawing).picture
            assert picture is not None
            kind = "grounding_boxes" if data["num_masks"] is None else "grounding_masks"
            parts.append(TextPart(text=prompts.text(kind, handle=drawing)))
            parts.append(ImagePart(handle=drawing, image=picture.sent))
        return tuple(parts)

    def _rows(self, objects: list[dict[str, object]], query: str) -> Iterator[str]:
        label = excerpt(query, LABEL_LIMIT)
        for number, each in enumerate(objects, 1):
            if self.boxes == "object_map":
                box = ", ".join(f"{v:.2f}" for v in cast("list[float]", each["box_grid"]))
                yield f'"object {number}": [{box}]'
            else:
                yield json.dumps({"bbox_2d": each["bbox_2d"], "label": label}, ensure_ascii=False)


def in_reading_order(found: Detections) -> tuple[Detections, list[tuple[int, int, int, int]]]:
    """The detections sorted by their rounded grid corners, and those corners."""
    boxes = [cast(Box, tuple(float(v) for v in row)) for row in found.boxes_xyxy_px]
    grid = [pixels_to_grid(box, found.size_hw) for box in boxes]
    order = sorted(range(len(grid)), key=lambda row: grid[row])
    if order == list(range(len(grid))):
        return found, grid
    rows = np.array(order, dtype=np.intp)
    ordered = attrs.evolve(
        found,
        boxes_xyxy_px=found.boxes_xyxy_px[rows],
        scores=found.scores[rows],
        masks=None if found.masks is None else tuple(found.masks[row] for row in order),
    )
    return ordered, [grid[row] for row in order]


def _exact_grid(box: np.ndarray, size_hw: tuple[int, int]) -> list[float]:
    height, width = size_hw
    return [
        round(min(GRID, max(0.0, float(corner) * GRID / side)), 2)
        for corner, side in zip(box, (width, height, width, height), strict=True)
    ]


def _binding(found: Detections, query: str, handle: str, workspace: Workspace) -> NewBinding:
    height, width = found.size_hw
    fields: dict[str, object] = {
        "pred_boxes": found.boxes_xyxy_px,
        "pred_scores": found.scores,
        "pred_masks": None if found.masks is None else [_plain_rle(mask) for mask in found.masks],
        "num_masks": None if found.masks is None else len(found.masks),
        "orig_img_h": height,
        "orig_img_w": width,
        "label": query,
        "image_id": handle,
    } | to_source_field(handle, workspace)
    notes = _NOTES | to_source_note(handle, workspace)
    return NewBinding(stem=stem_of(query), fields=fields, notes=notes, image_id=handle)


def _plain_rle(mask: Mapping[str, object]) -> dict[str, object]:
    counts = mask["counts"]
    return {
        "size": list(cast("list[int]", mask["size"])),
        "counts": counts.decode() if isinstance(counts, bytes) else counts,
    }


def stem_of(query: str) -> str:
    """`segment_<query>`: letters and digits of any script kept where an identifier may have them, all else one `_`."""
    words = _nfkc(_nfkc(query).lower())  # Python reads names that way, so a program could not write any other
    name = "".join(sign if f"a{sign}".isidentifier() else "_" for sign in words)
    return f"segment_{re.sub('_+', '_', name).strip('_')[:_STEM_LIMIT].strip('_') or 'objects'}"


def _nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)
