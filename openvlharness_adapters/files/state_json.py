"""The state of a question as JSON and back, strictly.

Pictures and arrays become names of content files, long texts numbers of a table, members of a union carry the name of
their class. What is JSON already (canonical data, arguments, usage) stays as it is.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

import attrs
from cattrs import Converter, transform_error
from cattrs.strategies import configure_tagged_union

from openvlharness_adapters.files.binding_values import (
    Array,
    array_from_bytes,
    array_to_bytes,
    fields_from_json,
    value_to_json,
)
from openvlharness_adapters.files.content_files import ContentFolder
from openvlharness_adapters.files.json_places import Place
from openvlharness_adapters.files.text_table import TextTable
from openvlharness_core.agent.report import SUFFIXES
from openvlharness_core.agent.steps import Step
from openvlharness_core.errors import SavedFileError
from openvlharness_core.memory.bindings import Binding
from openvlharness_core.messages import Message, Part
from openvlharness_core.pictures import EncodedImage, Picture, RemotePicture

_TAG = "kind"
_QUESTION_PART = str | Picture | RemotePicture
_PLAIN_JSON = (
    Mapping[str, object],
    Mapping[str, float],
    Mapping[str, object] | None,
    Mapping[str, object] | str,
    dict[str, object] | None,
)


@attrs.define
class StateJson:
    """Converts values of the state; `to_json` writes pictures and arrays on the way, `from_json` reads them.

    Attributes:
        texts: long texts by number.
        content: pictures and arrays by name.
        file: what errors of reading name.
    """

    texts: TextTable
    content: ContentFolder
    file: str
    _images: dict[tuple[str, str], EncodedImage] = attrs.field(factory=dict, init=False)

    def to_json(self, value: object, kind: Any) -> object:
        """A value of the declared type `kind` as JSON.

        Raises:
            SavedFileError: a picture or array cannot be written.
        """
        with self._at_work():
            return _converter().unstructure(value, unstructure_as=kind)

    def from_json(self, place: Place, kind: Any) -> Any:
        """The value again.

        Raises:
            SavedFileError: anything that `to_json` would not have made of such a value.
        """
        try:
            with self._at_work():
                return _converter().structure(place.value, kind)
        except SavedFileError:
            raise
        except Exception as error:  # noqa: BLE001 - cattrs reports a value outside a Literal as a bare Exception
            if (saved := _saved_error(error)) is not None:
                raise saved from None
            faults = transform_error(error, path=place.path)
            raise SavedFileError(self.file, faults[0] if faults else str(error)) from None

    @contextlib.contextmanager
    def _at_work(self) -> Iterator[None]:
        token = _AT_WORK.set(self)
        try:
            yield
        finally:
            _AT_WORK.reset(token)

    def image_to_json(self, image: EncodedImage) -> dict[str, object]:
        """A picture by the name of its file, which is written if it is not there."""
        suffix = SUFFIXES.get(image.media_type, "bin")
        name = self.content.keep(image.digest, suffix, image.data)
        return {"file": name, "media_type": image.media_type, "size_hw": list(image.size_hw)}

    def image_from_json(self, value: object) -> EncodedImage:
        """The picture again, the same value wherever it stands."""
        place = Place(self.file, "image", value)
        key = place["file"].text(), place["media_type"].text()
        if key not in self._images:
            data, size_hw = self.content.read(key[0]), place["size_hw"].size_hw()
            self._images[key] = EncodedImage(data=data, media_type=key[1], size_hw=size_hw)
        return self._images[key]

    def _keep_array(self, array: Array) -> str:
        data = array_to_bytes(array)
        return self.content.keep(hashlib.sha256(data).hexdigest(), "npy", data)

    def _find_array(self, place: Place) -> Array:
        return array_from_bytes(self.content.read(place.text()), str(self.content.folder / place.text()))

    def binding_to_json(self, binding: Binding) -> dict[str, object]:
        """A binding with references instead of arrays."""
        return {
            "name": binding.name,
            "stem": binding.stem,
            "image_id": binding.image_id,
            "notes": dict(binding.notes),
            "fields": {name: value_to_json(value, self._keep_array) for name, value in binding.fields.items()},
        }

    def binding_from_json(self, value: object) -> Binding:
        """The binding again."""
        place = Place(self.file, "binding", value)
        return Binding(
            name=place["name"].text(),
            stem=place["stem"].text(),
            image_id=place["image_id"].optional(Place.text),
            notes={key: note.text() for key, note in place["notes"].entries()},
            fields=fields_from_json(place["fields"], self._find_array),
        )

    def text_to_json(self, text: str) -> str | int:
        """A short text, or the number of a long one."""
        return self.texts.to_json(text)

    def text_from_json(self, value: object) -> str:
        """A text, or the one of that number."""
        text = self.texts.find(value) if type(value) is int else value
        if not isinstance(text, str):
            raise ValueError(f"expected a text or the number of one, got {value!r:.40}")
        return text


_AT_WORK: ContextVar[StateJson] = ContextVar("state_json")
"""Whose texts and files the converter is to use: making a converter takes longer than saving a question, so all share one."""


@functools.cache
def _converter() -> Converter:
    converter = Converter(forbid_extra_keys=True)
    _both(converter, EncodedImage, StateJson.image_to_json, StateJson.image_from_json)
    _both(converter, Binding, StateJson.binding_to_json, StateJson.binding_from_json)
    _both(converter, str, StateJson.text_to_json, StateJson.text_from_json)
    converter.register_structure_hook_func(lambda kind: kind in (bool, int, float), _number_from_json)  # no enum
    converter.register_structure_hook_func(_is_plain_json, _plain_from_json)
    converter.register_unstructure_hook_func(_is_plain_json, lambda value: value)
    converter.register_structure_hook_func(_is_question_part, lambda value, _: _part_from_json(converter, value))
    converter.register_unstructure_hook_func(_is_question_part, lambda part: _part_to_json(converter, part))
    for union in (Part, Message, Step):  # behind the hooks, since their members are looked at now
        configure_tagged_union(union, converter, tag_name=_TAG)
    return converter


def _is_question_part(kind: Any) -> bool:
    return bool(kind == _QUESTION_PART)


def _part_to_json(converter: Converter, part: str | Picture | RemotePicture) -> object:
    """A text as it is, a class under its name: cattrs tags unions of classes only."""
    if isinstance(part, str):
        return converter.unstructure(part, unstructure_as=str)
    return {type(part).__name__: converter.unstructure(part, unstructure_as=type(part))}


def _part_from_json(converter: Converter, value: object) -> object:
    if not isinstance(value, dict):
        return converter.structure(value, str)
    for kind in (Picture, RemotePicture):
        if list(value) == [kind.__name__]:
            return converter.structure(value[kind.__name__], kind)
    raise ValueError(f"expected a text, a Picture or a RemotePicture, got {list(value)!r:.60}")


def _both(
    converter: Converter,
    kind: Any,
    to_json: Callable[[StateJson, Any], object],
    from_json: Callable[[StateJson, object], object],
) -> None:
    converter.register_unstructure_hook(kind, lambda value: to_json(_AT_WORK.get(), value))
    converter.register_structure_hook(kind, lambda value, _: from_json(_AT_WORK.get(), value))


def _is_plain_json(kind: Any) -> bool:
    return any(kind == plain for plain in _PLAIN_JSON)


def _plain_from_json(value: object, kind: Any) -> object:
    allowed = (dict, *((type(None),) if None in _members(kind) else ()), *((str,) if str in _members(kind) else ()))
    if not isinstance(value, allowed):
        raise ValueError(f"expected {' or '.join(each.__name__ for each in allowed)}, got {type(value).__name__}")
    return value


def _members(kind: Any) -> tuple[object, ...]:
    return tuple(None if each is type(None) else each for each in getattr(kind, "__args__", ()))


def _number_from_json(value: object, kind: type) -> object:
    """Numbers as they are: JSON keeps whole numbers and fractions apart, and a boolean is neither."""
    allowed = (int, float) if kind is float else (kind,)
    if type(value) not in allowed:
        raise ValueError(f"expected {kind.__name__}, got {value!r:.40}")
    return value


def _saved_error(error: BaseException) -> SavedFileError | None:
    """The error of a picture or array somewhere inside what cattrs gathered."""
    if isinstance(error, SavedFileError):
        return error
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return next((found for each in inner if (found := _saved_error(each)) is not None), None)
