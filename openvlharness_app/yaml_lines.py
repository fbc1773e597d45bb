"""YAML as plain values together with the line of every key.

PyYAML composes the nodes; the values are made here, by the core schema of YAML 1.2: `yes`, `on`, `12:30` and dates stay
strings and `1e3` is a number, so that an editor with the JSON Schema reads a file as the loader does. Merge keys are
kept. Nothing of the text goes into a fault but keys: a broken line may hold a secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

import attrs
import yaml
from yaml.composer import Composer
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner
from yaml.tokens import Token

from openvlharness_adapters.files.local import other_than_file
from openvlharness_app.faults import KeyPath, Misfit, Unfit, type_of

_MOST_BYTES = 16 * 1024**2
_MOST_VALUES = 20_000  # aliases of aliases multiply; no configuration comes near
_MOST_DEPTH = 64
_TAG = "tag:yaml.org,2002:"
_HANDED_OVER = re.compile(r"/dev/stdin|/dev/fd/[0-9]+|/proc/self/fd/[0-9]+")  # by the shell, which fills them
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")

_SCALARS: Mapping[str, tuple[str, str]] = {
    "null": (r"null|Null|NULL|~|", "nN~\0"),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
    "merge": ("<<", "<"),
}


class _CoreSchemaLoader(Reader, Scanner, Parser, Composer, BaseResolver):
    """Text to nodes; only `compose` is used of it."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        BaseResolver.__init__(self)

    def fetch_flow_collection_start(self, TokenClass: type[Token]) -> None:  # noqa: N803 - the name is PyYAML's
        """Stops at the first bracket that is too deep: what the scanner does grows with the square of the depth."""
        if self.flow_level > _MOST_DEPTH:
            raise Unfit(f"at most {_MOST_DEPTH} levels", "more", line=self.line + 1)
        super().fetch_flow_collection_start(TokenClass)


for _name, (_pattern, _first) in _SCALARS.items():
    _firsts = [character if character != "\0" else "" for character in _first]
    _CoreSchemaLoader.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_pattern})\Z"), _firsts)


@attrs.frozen(kw_only=True)
class Document:
    """A parsed file.

    Attributes:
        tree: mappings with string keys, lists, strings, numbers, booleans and null.
        lines: line of every key and list item, from 1.
        misfits: what could not be taken; `tree` is what was left.
    """

    tree: object
    lines: Mapping[KeyPath, int] = attrs.field(factory=dict)
    misfits: tuple[Misfit, ...] = ()


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file of settings. Raises Unfit, also with a line, if it is none.

    A named pipe or a device is refused unopened, since nobody may ever write into it; what a shell hands over is read.
    """
    try:
        kind = None if _HANDED_OVER.fullmatch(os.fspath(path)) else other_than_file(os.stat(path).st_mode)
        data = b"" if kind else _beginning_of(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        unreadable = Unfit("a readable file", (reason or "a path that cannot be opened").lower())
    else:
        if kind:
            raise Unfit("a readable file", kind)
        if len(data) > _MOST_BYTES:
            raise Unfit(f"a file of at most {_MOST_BYTES // 1024**2} MiB", "a larger one")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            unreadable = Unfit("UTF-8 text", "bytes that are none", line=line)
    raise unreadable  # outside of the handlers: their exceptions carry the bytes of the file


def _beginning_of(path: str | os.PathLike[str]) -> bytes:
    with open(path, "rb") as file:
        return file.read(_MOST_BYTES + 1)


def parse_yaml(text: str) -> Document:
    """The document in `text`. Raises Unfit, with the line, if it is no YAML."""
    try:
        node = _CoreSchemaLoader(text).get_single_node()
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        broken = Unfit("YAML", f"the character #x{int(error.character):04x}", line=line)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        broken = Unfit("YAML", _problem(error), line=None if mark is None else mark.line + 1)
    except RecursionError:
        broken = Unfit(f"at most {_MOST_DEPTH} levels", "more")
    else:
        builder = _Builder()
        tree = None if node is None else builder.value(node, (), ())
        return Document(tree=tree, lines=builder.lines, misfits=tuple(builder.misfits))
    raise broken


def _problem(error: yaml.MarkedYAMLError) -> str:
    """What the parser says, without what it quotes of the file; single signs and names of tokens may stay."""
    said = error.problem or "unknown"
    if said.startswith("but ") and error.context:
        said = f"{error.context}, {said}"

    def kept(quoted: re.Match[str]) -> str:
        inner = quoted[0][1:-1]
        return quoted[0] if len(inner) <= 2 or inner.startswith("<") else "'…'"

    return f"a syntax error ({_QUOTED.sub(kept, said)})"


@attrs.define
class _Builder:
    lines: dict[KeyPath, int] = attrs.field(factory=dict)
    misfits: list[Misfit] = attrs.field(factory=list)
    values: int = 0

    def value(self, node: Node, path: KeyPath, above: tuple[Node, ...]) -> object:
        line = node.start_mark.line + 1
        self.values += 1
        if self.values > _MOST_VALUES:
            raise Unfit(f"at most {_MOST_VALUES} values", "more", line=line)
        if len(above) > _MOST_DEPTH:
            raise Unfit(f"at most {_MOST_DEPTH} levels", "more", line=line)
        if any(node is other for other in above):
            raise Unfit("values that do not contain themselves", "an alias of its own surroundings", line=line)
        below = (*above, node)
        try:
            if isinstance(node, MappingNode) and node.tag == _TAG + "map":
                return self.mapping(node, path, below)
            if isinstance(node, SequenceNode) and node.tag == _TAG + "seq":
                return [self.item(item, (*path, at), below) for at, item in enumerate(node.value)]
            if isinstance(node, ScalarNode):
                return _scalar(node)
            raise Unfit("plain YAML", "a tag that stands for another type")
        except Unfit as unfit:
            if unfit.line is not None:
                raise
            unfit.line = line
            self.misfits.append((path, unfit))
            return None

    def item(self, node: Node, path: KeyPath, above: tuple[Node, ...]) -> object:
        self.lines.setdefault(path, node.start_mark.line + 1)
        return self.value(node, path, above)

    def mapping(self, node: MappingNode, path: KeyPath, above: tuple[Node, ...]) -> dict[str, object]:
        own: dict[str, object] = {}
        merged: list[tuple[str, Node, Node]] = []
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == _TAG + "merge":
                merged += _merged(value_node, line)
                continue
            key = key_node.value
            if key_node.tag != _TAG + "str" or not isinstance(key, str):
                kind = type_of(_scalar(key_node) if isinstance(key_node, ScalarNode) else None)
                got = kind if isinstance(key_node, ScalarNode) else "a mapping or a list"
                self.misfits.append((path, Unfit("keys that are strings", got, line=line)))
            elif key in own:
                first = self.lines[(*path, key)]
                twice = Unfit("each key once", f"it again, after line {first}", line=line)
                self.misfits.append(((*path, key), twice))
            else:
                self.lines[(*path, key)] = line
                own[key] = self.value(value_node, (*path, key), above)
        for key, key_node, value_node in merged:
            if key not in own:
                self.lines[(*path, key)] = key_node.start_mark.line + 1
                own[key] = self.value(value_node, (*path, key), above)
        return own


def _merged(node: Node, line: int, depth: int = 0) -> Iterator[tuple[str, Node, Node]]:
    """Keys that a merge key brings, the ones that win first."""
    if depth > _MOST_DEPTH:
        raise Unfit("values that do not contain themselves", "an alias of its own surroundings", line=line)
    if isinstance(node, MappingNode):
        further: list[Node] = []
        for key_node, value_node in node.value:
            if key_node.tag == _TAG + "merge":
                further.append(value_node)
            elif isinstance(key_node.value, str):
                yield key_node.value, key_node, value_node
        for inner in further:
            yield from _merged(inner, line, depth + 1)
    elif isinstance(node, SequenceNode) and depth == 0:
        for item in node.value:
            yield from _merged(item, line, depth + 1)
    else:
        raise Unfit("<<: with a mapping or a list of mappings", "something else")


def _scalar(node: ScalarNode) -> object:
    text = str(node.value)
    name = node.tag.removeprefix(_TAG)
    fits = name in _SCALARS and re.fullmatch(_SCALARS[name][0], text) is not None
    match name:
        case "str" | "!":
            return text
        case "null" if fits:
            return None
        case "bool" if fits:
            return text.lower() == "true"
        case "int" if fits and len(text) < 400:
            return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)
        case "float" if fits:
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        case "merge":
            return text
        case "int":
            raise Unfit("an integer", "something else or too many digits")
        case "null" | "bool" | "float":
            raise Unfit(f"a {name} after its tag", "something else")
    raise Unfit("plain YAML", "a tag that stands for another type")
