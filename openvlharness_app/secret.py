"""Values that no repr, log line, report or exception may show."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit


class Secret:
    """A key. Its text leaves only through `reveal`; blank or `empty` means that there is none.

    >>> Secret("sk-1234")
    Secret(***)
    >>> bool(Secret("empty"))
    False
    """

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    def reveal(self) -> str:
        """The text, for the one who sends it."""
        return self._text

    def __bool__(self) -> bool:
        return self._text.strip().lower() not in {"", "empty"}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and type(other) is type(self) and other._text == self._text

    def __hash__(self) -> int:
        return hash((type(self), self._text))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(***)" if self else f"{type(self).__name__}()"


class SecretUrl(Secret):
    """A URL that may carry a password. What is shown leaves out user and password.

    >>> SecretUrl("redis://:hunter2@cache:6379/0")
    SecretUrl('redis://cache:6379/0')
    """

    __slots__ = ()

    @property
    def public(self) -> str:
        """The URL without user, password, query and fragment."""
        parts = urlsplit(self.reveal())
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    def __repr__(self) -> str:
        return f"SecretUrl({self.public!r})"
