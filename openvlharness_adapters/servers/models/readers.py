"""Models that read pictures: PaddleOCR-VL and DeepSeek-OCR 2. They differ in class and prompt alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import torch

from openvlharness_adapters.servers.chat import Reading
from openvlharness_adapters.servers.devices import Device
from openvlharness_adapters.servers.pictures import PilImage
from openvlharness_adapters.servers.sources import Weights


@attrs.frozen(kw_only=True)
class Reader:
    """See `ReadingModel`.

    Attributes:
        network: generates.
        processor: makes its inputs.
        text_of: the prompt around the place of the picture.
        device: where.
    """

    network: Any
    processor: Any
    text_of: Callable[[str], str]
    device: Device

    def read(self, image: PilImage, prompt: str, max_new_tokens: int) -> Reading:
        """See `ReadingModel`."""
        inputs = self.processor(images=[image], text=[self.text_of(prompt)], return_tensors="pt").to(self.device.name)
        if "pixel_values" in inputs:
            for name in ("pixel_values", "pixel_values_local"):
                if name in inputs:
                    inputs[name] = inputs[name].to(self.device.dtype)
        given = inputs["input_ids"].shape[1]
        with torch.inference_mode():
            tokens = self.network.generate(**inputs, max_new_tokens=max_new_tokens, do_sample=False)[0, given:]
        ends = self.network.generation_config.eos_token_id
        finished = bool(tokens.numel()) and int(tokens[-1]) in (ends if isinstance(ends, list) else [ends])
        return Reading(
            text=self.processor.decode(tokens, skip_special_tokens=True).strip(),
            prompt_tokens=given,
            completion_tokens=int(tokens.numel()),
            finished=finished,
        )


def load_paddle(weights: Weights, device: Device) -> Reader:
    """PaddleOCR-VL on its device; its chat template says where the picture stands. Raises WeightsUnavailableError."""
    from transformers import PaddleOCRVLForConditionalGeneration

    reader = _loaded(PaddleOCRVLForConditionalGeneration, weights, device)
    template = reader.processor

    def text_of(prompt: str) -> str:
        content = [{"type": "image"}, {"type": "text", "text": prompt}]
        text: str = template.apply_chat_template(
            [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
        )
        return text

    return attrs.evolve(reader, text_of=text_of)


def load_deepseek(weights: Weights, device: Device) -> Reader:
    """DeepSeek-OCR 2 on its device; it was trained on bare prompts behind the picture. Raises WeightsUnavailableError."""
    from transformers import DeepseekOcr2ForConditionalGeneration

    reader = _loaded(DeepseekOcr2ForConditionalGeneration, weights, device)
    image_token = reader.processor.image_token
    return attrs.evolve(reader, text_of=lambda prompt: f"{image_token}\n{prompt}")


def _loaded(kind: Any, weights: Weights, device: Device) -> Reader:
    from transformers import AutoProcessor

    processor = weights.loaded(lambda place, **options: AutoProcessor.from_pretrained(place, backend="pil", **options))
    network = weights.loaded(lambda place, **options: kind.from_pretrained(place, dtype=device.dtype, **options))
    return Reader(network=network.to(device.name).eval(), processor=processor, text_of=str, device=device)
