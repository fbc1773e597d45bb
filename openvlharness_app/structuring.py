"""Plain values to frozen classes, by strict cattrs hooks, with the path of everything that does not fit.

Left alone, cattrs takes `"false"` for true, 0.7 for 0, null for "None" and a string for a list of letters. Here nothing
is converted: a value fits its small type or it is a misfit.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import attrs
from cattrs import Converter
from cattrs.cols import homogenous_tuple_structure_factory, mapping_structure_factory
from cattrs.errors import (
    AttributeValidationNote,
    ClassValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
    IterableValidationNote,
)
from cattrs.gen import make_dict_structure_fn, override

from openvlharness_app.backend_settings import NOT_IN_FILE
from openvlharness_app.faults import Filled, KeyPath, Misfit, Unfit, nearest, shown, type_of
from openvlharness_app.kinds import MAY_BE_LEFT_OUT, ONE_OR_MANY, Flag, Kind, String, kind_of

T = TypeVar("T")
Hook = Callable[[Any, Any], Any]


def structured(value: object, cls: type[T]) -> tuple[T | None, list[Misfit]]:
    """`value` as a `cls`, or everything in it that does not fit."""
    converter = strict_converter()
    try:
        return converter.structure(value, cls), []
    except (ClassValidationError, Unfit) as error:
        return None, list(_misfits(error, ()))


def attributes_of(cls: type) -> dict[str, tuple[object, attrs.Attribute[Any]]]:
    """Type and attribute of every key that a section may have."""
    hints = get_type_hints(cls, include_extras=True)
    return {
        field.name: (hints[field.name], field) for field in attrs.fields(cls) if not field.metadata.get(NOT_IN_FILE)
    }


def variants_of(type_: object) -> dict[str, type]:
    """Sections told apart by their `name`, in a union of such; empty for any other type."""
    members = get_args(type_) if get_origin(type_) in {Union, types.UnionType} else ()
    if not members or not all(attrs.has(member) for member in members):
        return {}
    return {name: member for member in members for name in get_args(attributes_of(member)["name"][0])}


def optional_of(type_: object) -> object | None:
    """`T` of `T | None`; `None` for any other type."""
    members = get_args(type_) if get_origin(type_) in {Union, types.UnionType} else ()
    others = [member for member in members if member is not type(None)]
    return others[0] if len(members) == 2 and len(others) == 1 else None


def expected_of(type_: object) -> str:
    """What fits `type_`, in the words of a fault."""
    kind = kind_of(type_)
    if kind is not None:
        return kind.expected
    if get_origin(type_) is Annotated:
        inner, *markers = get_args(type_)
        if ONE_OR_MANY in markers:
            return f"{expected_of(get_args(inner)[0])}, or a list of them"
        return expected_of(optional_of(inner) if MAY_BE_LEFT_OUT in markers else inner)
    if get_origin(type_) is Literal:
        names = [repr(name) if name == "" else str(name) for name in get_args(type_)]
        return f"one of {', '.join(names)}" if len(names) > 1 else names[0]
    if get_origin(type_) is tuple:
        return "a list"
    inner = optional_of(type_)
    if inner is not None:
        return f"{expected_of(inner)}, or null"
    plain = {str: "a string", bool: "true or false", int: "an integer", float: "a number"}
    return plain.get(type_, "a mapping") if isinstance(type_, type) else "a mapping"


@functools.cache
def strict_converter() -> Converter:
    """The converter. It is shared: register nothing on it."""
    converter = Converter(detailed_validation=True)
    # cattrs asks the hook that was registered last first.
    converter.register_structure_hook_factory(attrs.has, functools.partial(_section, converter))
    converter.register_structure_hook_factory(_is(tuple), functools.partial(_list, converter))
    converter.register_structure_hook_factory(_is(Mapping), functools.partial(_by_name, converter))
    converter.register_structure_hook_factory(_is(Literal), lambda _: _choice)
    converter.register_structure_hook_factory(lambda t: optional_of(t) is not None, _partial(_nullable, converter))
    converter.register_structure_hook_factory(lambda t: bool(variants_of(t)), _partial(_variant, converter))
    converter.register_structure_hook_factory(_is(Annotated), _partial(_annotated, converter))
    for plain, kinded in ((str, String), (bool, Flag)):
        converter.register_structure_hook(plain, _reading(kinded))
    return converter


def _partial(factory: Callable[[Converter, Any], Hook], converter: Converter) -> Callable[[Any], Hook]:
    return functools.partial(factory, converter)


def _is(origin: object) -> Callable[[Any], bool]:
    return lambda type_: get_origin(type_) is origin or (origin is Mapping and get_origin(type_) is dict)


def _section(converter: Converter, cls: type) -> Hook:
    hidden: dict[str, Any] = {
        field.name: override(omit=True) for field in attrs.fields(cls) if field.metadata.get(NOT_IN_FILE)
    }
    structure: Hook = make_dict_structure_fn(cls, converter, _cattrs_forbid_extra_keys=True, **hidden)

    def hook(value: Any, type_: Any) -> Any:
        return structure(_mapping(value), type_)

    return hook


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise Unfit("a mapping", "null (write {} for an empty one)" if value is None else type_of(value))
    return value


def _by_name(converter: Converter, type_: Any) -> Hook:
    structure = mapping_structure_factory(type_, converter)
    return lambda value, _: structure(_mapping(value), type_)


def _list(converter: Converter, type_: Any) -> Hook:
    structure = homogenous_tuple_structure_factory(type_, converter)

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise Unfit("a list", type_of(value))
        return structure(value, type_)

    return hook


def _choice(value: Any, type_: Any) -> Any:
    names = get_args(type_)
    if not isinstance(value, str) or value not in names:
        raise Unfit(expected_of(type_), shown(value), suggestion=nearest(value, names))
    return str(value)


def _nullable(converter: Converter, type_: Any) -> Hook:
    inner = optional_of(type_)
    structure = converter.get_structure_hook(inner)
    kind = kind_of(inner)

    def hook(value: Any, _: Any) -> Any:
        whole = isinstance(value, Filled) and value.whole and kind is not None and kind.parse is not None
        if value is None or (whole and value == "null"):
            return None
        try:
            return structure(value, inner)
        except Unfit as unfit:
            unfit.expected += ", or null"
            raise

    return hook


def _variant(converter: Converter, type_: Any) -> Hook:
    variants = variants_of(type_)
    names = ", ".join(variants)
    structures = {name: converter.get_structure_hook(member) for name, member in variants.items()}

    def hook(value: Any, _: Any) -> Any:
        name = _mapping(value).get("name")
        if name is None:
            raise Unfit(f"a mapping with name: one of {names}", "none")
        if not isinstance(name, str) or name not in variants:
            raise Unfit(f"a name out of {names}", shown(name), suggestion=nearest(name, variants))
        return structures[name](value, variants[name])

    return hook


def _annotated(converter: Converter, type_: Any) -> Hook:
    kind = kind_of(type_)
    if kind is not None:
        return _reading(type_)
    inner, *markers = get_args(type_)
    if MAY_BE_LEFT_OUT in markers:
        present = optional_of(inner)
        structure = converter.get_structure_hook(present)

        def required(value: Any, _: Any) -> Any:
            if value is None:
                section = isinstance(present, type) and attrs.has(present)
                hint = "write {} for an empty one" if section else "leave the key out for its default"
                raise Unfit(expected_of(present), f"null ({hint})")
            return structure(value, present)

        return required
    structure = converter.get_structure_hook(inner)
    if ONE_OR_MANY in markers:
        (item, _ellipsis) = get_args(inner)
        single = converter.get_structure_hook(item)

        def one_or_many(value: Any, _: Any) -> Any:
            if not isinstance(value, list | tuple):
                return (single(value, item),)
            if not value:
                raise Unfit("at least one item", "an empty list")
            return structure(value, inner)

        return one_or_many
    return lambda value, _: structure(value, inner)


def _reading(type_: Any) -> Hook:
    kind = kind_of(type_)
    assert isinstance(kind, Kind)
    read = kind.read
    return lambda value, _: read(value)


def _misfits(error: BaseException, path: KeyPath) -> Iterator[Misfit]:
    match error:
        case ClassValidationError() | IterableValidationError():
            for inner in error.exceptions:
                note = _note(inner)
                if isinstance(note, AttributeValidationNote) and isinstance(inner, KeyError):
                    yield (*path, note.name), Unfit(expected_of(note.type), "nothing")
                elif isinstance(note, AttributeValidationNote):
                    yield from _misfits(inner, (*path, note.name))
                elif isinstance(note, IterableValidationNote):
                    yield from _misfits(inner, (*path, note.index))
                else:
                    yield from _misfits(inner, path)
        case ForbiddenExtraKeysError():
            known = attributes_of(error.cl)
            for name in error.extra_fields:
                got = "one that nothing reads"
                yield (*path, name), Unfit("a known key", got, suggestion=nearest(name, known))
        case Unfit():
            yield path, error
        case _:
            raise error


def _note(error: BaseException) -> AttributeValidationNote | IterableValidationNote | None:
    notes = getattr(error, "__notes__", ())
    return next((n for n in notes if isinstance(n, AttributeValidationNote | IterableValidationNote)), None)
