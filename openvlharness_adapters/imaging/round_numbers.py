"""Numbers for people to read off a drawing."""

from __future__ import annotations

import math


def round_length(most: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is at most `most`, a finite number above 0."""
    exponent = math.floor(math.log10(most))
    for lead in (5, 2, 1):
        length = float(f"{lead}e{exponent}")
        if length <= most:
            return length
    return float(f"5e{exponent - 1}")  # a logarithm that was rounded up


def in_words(value: float, resolution: float | None = None) -> str:
    """A finite `value` in digits, as fine as `resolution` (three digits without it); powers of ten only where zeros pile up."""
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    finest = size - 2 if resolution is None or resolution <= 0 else math.floor(math.log10(resolution))
    digits = min(9, max(0, size - finest)) + 1
    if not -4 <= size <= 5:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{_without_zeros(mantissa)}e{int(exponent)}" if resolution is None else f"{mantissa}e{int(exponent)}"
    text = f"{value:.{max(0, -finest)}f}"
    return _without_zeros(text) if resolution is None else text


def _without_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
