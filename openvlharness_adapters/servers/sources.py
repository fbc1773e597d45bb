"""Where weights come from: a folder of this machine, or a name on the hub."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

import attrs

from openvlharness_core.errors import HarnessError
from openvlharness_core.texts import excerpt

T = TypeVar("T")


class WeightsUnavailableError(HarnessError):
    """Weights or the code of a model cannot be loaded; the reason says what was looked for."""


@attrs.frozen(kw_only=True)
class Weights:
    """What to load.

    Attributes:
        place: a folder, or a hub name such as `facebook/sam3`.
        revision: of a hub name; `None` for the newest.
        offline: never ask the hub, take what its cache holds. The hub's own variables (`HF_HUB_OFFLINE`) work besides.
    """

    place: str
    revision: str | None = None
    offline: bool = False

    @property
    def options(self) -> dict[str, object]:
        """Keywords of every `from_pretrained`."""
        if os.path.isdir(self.place):
            return {"local_files_only": True}
        return {"local_files_only": self.offline} | ({"revision": self.revision} if self.revision else {})

    def loaded(self, load: Callable[..., T]) -> T:
        """`load(place, **options)`.

        Raises:
            WeightsUnavailableError: nothing there, or nothing that can be loaded.
        """
        try:
            return load(self.place, **self.options)
        except (OSError, ValueError, KeyError) as error:
            where = "the folder" if os.path.isdir(self.place) else "the hub's cache" if self.offline else "the hub"
            said = excerpt(f"{type(error).__name__}: {error}", 400)
            raise WeightsUnavailableError(f"{self.place}: expected weights in {where}, got {said}") from error
