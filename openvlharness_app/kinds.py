"""The small types of the configuration: each says in one place what fits, how a fault words it, and its JSON Schema.

A small type is `Annotated[int, Kind(...)]` rather than a `NewType` with a hook elsewhere: one value then serves the
loader and the schema generator, which cannot drift apart, and programs that build settings pass plain numbers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

import attrs

from openvlharness_app.faults import Filled, Unfit, shown, type_of
from openvlharness_app.secret import Secret, SecretUrl

T = TypeVar("T")


def _as_it_is(value: Any) -> object:
    return str(value) if isinstance(value, str) else value


@attrs.frozen(kw_only=True, eq=False)
class Kind:
    """What a leaf may hold.

    Attributes:
        expected: the words of a fault, after "expected".
        fits: whether a value may stand there.
        schema: the same rule as JSON Schema; what only the loader can tell is left out.
        build: makes the setting of a value that fits.
        parse: reads the text of a variable that fills the whole leaf; `None` where the text is the value.
        describe: the words of a fault, after "got".
    """

    expected: str
    fits: Callable[[Any], bool]
    schema: Mapping[str, object]
    build: Callable[[Any], object] = _as_it_is
    parse: Callable[[str], object] | None = None
    describe: Callable[[object], str] = shown

    def read(self, value: object) -> object:
        """The setting that `value` stands for. Raises Unfit."""
        parsed = self.parse(value) if self.parse and isinstance(value, Filled) and value.whole else value
        if not self.fits(parsed):
            # Numbers are shown even if they came from the environment; texts are not: one may be a key gone astray.
            raise Unfit(self.expected, self.describe(value if isinstance(parsed, str) else parsed))
        return self.build(parsed)


@attrs.frozen
class _Marker:
    """What the converter reads beside the type itself."""

    says: str


MAY_BE_LEFT_OUT = _Marker("absent means the default, null does not fit")
ONE_OR_MANY = _Marker("a single value stands for a list of one")

Omittable = Annotated[T | None, MAY_BE_LEFT_OUT]
"""`None` when the key is left out; null in the file does not fit."""

OneOrMany = Annotated[tuple[T, ...], ONE_OR_MANY]
"""At least one value; a single one needs no list."""


def kind_of(type_: object) -> Kind | None:
    """The kind in the annotations of `type_`."""
    return next((item for item in getattr(type_, "__metadata__", ()) if isinstance(item, Kind)), None)


# ---- numbers and flags -----------------------------------------------------------------------------------------------

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_BOUND = 1e300  # no setting comes near; what is beyond is no number that arithmetic can use


def _number(text: str) -> object:
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) and len(text) < 40 else str(text)


def _flag(text: str) -> object:
    return {"true": True, "false": False}.get(text.lower(), str(text))


def _integer(expected: str, *, least: int, most: int | None = None) -> Kind:
    return Kind(
        expected=expected,
        fits=lambda value: (
            isinstance(value, int)
            and not isinstance(value, bool)
            and value >= least
            and (most is None or value <= most)
        ),
        schema={"type": "integer", "minimum": least} | ({} if most is None else {"maximum": most}),
        parse=_number,
    )


def _real(expected: str, *, least: float | None = None, above: float | None = None, most: float = _BOUND) -> Kind:
    low = above if above is not None else least if least is not None else -_BOUND
    return Kind(
        expected=expected,
        fits=lambda value: (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and (low < value if above is not None else low <= value)
            and value <= most
        ),
        schema={"type": "number", ("exclusiveMinimum" if above is not None else "minimum"): low, "maximum": most},
        build=float,
        parse=_number,
    )


Flag = Annotated[
    bool,
    Kind(expected="true or false", fits=lambda value: isinstance(value, bool), schema={"type": "boolean"}, parse=_flag),
]
PositiveInt = Annotated[int, _integer("an integer of 1 or more", least=1)]
NonNegativeInt = Annotated[int, _integer("an integer of 0 or more", least=0)]
Port = Annotated[int, _integer("a port from 1 to 65535", least=1, most=65535)]
Seconds = Annotated[float, _real("seconds above 0", above=0)]
SecondsOrZero = Annotated[float, _real("seconds of 0 or more", least=0)]
PositiveNumber = Annotated[float, _real("a number above 0", above=0)]
NonNegativeNumber = Annotated[float, _real("a number of 0 or more", least=0)]
Ratio = Annotated[float, _real("a number of 1 or more", least=1)]
Temperature = Annotated[float, _real("a number from 0 to 2", least=0, most=2)]
Probability = Annotated[float, _real("a number above 0 and at most 1", above=0, most=1)]
Penalty = Annotated[float, _real("a number from -2 to 2", least=-2, most=2)]

# ---- texts -----------------------------------------------------------------------------------------------------------

_PRINTABLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_ODD_IN_URL = re.compile(r"[\x00-\x20\x7f\\]")
_HOST_PORT = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}"
_VERSION = r"[A-Za-z0-9][A-Za-z0-9._-]*"
# What an editor can tell of a URL; the loader knows more.
_URL_SCHEMA = {"type": "string", "pattern": r"^[hH][tT][tT][pP][sS]?://[^\s/?#@\\]+(/[^\s?#\\]*)?$"}


def _is_url(value: object, schemes: frozenset[str]) -> bool:
    if not isinstance(value, str) or _ODD_IN_URL.search(value):
        return False
    try:
        parts = urlsplit(value)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _is_http_url(value: object) -> bool:
    plain = isinstance(value, str) and not set("?#") & set(value) and "@" not in value.partition("//")[2].split("/")[0]
    return plain and _is_url(value, frozenset({"http", "https"}))


def _describe_url(value: object) -> str:
    """What is wrong with it, never the value: the line of the key is the next one, and keys are pasted a line too high."""
    if isinstance(value, Filled):
        return shown(value)
    if not isinstance(value, str):
        return type_of(value)
    if "@" in value:
        return "a URL with embedded credentials"
    if set("?#") & set(value):
        return "a URL with a query or fragment"
    if not value.lower().startswith(("http://", "https://")):
        return "a text that does not begin with http:// or https://" if value else "an empty text"
    if _ODD_IN_URL.search(value):
        return "a URL with spaces, backslashes or control characters"
    return "a URL whose host or port is none"


def _describe_place(value: object) -> str:
    return shown(value) if isinstance(value, Filled) else type_of(value)


def _describe_secret(value: object) -> str:
    if isinstance(value, str) and not value.isprintable():
        return "a value of type str with control characters"
    return type_of(value)


def _is_host_port(value: object) -> bool:
    return bool(
        isinstance(value, str) and re.fullmatch(_HOST_PORT, value) and 0 < int(value.rpartition(":")[2]) < 65536
    )


String = Annotated[str, Kind(expected="a string", fits=lambda value: isinstance(value, str), schema={"type": "string"})]
Name = Annotated[
    str,
    Kind(
        expected="a string that is not empty",
        fits=lambda value: isinstance(value, str) and value.strip() != "",
        schema={"type": "string", "pattern": r"\S"},
    ),
]
Printable = Annotated[
    str,
    Kind(
        expected="a string without control characters",
        fits=lambda value: isinstance(value, str) and value.isprintable(),
        schema={"type": "string"},
    ),
]
PrintableName = Annotated[
    str,
    Kind(
        expected="a string that is not empty and has no control characters",
        fits=lambda value: isinstance(value, str) and value.strip() != "" and value.isprintable(),
        schema={"type": "string", "pattern": r"\S"},
    ),
]
VersionName = Annotated[
    str,
    Kind(
        expected="a string of letters, digits, dots, dashes and underscores",  # it becomes part of a folder's name
        fits=lambda value: isinstance(value, str) and re.fullmatch(_VERSION, value) is not None,
        schema={"type": "string", "pattern": f"^{_VERSION}$"},
    ),
]
FilePath = Annotated[
    str,
    Kind(
        expected="a path",
        fits=lambda value: (
            isinstance(value, str | os.PathLike) and os.fspath(value) != "" and "\0" not in str(os.fspath(value))
        ),
        schema={"type": "string", "minLength": 1},
        build=lambda value: str(os.fspath(value)),
    ),
]
HttpUrl = Annotated[
    str,
    Kind(
        expected="an http(s) URL without credentials, query or fragment",
        fits=_is_http_url,
        schema=_URL_SCHEMA,
        build=lambda value: str(value).rstrip("/"),
        describe=_describe_url,
    ),
]
HostPort = Annotated[
    str,
    Kind(
        expected="host:port",
        fits=_is_host_port,
        schema={"type": "string", "pattern": f"^{_HOST_PORT}$"},
        describe=_describe_place,
    ),
]
Key = Annotated[
    Secret,
    Kind(
        expected="a key of printable ASCII characters without spaces around it",  # else no HTTP header could carry it
        fits=lambda value: (
            value is None
            or isinstance(value, Secret)
            or (isinstance(value, str) and (value.strip(" ") == "" or _PRINTABLE.fullmatch(value) is not None))
        ),
        schema={"type": ["string", "null"]},
        build=lambda value: value if isinstance(value, Secret) else Secret(str(value or "")),
        describe=_describe_secret,
    ),
]
RedisUrl = Annotated[
    SecretUrl,
    Kind(
        expected="a redis:// or rediss:// URL",
        fits=lambda value: isinstance(value, SecretUrl) or _is_url(value, frozenset({"redis", "rediss"})),
        schema={"type": "string", "pattern": r"^rediss?://\S+$"},
        build=lambda value: value if isinstance(value, SecretUrl) else SecretUrl(str(value)),
        describe=_describe_secret,
    ),
]
