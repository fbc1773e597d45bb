"""Grounding DINO: objects named by words, as boxes."""

from __future__ import annotations

from typing import Any

import attrs
import torch

from openvlharness_adapters.servers.detecting import Found
from openvlharness_adapters.servers.devices import Device
from openvlharness_adapters.servers.pictures import PilImage
from openvlharness_adapters.servers.sources import Weights
from openvlharness_core.errors import UnsupportedQueryError

THRESHOLD = 0.25


@attrs.frozen(kw_only=True)
class GroundingDino:
    """See `DetectionModel`."""

    network: Any
    processor: Any
    device: Device

    def found(self, image: PilImage, query: str, threshold: float | None) -> Found:
        """See `DetectionModel`; the query is one phrase, whatever stops stand in it.

        Raises:
            UnsupportedQueryError: more words than the text encoder takes.
        """
        phrase = " ".join(query.replace(".", " ").split())
        inputs = self.processor(images=image, text=[[phrase]], return_tensors="pt").to(self.device.name)
        given, most = inputs["input_ids"].shape[1], self.network.config.max_text_len
        if given > most:
            raise UnsupportedQueryError("grounding_dino", f"a query of at most {most} tokens, got {given}")
        with torch.inference_mode():  # in float32: half precision moves boxes by pixels
            outputs = self.network(**inputs)
        least = THRESHOLD if threshold is None else threshold
        (found,) = self.processor.post_process_grounded_object_detection(
            outputs,
            inputs["input_ids"],
            threshold=least,
            text_threshold=least,
            target_sizes=[(image.height, image.width)],
        )
        return Found(boxes_xyxy_px=found["boxes"].float().cpu().numpy(), scores=found["scores"].float().cpu().numpy())


def load(weights: Weights, device: Device) -> GroundingDino:
    """The model on its device. Raises WeightsUnavailableError."""
    from transformers import AutoProcessor, GroundingDinoForObjectDetection

    processor = weights.loaded(lambda place, **options: AutoProcessor.from_pretrained(place, backend="pil", **options))
    network = weights.loaded(GroundingDinoForObjectDetection.from_pretrained).to(device.name).eval()
    return GroundingDino(network=network, processor=processor, device=device)
