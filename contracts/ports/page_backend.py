"""What every PageBackend promises.

Subclass `PageBackendContract` in a test module as `Test…` and supply four fixtures: `backend`; `url` of a page that it can
read; `goal`, which that page serves; and `missing`, a URL of a page that it cannot read.
"""

from __future__ import annotations

import asyncio

from openvlharness_core.ports.seeking import PageBackend


class PageBackendContract:
    """See the module."""

    async def test_a_page_gives_evidence_for_the_goal(self, backend: PageBackend, url: str, goal: str) -> None:
        answered = await backend.visit([url], goal, timeout_seconds=10.0)
        (page,) = answered.value
        assert page.ok
        assert page.evidence.strip()
        assert not page.reason
        assert answered.backend

    async def test_one_page_a_url_in_their_order(self, backend: PageBackend, url: str, goal: str, missing: str) -> None:
        pages = (await backend.visit([missing, url, missing], goal, timeout_seconds=10.0)).value
        assert [page.url for page in pages] == [missing, url, missing]
        assert [page.ok for page in pages] == [False, True, False]

    async def test_a_page_that_cannot_be_read_says_why(self, backend: PageBackend, goal: str, missing: str) -> None:
        (page,) = (await backend.visit([missing], goal, timeout_seconds=10.0)).value
        assert page.reason.strip()
        assert not page.evidence

    async def test_a_goal_that_it_does_not_serve_is_no_failure(self, backend: PageBackend, url: str) -> None:
        (page,) = (await backend.visit([url], "xylophone quasars", timeout_seconds=10.0)).value
        assert page.ok
        assert not page.evidence

    async def test_several_at_once(self, backend: PageBackend, url: str, goal: str, missing: str) -> None:
        found = await asyncio.gather(
            *(backend.visit([asked], goal, timeout_seconds=10.0) for asked in (url, missing) * 4)
        )
        assert [answered.value[0].ok for answered in found] == [True, False] * 4
