"""PDF files in the local corpus, read for real."""

from __future__ import annotations

from openvlharness_adapters.backends.embedded.corpus.reading import read_document
from tests.support.small_pdf import pdf_of


def test_a_pdf_gives_its_title_and_its_text() -> None:
    document = read_document(pdf_of("Nine arches carry it.", title="The bridge"), "pdf")
    assert document.title == "The bridge"
    assert document.text.strip() == "Nine arches carry it."
    assert document.note == ""
