"""What pictures cost, against numbers worked out in whole numbers alone."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from openvlharness_adapters.tokens import PictureRule
from openvlharness_core.profile import ModelProfile
from tests.support.sent_tokens import patches_of

QWEN3 = PictureRule(patch=32, pixels=(65_536, 16_777_216))
QWEN25 = PictureRule(patch=28, pixels=(3_136, 12_845_056))

# height, width; rows and columns of patches for each rule
TABLE = [
    ((1, 1), (8, 8), (2, 2)),
    ((10, 10), (8, 8), (2, 2)),
    ((42, 70), (7, 11), (2, 2)),  # 1.5 and 2.5 patches of 28: halves go to the even number
    ((98, 126), (8, 10), (4, 4)),  # 3.5 and 4.5
    ((48, 80), (7, 11), (2, 3)),
    ((80, 48), (11, 7), (3, 2)),
    ((100, 100), (8, 8), (4, 4)),
    ((224, 224), (8, 8), (8, 8)),
    ((255, 257), (8, 8), (9, 9)),
    ((256, 256), (8, 8), (9, 9)),
    ((240, 272), (8, 8), (9, 10)),  # 7.5 and 8.5 patches of 32
    ((300, 200), (10, 7), (11, 7)),
    ((480, 640), (15, 20), (17, 23)),
    ((600, 800), (19, 25), (21, 29)),
    ((768, 1024), (24, 32), (27, 37)),
    ((1000, 1000), (31, 31), (36, 36)),
    ((1080, 1920), (34, 60), (39, 69)),
    ((2160, 3840), (68, 120), (77, 137)),
    ((3024, 4032), (94, 126), (108, 144)),
    ((4096, 4096), (128, 128), (128, 128)),
    ((4112, 4112), (128, 128), (128, 128)),
    ((4113, 4100), (128, 127), (128, 127)),
    ((6000, 4000), (156, 104), (156, 104)),
    ((8192, 8192), (128, 128), (128, 128)),
    ((2048, 8192), (64, 256), (64, 256)),
    ((10_000, 200), (312, 6), (357, 7)),
    ((20, 4000), (1, 125), (1, 143)),
    ((15, 3000), (1, 114), (1, 107)),  # under half a patch of 32: enlarged, not just given one row
    ((5, 1), (18, 4), (5, 1)),
    ((1, 100_000), (1, 2530), (1, 633)),
    ((30_000, 30_000), (128, 128), (128, 128)),
]


@pytest.mark.parametrize(("size_hw", "of_32", "of_28"), TABLE)
def test_known_sizes(size_hw: tuple[int, int], of_32: tuple[int, int], of_28: tuple[int, int]) -> None:
    for rule, (rows, columns) in ((QWEN3, of_32), (QWEN25, of_28)):
        assert rule.seen_size(size_hw) == (rows * rule.patch, columns * rule.patch)
        assert rule.tokens(size_hw) == rows * columns


_SIDES = st.one_of(st.integers(1, 300), st.integers(1, 12_000))


@pytest.mark.parametrize("rule", [QWEN3, QWEN25], ids=["32", "28"])
@given(size_hw=st.tuples(_SIDES, _SIDES))
@example(size_hw=(14, 14))
@example(size_hw=(16, 4096))
def test_any_size(rule: PictureRule, size_hw: tuple[int, int]) -> None:
    expected = patches_of(size_hw, rule.patch, rule.pixels)
    assume(expected is not None)
    assert expected is not None
    assert rule.seen_size(size_hw) == (expected[0] * rule.patch, expected[1] * rule.patch)
    assert rule.tokens(size_hw) == expected[0] * expected[1]


def test_a_profile_must_state_the_rule() -> None:
    stated = ModelProfile(alias="p", image_token_patch=32, image_token_pixels=(65_536, 16_777_216))
    assert PictureRule.of(stated) == QWEN3
    for fields in ({}, {"image_token_patch": 32}, {"image_token_pixels": (1, 2)}):
        with pytest.raises(ValueError, match="expected image_token_patch and image_token_pixels"):
            PictureRule.of(ModelProfile(alias="p", **fields))


@pytest.mark.parametrize("patch", [0, -1, 1.5, True])
def test_a_patch_has_a_side(patch: int) -> None:
    with pytest.raises(ValueError, match="patch: expected a whole number of pixels above 0"):
        PictureRule(patch=patch, pixels=(1, 2))


@pytest.mark.parametrize("pixels", [(0, 5), (5, 4), (1.0, 2), (-2, -1)])
def test_limits_are_a_range(pixels: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="pixels: expected two whole numbers above 0, the lesser first"):
        PictureRule(patch=32, pixels=pixels)
