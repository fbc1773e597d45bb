"""Serving the pictures of a directory to the search service: single files by their unguessable names, nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from openvlharness_adapters.hosting.host import SUFFIXES
from openvlharness_core.ports.offload import Offload

_NAME = re.compile(r"[A-Za-z0-9_-]{32}(?P<suffix>\.png|\.jpg|\.webp)")
_TYPES = {suffix: media_type for media_type, suffix in SUFFIXES.items()}
_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "X-Robots-Tag": "noindex"}


def application(directory: Path, offload: Offload) -> Starlette:
    """`GET /NAME` for the names that `fresh_name` gives, and `GET /health`; there is no list of what is there."""

    async def picture(request: Request) -> Response:
        found = _NAME.fullmatch(request.path_params["name"])
        data = await offload.run(lambda: _read(directory / found[0])) if found else None
        if found is None or data is None:
            return PlainTextResponse("Not found\n", 404, headers=_HEADERS)
        return Response(data, media_type=_TYPES[found["suffix"]], headers=_HEADERS)

    async def health(_: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    return Starlette(routes=[Route("/health", health), Route("/{name}", picture)])


def _read(path: Path) -> bytes | None:
    if path.is_symlink():
        return None
    try:
        return path.read_bytes()
    except OSError:  # gone by now: its search is over
        return None
