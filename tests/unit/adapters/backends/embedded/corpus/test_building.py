"""Building the index: what is taken in, what is left out, and what happens when something goes wrong."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from contracts.ports.pictures import png_of
from openvlharness_adapters.backends.embedded.corpus import building
from openvlharness_adapters.backends.embedded.corpus.building import IndexSummary, build_index, readable_name
from openvlharness_adapters.backends.embedded.corpus.faults import CorpusError
from openvlharness_adapters.backends.embedded.corpus.index import all_documents
from openvlharness_adapters.backends.embedded.corpus.reading import (
    MOST_BYTES,
    UnreadableDocumentError,
    passages_of,
    read_document,
    sentences_of,
)
from openvlharness_adapters.backends.embedded.corpus.store import place_of, reading, url_of
from openvlharness_adapters.imaging.thumbnails import Thumbnails
from tests.support.small_corpus import drawn

_TOOLS = Thumbnails()


def _build(index: Path, *paths: Path) -> IndexSummary:
    return build_index(paths, index, decode=_TOOLS.decoded, thumbnail=_TOOLS.small)


def _held(index: Path) -> dict[str, str]:
    """URL to the text of every document, copies included."""
    with reading(index) as connection:
        return {
            document.url: "\n".join(
                text
                for (text,) in connection.execute(
                    "SELECT text FROM passages WHERE document_id = ? ORDER BY ordinal", (content,)
                )
            )
            for document, content in all_documents(connection)
        }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "one.txt").write_text("The first text.", encoding="utf-8")
    (folder / "two.md").write_text("# Second\n\nThe second text.", encoding="utf-8")
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite"


def test_a_second_run_reads_only_what_changed(root: Path, index: Path) -> None:
    first = _build(index, root)
    assert (first.added, first.unchanged, first.documents) == (2, 0, 2)
    (root / "one.txt").write_text("The first text, longer now.", encoding="utf-8")
    (root / "three.txt").write_text("The third text.", encoding="utf-8")
    second = _build(index, root)
    assert (second.added, second.changed, second.unchanged, second.removed) == (1, 1, 1, 0)
    assert _held(index)["file://corpus/docs/one.txt"] == "The first text, longer now."


def test_what_is_gone_leaves_the_index(root: Path, index: Path) -> None:
    _build(index, root)
    (root / "two.md").unlink()
    assert _build(index, root).removed == 1
    assert list(_held(index)) == ["file://corpus/docs/one.txt"]
    (root / "one.txt").unlink()
    root.rmdir()
    assert _build(index, root).removed == 1
    assert _held(index) == {}


def test_other_paths_stay(root: Path, index: Path, tmp_path: Path) -> None:
    _build(index, root)
    single = tmp_path / "single.txt"
    single.write_text("A text on its own.", encoding="utf-8")
    other = tmp_path / "more" / "docs"
    other.mkdir(parents=True)
    (other / "one.txt").write_text("Of another folder with the same name.", encoding="utf-8")
    summary = _build(index, single, other)
    assert (summary.added, summary.removed, summary.documents) == (2, 0, 4)
    assert list(_held(index)) == [
        "file://corpus/docs/one.txt",
        "file://corpus/docs/two.md",
        "file://corpus/single.txt",
        "file://corpus/docs-2/one.txt",
    ]


def test_a_part_of_a_known_folder_is_brought_up_to_date_alone(root: Path, index: Path) -> None:
    (root / "deep").mkdir()
    (root / "deep" / "inner.txt").write_text("Inside.", encoding="utf-8")
    _build(index, root)
    (root / "deep" / "inner.txt").unlink()
    (root / "deep" / "newer.txt").write_text("Also inside.", encoding="utf-8")
    (root / "one.txt").unlink()
    summary = _build(index, root / "deep")
    assert (summary.added, summary.removed) == (1, 1)
    assert "file://corpus/docs/deep/newer.txt" in _held(index)
    assert "file://corpus/docs/one.txt" in _held(index)
    (root / "two.md").write_text("changed", encoding="utf-8")
    assert _build(index, root / "two.md").changed == 1
    assert _held(index)["file://corpus/docs/two.md"] == "changed"


def test_one_content_is_kept_once_and_outlives_its_first_file(root: Path, index: Path) -> None:
    (root / "zcopy.txt").write_text("The first text.", encoding="utf-8")
    summary = _build(index, root)
    assert (summary.added, summary.duplicates, summary.documents) == (3, 1, 3)
    with reading(index) as connection:
        assert connection.execute("SELECT count(*) FROM passages").fetchone() == (2,)
    (root / "one.txt").unlink()
    _build(index, root)
    assert _held(index)["file://corpus/docs/zcopy.txt"] == "The first text."


def test_links_in_circles_and_to_nowhere(root: Path, index: Path) -> None:
    (root / "deep").mkdir()
    (root / "deep" / "up").symlink_to(root, target_is_directory=True)
    (root / "deep" / "self").symlink_to("self")
    (root / "again.txt").symlink_to(root / "one.txt")
    (root / "lost.txt").symlink_to(root / "nowhere.txt")
    summary = _build(index, root)
    assert summary.documents == 2
    assert {entry.path: entry.reason for entry in summary.left_out}["lost.txt"].startswith("cannot be read")


def test_pipes_hidden_files_and_other_kinds_are_passed_over(root: Path, index: Path) -> None:
    os.mkfifo(root / "pipe.txt")
    (root / ".secret.txt").write_text("hidden", encoding="utf-8")
    (root / "program.exe").write_bytes(b"MZ")
    summary = _build(index, root)
    assert summary.documents == 2
    assert [(entry.path, entry.reason) for entry in summary.left_out] == [("pipe.txt", "not an ordinary file")]


def test_bad_encodings_and_binary_bytes(root: Path, index: Path) -> None:
    (root / "west.txt").write_bytes("Müller übt Flöte".encode("cp1252"))
    (root / "wide.txt").write_bytes("Żółw".encode("utf-16"))
    (root / "marked.txt").write_bytes(b"\xef\xbb\xbfmarked")
    (root / "binary.txt").write_bytes(b"\x00\x01\x02")
    summary = _build(index, root)
    held = _held(index)
    assert held["file://corpus/docs/west.txt"] == "Müller übt Flöte"
    assert held["file://corpus/docs/wide.txt"] == "Żółw"
    assert held["file://corpus/docs/marked.txt"] == "marked"
    assert [note.path for note in summary.notes] == ["west.txt"]
    assert [entry.path for entry in summary.left_out] == ["binary.txt"]


def test_names_that_are_no_utf8(root: Path, index: Path) -> None:
    with open(os.fsencode(root) + b"/na\xffme.txt", "wb") as stream:
        stream.write(b"strange name")
    assert _build(index, root).left_out == ()
    assert _build(index, root).unchanged == 3
    assert "strange name" in _held(index).values()


def test_of_a_huge_text_the_beginning_is_read(root: Path, index: Path) -> None:
    (root / "huge.txt").write_bytes(b"beginning " + b"x" * MOST_BYTES + b" ending")
    summary = _build(index, root)
    assert [(note.path, "only its first" in note.reason) for note in summary.notes] == [("huge.txt", True)]


def test_damaged_pictures_and_pdf_without_a_reader_are_said(
    root: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pypdf", None)
    (root / "broken.png").write_bytes(png_of(drawn(1))[:500])
    (root / "page.pdf").write_bytes(b"%PDF-1.4")
    reasons = {entry.path: entry.reason for entry in _build(index, root).left_out}
    assert reasons["broken.png"].startswith("truncated PNG")
    assert reasons["page.pdf"] == "reading PDF needs pypdf: pip install 'openvlharness[embedded]'"


def test_a_build_that_dies_leaves_the_old_index(root: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _build(index, root)
    before = index.read_bytes()
    (root / "three.txt").write_text("The third text.", encoding="utf-8")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(building, "passages_of", die)
    with pytest.raises(KeyboardInterrupt):
        _build(index, root)
    assert index.read_bytes() == before
    assert [path.name for path in index.parent.iterdir() if "building" in path.name] == []


def test_readers_keep_the_index_they_opened(root: Path, index: Path) -> None:
    _build(index, root)
    with reading(index) as connection:
        (root / "three.txt").write_text("The third text.", encoding="utf-8")
        _build(index, root)
        assert connection.execute("SELECT count(*) FROM documents").fetchone() == (2,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM documents")
    assert len(_held(index)) == 3


def test_the_index_does_not_index_itself(root: Path) -> None:
    index = root / "index.txt"
    _build(index, root)
    assert _build(index, root).documents == 2


def test_what_is_no_index_is_not_overwritten(root: Path, tmp_path: Path) -> None:
    text = tmp_path / "precious.txt"
    text.write_text("precious" * 100, encoding="utf-8")
    with pytest.raises(CorpusError, match="expected an index of documents"):
        _build(text, root)
    assert text.read_text(encoding="utf-8") == "precious" * 100
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(CorpusError, match="another program"):
        _build(other, root)


def test_paths_that_are_not_there(root: Path, index: Path, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="found nothing there"):
        _build(index, root, tmp_path / "nowhere")
    assert not index.exists()
    with pytest.raises(CorpusError, match="at least one"):
        _build(index)


def test_sidecar_texts_are_captions(root: Path, index: Path) -> None:
    (root / "photo.png").write_bytes(png_of(drawn(4)))
    _build(index, root)
    assert _held(index)["file://corpus/docs/photo.png"] == ""
    (root / "photo.txt").write_text("A windmill at dusk.", encoding="utf-8")
    _build(index, root)
    assert _held(index)["file://corpus/docs/photo.png"] == "A windmill at dusk."
    (root / "photo.txt").unlink()
    _build(index, root)
    assert _held(index)["file://corpus/docs/photo.png"] == ""


def test_addresses_there_and_back() -> None:
    for place in ("a b/ü#?.txt", "x/100%.md", "京/茶.txt"):
        url = url_of("root", place)
        assert url.startswith("file://corpus/root/")
        assert url.isascii()
        assert place_of(url) == f"root/{place}"
    assert url_of("one.txt", "one.txt") == "file://corpus/one.txt"
    assert place_of("file:///etc/passwd") is None


def test_passages_keep_every_word_and_their_bound() -> None:
    text = "\n\n".join(f"Paragraph {n}. " + "word " * (n * 17) + "end." for n in range(40)) + "\n\n" + "y" * 3000
    pieces = passages_of(text)
    assert " ".join(" ".join(pieces).split()).replace(" ", "") == text.replace(" ", "").replace("\n", "")
    assert max(map(len, pieces)) <= 900


def test_sentences() -> None:
    assert sentences_of("It is 3.5 m. Really? 茶室。竹林。") == ["It is 3.5 m.", "Really?", "茶室。", "竹林。"]


def test_html_that_is_not_well_formed() -> None:
    page = read_document(b"<title>T & U</title><p>One<p>Two <b>bold</b><script>no</script><ul><li>three", "html")
    assert page.title == "T & U"
    assert page.text.split() == ["One", "Two", "bold", "three"]


def test_pdf_by_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    class Page:
        def extract_text(self) -> str:
            return "Text of a page."

    class Reader:
        pages = (Page(), Page())

        def __init__(self, stream: object) -> None:
            self.metadata = {"/Title": "A report"}
            if stream.read() == b"broken":  # type: ignore[attr-defined]
                raise ValueError

    monkeypatch.setitem(__import__("sys").modules, "pypdf", type("pypdf", (), {"PdfReader": Reader}))
    document = read_document(b"%PDF", "pdf")
    assert (document.title, document.text) == ("A report", "Text of a page.\n\nText of a page.")
    with pytest.raises(UnreadableDocumentError, match="ValueError"):
        read_document(b"broken", "pdf")


def test_readable_names() -> None:
    assert readable_name("harbour/old_pier-2.jpg") == "old pier 2"
