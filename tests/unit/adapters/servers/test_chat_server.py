"""The chat endpoint of the OCR servers, asked by hand and by the official client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import openai
import pytest

from tests.support.raw_servers import MODEL_ID, Served, ToldReader, blank, data_url, served

Make = Callable[..., Served]


@pytest.fixture
def make() -> Iterator[Make]:
    running: list[Served] = []

    def one(model: object, **limits: Any) -> Served:
        running.append(served("chat", model, **limits))
        return running[-1]

    yield one
    for each in running:
        each.server.close()


def _content(height: int = 40, width: int = 60) -> list[dict[str, Any]]:
    return [
        {"type": "image_url", "image_url": {"url": data_url(blank(height, width))}},
        {"type": "text", "text": "OCR:"},
    ]


def _asked(**changes: Any) -> dict[str, Any]:
    return {"model": MODEL_ID, "messages": [{"role": "user", "content": _content()}], **changes}


async def test_the_official_client_reads_models_and_completions(make: Make) -> None:
    model = ToldReader("Total 12.50\nThank you")
    transport = httpx.ASGITransport(make(model).server.app)
    async with openai.AsyncOpenAI(
        api_key="none", base_url="http://server/v1", http_client=httpx.AsyncClient(transport=transport)
    ) as client:
        assert [each.id async for each in client.models.list()] == [MODEL_ID]
        reply = await client.chat.completions.create(
            model=MODEL_ID,
            messages=[{"role": "user", "content": _content()}],  # type: ignore[typeddict-item, list-item]
            max_tokens=100,
            temperature=0,
        )
        with pytest.raises(openai.NotFoundError, match="is served here"):
            await client.chat.completions.create(model="other", messages=[{"role": "user", "content": "x"}])
    assert reply.choices[0].message.content == "Total 12.50\nThank you"
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage is not None
    assert reply.usage.total_tokens == 15
    assert model.asked == [((40, 60), "OCR:", 100)]


@pytest.mark.parametrize(
    ("given", "limit"),
    [({}, 50), ({"max_tokens": 7}, 7), ({"max_completion_tokens": 8, "max_tokens": 7}, 8), ({"max_tokens": 999}, 50)],
)
async def test_the_servers_limit_of_tokens_holds(make: Make, given: dict[str, int], limit: int) -> None:
    model = ToldReader("x")
    async with make(model, max_tokens=50).client as client:
        assert (await client.post("/v1/chat/completions", json=_asked(**given))).status_code == 200
    assert model.asked[0][2] == limit


async def test_slivers_are_padded_and_pages_shrunk(make: Make) -> None:
    model = ToldReader("x")
    async with make(model, max_side=1000).client as client:
        for height, width in ((1, 1), (3, 2000), (500, 2000)):
            asked = _asked(messages=[{"role": "user", "content": _content(height, width)}])
            assert (await client.post("/v1/chat/completions", json=asked)).status_code == 200
    sizes = [size for size, _, _ in model.asked]
    assert sizes == [(28, 28), (28, 1000), (250, 1000)]


TEXT = {"type": "text", "text": "OCR:"}
BAD = [
    ({"stream": True}, "stream"),
    ({"n": 2}, "n"),
    ({"temperature": 0.7}, "temperature"),
    ({"tools": [{}]}, "tools"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": "9"}, "max_tokens"),
    ({"messages": "x"}, "messages"),
    ({"messages": []}, "messages"),
    ({"messages": [{"role": "user", "content": "only words"}]}, "messages"),
    ({"messages": [{"role": "user", "content": [*_content(), _content()[0]]}]}, "messages"),
    ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "messages[0].content[0].type"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0].image_url"),
    (
        {"messages": [{"role": "user", "content": [TEXT, {"type": "image_url", "image_url": {"url": "http://x/a"}}]}]},
        "messages[0].content[1].image_url.url",
    ),
]


@pytest.mark.parametrize(("change", "field"), BAD, ids=[f"{place}-{field}" for place, (_, field) in enumerate(BAD)])
async def test_what_is_not_served_is_refused_by_name(make: Make, change: dict[str, Any], field: str) -> None:
    model = ToldReader("x")
    async with make(model).client as client:
        reply = await client.post("/v1/chat/completions", json=_asked(**change))
    assert reply.status_code == 422
    assert reply.json()["error"]["message"].startswith(f"{field}: expected")
    assert model.asked == []


async def test_out_of_memory_is_a_507_here_too(make: Make) -> None:
    class Full:
        def read(self, image: Any, prompt: str, max_new_tokens: int) -> Any:
            raise MemoryError

    async with make(Full()).client as client:
        reply = await client.post("/v1/chat/completions", json=_asked())
    assert (reply.status_code, reply.json()["error"]["code"]) == (507, "out_of_memory")
