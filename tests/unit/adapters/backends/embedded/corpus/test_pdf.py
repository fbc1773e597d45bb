"""PDF files in the local corpus, read for real."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from openvlharness_adapters.backends.embedded.corpus.reading import UnreadableDocumentError, read_document
from tests.support.small_pdf import pdf_of

pytest.importorskip("pypdf", reason="needs the extra: pip install 'openvlharness[embedded]'")


def test_a_pdf_gives_its_title_and_its_text() -> None:
    document = read_document(pdf_of("Nine arches carry it.", title="The bridge"), "pdf")
    assert document.title == "The bridge"
    assert document.text.strip() == "Nine arches carry it."
    assert document.note == ""


def test_a_pdf_without_text_and_one_cut_short_are_told() -> None:
    with pytest.raises(UnreadableDocumentError, match="without text"):
        read_document(pdf_of(""), "pdf")
    with pytest.raises(UnreadableDocumentError, match="a PDF that cannot be read"):
        read_document(pdf_of("Nine arches carry it.")[:300], "pdf")


def test_nothing_but_the_reason_of_a_damaged_pdf_is_printed(tmp_path: Path) -> None:
    """In a process of its own: only where no handler is set does Python print what a package logs."""
    (tmp_path / "cut.pdf").write_bytes(pdf_of("Nine arches carry it.")[:300])
    index = tmp_path / "index.sqlite"
    line = ["-m", "openvlharness_app", "corpus", "add", str(tmp_path / "cut.pdf"), "--index", str(index)]
    done = subprocess.run([sys.executable, *line], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr.splitlines() == ["1 left out", "  cut.pdf: a PDF that cannot be read (PdfStreamError)"]
    assert done.returncode == 1
