"""Whether the request types of the official client accept a body."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

MODULES = {
    "chat_completions": ("openai.types.chat.completion_create_params", "CompletionCreateParams"),
    "responses": ("openai.types.responses.response_create_params", "ResponseCreateParams"),
}


@cache
def _adapter(protocol: str) -> Any:
    pydantic = pytest.importorskip("pydantic")
    module, name = MODULES[protocol]
    return pydantic.TypeAdapter(getattr(pytest.importorskip(module), name))


def refusals_of(protocol: str, body: dict[str, Any]) -> list[str]:
    """What the types object to, at any depth; skips the test where the client is not installed.

    The types are typed dicts whose lists are mere iterables, which pydantic reads when they are gone through.
    """
    pydantic = pytest.importorskip("pydantic")
    try:
        _exhaust(_adapter(protocol).validate_python(body))
    except pydantic.ValidationError as problem:
        return [f"{error['loc']}: {error['msg']}" for error in problem.errors()]
    return []


def _exhaust(value: Any) -> None:
    if isinstance(value, dict):
        for item in value.values():
            _exhaust(item)
    elif not isinstance(value, str | bytes) and hasattr(value, "__iter__"):
        for item in value:
            _exhaust(item)
