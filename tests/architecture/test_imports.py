"""Who may import whom, read from the source; and what an import costs, seen from a fresh interpreter."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.architecture.rooms import (
    ADAPTERS,
    APP,
    CONTRACTS,
    CORE,
    ROOT,
    SHIPPED,
    dotted,
    imports,
    modules,
    tree,
    within,
)

# What core may name. Left out on purpose: whatever reads a clock, the environment, a file or a source of chance.
_CORE_MAY_IMPORT = (
    "__future__", "abc", "ast", "asyncio", "base64", "binascii", "bisect", "collections", "contextlib", "copy", "dataclasses",
    "decimal", "difflib", "enum", "fractions", "functools", "hashlib", "heapq", "html", "importlib", "inspect", "itertools", "json", "keyword",
    "math", "numbers", "operator", "re", "statistics", "string", "struct", "textwrap", "traceback", "types", "typing", "unicodedata",
    "urllib.parse", "weakref", "zlib",
    "attrs", "numpy", "openvlharness_core",
)  # fmt: skip

# Calls that perform, reachable without an import, or through a module that is allowed for its other half.
_BUILTINS_THAT_PERFORM = {"breakpoint", "eval", "exec", "input", "open", "print"}
_HALVES_THAT_PERFORM = {
    "asyncio": {
        "create_subprocess_exec", "create_subprocess_shell", "new_event_loop", "open_connection", "run", "Runner", "sleep",
        "start_server", "timeout", "timeout_at", "to_thread", "wait_for",
    },
    "np": {"fromfile", "load", "loadtxt", "memmap", "random", "save", "savetxt", "savez"},
    "numpy": {"fromfile", "load", "loadtxt", "memmap", "random", "save", "savetxt", "savez"},
}  # fmt: skip

_CORE_MODULES = modules(CORE)


def _named(paths: Iterable[Path]) -> list[object]:
    return [pytest.param(path, id=dotted(path)) for path in paths]


@pytest.mark.parametrize("module", _named(_CORE_MODULES))
def test_core_imports_only_what_it_may(module: Path) -> None:
    strangers = [
        f"line {line}: {name}"
        for line, name in imports(tree(module))
        if not any(within(name, allowed) for allowed in _CORE_MAY_IMPORT)
    ]
    assert strangers == []


def _performing_calls(source: ast.AST) -> list[str]:
    found = []
    # `asyncio.sleep(0)` asks no clock: it lets other tasks run.
    yielding = {
        node.func for node in ast.walk(source) if isinstance(node, ast.Call) and ast.unparse(node) == "asyncio.sleep(0)"
    }
    for node in ast.walk(source):
        if node in yielding:
            continue
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in _BUILTINS_THAT_PERFORM:
                found.append(f"line {node.lineno}: {name}()")
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if name in _HALVES_THAT_PERFORM.get(owner, ()):
                found.append(f"line {node.lineno}: {owner}.{name}")
            case ast.ImportFrom(module=str(owner), names=aliases, level=0):
                forbidden = _HALVES_THAT_PERFORM.get(owner, set())
                found.extend(f"line {node.lineno}: {owner}.{a.name}" for a in aliases if a.name in forbidden)
    return found


@pytest.mark.parametrize("module", _named(_CORE_MODULES))
def test_core_performs_nothing(module: Path) -> None:
    assert _performing_calls(tree(module)) == []


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("if TYPE_CHECKING:\n    from openai.types import Completion", "openai.types.Completion"),
        ("def f():\n    import os.path", "os.path"),
        ("from urllib import request", "urllib.request"),
        ("import attr", "attr"),
    ],
)
def test_the_reading_of_imports_sees(line: str, fault: str) -> None:
    names = [name for _, name in imports(ast.parse(line))]
    assert names == [fault]
    assert not any(within(fault, allowed) for allowed in _CORE_MAY_IMPORT)


@pytest.mark.parametrize(
    "line",
    ["text = open('x').read()", "await asyncio.sleep(1)", "from asyncio import sleep", "np.random.default_rng()"],
)
def test_the_reading_of_calls_sees(line: str) -> None:
    assert len(_performing_calls(ast.parse(line))) == 1


def test_the_reading_of_calls_lets_a_task_step_aside() -> None:
    assert _performing_calls(ast.parse("await asyncio.sleep(0)")) == []


@pytest.mark.parametrize("module", _named(modules(CONTRACTS)))
def test_contracts_name_themselves_relatively(module: Path) -> None:
    """The wheel carries the folder under another name; and a suite that knew an adapter could not judge another one."""
    absolute = (
        "contracts",
        "openvlharness_contracts",
        "openvlharness_adapters",
        "openvlharness_app",
        "tests",
        "examples",
    )
    source = tree(module)
    assert [name for _, name in imports(source) if any(within(name, root) for root in absolute)] == []
    depth = len(module.parts) - 1  # `from .x` in contracts/a.py has level 1 and stays inside
    climbing = [node.lineno for node in ast.walk(source) if isinstance(node, ast.ImportFrom) and node.level > depth]
    assert climbing == []


@pytest.mark.parametrize("module", _named(modules(ADAPTERS, APP, CONTRACTS)))
def test_pillow_lives_in_imaging(module: Path) -> None:
    if module.is_relative_to("openvlharness_adapters/imaging"):
        return
    assert [name for _, name in imports(tree(module)) if within(name, "PIL")] == []


def test_import_rules_of_the_project_file_hold() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def _lazy_packages() -> list[Path]:
    return [
        path
        for path in modules(*SHIPPED)
        if path.name == "__init__.py"
        and any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree(path).body)
    ]


@pytest.mark.parametrize("init", _named(_lazy_packages()))
def test_lazy_exports_agree(init: Path) -> None:
    """`__all__`, the table that `__getattr__` reads and the imports that type checkers see are the same names."""
    package = importlib.import_module(dotted(init))
    assert list(package.__all__) == sorted(package.__all__)

    tables = [vars(package)[name] for name in package.__getattr__.__code__.co_names if name in vars(package)]
    [table] = [table for table in tables if isinstance(table, Mapping)]
    assert sorted(table) == list(package.__all__)

    [checked] = [
        node
        for node in tree(init).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    ]
    seen = [
        alias.asname or alias.name for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    assert sorted(seen) == list(package.__all__)

    for name in package.__all__:
        try:
            getattr(package, name)
        except ModuleNotFoundError as missing:
            if str(missing.name).startswith("openvlharness"):  # else it is an extra that is not installed
                raise
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = package.no_such_name


_REPORT_MODULES = (
    "import json, sys; print('\\n' + json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
)


def _third_party_after(program: str) -> set[str]:
    """Run `program` in a fresh interpreter and return the packages it loaded that are neither ours nor Python's."""

    def loaded(text: str) -> set[str]:
        ran = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return set(json.loads(ran.stdout.splitlines()[-1]))

    at_start = loaded(_REPORT_MODULES)  # what start-up hooks of the environment load on their own
    fresh = loaded(f"{program}\n{_REPORT_MODULES}") - at_start - sys.stdlib_module_names
    return {name for name in fresh if not name.startswith("openvlharness")}


def test_importing_core_loads_nothing_but_numpy_and_attrs() -> None:
    assert _third_party_after("import openvlharness_core") <= {"attr", "attrs", "numpy"}
    everything = "\n".join(f"import {dotted(module)}" for module in _CORE_MODULES)
    assert _third_party_after(everything) <= {"attr", "attrs", "numpy"}


@pytest.mark.parametrize("name", ["errors", "question", "messages", "profile", "prompts", "ports.model"])
def test_a_module_of_values_costs_no_numpy(name: str) -> None:
    assert _third_party_after(f"import openvlharness_core.{name}") <= {"attr", "attrs"}


def test_a_lazy_name_costs_its_own_module_only() -> None:
    assert _third_party_after("from openvlharness_core import HarnessError") == set()


def test_help_loads_click_and_nothing_else() -> None:
    # What the entry point runs; the entry point itself ends the process.
    program = (
        "from openvlharness_app.cli.main import cli\n"
        "try:\n"
        "    cli.main(['--help'], prog_name='openvlharness')\n"
        "except SystemExit as done:\n"
        "    assert not done.code, done.code"
    )
    assert _third_party_after(program) <= {"click"}
