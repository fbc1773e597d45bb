"""SAM 3: objects named by words, with masks.

Its own image processor needs torchvision, which pins a build of torch and weighs gigabytes. What it does to a picture is
three lines (a fixed square, bilinear, scaled to -1…1), and what it does to the outputs a dozen; they stand here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import torch

from openvlharness_adapters.servers.detecting import Found
from openvlharness_adapters.servers.devices import Device
from openvlharness_adapters.servers.pictures import PilImage
from openvlharness_adapters.servers.sources import Weights
from openvlharness_core.errors import UnsupportedQueryError

THRESHOLD = 0.5
_WORDS = 32
"""Tokens of a query; the text encoder was trained with that many, padding included."""
_MEAN = _DEVIATION = 0.5


@attrs.frozen(kw_only=True)
class Sam3:
    """See `DetectionModel`."""

    network: Any
    tokenizer: Any
    side: int
    device: Device

    def found(self, image: PilImage, query: str, threshold: float | None) -> Found:
        """See `DetectionModel`.

        Raises:
            UnsupportedQueryError: more words than the text encoder takes.
        """
        words = self.tokenizer(query, return_tensors="pt", padding="max_length", max_length=_WORDS)
        if words["input_ids"].shape[1] > _WORDS:
            given = words["input_ids"].shape[1]
            raise UnsupportedQueryError("sam3", f"a query of at most {_WORDS} tokens, a short phrase, got {given}")
        inputs = {name: words[name].to(self.device.name) for name in ("input_ids", "attention_mask")}
        with torch.inference_mode():  # in float32: half precision moves boxes by pixels
            outputs = self.network(pixel_values=self._pixels(image), **inputs)
        return _found(outputs, (image.height, image.width), THRESHOLD if threshold is None else threshold)

    def _pixels(self, image: PilImage) -> Any:
        square = np.asarray(image.resize((self.side, self.side), resample=2), dtype=np.float32)  # 2: bilinear
        scaled = (square / 255 - _MEAN) / _DEVIATION
        return torch.from_numpy(scaled).permute(2, 0, 1)[None].to(self.device.name)


def _found(outputs: Any, size_hw: tuple[int, int], threshold: float) -> Found:
    scores = outputs.pred_logits[0].float().sigmoid()
    if outputs.presence_logits is not None:  # how likely it is that there is any such object at all
        scores = scores * outputs.presence_logits[0].float().sigmoid()
    kept = scores > threshold
    height, width = size_hw
    sides = torch.tensor([width, height, width, height], dtype=torch.float32, device=scores.device)
    masks = []
    for logits in outputs.pred_masks[0][kept].float():  # one at a time: at full size a hundred of them fill a card
        plane = torch.nn.functional.interpolate(
            logits.sigmoid()[None, None], size=size_hw, mode="bilinear", align_corners=False
        )
        masks.append((plane[0, 0] > 0.5).cpu().numpy())
    boxes = outputs.pred_boxes[0][kept].float() * sides
    return Found(boxes_xyxy_px=boxes.cpu().numpy(), scores=scores[kept].cpu().numpy(), masks=masks)


def load(weights: Weights, device: Device) -> Sam3:
    """The model on its device. Raises WeightsUnavailableError."""
    from transformers import AutoTokenizer
    from transformers.models.sam3.modeling_sam3 import Sam3Model  # the package's own name for it asks for torchvision

    network = weights.loaded(Sam3Model.from_pretrained).to(device.name).eval()
    return Sam3(
        network=network,
        tokenizer=weights.loaded(AutoTokenizer.from_pretrained),
        side=_side(weights, network),
        device=device,
    )


def _side(weights: Weights, network: Any) -> int:
    file = Path(weights.place) / "preprocessor_config.json"
    if file.is_file():
        size = json.loads(file.read_text(encoding="utf-8")).get("size", {})
        if isinstance(size, dict) and isinstance(size.get("height"), int):
            return int(size["height"])
    return int(network.config.vision_config.backbone_config.image_size)
