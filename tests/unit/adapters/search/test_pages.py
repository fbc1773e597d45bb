"""Page visits: scraped, else fetched under the guard; read in parts where they are long; said of each page what went wrong."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openvlharness_adapters.search.extraction import MOST_PARTS, Extractor, parts_of
from openvlharness_adapters.search.page_reading import PageReader
from openvlharness_adapters.search.pages import SerperPages
from openvlharness_core.errors import ContextLengthError, ModelUnavailableError
from openvlharness_core.ports.auxiliary import Written
from openvlharness_core.seeking import VisitedPage
from openvlharness_core.testing.time import InlineOffload
from openvlharness_core.usage import Spent, credits_in
from tests.support.serper_server import Says, refuses
from tests.support.small_pdf import pdf_of
from tests.unit.adapters.search.stage import PROMPTS, Stage, staged, until

HTML = b"""<html><head><title>The Kestrel &amp; bridge</title></head><body><nav>Home</nav><article><h1>Bridge</h1>
<p>The bridge has nine arches, which was a record at the time when the town of Velm had it built.</p>
<p>It was opened in the year 1931, after a delay of two winters, by the engineer Ada Vell herself.</p></article>
<script>var hidden = "no text";</script></body></html>"""


def extract(relevant: bool = True, evidence: str = "Nine arches.", summary: str = "It has nine.", **more: Any) -> str:
    return json.dumps({"relevant": relevant, "evidence": evidence if relevant else "", "summary": summary} | more)


def pages_of(stage: Stage, *, part_characters: int = 60_000, **reader: Any) -> SerperPages:
    settings: dict[str, Any] = {
        "serper": stage.serper(),
        "client": stage.guarded,
        "offload": InlineOffload(),
        "clock": stage.clock,
    }
    extractor = Extractor(asker=stage.asker, prompts=PROMPTS, part_characters=part_characters)
    return SerperPages(reader=PageReader(**settings | reader), extractor=extractor, clock=stage.clock)


@pytest.fixture
async def unscraped() -> AsyncIterator[Stage]:
    """A service that cannot read any page."""
    async with staged([extract()]) as stage:
        stage.server.replies["/scrape"] = lambda _: refuses(500, "no")
        yield stage


async def _visited(stage: Stage, path: str, **fields: Any) -> VisitedPage:
    url = path if "://" in path else stage.server.base + path
    (page,) = (await pages_of(stage, **fields).visit([url], "How many arches?", timeout_seconds=60.0)).value
    assert page.url == url
    return page


async def test_a_scraped_page_is_searched_for_the_goal() -> None:
    async with staged([extract()]) as stage:
        answered = await pages_of(stage).visit(["https://town.example/b"], "How many arches?", timeout_seconds=60.0)
    (page,) = answered.value
    assert page == VisitedPage(
        url="https://town.example/b",
        title="The Kestrel bridge",
        ok=True,
        evidence="Nine arches.",
        summary="It has nine.",
    )
    assert stage.server.asked[0].json == {"url": "https://town.example/b", "includeMarkdown": True}
    assert stage.server.fetched == []
    assert "text=# Bridge" in stage.auxiliary.prompts[0]
    assert "goal=How many arches?" in stage.auxiliary.prompts[0]
    assert [credits_in(spent) for spent in answered.usage] == [2, None]


async def test_scraping_is_tried_three_times_and_then_the_page_is_fetched(unscraped: Stage) -> None:
    unscraped.server.files["/page"] = Says(200, HTML, {"Content-Type": "text/html; charset=utf-8"})
    page = await _visited(unscraped, "/page")
    assert page.ok
    assert page.title == "The Kestrel & bridge"
    assert len(unscraped.server.asked) == 3
    prompt = unscraped.auxiliary.prompts[0]
    assert "nine arches" in prompt
    assert "1931" in prompt
    assert "hidden" not in prompt


async def test_a_blank_scrape_counts_as_none() -> None:
    async with staged([extract()]) as stage:
        stage.server.replies["/scrape"] = lambda _: {"text": " \n", "credits": 2}
        stage.server.files["/page"] = Says(200, HTML, {"Content-Type": "text/html"})
        answered = await pages_of(stage).visit([stage.server.base + "/page"], "arches", timeout_seconds=60.0)
    assert answered.value[0].ok
    assert [credits_in(spent) for spent in answered.usage] == [2, 2, 2, None]


async def test_a_pdf_is_read(unscraped: Stage) -> None:
    unscraped.server.files["/a.pdf"] = Says(200, pdf_of("Nine arches carry it."), {"Content-Type": "application/pdf"})
    assert (await _visited(unscraped, "/a.pdf")).ok
    assert "Nine arches carry it." in unscraped.auxiliary.prompts[0]


@pytest.mark.parametrize(
    ("body", "content_type", "seen"),
    [
        (b"Nine arches, plainly.", "text/plain", "Nine arches, plainly."),
        ("Neun Bögen".encode("cp1252"), "text/plain", "Neun Bögen"),
        ("Девять арок".encode("koi8-r"), "text/plain; charset=koi8-r", "Девять арок"),
        (b"Nine", "text/plain; charset=no-such", "Nine"),
        (b'{"arches": 9}', "application/json", '{"arches": 9}'),
        (HTML, "", "nine arches"),
        (HTML, "text/plain", "nine arches"),
        (b"Nine", "application/octet-stream", "Nine"),
    ],
)
async def test_the_content_type_decides_and_the_bytes_help(
    unscraped: Stage, body: bytes, content_type: str, seen: str
) -> None:
    unscraped.server.files["/page.png"] = Says(200, body, {"Content-Type": content_type} if content_type else {})
    assert (await _visited(unscraped, "/page.png")).ok
    assert seen in unscraped.auxiliary.prompts[0]


async def test_a_packed_page_is_unpacked(unscraped: Stage) -> None:
    packed = zlib.compress(HTML, wbits=zlib.MAX_WBITS | 16)
    unscraped.server.files["/p"] = Says(200, packed, {"Content-Type": "text/html", "Content-Encoding": "gzip"})
    assert (await _visited(unscraped, "/p")).ok


PNG = b"\x89PNG\r\n\x1a\n"
UNREADABLE: dict[str, tuple[str, Says | None, str]] = {
    "404": ("/none", None, "404 Not Found"),
    "picture": ("/a", Says(200, PNG, {"Content-Type": "image/png"}), "it is a picture (image/png)"),
    "video": ("/a", Says(200, b"\0\0", {"Content-Type": "video/mp4"}), "it is video/mp4"),
    "unknown bytes": ("/a", Says(200, b"\0\1\2"), "unknown kind"),
    "empty": ("/a", Says(200, b""), "empty body"),
    "no text": ("/a", Says(200, b"<html><body></body></html>", {"Content-Type": "text/html"}), "no text"),
    "broken PDF": ("/a", Says(200, b"%PDF-1.7 nothing", {"Content-Type": "application/pdf"}), "PDF that cannot be read"),
    "no PDF": ("/a", Says(200, b"<p>log in</p>", {"Content-Type": "application/pdf"}), "says that it is a PDF and is none"),
    "odd packing": ("/a", Says(200, b"x", {"Content-Encoding": "br"}), "packed with gzip"),
    "broken packing": ("/a", Says(200, b"x" * 99, {"Content-Encoding": "gzip"}), "Content-Encoding"),
    "redirects": ("/a", Says(302, b"", {"Location": "/a"}), "at most 5 redirects"),
    "redirect to a file": ("/a", Says(302, b"", {"Location": "file:///etc/passwd"}), "redirect to an http(s) URL"),
    "a file": ("file:///etc/passwd", None, "expected an http(s) URL"),
    "no address": ("https://", None, "none"),
    "credentials": ("http://u:CANARY-3@127.0.0.1/", None, "user and password"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREADABLE)
async def test_what_cannot_be_read_says_why_and_what_to_try(unscraped: Stage, name: str) -> None:
    path, says, words = UNREADABLE[name]
    if says is not None:
        unscraped.server.files["/a"] = says
    if name == "no address":
        (page,) = (await pages_of(unscraped).visit([path], "x", timeout_seconds=60.0)).value
    else:
        page = await _visited(unscraped, path)
    assert not page.ok
    assert words in page.reason
    assert "CANARY" not in page.reason
    assert unscraped.auxiliary.prompts == []


@pytest.mark.parametrize("location", ["http://127.0.0.1:PORT/secret", "http://localhost:PORT/secret", "http://[::ffff:127.0.0.1]:PORT/secret"])  # fmt: skip
async def test_a_redirect_into_this_machine_is_refused(location: str) -> None:
    """The first hop is exempted; where it leads is not."""
    async with staged() as stage, staged() as inside:
        stage.server.replies["/scrape"] = lambda _: refuses(500, "no")
        inside.server.files["/secret"] = Says(200, b"secret", {"Content-Type": "text/plain"})
        target = location.replace("PORT", str(inside.server.port))
        stage.server.files["/go"] = Says(302, b"", {"Location": target})
        page = await _visited(stage, "/go")
    assert not page.ok
    assert "not public" in page.reason
    assert inside.server.fetched == []


async def test_an_endless_page_is_read_up_to_the_limit(unscraped: Stage) -> None:
    body = b"<html><body>" + b"<p>Nine arches.</p>" * 100_000
    unscraped.server.files["/endless"] = Says(200, body, {"Content-Type": "text/html", "Content-Length": "999999999"})
    page = await _visited(unscraped, "/endless", max_bytes=1 << 20, part_characters=2 << 20)
    assert page.ok
    assert page.summary.endswith("(only its first 1 MB were read)")


async def test_an_endless_pdf_is_refused(unscraped: Stage) -> None:
    unscraped.server.files["/endless"] = Says(200, b"%PDF-1.7" + b" " * (2 << 20), {"Content-Type": "application/pdf"})
    assert "larger than 1 MB" in (await _visited(unscraped, "/endless", max_bytes=1 << 20)).reason


async def test_a_page_that_drips_for_ever_is_left(unscraped: Stage) -> None:
    unscraped.server.files["/slow"] = Says(late=asyncio.Event().wait)
    visiting = asyncio.ensure_future(_visited(unscraped, "/slow", fetch_seconds=5.0))
    await until(lambda: bool(unscraped.server.fetched))
    await unscraped.clock.advance(5.1)  # type: ignore[attr-defined]
    page = await visiting
    assert not page.ok
    assert "in time" in page.reason


# Parts


def reads_parts(needle: str) -> Callable[[str], str]:
    """An auxiliary model that finds a word where it stands, and joins what it is given."""

    def write(prompt: str) -> str:
        if prompt.startswith("extract merge"):
            return json.dumps({"summary": "All of it together."})
        text = prompt.partition("text=")[2]
        found = [word for word in text.split() if needle in word]
        return extract(bool(found), " ".join(found), f"It says {' '.join(found)}." if found else "Of other things.")

    return write


async def test_a_page_of_three_megabytes_is_read_in_parts_to_its_last_word() -> None:
    words = "".join(f"word{n} " for n in range(290_000))
    text = f"needle-first {words} needle-middle {words[:400]} needle-last"
    assert len(text) > 3_000_000
    parts = parts_of(text, 60_000)
    async with staged([reads_parts("needle")] * (len(parts) + 1)) as stage:
        stage.server.replies["/scrape"] = [{"text": text}]
        answered = await pages_of(stage).visit(["https://big.example/"], "needle", timeout_seconds=60.0)
        stage.auxiliary.assert_spent()
    (page,) = answered.value
    assert 50 < len(parts) < MOST_PARTS
    assert page.evidence == "needle-first\n\n…\n\nneedle-middle needle-last" or page.evidence.split() == [
        "needle-first", "…", "needle-middle", "…", "needle-last",
    ]  # fmt: skip
    assert page.summary == "All of it together."
    assert len(answered.usage) == len(parts) + 1
    assert answered.sidecars["visits"][0]["parts"] == len(parts)  # type: ignore[index]


async def test_what_is_longer_than_all_parts_is_said() -> None:
    async with staged([reads_parts("needle")] * (MOST_PARTS + 1)) as stage:
        stage.server.replies["/scrape"] = [{"text": "needle " * 200}]
        (page,) = (
            await pages_of(stage, part_characters=14).visit(["https://b.example/"], "x", timeout_seconds=60)
        ).value
    assert f"{100 - MOST_PARTS} of 100 parts of the page were not read" in page.summary


async def test_parts_that_fail_are_counted_and_the_others_stand() -> None:
    script: list[Any] = [extract(), ModelUnavailableError("timeout", "x"), "nonsense", extract(False, summary="Other.")]
    async with staged(script) as stage:
        stage.server.replies["/scrape"] = [{"text": "0123456789 " * 4}]
        (page,) = (
            await pages_of(stage, part_characters=11).visit(["https://b.example/"], "x", timeout_seconds=60)
        ).value
    assert page.evidence == "Nine arches."
    assert page.summary.startswith("It has nine.\n(2 of 4 parts of the page were not read (the auxiliary model failed")


@pytest.mark.parametrize(
    "said",
    [
        "nonsense",
        "```python\nprint(1)\n```",
        extract(more=1),
        extract(evidence=""),
        json.dumps({"relevant": "yes", "evidence": "x", "summary": "y"}),
        Written(text=extract()[:-4], spent=Spent(role="auxiliary"), cut=True),
        ContextLengthError("context_length_exceeded", "CANARY"),
    ],
    ids=["prose", "other fence", "extra key", "no evidence", "yes", "cut", "too long"],
)
async def test_a_page_of_which_nothing_could_be_picked_out_shows_its_beginning(said: Any) -> None:
    async with staged([said]) as stage:
        stage.server.replies["/scrape"] = [{"text": "The bridge " * 1000}]
        page = await _visited(stage, "https://b.example/")
    assert page.ok
    assert len(page.evidence) <= 6000
    assert page.evidence.startswith("The bridge The bridge")
    assert "no passages could be picked out" in page.summary
    assert "CANARY" not in page.summary


async def test_a_page_that_does_not_serve_the_goal_has_no_evidence() -> None:
    async with staged([extract(False, summary="It is about birds.")]) as stage:
        page = await _visited(stage, "https://b.example/")
    assert (page.ok, page.evidence, page.summary) == (True, "", "It is about birds.")


async def test_a_late_extraction_leaves_the_beginning() -> None:
    @attrs.define
    class Never:
        async def write(self, prompt: str, **_: object) -> Written:
            await asyncio.Event().wait()
            raise AssertionError

    async with staged() as stage:
        stage.auxiliary = Never()  # type: ignore[assignment]
        visiting = asyncio.ensure_future(_visited(stage, "https://b.example/"))
        await until(lambda: bool(stage.server.asked) and len(stage.clock.slept) >= 4)  # type: ignore[attr-defined]
        for _ in range(8):
            await stage.clock.advance(10.0)  # type: ignore[attr-defined]
        page = await visiting
    assert page.ok
    assert "nine arches" in page.evidence
    assert "did not answer" in page.summary or "time ran out" in page.summary


async def test_the_same_address_twice_is_visited_once() -> None:
    async with staged([extract()]) as stage:
        pages = await pages_of(stage).visit(["https://b.example/"] * 3, "x", timeout_seconds=60.0)
    assert len(pages.value) == 3
    assert len(stage.server.asked) == 1


@given(st.text(max_size=300), st.integers(2, 40))
def test_parts_are_short_and_lose_nothing_but_blank_ones(text: str, size: int) -> None:
    parts = parts_of(text, size)
    assert all(0 < len(part) <= size for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())
