"""The wheel as a user gets it: complete, importable outside the checkout, and content with what it declares."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import attrs
import pytest

from tests.architecture.rooms import ROOT, SHIPPED, project_files

pytestmark = pytest.mark.xdist_group("wheel")

# Nothing of the caller's environment that would let the installed package see the checkout.
_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
}


@attrs.frozen(kw_only=True)
class Installed:
    """An environment with the wheel in it, and an empty folder to work in."""

    home: Path
    folder: Path

    def run(self, *command: str | Path) -> str:
        """Run a program of the environment and return its standard output; a non-zero exit fails the test."""
        name, *arguments = command
        ran = subprocess.run(
            [self.home / "bin" / name, *arguments],
            cwd=self.folder,
            env=_ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, f"{command}: exit {ran.returncode}\n{ran.stdout}{ran.stderr}"
        return ran.stdout

    def install(self, *requirements: str | Path) -> None:
        self.pip("install", "--progress-bar", "off", *requirements)

    def pip(self, *arguments: str | Path) -> None:
        """Use the pip of the interpreter that runs the tests on this environment."""
        command = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            self.home,
            "-qq",
            "--disable-pip-version-check",
            "--no-input",
        ]
        ran = subprocess.run([*command, *arguments], env=_ENVIRONMENT, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def _made(folder: Path) -> Installed:
    venv.create(folder / "environment", with_pip=False, symlinks=True)
    (folder / "elsewhere").mkdir()
    return Installed(home=folder / "environment", folder=folder / "elsewhere")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    builder = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT]
    ran = subprocess.run(builder, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel alone in a new environment. To be quick, what it depends on is lent by the environment that runs the tests."""
    environment = _made(tmp_path_factory.mktemp("lent"))
    environment.install("--no-deps", wheel)
    site_packages = sysconfig.get_path("purelib", vars={"base": str(environment.home)})
    # A path that a .pth file adds has its own .pth files ignored, so an editable install of the lender does not leak in.
    (Path(site_packages) / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return environment


def test_wheel_carries_every_file_of_its_packages(wheel: Path) -> None:
    shipped = {folder.relative_to(ROOT).name for folder in SHIPPED}
    expected = {
        "/".join(
            ["openvlharness_contracts" if part == "contracts" and i == 0 else part for i, part in enumerate(path.parts)]
        )
        for path in project_files()
        if path.parts[0] in shipped
    }
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == expected


def test_installed_packages_are_the_wheel_s(installed: Installed) -> None:
    packages = ["openvlharness_core", "openvlharness_adapters", "openvlharness_app", "openvlharness_contracts"]
    program = f"import importlib\nfor name in {packages}: print(importlib.import_module(name).__path__[0])"
    places = installed.run("python", "-c", program).splitlines()
    assert [Path(place).name for place in places] == packages
    assert all(Path(place).is_relative_to(installed.home) for place in places), places


def test_contract_suites_import_under_their_wheel_name(installed: Installed) -> None:
    program = (
        "import importlib, pkgutil, openvlharness_contracts as suites\n"
        "names = [found.name for found in pkgutil.walk_packages(suites.__path__, 'openvlharness_contracts.')]\n"
        "for name in names: importlib.import_module(name)\n"
        "print(len(names))"
    )
    assert int(installed.run("python", "-W", "error", "-c", program)) > 0


@pytest.mark.parametrize("command", ["openvlharness", "openvlharness-eval"])
def test_console_script_helps(installed: Installed, command: str) -> None:
    assert "Usage" in installed.run(command, "--help")


def test_presets_are_found_in_the_installed_package(installed: Installed) -> None:
    assert "embedded" in installed.run("openvlharness", "presets")


@pytest.mark.heavy
def test_wheel_declares_what_it_needs(wheel: Path, tmp_path: Path) -> None:
    """Nothing lent: first the base with its declared dependencies alone, then the embedded default answers for real."""
    environment = _made(tmp_path)
    environment.install(wheel)
    environment.pip("check")
    assert "Usage" in environment.run("openvlharness", "--help")
    assert "embedded" in environment.run("openvlharness", "presets")
    assert "zoom" in environment.run("openvlharness", "tools", "--json")

    environment.install(f"{wheel}[embedded]")
    environment.pip("check")
    answer = environment.run("openvlharness", "ask", ROOT / "examples" / "data" / "receipt.jpg", "What is the total?")
    assert answer == "27.14\n"
