"""A scripted model server that also has pages to GET, as model servers, routers and raw servers have them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import attrs

from tests.support.chat_server import ChatServer, Recorded, Respond, Step

Page = Step | Callable[[Recorded], Step]


def listing(*models: str) -> Respond:
    """A list of models."""
    return Respond(200, json.dumps({"object": "list", "data": [{"id": model} for model in models]}).encode())


def keyed(key: str, page: Page) -> Page:
    """A page for whoever brings the key, and 401 for others."""

    def for_the_key(request: Recorded) -> Step:
        if request.headers.get("authorization") != f"Bearer {key}":
            return Respond.error(401, "Incorrect API key provided")
        return page(request) if callable(page) else page

    return for_the_key


@attrs.define(eq=False)
class ServiceServer(ChatServer):
    """See the module.

    Attributes:
        pages: by path; a GET of any other path is not found, and a POST is the script's.
    """

    pages: Mapping[str, Page] = attrs.field(factory=dict, kw_only=True)

    async def _step(self, request: Recorded) -> Step:
        if request.method == "GET" and (page := self.pages.get(request.path)) is not None:
            return page(request) if callable(page) else page
        return await ChatServer._step(self, request)
