"""Depth Anything 3: depth of one picture, depth and cameras of several.

Its package pins old versions of half the ecosystem, so it lives in an environment of its own together with this server;
docs/deployment.md says how. It is called as `model.inference([picture, …])` and answers with arrays at its own size.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import attrs
import numpy as np

from openvlharness_adapters.servers.pictures import PilImage
from openvlharness_adapters.servers.scenes import Cameras, Floats
from openvlharness_adapters.servers.sources import Weights, WeightsUnavailableError

_LONGER_SIDE = 504


@attrs.frozen(kw_only=True)
class DepthAnything:
    """See `SceneModel`.

    Attributes:
        network: a `DepthAnything3`, or what answers `inference` as it does.
    """

    network: Any

    def depth(self, image: PilImage) -> tuple[Floats, bool]:
        """See `SceneModel`."""
        found = self._inferred([image])
        return np.asarray(found.depth[0], dtype=np.float32), _is_metric(found)

    def cameras(self, images: Sequence[PilImage]) -> Cameras:
        """See `SceneModel`."""
        found = self._inferred(list(images))
        intrinsics = np.array(found.intrinsics, dtype=np.float32)
        worked_height, worked_width = found.depth.shape[1:]
        intrinsics[:, 0] *= images[0].width / worked_width
        intrinsics[:, 1] *= images[0].height / worked_height
        extrinsics = np.asarray(found.extrinsics, dtype=np.float32)[:, :3, :4]  # documented as 4x4, given as 3x4
        return Cameras(intrinsics=intrinsics, extrinsics_w2c=extrinsics, is_metric=_is_metric(found))

    def _inferred(self, images: list[PilImage]) -> Any:
        return self.network.inference(images, process_res=_LONGER_SIDE, process_res_method="upper_bound_resize")


def _is_metric(found: Any) -> bool:
    """Models without a metric scale leave an empty container here, so a mere test for truth or `None` would not do."""
    flag = getattr(found, "is_metric", None)
    return isinstance(flag, int | float | np.generic) and bool(flag == 1)


def _spare_exporters() -> None:
    """Stand in for the package's exporters where moviepy is missing: importing it imports them, and nothing is exported here."""
    name = "depth_anything_3.utils.export"
    if find_spec("moviepy") is None and name not in sys.modules:
        stand_in: Any = ModuleType(name)
        stand_in.export = None
        sys.modules[name] = stand_in


def load(weights: Weights, device: Any) -> DepthAnything:
    """The model on its device.

    Raises:
        WeightsUnavailableError: no weights, or the package is not in this environment.
    """
    _spare_exporters()
    try:
        from depth_anything_3.api import DepthAnything3
    except ImportError as error:
        expected = "the package depth_anything_3 in this environment (docs/deployment.md, Depth Anything 3)"
        raise WeightsUnavailableError(f"{weights.place}: expected {expected}, got {error}") from error
    return DepthAnything(network=weights.loaded(DepthAnything3.from_pretrained).to(device.name).eval())
