"""Counting the tokens of a conversation with the model's own tokenizer and picture rule."""

from openvlharness_adapters.tokens.counter import TokenizerCounter
from openvlharness_adapters.tokens.loading import open_counter
from openvlharness_adapters.tokens.picture_rule import PictureRule

__all__ = ["PictureRule", "TokenizerCounter", "open_counter"]
