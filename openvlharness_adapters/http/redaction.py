"""What must not be told: keys, credentials in addresses, and requests that a server sends back in its complaint."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

import attrs

HIDDEN = "[hidden]"
SHORTEST_SURE_SECRET = 8
"""Characters from which a secret is never meant when a text holds it by chance."""

_BEARER = re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_USER_INFO = re.compile(r"(?<=://)[^\s/?#@\"']+@")
_BULK = re.compile(r"[A-Za-z0-9+/_-]{120,}={0,2}")
"""No sentence holds a word this long; what does is a picture, or a key of a kind we were not told of."""


def _spellings(secret: str) -> Iterable[str]:
    """Patterns of how a text may hold a secret; JSON inside JSON escapes what is escaped once more."""
    yield "".join(map(_escaped_or_not, secret))
    yield re.escape(json.dumps(secret)[1:-1])
    yield re.escape(quote(secret, safe=""))
    yield re.escape(quote_plus(secret))


def _escaped_or_not(letter: str) -> str:
    if letter == "\\":
        return r"\\{1,8}"
    return r"\\{0,7}" + letter if letter in '/"' else re.escape(letter)


@attrs.frozen
class Redactor:
    """Takes given secrets, and what looks like one, out of text from elsewhere.

    Attributes:
        secrets: texts that must not be shown, in any of the spellings in which JSON or a URL may hold them.
    """

    secrets: tuple[str, ...] = attrs.field(default=(), repr=False)
    _pattern: re.Pattern[str] | None = attrs.field(init=False, repr=False, eq=False)
    _sure: re.Pattern[str] | None = attrs.field(init=False, repr=False, eq=False)

    @_pattern.default
    def _all(self) -> re.Pattern[str] | None:
        return _any_of(self.secrets)

    @_sure.default
    def _long(self) -> re.Pattern[str] | None:
        return _any_of([secret for secret in self.secrets if len(secret) >= SHORTEST_SURE_SECRET])

    def clean(self, text: str) -> str:
        """`text` without secrets, credentials in URLs, bearer tokens and encoded bulk. Clean before cutting."""
        if self._pattern is not None:
            text = self._pattern.sub(HIDDEN, text)
        text = _BEARER.sub(rf"\1 {HIDDEN}", text)
        text = _USER_INFO.sub("", text)
        return _BULK.sub("[…]", text)

    def hide(self, text: str) -> str:
        """`text` without the secrets of `SHORTEST_SURE_SECRET` characters or more, and otherwise as it is.

        For what is more than a message to a reader, such as the reply of a model: nothing else in it is touched.
        """
        return text if self._sure is None else self._sure.sub(HIDDEN, text)


def _any_of(secrets: Iterable[str]) -> re.Pattern[str] | None:
    # The longest first: of two secrets, one may begin with the other.
    spellings = sorted({s for secret in secrets if secret for s in _spellings(secret)}, key=len, reverse=True)
    return re.compile("|".join(spellings)) if spellings else None


NOTHING_SECRET = Redactor()
