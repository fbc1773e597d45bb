"""What comes back from a worker: read within bounds, and never believed unchecked."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

import hypothesis.strategies as st
import pytest
from hypothesis import given

from openvlharness_adapters.executor import wire

_PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
_WEBP = b"RIFF\x00\x00\x00\x00WEBPVP8 "


@pytest.fixture
def file() -> Iterator[BinaryIO]:
    with tempfile.TemporaryFile() as opened:
        opened.truncate(wire.FINDINGS_BYTES)
        yield opened


def _written(file: BinaryIO, header: object, rest: bytes = b"") -> int:
    encoded = json.dumps(header).encode()
    file.write(b"D" + bytes(7) + len(encoded).to_bytes(8, "little") + encoded + rest)
    file.flush()
    return file.fileno()


def test_findings_come_through(file: BinaryIO) -> None:
    images = [("a.png", _PNG), ("b", b"\xff\xd8\xff\xe0"), ("c.webp", _WEBP)]
    wire.write_findings(wire.open_findings(file.fileno()), "why", {"x": "1", "é": "2"}, images)
    expected = wire.Findings(True, True, "why", {"x": "1", "é": "2"}, tuple(images))
    assert wire.read_findings(file.fileno()) == expected


def test_how_far_a_run_came(file: BinaryIO) -> None:
    assert wire.read_findings(file.fileno()) == wire.Findings(started=False)
    wire.mark_started(wire.open_findings(file.fileno()))
    assert wire.read_findings(file.fileno()) == wire.Findings(started=True)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"extra": 1}, "header"),
        ({"error": 5}, "error"),
        ({"error": "x" * 4001}, "error"),
        ({"variables": []}, "variables"),
        ({"variables": {str(i): "" for i in range(41)}}, "variables"),
        ({"variables": {"x": 1}}, "variables"),
        ({"variables": {"x": "y" * 401}}, "variables"),
        ({"variables": {"x" * 201: ""}}, "variables"),
        ({"images": {}}, "images"),
        ({"images": [["a", 0, 28]] * 9}, "images"),
        ({"images": [["a", 0]]}, "images"),
        ({"images": [["a", -1, 28]]}, "images"),
        ({"images": [["a", 0, 0]]}, "images"),
        ({"images": [["a", 0, 2**40]]}, "images"),
        ({"images": [["a", 2**70, 28]]}, "images"),
        ({"images": [["a", 5, 28]]}, "images"),
        ({"images": [["a", 1, 27]]}, "images"),
        ({"images": [[3, 0, 28]]}, "images"),
    ],
)
def test_a_field_that_no_worker_writes_is_named(file: BinaryIO, change: dict[str, object], told: str) -> None:
    good: dict[str, object] = {"error": None, "variables": {}, "images": [["a", 0, 28]]}
    with pytest.raises(wire.DamagedFindingsError, match=f"^{told}: expected"):
        wire.read_findings(_written(file, good | change, _PNG))


def test_an_endless_header_is_not_read(file: BinaryIO) -> None:
    file.write(b"D" + bytes(7) + (2**60).to_bytes(8, "little"))
    file.flush()
    with pytest.raises(wire.DamagedFindingsError, match=r"^header: expected at most .* bytes"):
        wire.read_findings(file.fileno())


def test_lone_surrogates_are_replaced(file: BinaryIO) -> None:
    header = {"error": "a\ud83d", "variables": {"x": "\ud83d"}, "images": []}
    findings = wire.read_findings(_written(file, header))
    assert (findings.error, findings.variables) == ("a\ufffd", {"x": "\ufffd"})


@given(st.binary(max_size=200))
def test_whatever_the_program_wrote_is_read_or_refused(data: bytes) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"D" + bytes(7) + len(data).to_bytes(8, "little") + data)
        file.flush()
        try:
            findings = wire.read_findings(file.fileno())
        except wire.DamagedFindingsError:
            return
        assert findings.done
