"""VGGT: depth and cameras of one or several pictures.

There is no package of it; a checkout of its repository on the path serves. What is used of it:

    VGGT.from_pretrained(place)                          from vggt.models.vggt
    network(images)                                      images (S, 3, H, W) from 0 to 1, H and W multiples of 14
      -> {"pose_enc": (1, S, 9), "depth": (1, S, H, W, 1), …}
    pose_encoding_to_extri_intri(pose_enc, (H, W))       from vggt.utils.pose_enc
      -> extrinsics (1, S, 3, 4) world to camera, intrinsics (1, S, 3, 3) for H by W pixels

Its scale is its own, never metres.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import attrs
import numpy as np

from openvlharness_adapters.servers.pictures import PilImage
from openvlharness_adapters.servers.scenes import Cameras, Floats
from openvlharness_adapters.servers.sources import Weights, WeightsUnavailableError

_LONGER_SIDE = 518
_PATCH = 14


@attrs.frozen(kw_only=True)
class Vggt:
    """See `SceneModel`.

    Attributes:
        network: see the module.
        decode: `pose_encoding_to_extri_intri`.
        tensor: an array (S, 3, H, W) to what the network takes.
        quietly: the context that it runs in: no gradients, mixed precision on a card.
    """

    network: Any
    decode: Callable[[Any, tuple[int, int]], tuple[Any, Any]]
    tensor: Callable[[Floats], Any]
    quietly: Callable[[], AbstractContextManager[object]]

    def depth(self, image: PilImage) -> tuple[Floats, bool]:
        """See `SceneModel`."""
        outputs, _ = self._run([image])
        return _array(outputs["depth"])[0, 0, :, :, 0], False

    def cameras(self, images: Sequence[PilImage]) -> Cameras:
        """See `SceneModel`."""
        outputs, (height, width) = self._run(images)
        with self.quietly():
            extrinsics, intrinsics = self.decode(outputs["pose_enc"], (height, width))
        scaled = _array(intrinsics)[0].copy()
        scaled[:, 0] *= images[0].width / width
        scaled[:, 1] *= images[0].height / height
        return Cameras(intrinsics=scaled, extrinsics_w2c=_array(extrinsics)[0], is_metric=False)

    def _run(self, images: Sequence[PilImage]) -> tuple[Any, tuple[int, int]]:
        width, height = images[0].size
        factor = _LONGER_SIDE / max(width, height)
        size = tuple(max(_PATCH, round(side * factor / _PATCH) * _PATCH) for side in (width, height))
        planes = [np.asarray(image.resize(size, resample=3), dtype=np.float32) for image in images]  # 3: bicubic
        stacked = np.stack(planes).transpose(0, 3, 1, 2) / np.float32(255)
        with self.quietly():
            outputs = self.network(self.tensor(stacked))
        return outputs, (size[1], size[0])


def _array(values: Any) -> Floats:
    return np.asarray(values.float().cpu().numpy() if hasattr(values, "cpu") else values, dtype=np.float32)


def load(weights: Weights, device: Any) -> Vggt:
    """The model on its device.

    Raises:
        WeightsUnavailableError: no weights, or the code is not on the path.
    """
    try:
        import torch
        from vggt.models.vggt import VGGT
        from vggt.utils.pose_enc import pose_encoding_to_extri_intri
    except ImportError as error:
        expected = "torch and a checkout of VGGT on the path (docs/deployment.md, VGGT)"
        raise WeightsUnavailableError(f"{weights.place}: expected {expected}, got {error}") from error

    def quietly() -> AbstractContextManager[object]:
        from contextlib import ExitStack

        stack = ExitStack()
        stack.enter_context(torch.inference_mode())
        stack.enter_context(device.mixed())
        return stack

    return Vggt(
        network=weights.loaded(VGGT.from_pretrained).to(device.name).eval(),
        decode=pose_encoding_to_extri_intri,
        tensor=lambda array: torch.from_numpy(np.ascontiguousarray(array)).to(device.name),
        quietly=quietly,
    )
