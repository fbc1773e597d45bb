"""Serves rules over Chat Completions and Responses with llm-mock-api; run by the interpreter of the peers' environment.

The name of the model chooses the story. What comes next is told by the id of the newest call that the conversation holds
an answer to, so a client that loses ids gets nowhere. Prints the address, and ends when its standard input does.

looks: crops the picture, reads the crop, answers.
narrow: searches twice, answers; refuses conversations of more than `WINDOW` letters.
limited: refuses whatever it is asked.
"""

from __future__ import annotations

import asyncio
import json
import sys

from llm_mock_api.mock_server import MockServer, MockServerOptions
from llm_mock_api.types.reply import ErrorReply, ReplyObject, ToolCall, Usage
from llm_mock_api.types.request import MockRequest
from llm_mock_api.types.rule import MatchObject

WINDOW = 12_000
LEFT = {"image_id": "input_image_1", "coords": [0, 0, 500, 1000]}
USAGE = Usage(input=70, output=7)


def calling(call_id: str, tool: str, arguments: dict[str, object], **more: str) -> ReplyObject:
    return ReplyObject(tools=[ToolCall(id=call_id, name=tool, args=arguments)], usage=USAGE, **more)


def too_long(request: MockRequest) -> bool:
    return len(json.dumps(request.raw.get("messages") or request.raw["input"])) > WINDOW


def teach(server: MockServer) -> None:
    """Rules are tried in their order."""

    def after(model: str, call_id: str | None) -> MatchObject:
        return MatchObject(model=model, tool_call_id=call_id)

    server.when(after("looks", "call_read")).reply(ReplyObject(text="<answer>12.50</answer>", usage=USAGE))
    read = {"image_id": "tool_generated_image_1"}
    server.when(after("looks", "call_crop")).reply(calling("call_read", "OCR_Tool", read))
    server.when(after("looks", None)).reply(
        calling("call_crop", "Zoom_In_Tool", LEFT, text="Closer.", reasoning="It is small.")
    )

    refusal = ErrorReply(status=400, message="too long", type="exceed_context_size_error")
    server.when(MatchObject(model="narrow", predicate=too_long)).reply(ReplyObject(error=refusal))
    server.when(after("narrow", "call_b")).reply(ReplyObject(text="<answer>harbour</answer>", usage=USAGE))
    search = {"query": "harbour"}
    server.when(after("narrow", "call_a")).reply(calling("call_b", "Text_Search_Tool", search))
    server.when(after("narrow", None)).reply(calling("call_a", "Text_Search_Tool", search))

    unpaid = ErrorReply(status=402, message="no credit left", type="billing")
    server.when(after("limited", None)).reply(ReplyObject(error=unpaid))


async def main() -> None:
    server = MockServer(MockServerOptions(default_latency=0, default_chunk_size=3))
    server.fallback(ReplyObject(error=ErrorReply(status=404, message="no rule of this model", type="not_found")))
    teach(server)
    async with server:
        print(server.url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


asyncio.run(main())
