"""The suite of TokenCounter, bound to the counter with a tokenizer, for the two protocols and both families of pictures."""

from __future__ import annotations

import pytest

from contracts.ports.token_counter import TokenCounterContract
from openvlharness_adapters.tokens import TokenizerCounter
from tests.support.small_tokenizer import counting_profile, small_tokenizer

QWEN25 = {"image_token_patch": 28, "image_token_pixels": (3_136, 12_845_056)}


@pytest.mark.parametrize("fields", [{}, {"adapter": "responses"}, QWEN25], ids=["chat", "responses", "patch_28"])
class TestTokenizerCounter(TokenCounterContract):
    @pytest.fixture
    def counter(self, fields: dict[str, object]) -> TokenizerCounter:
        return TokenizerCounter(tokenizer=small_tokenizer(), profile=counting_profile(**fields))
