"""Bytes of a page to its title and text: HTML through trafilatura, PDF through pypdf, plain text as it is.

Both packages are of the extra `search` and are imported when the first page needs them.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import attrs

from openvlharness_adapters.backends.embedded.corpus.reading import UnreadableDocumentError, read_document
from openvlharness_core.texts import clean_text, excerpt

CAREFUL_BYTES = 512 << 10
"""Up to this size the main text is told from menus and footers, which takes seconds a megabyte; beyond, all text is taken."""
_EXTRA = "reading it needs the extra: pip install 'openvlharness[search]'"
_TITLE = re.compile(rb"<title[^>]*>(.{0,2000}?)</title", re.IGNORECASE | re.DOTALL)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_HTML_START = re.compile(rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)


class UnreadablePageError(Exception):
    """Bytes that give no text; the message says why, and what to try. Caught by whoever visits."""


@attrs.frozen(kw_only=True)
class PageText:
    """What a page says.

    Attributes:
        title: empty if it names none.
        text: paragraphs in order, not blank.
        note: what has to be said, such as that only its beginning was read.
    """

    title: str
    text: str
    note: str = ""


def page_text(data: bytes, content_type: str, *, cut: bool = False) -> PageText:
    """Read a page. The type comes from the header, and from the first bytes where the header says nothing.

    Args:
        data: its bytes.
        content_type: the header as it came, or empty.
        cut: whether `data` is the beginning of something longer.

    Raises:
        UnreadablePageError: a picture, another format without text, or no text in it.
    """
    kind = kind_of(data, content_type)
    if kind == "pdf":
        if cut:
            raise UnreadablePageError(
                f"a PDF larger than {len(data) >> 20} MB, which is not read in part; try another source"
            )
        page = _pdf(data)
    elif kind == "html":
        page = _html(data, content_type)
    elif kind == "text":
        page = PageText(title="", text=_decoded(data, content_type))
    elif kind.startswith("image/"):
        raise UnreadablePageError(f"it is a picture ({kind}), not a page; visit the page that shows it")
    else:
        raise UnreadablePageError(f"it is {kind}, which holds no text that can be read; try another source")
    if not page.text.strip():
        raise UnreadablePageError("it holds no text; it may need a browser or be made of pictures; try another source")
    notes = (page.note, f"only its first {len(data) >> 20} MB were read" if cut else "")
    return attrs.evolve(
        page,
        title=excerpt(clean_text(page.title), 300),
        text=clean_text(page.text).strip(),
        note="; ".join(filter(None, notes)),
    )


def kind_of(data: bytes, content_type: str) -> str:
    """`html`, `pdf` or `text`; else the media type, such as `image/png`."""
    declared = content_type.partition(";")[0].strip().lower()
    if data[:1024].lstrip().startswith(b"%PDF-"):
        return "pdf"
    if declared in ("text/html", "application/xhtml+xml") or (not declared and _HTML_START.match(data[:4096])):
        return "html"
    if declared == "application/pdf":
        raise UnreadablePageError("it says that it is a PDF and is none; try another source")
    if (
        declared.startswith("text/")
        or declared in ("application/json", "application/xml")
        or declared.endswith("+json")
    ):
        return "html" if _HTML_START.match(data[:4096]) else "text"
    if not declared or declared == "application/octet-stream":
        return "text" if b"\0" not in data[:8192] else "a file of an unknown kind"
    return declared


def _html(data: bytes, content_type: str) -> PageText:
    try:
        import trafilatura
    except ImportError:
        raise UnreadablePageError(_EXTRA) from None
    named = _TITLE.search(data[: 256 << 10])
    title = unescape(_decoded(named[1], content_type)) if named else ""
    markup = _decoded(data, content_type) if _CHARSET.search(content_type) else data
    text = ""
    if len(data) <= CAREFUL_BYTES:
        found: Any = trafilatura.bare_extraction(markup, with_metadata=True, include_comments=False, fast=True)
        if found is not None:
            title, text = title or (found.title or ""), found.text or ""
    text = text or trafilatura.html2txt(markup)
    return PageText(title=title, text=text)


def _pdf(data: bytes) -> PageText:
    try:
        document = read_document(data, "pdf")
    except UnreadableDocumentError as problem:
        raise UnreadablePageError(f"{problem}; try another source") from None
    return PageText(title=document.title, text=document.text, note=document.note)


def _decoded(data: bytes, content_type: str) -> str:
    """By the byte order mark, the header's charset, UTF-8, or else what old pages are mostly written in."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    declared = _CHARSET.search(content_type)
    if declared is not None:
        try:
            return data.decode(declared[1], "replace")
        except (LookupError, ValueError):
            declared = None  # a charset that nobody knows says nothing
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 3:  # a character that a bound cut in two
            return data.decode("utf-8", "ignore")
    return data.decode("cp1252", "replace")
