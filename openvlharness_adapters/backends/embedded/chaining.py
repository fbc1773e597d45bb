"""Many views in one frame: rotations follow from link to link, scales from points that three views have in common.

Two views tell a direction and no length. The first link with a direction sets the unit; every further one is scaled by
points of its earlier view whose depth is known already: the depth that the link alone would give them, against the
depth they have. Where too few points are common, or they contradict each other, the camera keeps its rotation and its
translation is unknown.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.pose_fitting import Floats, depths, homogeneous
from openvlharness_adapters.backends.embedded.two_view import TwoView

LEAST_COMMON = 10
SCALE_ERROR = 0.1
"""Standard error of a scale, relative, above which it is not known."""
_LEAST_PARALLAX = 0.004  # radians between the rays of a point; below, its depth is mostly noise
_LOOK_BACK = 4


@attrs.frozen(kw_only=True, eq=False)
class Link:
    """Two views compared.

    Attributes:
        first: position of the earlier view.
        second: position of the later one.
        pairs: (M, 2) features of both that match.
        rays_first: (M, 3) of the matches, z is 1.
        rays_second: the same in the later view.
        view: what they say of each other.
        rotation_known: whether that rotation may be told.
    """

    first: int
    second: int
    pairs: NDArray[np.int64]
    rays_first: Floats
    rays_second: Floats
    view: TwoView
    rotation_known: bool = True


@attrs.define(kw_only=True, eq=False)
class Chain:
    """Cameras placed so far, world to camera; the world is the first camera's frame.

    Attributes:
        features: number of features of each view.
        rotations: (3, 3) each.
        translations: (3,) each, zero where unknown.
        known: whether each translation is.
        notes: what has to be said.
        rests_on: the link that each further view was placed by.
    """

    features: tuple[int, ...]
    rotations: list[Floats] = attrs.field(factory=lambda: [np.eye(3)])
    translations: list[Floats] = attrs.field(factory=lambda: [np.zeros(3)])
    known: list[bool] = attrs.field(factory=lambda: [True])
    notes: list[str] = attrs.field(factory=list)
    rests_on: list[Link] = attrs.field(factory=list)
    _depths: list[Floats] = attrs.field(init=False)

    @_depths.default
    def _nothing_yet(self) -> list[Floats]:
        return [np.full(count, np.nan) for count in self.features]

    def place(self, position: int, link_to: Callable[[int], Link | None]) -> bool:
        """Place the next view; `link_to` compares it with an earlier one, and says `None` where too few matches agree.

        Returns:
            Whether any earlier view could be compared with it.
        """
        links: list[Link] = []
        for earlier in self._worth_asking(position):
            link = link_to(earlier)
            if link is None:
                continue
            links.append(link)
            if link.rotation_known and self._settle(position, link):
                self.rests_on.append(link)
                return True
        if not links:
            return False
        nearest = next((link for link in links if link.rotation_known), links[0])
        self.rests_on.append(nearest)
        self.rotations.append(nearest.view.rotation @ self.rotations[nearest.first])
        self.translations.append(np.zeros(3))
        self.known.append(False)
        self.notes.append(_unknown(position, nearest))
        return True

    def _worth_asking(self, position: int) -> list[int]:
        """Earlier views, the last one first; then the first one, then those whose place is known."""
        placed = [n for n in range(position - 2, 0, -1) if self.known[n]][: _LOOK_BACK - 2]
        return list(dict.fromkeys([position - 1, 0, *placed]))

    def _settle(self, position: int, link: Link) -> bool:
        """Take the link if it tells where the camera stands."""
        if not self.known[link.first]:
            return False
        rotation = link.view.rotation @ self.rotations[link.first]
        carried = link.view.rotation @ self.translations[link.first]
        if link.view.verdict == "still":
            self.rotations.append(rotation)
            self.translations.append(carried)
            self.known.append(link.first != 0)
            if link.first == 0:
                self.notes.append(_unknown(position, link))
            for feature_1, feature_2 in link.pairs:
                self._depths[position][feature_2] = self._depths[link.first][feature_1]
            return True
        if link.view.verdict != "moved":
            return False
        scale = self._scale(link)
        if scale is None:
            return False
        self.rotations.append(rotation)
        self.translations.append(carried + scale * link.view.direction)
        self.known.append(True)
        self._remember(link, scale)
        return True

    def _depths_of(self, link: Link) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Depths (M,) in both views for a baseline of 1, and which of them are worth something."""
        turned = link.rays_first @ link.view.rotation.T
        first, second = depths(turned, link.rays_second, link.view.direction)
        lengths = np.linalg.norm(turned, axis=1) * np.linalg.norm(link.rays_second, axis=1)
        parallax = np.linalg.norm(np.cross(turned, link.rays_second), axis=1) / lengths
        return first, second, (first > 0) & (second > 0) & (parallax > _LEAST_PARALLAX) & link.view.inliers

    def _scale(self, link: Link) -> float | None:
        """Length of the link's baseline in the chain's unit."""
        if not any(np.isfinite(known).any() for known in self._depths):
            return 1.0
        first, _, good = self._depths_of(link)
        have = self._depths[link.first][link.pairs[:, 0]]
        common = good & np.isfinite(have)
        if common.sum() < LEAST_COMMON:
            return None
        ratios = np.log(have[common] / first[common])
        middle = float(np.median(ratios))
        deviation = 1.48 * float(np.median(np.abs(ratios - middle)))
        # 1.25 is what a median costs against a mean.
        if 1.25 * deviation / np.sqrt(common.sum()) > SCALE_ERROR or deviation > 0.7:
            return None
        return float(np.exp(middle))

    def _remember(self, link: Link, scale: float) -> None:
        first, second, good = self._depths_of(link)
        for values, view, column in ((first, link.first, 0), (second, link.second, 1)):
            features = link.pairs[good, column]
            fresh = np.isnan(self._depths[view][features])
            self._depths[view][features[fresh]] = scale * values[good][fresh]


def rays_of(points: Floats, focal_px: float) -> Floats:
    """(N, 3), z is 1, of points in pixels from the principal point."""
    return homogeneous(points / focal_px)


def _unknown(position: int, link: Link) -> str:
    """Why the place of a view is not known, in a sentence."""
    here, there = f"picture {position + 1}", f"picture {link.first + 1}"
    return {
        "still": f"{here}: no movement against {there} was found",
        "turned": f"{here}: turned against {there} without visible parallax; its translation cannot be observed",
        "uncertain": f"{here}: direction uncertain, its translation against {there} cannot be told from the matches",
        "moved": f"{here}: moved against {there}, but its distance cannot be compared with the others'; translation unknown",
    }[link.view.verdict]
