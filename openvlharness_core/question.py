"""What is asked, and what has become of it once every part has been taken in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

import attrs

from openvlharness_core.errors import InvalidQuestionError
from openvlharness_core.pictures import Picture, RemotePicture
from openvlharness_core.texts import clean_text, excerpt

ImageKind = Literal["path", "bytes", "data_url", "url"]


@attrs.frozen(kw_only=True)
class ImageInput:
    """Where a picture of a question comes from; nothing is read before the question is asked.

    Attributes:
        kind: which of the four.
        value: the path, bytes, data URL or http(s) URL.
        name: what errors call it.
    """

    kind: ImageKind
    value: str | bytes = attrs.field(repr=False)
    name: str = ""

    def __attrs_post_init__(self) -> None:
        if self.kind not in get_args(ImageKind):
            raise InvalidQuestionError("image", f"expected one of {', '.join(get_args(ImageKind))}, got {self.kind!r}")
        wanted = bytes if self.kind == "bytes" else str
        if not isinstance(self.value, wanted):
            raise InvalidQuestionError(
                "image", f"expected {wanted.__name__} for kind {self.kind}, got {type(self.value).__name__}"
            )

    @classmethod
    def from_path(cls, path: object) -> ImageInput:
        """A local file; `path` is a string or anything with `__fspath__`."""
        text = path if isinstance(path, str) else getattr(path, "__fspath__", lambda: None)()
        if not isinstance(text, str) or not text:
            raise InvalidQuestionError("image", f"expected a path, got {type(path).__name__} {excerpt(repr(path), 60)}")
        return cls(kind="path", value=text, name=clean_text(text))

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "") -> ImageInput:
        """Encoded bytes of any format we read."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise InvalidQuestionError("image", f"expected bytes, got {type(data).__name__}")
        return cls(kind="bytes", value=bytes(data), name=name)

    @classmethod
    def from_data_url(cls, url: str, name: str = "") -> ImageInput:
        """A `data:` URL; the type it declares is not trusted."""
        if str(url)[:5].lower() != "data:":
            raise InvalidQuestionError("image", f"expected a data URL, got {excerpt(repr(url), 60)}")
        return cls(kind="data_url", value=str(url), name=name)

    @classmethod
    def from_url(cls, url: str) -> ImageInput:
        """An http(s) URL without credentials. Errors name its host and path, since a query may be a signature."""
        if not str(url).lower().startswith(("http://", "https://")):
            raise InvalidQuestionError("image", f"expected an http(s) URL, got {excerpt(repr(url), 60)}")
        try:
            parts = urlsplit(str(url))
        except ValueError:
            raise InvalidQuestionError("image", "expected an http(s) URL, got one that cannot be read") from None
        name = excerpt(clean_text(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"), 100)
        if "@" in parts.netloc:
            raise InvalidQuestionError(f"image ({name})", "expected a URL without credentials, got one with them")
        return cls(kind="url", value=str(url), name=name)


@attrs.frozen(init=False)
class Question:
    """An ordered list of text and picture parts.

    `Question(text=..., images=[...])` means the text, then the pictures; `Question(parts=[...])` keeps any order of
    strings and `ImageInput`s.
    """

    parts: tuple[str | ImageInput, ...]

    def __init__(
        self,
        text: str | None = None,
        images: Iterable[ImageInput] = (),
        *,
        parts: Iterable[str | ImageInput] | None = None,
    ) -> None:
        images = _listed("images", images)
        for position, image in enumerate(images, 1):  # a path that slipped in would pass for text
            if not isinstance(image, ImageInput):
                raise InvalidQuestionError(f"image {position}", f"expected an ImageInput, got {type(image).__name__}")
        if parts is None:
            parts = (*(() if text is None else (text,)), *images)
        elif text is not None or images:
            raise InvalidQuestionError("parts", "expected either parts or text with images, got both")
        parts = _listed("parts", parts)
        for position, part in enumerate(parts, 1):
            if not isinstance(part, str | ImageInput):
                raise InvalidQuestionError(
                    f"part {position}", f"expected text or an ImageInput, got {type(part).__name__}"
                )
        if not any(isinstance(part, str) and part.strip() for part in parts):
            raise InvalidQuestionError("text", "expected a question, got no text")
        self.__attrs_init__(parts=parts)

    @property
    def text(self) -> str:
        """The text parts, one a line."""
        return "\n".join(part for part in self.parts if isinstance(part, str))


def _listed(place: str, values: object) -> tuple[Any, ...]:
    if isinstance(values, str | bytes | ImageInput) or not isinstance(values, Iterable):
        raise InvalidQuestionError(place, f"expected a list, got {type(values).__name__}")
    return tuple(values)


@attrs.frozen(kw_only=True)
class Exchange:
    """An earlier question and what was answered, as text."""

    question: str
    answer: str


@attrs.frozen(kw_only=True)
class Intake:
    """A question whose parts have been taken in: probed, fetched where they are shown, shrunk for sending.

    Attributes:
        parts: texts without lone surrogates and pictures, in the order of the question.
        task_id: who asks, if anybody said; seeds depend on it.
        history: earlier questions and answers, oldest first.
    """

    parts: tuple[str | Picture | RemotePicture, ...]
    task_id: str | None = None
    history: tuple[Exchange, ...] = ()

    @property
    def text(self) -> str:
        """The text parts, one a line."""
        return "\n".join(part for part in self.parts if isinstance(part, str))
