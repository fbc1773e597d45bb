"""The suite of DepthBackend, bound to the fake: in process, behind the router, and behind a raw server."""

from __future__ import annotations

import pytest

from contracts.ports.depth_backend import DepthBackendContract
from openvlharness_adapters.router_client.backends import RemoteDepth
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.perception import DepthBackend
from openvlharness_core.testing.depth import FakeDepth
from openvlharness_core.testing.images import fake_image
from tests.support.routing import WAYS


class _Pictures(DepthBackendContract):
    @pytest.fixture
    def image(self) -> EncodedImage:
        return EncodedImage(data=fake_image(33, 47), media_type="image/png", size_hw=(33, 47))


class TestFakeDepth(_Pictures):
    @pytest.fixture
    def backend(self) -> DepthBackend:
        return FakeDepth()


class TestRemoteDepth(_Pictures):
    @pytest.fixture(params=WAYS)
    def backend(self, request: pytest.FixtureRequest) -> DepthBackend:
        return RemoteDepth(WAYS[request.param]("depth", FakeDepth(nearest=0.1, farthest=1 / 3)))
