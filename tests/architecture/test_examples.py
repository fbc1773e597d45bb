"""Every example runs as a reader would run it: on its own, from a folder of its own, warnings being errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.rooms import ROOT

_EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", [pytest.param(path, id=path.name) for path in _EXAMPLES])
def test_example_runs(example: Path, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", example],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.strip(), "an example shows something"
