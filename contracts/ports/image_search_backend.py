"""What every ImageSearchBackend promises.

Subclass `ImageSearchBackendContract` in a test module as `Test…` and supply three fixtures: `backend`; `known`, a picture
that it finds; and `unknown`, one that it does not.
"""

from __future__ import annotations

import asyncio
import re

from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.seeking import ImageSearchBackend


class ImageSearchBackendContract:
    """See the module."""

    async def test_a_known_picture_is_found(self, backend: ImageSearchBackend, known: EncodedImage) -> None:
        answered = await backend.search(known, timeout_seconds=10.0)
        assert answered.value.items
        assert all(item.title.strip() for item in answered.value.items)
        assert answered.backend

    async def test_the_summary_cites_items_that_are_there(
        self, backend: ImageSearchBackend, known: EncodedImage
    ) -> None:
        results = (await backend.search(known, timeout_seconds=10.0)).value
        cited = {int(number) for number in re.findall(r"\[(\d+)\]", results.summary)}
        assert cited <= set(range(1, len(results.items) + 1))

    async def test_an_unknown_picture_is_a_result_with_a_reason(
        self, backend: ImageSearchBackend, unknown: EncodedImage
    ) -> None:
        results = (await backend.search(unknown, timeout_seconds=10.0)).value
        assert results.items == ()
        assert results.nothing_relevant.strip()

    async def test_several_at_once(
        self, backend: ImageSearchBackend, known: EncodedImage, unknown: EncodedImage
    ) -> None:
        found = await asyncio.gather(
            *(backend.search(image, timeout_seconds=10.0) for image in (known, unknown, known, unknown))
        )
        assert [bool(answered.value.items) for answered in found] == [True, False, True, False]
