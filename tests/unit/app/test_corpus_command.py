"""`openvlharness corpus`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from openvlharness_app.cli.corpus import command


def test_add_and_list(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# Herons\n\nThey nest in the alders.", encoding="utf-8")
    (tmp_path / "notes" / "broken.png").write_bytes(b"no picture")
    index = str(tmp_path / "index.sqlite")
    added = CliRunner().invoke(command, ["add", str(tmp_path / "notes"), "--index", index])
    assert added.exit_code == 0
    assert added.stdout == f"{index}: 1 documents, 0 pictures\n"
    assert "1 added, 1 left out" in added.stderr
    assert "broken.png: expected JPEG" in added.stderr
    listed = CliRunner().invoke(command, ["list", "--index", index])
    assert listed.stdout == "file://corpus/notes/a.md  Herons (markdown)\n"


def test_json(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text", encoding="utf-8")
    index = str(tmp_path / "index.sqlite")
    added = CliRunner().invoke(command, ["add", str(tmp_path / "a.txt"), "--index", index, "--json"])
    assert json.loads(added.stdout)["added"] == 1
    listed = CliRunner().invoke(command, ["list", "--index", index, "--json"])
    assert json.loads(listed.stdout) == [{"url": "file://corpus/a.txt", "title": "a", "kind": "text", "note": ""}]


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_where_nothing_could_be_indexed_it_ends_with_1(tmp_path: Path, more: tuple[str, ...]) -> None:
    index = str(tmp_path / "index.sqlite")
    (tmp_path / "broken.png").write_bytes(b"no picture")
    line = ["add", str(tmp_path / "broken.png"), "--index", index, *more]
    alone = CliRunner().invoke(command, line)
    assert alone.exit_code == 1
    assert "broken.png" in alone.stderr + alone.stdout
    (tmp_path / "a.txt").write_text("text", encoding="utf-8")
    assert CliRunner().invoke(command, [*line, str(tmp_path / "a.txt")]).exit_code == 0
    assert CliRunner().invoke(command, [*line, str(tmp_path / "a.txt")]).exit_code == 0  # it is still there
    (tmp_path / "empty").mkdir()
    assert CliRunner().invoke(command, ["add", str(tmp_path / "empty"), "--index", index]).exit_code == 0


def test_faults_end_with_2(tmp_path: Path) -> None:
    index = str(tmp_path / "index.sqlite")
    missing = CliRunner().invoke(command, ["add", str(tmp_path / "nowhere"), "--index", index])
    assert missing.exit_code == 2
    assert "found nothing there" in missing.stderr
    assert CliRunner().invoke(command, ["list", "--index", index]).exit_code == 2
    assert CliRunner().invoke(command, ["add", "--index", index]).exit_code == 2
