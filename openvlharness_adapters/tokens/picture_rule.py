"""How many tokens a picture takes in models of the Qwen-VL kind, which look at it in square patches.

Before the model sees a picture its sides become multiples of the patch, and its area is brought between two limits with
the aspect kept as far as multiples allow. The steps and their order are those of the models' own preprocessing, floating
point included, since one patch more or less is another row of tokens.
"""

from __future__ import annotations

import math

import attrs

from openvlharness_core.profile import ModelProfile


def _patch(_: object, field: attrs.Attribute[int], patch: int) -> None:
    if type(patch) is not int or patch < 1:
        raise ValueError(f"{field.name}: expected a whole number of pixels above 0, got {patch!r}")


@attrs.frozen(kw_only=True)
class PictureRule:
    """The rule of one model.

    Attributes:
        patch: side of the square that is one token, in pixels.
        pixels: least and most pixels (area) of a picture as the model sees it.

    Raises:
        ValueError: numbers that are no such rule.
    """

    patch: int = attrs.field(validator=_patch)
    pixels: tuple[int, int] = attrs.field()

    @pixels.validator
    def _range(self, _: object, pixels: tuple[int, int]) -> None:
        least, most = pixels
        if not (type(least) is int and type(most) is int and 0 < least <= most):
            raise ValueError(f"pixels: expected two whole numbers above 0, the lesser first, got {pixels!r}")

    @classmethod
    def of(cls, profile: ModelProfile) -> PictureRule:
        """The rule that a profile states.

        Raises:
            ValueError: it states none, or one that cannot be.
        """
        if profile.image_token_patch is None or profile.image_token_pixels is None:
            raise ValueError("expected image_token_patch and image_token_pixels, which say what a picture costs")
        return cls(patch=profile.image_token_patch, pixels=profile.image_token_pixels)

    def seen_size(self, size_hw: tuple[int, int]) -> tuple[int, int]:
        """(height, width) at which the model sees a picture of `size_hw` pixels: multiples of the patch, at least one.

        Halves round to the even multiple. A picture of extreme ratio may keep more than the most pixels, since no side
        gets thinner than one patch.
        """
        height, width = size_hw
        patch, (least, most) = self.patch, self.pixels
        seen = round(height / patch) * patch, round(width / patch) * patch
        area = seen[0] * seen[1]
        if area > most:
            shrink = math.sqrt(height * width / most)
            return self._at_most(height / shrink), self._at_most(width / shrink)
        if area < least:  # a side under half a patch has just become 0, and so gets here as well
            enlarge = math.sqrt(least / (height * width))
            return self._at_least(height * enlarge), self._at_least(width * enlarge)
        return seen

    def tokens(self, size_hw: tuple[int, int]) -> int:
        """Tokens of the picture itself: one a patch."""
        height, width = self.seen_size(size_hw)
        return (height // self.patch) * (width // self.patch)

    def _at_most(self, side: float) -> int:
        return max(1, math.floor(side / self.patch)) * self.patch

    def _at_least(self, side: float) -> int:
        return math.ceil(side / self.patch) * self.patch
