"""The size of modules, and lines that only make sense on one machine."""

from __future__ import annotations

import re

from tests.architecture.rooms import ROOT, SHIPPED, modules, project_files

_LONGEST = 400

# Put together here, so that this file does not name what it looks for.
_ONE_MACHINE = re.compile(
    "|".join(
        [
            r"(?<![\w.])/wor" + r"k/",
            r"\.\./share" + r"d\b",
            *(re.escape(f"{host}.org") for host in ("pypi", "pythonhosted", "registry.npmjs", "deb.debian")),
        ]
    )
)


def test_no_module_has_outgrown_its_room() -> None:
    lengths = {str(path): len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in modules(*SHIPPED)}
    assert {path: length for path, length in lengths.items() if length > _LONGEST} == {}


def test_no_line_names_a_machine_or_a_registry() -> None:
    found = []
    for path in project_files():
        try:
            text = (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:  # a picture
            continue
        found += [f"{path}:{n}: {line}" for n, line in enumerate(text.splitlines(), 1) if _ONE_MACHINE.search(line)]
    assert found == []


def test_every_package_is_typed() -> None:
    assert [folder.name for folder in SHIPPED if not (folder / "py.typed").is_file()] == []


def test_every_folder_of_modules_is_a_package() -> None:
    """Without `__init__.py` a folder imports all the same, but type checker, import-linter and wheel would each see it otherwise."""
    folders = {path.parent for path in modules(*SHIPPED)}
    assert sorted(str(folder) for folder in folders if not (ROOT / folder / "__init__.py").is_file()) == []
