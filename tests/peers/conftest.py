"""Each server is started once, when the first test wants it; `make test-full` runs these tests in one process for that."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.peers.running import running

WINDOW_TOKENS = 2048


@pytest.fixture(scope="session")
def small_model() -> Iterator[str]:
    """Address of a server with a real small model whose window is `WINDOW_TOKENS` long."""
    with running("small_model_server.py", str(WINDOW_TOKENS)) as address:
        yield address


@pytest.fixture(scope="session")
def scripted() -> Iterator[str]:
    """Address of a scripted server; see `scripted_server.py` for its stories."""
    with running("scripted_server.py") as address:
        yield address
