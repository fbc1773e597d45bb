"""Where the project keeps what, for the tests that read its source."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "openvlharness_core"
ADAPTERS = ROOT / "openvlharness_adapters"
APP = ROOT / "openvlharness_app"
CONTRACTS = ROOT / "contracts"
SHIPPED = (CORE, ADAPTERS, APP, CONTRACTS)


def modules(*folders: Path) -> list[Path]:
    """Return every Python file below `folders`, relative to the root, sorted."""
    return sorted(path.relative_to(ROOT) for folder in folders for path in folder.rglob("*.py"))


def dotted(module: Path) -> str:
    """Return the import name of a file that `modules` returned."""
    parts = module.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def tree(module: Path) -> ast.Module:
    return ast.parse((ROOT / module).read_text(encoding="utf-8"), filename=str(module))


def imports(source: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of every absolute import, wherever it stands: in a function and under TYPE_CHECKING too.

    `from a import b` yields `a.b`: whether b is a module or a value in a, a rule for `a` covers it.
    """
    for node in ast.walk(source):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def project_files() -> list[Path]:
    """Return the files that are, or are about to be, part of the repository, relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout
    paths = (Path(name) for name in listed.decode().split("\0") if name)
    return sorted(path for path in paths if (ROOT / path).is_file())
