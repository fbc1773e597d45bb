"""Text at the boundaries: no lone surrogates, and never longer than a reader can bear."""

from __future__ import annotations

import re

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """`text` with every lone surrogate replaced by U+FFFD, so that it can be encoded as UTF-8."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def excerpt(text: str, limit: int = 120) -> str:
    """At most `limit` characters of `text`, on one line, with an ellipsis where it was cut."""
    line = " ".join(text.split(maxsplit=limit))  # so many words are longer than the limit: the rest may stay a whole
    return line if len(line) <= limit else line[: limit - 1] + "…"


def bounded(text: str, limit: int, whole_is_in: str) -> str:
    """`text` cut at `limit` characters with a notice that says how much was cut and where the whole is."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[{len(text) - limit} more characters cut; the whole is in {whole_is_in}]"
