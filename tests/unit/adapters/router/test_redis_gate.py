"""The gate in Redis, held to what every gate promises, over a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openvlharness_adapters.router.gates import Gate
from openvlharness_adapters.router.redis_gate import RedisGate
from openvlharness_adapters.router.redis_link import RedisLink
from tests.support.redis_server import RedisServer, redis_server
from tests.unit.adapters.router.gate_rules import GateContract

pytestmark = [pytest.mark.system, pytest.mark.xdist_group("redis")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def link(server: RedisServer) -> Iterator[RedisLink]:
    server.empty()
    link = RedisLink(server.url, shown=server.shown, lease_seconds=3.0)
    yield link
    link.close()


class TestRedisGate(GateContract):
    @pytest.fixture
    def gate(self, link: RedisLink) -> Gate:
        return RedisGate(link, {"ocr": 2, "depth": 1}, max_queue=3)
