"""What must not be told: keys, credentials in addresses, and requests that a server sends back in its complaint."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

import attrs

HIDDEN = "[hidden]"

_BEARER = re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_USER_INFO = re.compile(r"(?<=://)[^\s/?#@\"']+@")
_BULK = re.compile(r"[A-Za-z0-9+/_-]{120,}={0,2}")
"""No sentence holds a word this long; what does is a picture, or a key of a kind we were not told of."""


def _spellings(secret: str) -> Iterable[str]:
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret)[1:-1].replace("/", "\\/")
    yield quote(secret, safe="")
    yield quote_plus(secret)


@attrs.frozen
class Redactor:
    """Takes given secrets, and what looks like one, out of text from elsewhere.

    Attributes:
        secrets: texts that must not be shown, in any of the spellings in which JSON or a URL may hold them.
    """

    secrets: tuple[str, ...] = attrs.field(default=(), repr=False)
    _pattern: re.Pattern[str] | None = attrs.field(init=False, repr=False, eq=False)

    @_pattern.default
    def _compiled(self) -> re.Pattern[str] | None:
        # The longest first: of two secrets, one may begin with the other.
        spellings = sorted({s for secret in self.secrets if secret for s in _spellings(secret)}, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, spellings))) if spellings else None

    def clean(self, text: str) -> str:
        """`text` without secrets, credentials in URLs, bearer tokens and encoded bulk. Clean before cutting."""
        if self._pattern is not None:
            text = self._pattern.sub(HIDDEN, text)
        text = _BEARER.sub(rf"\1 {HIDDEN}", text)
        text = _USER_INFO.sub("", text)
        return _BULK.sub("[…]", text)


NOTHING_SECRET = Redactor()
