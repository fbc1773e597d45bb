"""A small tokenizer of the kind that the large ones are: byte-level BPE with special tokens, trained in milliseconds."""

from __future__ import annotations

from functools import cache

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from openvlharness_core.profile import ModelProfile

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>")
_CORPUS = (
    "How many pills are on the table? There are three objects, and the newest picture is a crop of the first.",
    'Data bindings: segment_pills, depth_result. {"image_id": "input_image_1", "coords": [0, 0, 500, 500], "padding": 0}',
    "An earlier call of Zoom_In_Tool; its evidence is no longer shown. Pictures from it: tool_generated_image_1.",
)


@cache
def _trained() -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=list(SPECIAL),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_CORPUS * 4, trainer)
    return tokenizer.to_str()


def small_tokenizer() -> Tokenizer:
    """One of its own for whoever asks, since a tokenizer's settings can be changed."""
    return Tokenizer.from_str(_trained())


def counting_profile(**fields: object) -> ModelProfile:
    """A profile that counts: the patches and limits of Qwen3-VL, unless `fields` say otherwise."""
    usual: dict[str, object] = {
        "alias": "counting",
        "model_id": "m",
        "context_policy": "local_tokens",
        "image_token_patch": 32,
        "image_token_pixels": (65_536, 16_777_216),
    }
    return ModelProfile(**(usual | fields))  # type: ignore[arg-type]
