"""Bytes of a document to its title, its text and the captions it has for pictures."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from html.parser import HTMLParser
from io import BytesIO
from typing import Any

import attrs

from openvlharness_adapters.backends.embedded.corpus.walking import Kind

MOST_BYTES = 8 << 20
"""Of a text that is longer, the beginning is indexed."""
MOST_PDF_BYTES = 64 << 20
MOST_PAGES = 500
PASSAGE_CHARACTERS = 900
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "br",
        "dd",
        "div",
        "dl",
        "dt",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "li",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "td",
        "th",
        "tr",
        "ul",
    ]
)
_UNSEEN = frozenset(("script", "style", "noscript", "template", "svg"))
_NO_LOG = logging.NullHandler()
"""What is wrong with a PDF is told here; without a handler Python would also print pypdf's own lines to stderr."""
_MARKDOWN_PICTURE = re.compile(r"!\[([^\]\n]{1,500})\]\(\s*<?([^)\s>]{1,500})>?[^)\n]{0,300}\)")
_MARKDOWN_LINK = re.compile(r"\[([^\]\n]{1,500})\]\([^)\n]{1,800}\)")
_MARKDOWN_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)


@attrs.frozen(kw_only=True)
class ReadDocument:
    """What a file says.

    Attributes:
        title: empty if it names none.
        text: paragraphs, an empty line between them.
        captions: (reference as written, words) of the pictures it shows.
        note: what has to be said, such as that only its beginning was read.
    """

    title: str
    text: str
    captions: tuple[tuple[str, str], ...] = ()
    note: str = ""


class UnreadableDocumentError(Exception):
    """A file whose text cannot be had; the message says why. Caught by whoever builds the index."""


def read_document(data: bytes, kind: Kind) -> ReadDocument:
    """Read one file of text.

    Args:
        data: its bytes; more than `MOST_BYTES` of text are not looked at.
        kind: `text`, `markdown`, `html` or `pdf`.

    Raises:
        UnreadableDocumentError: no text in it, or no means here to read it.
    """
    if kind == "pdf":
        return _pdf(data)
    note = "" if len(data) <= MOST_BYTES else f"only its first {MOST_BYTES >> 20} MB were read"
    text, encoding_note = _decoded(data[:MOST_BYTES])
    readers: dict[str, Callable[[str], ReadDocument]] = {"markdown": _markdown, "html": _html}
    document = readers.get(kind, _plain)(text)
    return attrs.evolve(document, note="; ".join(filter(None, (note, encoding_note))))


def passages_of(text: str) -> list[str]:
    """Pieces of some `PASSAGE_CHARACTERS`, cut between paragraphs, else between sentences, else between words."""
    pieces: list[str] = []
    current = ""
    for paragraph in re.split(r"\n\s*\n", text):
        flat = " ".join(paragraph.split())
        for part in _parts(flat):
            if current and len(current) + len(part) + 2 > PASSAGE_CHARACTERS:
                pieces.append(current)
                current = ""
            current = f"{current}\n\n{part}" if current else part
    return [*pieces, current] if current else pieces


def sentences_of(passage: str) -> list[str]:
    """Sentences of a passage, as far as punctuation tells."""
    found = re.findall(r"[^.!?。！？\n]+(?:[.!?](?!\s|$)[^.!?。！？\n]*)*[.!?。！？]*", passage)
    return [" ".join(sentence.split()) for sentence in found if sentence.strip()]


def _parts(paragraph: str) -> list[str]:
    if len(paragraph) <= PASSAGE_CHARACTERS:
        return [paragraph] if paragraph else []
    parts: list[str] = []
    start = 0
    while len(paragraph) - start > PASSAGE_CHARACTERS:
        window = paragraph[start : start + PASSAGE_CHARACTERS]
        ends = [match.end() for match in re.finditer(r"[.!?](?=\s)|[。！？]", window)]
        cut = next((end for end in reversed(ends) if end > PASSAGE_CHARACTERS // 3), 0)
        cut = cut or window.rfind(" ") + 1 or PASSAGE_CHARACTERS
        parts.append(window[:cut].strip())
        start += cut
    parts.append(paragraph[start:].strip())
    return [part for part in parts if part]


def _decoded(data: bytes) -> tuple[str, str]:
    """Text by its byte order mark, as UTF-8, or as what old files of the West are mostly written in."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace"), ""
    if b"\0" in data[:8192]:
        raise UnreadableDocumentError("holds bytes that no text has")
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 3:  # a character that the bound cut in two
            return data.decode("utf-8", "ignore"), ""
    return data.decode("cp1252", "replace"), "not UTF-8: read as Windows-1252"


def _plain(text: str) -> ReadDocument:
    return ReadDocument(title="", text=text)


def _markdown(text: str) -> ReadDocument:
    text = re.sub(r"\A---\n.*?\n---\n", "", text, count=1, flags=re.DOTALL)
    heading = _MARKDOWN_HEADING.search(text)
    captions = tuple((found[2], found[1]) for found in _MARKDOWN_PICTURE.finditer(text))
    shown = _MARKDOWN_LINK.sub(r"\1", _MARKDOWN_PICTURE.sub(r"\1", text))
    shown = _MARKDOWN_HEADING.sub(r"\n\1\n", shown)
    title = heading[1].strip("*_` ") if heading else ""
    return ReadDocument(title=title, text=re.sub(r"[*`]{1,3}", "", shown), captions=captions)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.heading = ""
        self.pieces: list[str] = []
        self.captions: list[tuple[str, str]] = []
        self._unseen = 0
        self._inside: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("title", "h1"):
            self._inside = tag
        elif tag == "body":
            self._unseen = 0  # whatever was left open above
        elif tag in _UNSEEN:
            self._unseen += 1
        elif tag == "img":
            values = dict(attrs)
            words, source = values.get("alt") or values.get("title"), values.get("src")
            if words and source:
                self.captions.append((source, words))
        if tag in _BLOCKS:
            self.pieces.append("\n\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = None
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        if tag in _BLOCKS:
            self.pieces.append("\n\n")

    def handle_data(self, data: str) -> None:
        if self._inside == "title":
            self.title += data
            return
        if self._unseen:
            return
        if self._inside == "h1":
            self.heading += data
        self.pieces.append(data)


def _html(text: str) -> ReadDocument:
    page = _Page()
    page.feed(text)
    page.close()
    title = " ".join((page.title or page.heading).split())
    return ReadDocument(title=title, text="".join(page.pieces), captions=tuple(page.captions))


def _pdf(data: bytes) -> ReadDocument:
    try:
        from pypdf import PdfReader
    except ImportError:
        raise UnreadableDocumentError("reading PDF needs pypdf: pip install 'openvlharness[embedded]'") from None
    logging.getLogger("pypdf").addHandler(_NO_LOG)
    if len(data) > MOST_PDF_BYTES:
        raise UnreadableDocumentError(f"larger than {MOST_PDF_BYTES >> 20} MB")
    try:
        reader = PdfReader(BytesIO(data))
        count = len(reader.pages)
        pages = [reader.pages[number].extract_text() for number in range(min(count, MOST_PAGES))]
        metadata: Any = reader.metadata or {}
        title = str(metadata.get("/Title") or "")
    except Exception as error:
        raise UnreadableDocumentError(f"a PDF that cannot be read ({type(error).__name__})") from error
    note = "" if count <= MOST_PAGES else f"only the first {MOST_PAGES} of {count} pages were read"
    text = "\n\n".join(pages)
    if not text.strip():
        raise UnreadableDocumentError("a PDF without text, probably scanned pages")
    return ReadDocument(title=title, text=text[:MOST_BYTES], note=note)
