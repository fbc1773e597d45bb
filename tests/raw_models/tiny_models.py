"""Folders of weights for the raw model servers: the real classes, tiny and random. Needs torch and transformers.

python tests/raw_models/tiny_models.py sam3|grounding-dino|paddle-ocr|deepseek-ocr FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

WORDS = ("red", "circle", "cat", "a", "the", "ocr", ":", "text", "total", "12", "free", "7", "x")


def tokenizer(words: tuple[str, ...], **special: str) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace()])
    return PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="[UNK]", **special)


def sam3(folder: Path) -> None:
    from transformers import Sam3Config
    from transformers.models.sam3.configuration_sam3 import Sam3VisionConfig, Sam3ViTConfig
    from transformers.models.sam3.modeling_sam3 import Sam3Model

    small = {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64, "num_layers": 1}
    backbone = Sam3ViTConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=224,
        patch_size=14,
        window_size=8,
        global_attn_indexes=[1],
        pretrain_image_size=112,
    )
    config = Sam3Config(
        vision_config=Sam3VisionConfig(backbone_config=backbone, fpn_hidden_size=32),
        text_config={
            "hidden_size": 32,
            "num_attention_heads": 2,
            "intermediate_size": 64,
            "num_hidden_layers": 1,
            "projection_dim": 32,
            "max_position_embeddings": 32,
            "vocab_size": 32,
            "bos_token_id": 0,
            "eos_token_id": 1,
        },
        geometry_encoder_config=small,
        detr_encoder_config=small,
        detr_decoder_config={**small, "num_queries": 10},
        mask_decoder_config={"hidden_size": 32, "num_attention_heads": 2},
    )
    Sam3Model(config).save_pretrained(folder)
    tokenizer(("[PAD]", "[UNK]", *WORDS), pad_token="[PAD]").save_pretrained(folder)


def grounding_dino(folder: Path) -> None:
    from transformers import (
        BertConfig,
        GroundingDinoConfig,
        GroundingDinoForObjectDetection,
        GroundingDinoProcessor,
        SwinConfig,
    )
    from transformers.models.grounding_dino.image_processing_pil_grounding_dino import GroundingDinoImageProcessorPil

    backbone = SwinConfig(
        embed_dim=16,
        depths=[1, 1, 1, 1],
        num_heads=[1, 2, 2, 2],
        window_size=4,
        image_size=64,
        out_features=["stage2", "stage3", "stage4"],
    )
    text = BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, vocab_size=1100)
    config = GroundingDinoConfig(
        backbone_config=backbone,
        text_config=text,
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        num_queries=12,
        max_text_len=64,
    )
    GroundingDinoForObjectDetection(config).save_pretrained(folder)
    # The network knows BERT's numbers of these four by heart.
    places = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 1012: ".", 1029: "?"}
    places |= {200 + place: word for place, word in enumerate(WORDS)}
    words = tuple(places.get(place, f"[unused{place}]") for place in range(1030))
    from tokenizers.processors import TemplateProcessing

    made = tokenizer(words, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]")
    made.backend_tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 101), ("[SEP]", 102)]
    )
    images = GroundingDinoImageProcessorPil(size={"shortest_edge": 64, "longest_edge": 96})
    GroundingDinoProcessor(image_processor=images, tokenizer=made).save_pretrained(folder)


def paddle_ocr(folder: Path) -> None:
    from transformers import PaddleOCRVLConfig, PaddleOCRVLForConditionalGeneration, PaddleOCRVLProcessor
    from transformers.models.paddleocr_vl.image_processing_pil_paddleocr_vl import PaddleOCRVLImageProcessorPil

    words = ("[PAD]", "[UNK]", "<s>", "</s>", "<|IMG|>", "<|IMG_START|>", "<|IMG_END|>", *WORDS)
    config = PaddleOCRVLConfig(
        vision_config={
            "hidden_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 64,
            "image_size": 56,
            "patch_size": 14,
        },
        text_config={
            "hidden_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "intermediate_size": 64,
            "head_dim": 16,
            "vocab_size": len(words),
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]},
            "pad_token_id": 0,
            "bos_token_id": 2,
            "eos_token_id": 3,
        },
        image_token_id=4,
        vision_start_token_id=5,
        vision_end_token_id=6,
    )
    PaddleOCRVLForConditionalGeneration(config).save_pretrained(folder)
    made = tokenizer(
        words,
        pad_token="[PAD]",
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens={"image_token": "<|IMG|>"},
        additional_special_tokens=["<|IMG|>", "<|IMG_START|>", "<|IMG_END|>"],
    )
    images = PaddleOCRVLImageProcessorPil(min_pixels=28 * 28, max_pixels=28 * 28 * 16)
    template = (
        "{% for message in messages %}{% for part in message['content'] %}"
        "{% if part['type'] == 'image' %}<|IMG_START|><|IMG|><|IMG_END|>{% else %}{{ part['text'] }}{% endif %}"
        "{% endfor %}{% endfor %}"
    )
    PaddleOCRVLProcessor(image_processor=images, tokenizer=made, chat_template=template).save_pretrained(folder)


def deepseek_ocr(folder: Path) -> None:
    from transformers import DeepseekOcr2Config, DeepseekOcr2ForConditionalGeneration, DeepseekOcr2Processor
    from transformers.models.deepseek_ocr2.image_processing_pil_deepseek_ocr2 import DeepseekOcr2ImageProcessorPil

    words = ("[PAD]", "[UNK]", "<s>", "</s>", "<image>", *WORDS)
    attention = {"num_attention_heads": 2, "num_key_value_heads": 2}
    config = DeepseekOcr2Config(
        vision_config={
            "sam_config": {
                "hidden_size": 32,
                "output_channels": 16,
                "num_hidden_layers": 1,
                "num_attention_heads": 2,
                "image_size": 1024,
                "window_size": 4,
                "global_attn_indexes": [0],
                "downsample_channels": [24, 32],
                "initializer_range": 0.02,
            },
            "encoder_config": {
                "hidden_size": 32,
                "intermediate_size": 64,
                "num_hidden_layers": 1,
                "vocab_size": 8,
                **attention,
            },
        },
        text_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "vocab_size": len(words),
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 16,
            "n_shared_experts": 1,
            "mlp_layer_types": ["dense", "sparse"],
            "max_position_embeddings": 1024,
            "pad_token_id": 0,
            "bos_token_id": 2,
            "eos_token_id": 3,
            **attention,
        },
        image_token_id=4,
    )
    DeepseekOcr2ForConditionalGeneration(config).save_pretrained(folder)
    made = tokenizer(
        words,
        pad_token="[PAD]",
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens={"image_token": "<image>"},
        additional_special_tokens=["<image>"],
    )
    images = DeepseekOcr2ImageProcessorPil(max_patches=2)  # the network has queries for 768 and 1024 pixels alone
    DeepseekOcr2Processor(image_processor=images, tokenizer=made).save_pretrained(folder)


MAKERS = {"sam3": sam3, "grounding-dino": grounding_dino, "paddle-ocr": paddle_ocr, "deepseek-ocr": deepseek_ocr}


if __name__ == "__main__":
    torch.manual_seed(0)
    MAKERS[sys.argv[1]](Path(sys.argv[2]))
