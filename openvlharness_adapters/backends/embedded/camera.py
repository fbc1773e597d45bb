"""How the camera moved, in this process, on any CPU: features, epipolar geometry, honest about what they cannot tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.chaining import Chain, Link, rays_of
from openvlharness_adapters.backends.embedded.features import Features, Pixels, features_of, matches, opencv
from openvlharness_adapters.backends.embedded.focal import (
    FocalLength,
    FocalReader,
    focal_length,
    intrinsics,
    note_on_guesses,
)
from openvlharness_adapters.backends.embedded.two_view import GUESSED_FACTORS, KNOWN_FACTORS, compare, consistent
from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.errors import HarnessError, ToolExecutionError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.offload import Offload
from openvlharness_core.results import Answered

NAME = "embedded_camera"

NEEDED_MATCHES = 20
"""Matches that must agree on one geometry; of chance matches 10 may, in a picture full of features."""
NOTED_DEGREES = 2.0
KNOWN_WITHIN_DEGREES = 2.5
"""Of a rotation; what may be further off is not told, unless a guessed focal length is the reason, which is said."""


@attrs.frozen(kw_only=True, eq=False)
class EmbeddedCamera:
    """The `CameraBackend` that needs no service. OpenCV is imported at the first call.

    The first camera is the world: its extrinsics are the identity, and its translation counts as known. The first known
    baseline has length 1.

    Attributes:
        pixels: decodes: uint8 (height, width, 3) RGB of the picture's size.
        offload: where it is decoded and computed.
        focal: the focal length in pixels that a picture's file tells.
        opencv: gives OpenCV; called off the loop at every call.
    """

    pixels: Callable[[EncodedImage], Pixels]
    offload: Offload
    focal: FocalReader
    opencv: Callable[[], Any] = attrs.field(default=lambda: opencv(NAME, "recovering camera movement"))

    async def trace(self, images: Sequence[EncodedImage], *, timeout_seconds: float) -> Answered[CameraTrajectory]:
        """See `CameraBackend`. The work cannot be interrupted, so `timeout_seconds` is left to whoever waits.

        Raises:
            CapabilityUnavailableError: the extra `embedded` is not installed.
            ToolExecutionError: fewer than two pictures, too few matches, or a rotation that they leave open though the
                focal length is known.
            UnreadableImageError: pixels that cannot be decoded.
        """
        pictures = tuple(images)
        if len(pictures) < 2:
            raise ToolExecutionError(NAME, f"images: expected at least 2, got {len(pictures)}")
        return await self.offload.run(lambda: self._trace(pictures))

    def _trace(self, images: tuple[EncodedImage, ...]) -> Answered[CameraTrajectory]:
        cv2 = self.opencv()
        focals = tuple(focal_length(image, self.focal) for image in images)
        try:
            views = tuple(_View.of(cv2, self.pixels(image), focal) for image, focal in zip(images, focals, strict=True))
            chain, links = _chained(cv2, views)
        except HarnessError:
            raise
        except cv2.error as error:
            raise ToolExecutionError(NAME, f"OpenCV failed in {getattr(error, 'func', '') or 'a call'}") from error
        except np.linalg.LinAlgError as error:
            raise ToolExecutionError(NAME, f"the matches fit no movement that can be computed ({error})") from error
        _refuse_open_rotations(chain)
        extrinsics = [
            np.hstack([rotation, translation[:, None]])
            for rotation, translation in zip(chain.rotations, chain.translations, strict=True)
        ]
        notes = [*note_on_guesses(focals), *chain.notes, *_doubts(links)]
        if any(chain.known[1:]):
            notes.append("scale unknown: the first known distance between two cameras is set to 1")
        trajectory = CameraTrajectory(
            intrinsics=np.array([intrinsics(f, i.size_hw) for f, i in zip(focals, images, strict=True)]),
            extrinsics_w2c=np.array(extrinsics),
            sizes_hw=tuple(image.size_hw for image in images),
            is_metric=False,
            translation_known=tuple(chain.known),
            notes=tuple(notes),
        )
        return Answered(value=trajectory, backend=NAME, sidecars={"links": [_told(link) for link in links]})


@attrs.frozen(kw_only=True, eq=False)
class _View:
    """One picture: its features, with points in pixels of the working size from the principal point."""

    features: Features
    points: NDArray[np.float64]
    focal_px: float
    guessed: bool

    @classmethod
    def of(cls, cv2: Any, pixels: Pixels, focal: FocalLength) -> _View:
        features = features_of(cv2, pixels)
        height, width = features.size_hw
        return cls(
            features=features,
            points=features.points - np.array([width / 2, height / 2]),
            focal_px=focal.pixels * features.scale,
            guessed=focal.guessed,
        )


def _chained(cv2: Any, views: tuple[_View, ...]) -> tuple[Chain, list[Link]]:
    chain = Chain(features=tuple(len(view.points) for view in views))
    links: list[Link] = []
    for position in range(1, len(views)):
        counts: dict[int, int] = {}

        def link_to(earlier: int, position: int = position, counts: dict[int, int] = counts) -> Link | None:
            link, counts[earlier] = _linked(cv2, views, earlier, position)
            if link is not None:
                links.append(link)
            return link

        if not chain.place(position, link_to):
            earlier = max(counts, key=lambda place: counts[place])
            raise ToolExecutionError(
                NAME,
                f"too few matches between picture {earlier + 1} and picture {position + 1}: "
                f"{counts[earlier]} agree on one movement, at least {NEEDED_MATCHES} are needed",
            )
    return chain, links


def _linked(cv2: Any, views: tuple[_View, ...], earlier: int, later: int) -> tuple[Link | None, int]:
    """The comparison of two views, and the number of matches that agree; without enough of those there is none."""
    first, second = views[earlier], views[later]
    pairs = matches(first.features, second.features)
    points_1, points_2 = first.points[pairs[:, 0]], second.points[pairs[:, 1]]
    focals = (first.focal_px, second.focal_px)
    factors = GUESSED_FACTORS if first.guessed or second.guessed else KNOWN_FACTORS
    agreed = consistent(cv2, points_1, points_2, focals, factors)
    count = int(agreed.sum())
    if count < NEEDED_MATCHES:
        return None, count
    pairs, points_1, points_2 = pairs[agreed], points_1[agreed], points_2[agreed]
    view = compare(cv2, points_1, points_2, focals, guessed=(first.guessed, second.guessed))
    link = Link(
        first=earlier,
        second=later,
        pairs=pairs,
        rays_first=rays_of(points_1, first.focal_px),
        rays_second=rays_of(points_2, second.focal_px),
        view=view,
        rotation_known=first.guessed or second.guessed or view.rotation_span_degrees <= KNOWN_WITHIN_DEGREES,
    )
    return link, count


def _refuse_open_rotations(chain: Chain) -> None:
    for link in chain.rests_on:
        if not link.rotation_known:
            raise ToolExecutionError(
                NAME,
                f"the rotation between picture {link.first + 1} and picture {link.second + 1} cannot be told: "
                f"{len(link.pairs)} matches agree, but movements whose rotations differ by about "
                f"{link.view.rotation_span_degrees:.0f} degrees explain them as well",
            )


def _doubts(links: list[Link]) -> list[str]:
    """What is to be said of rotations that the matches, or a guessed focal length, leave open."""
    return [
        f"the rotation between picture {link.first + 1} and picture {link.second + 1} is uncertain by about "
        f"{link.view.rotation_span_degrees:.0f} degrees"
        for link in links
        if link.view.rotation_span_degrees >= NOTED_DEGREES
    ]


def _told(link: Link) -> dict[str, object]:
    return {
        "pictures": [link.first + 1, link.second + 1],
        "verdict": link.view.verdict,
        "matches": len(link.pairs),
        "inliers": int(link.view.inliers.sum()),
        "parallax_px": round(link.view.parallax_px, 2),
        "rotation_span_degrees": round(link.view.rotation_span_degrees, 2),
        "direction_span_degrees": round(link.view.direction_span_degrees, 2),
    }
