"""What lies between smooth cores: mixtures of those nearby, or something of its own.

Luma and chroma are judged apart, because JPEG blurs chroma over more pixels than luma and rings in both.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.vision.labels import Labels, filled, highest
from openvlharness_adapters.backends.embedded.vision.opencv import opencv
from openvlharness_adapters.backends.embedded.vision.ranks import median_of
from openvlharness_adapters.backends.embedded.vision.working import Working

_UNLIKE = 16.0  # levels beyond every mixture
_RINGING = np.array([0.2, 0.4, 0.4], np.float32)
"""Of the contrast nearby, in luma and chroma: JPEG rings beside edges, within the block of 8 or 16 pixels."""
_RINGING_REACH = 6
_REACH = 7  # picture pixels that the blur of an edge and the ringing beside it span
_FAR = 1e6


@attrs.define(kw_only=True)
class Spread:
    """For each pixel: the best region in reach by colour, and the range that mixtures of those in reach span."""

    working: Working
    labels: Labels
    reach: float = attrs.field(init=False)
    best: NDArray[np.float32] = attrs.field(init=False)
    owner: Labels = attrs.field(init=False)
    low: NDArray[np.float32] = attrs.field(init=False)
    high: NDArray[np.float32] = attrs.field(init=False)
    opponent: NDArray[np.float32] = attrs.field(init=False)
    places: NDArray[np.intp] = attrs.field(init=False)  # counted row by row: one index is faster than two
    colours: dict[int, NDArray[np.float32]] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        cv2 = opencv()
        pixels = self.working.pixels
        self.reach = _REACH * self.working.unit + 2
        self.opponent = cv2.cvtColor(pixels, cv2.COLOR_RGB2YCrCb).astype(np.float32)
        self.owner = self.labels.copy()
        self.places = np.arange(self.labels.size).reshape(self.labels.shape)
        self.best = np.where(self.labels > 0, np.float32(-1), np.float32(_FAR))
        self.low = np.full(pixels.shape, 255, np.float32)
        self.high = np.zeros(pixels.shape, np.float32)

    def offer(self, label: int, box_xywh: tuple[int, int, int, int], colour: NDArray[np.float32] | None = None) -> None:
        """Offer every pixel in reach of a region to it; its colour there is that of its nearest pixel unless given."""
        cv2 = opencv()
        left, top, wide, high = box_xywh
        reach = int(self.reach) + 1
        rows = slice(max(0, top - reach), top + high + reach)
        columns = slice(max(0, left - reach), left + wide + reach)
        own = self.labels[rows, columns] == label
        seen, numbered = self.opponent.reshape(-1, 3), self.places[rows, columns]
        places = numbered[own]
        if colour is None:
            self.colours[label] = median_of(seen[places[:: max(1, len(places) // 2000)]]).astype(np.float32)
        else:
            self.colours[label] = colour
        distance, nearest = cv2.distanceTransformWithLabels(
            (~own).view(np.uint8), cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL
        )
        within = (self.best[rows, columns] >= 0) & (distance <= self.reach)
        at = numbered[within]
        if not len(at):
            return
        here, away = seen[at], distance[within]
        theirs = np.broadcast_to(0 if colour is None else colour, here.shape)
        if colour is None:  # OpenCV numbers the pixels of `own` row by row, from 1
            theirs = seen[places[nearest[within] - 1]]
        apart = np.abs(here - theirs)
        # A far region is as likely as a near one by colour alone; ties go to the near one.
        unlike = apart[:, 0] + apart[:, 1] + apart[:, 2]
        unlike += away * 0.3 + np.maximum(0, away - 4 * self.working.unit) * 6 / self.working.unit
        for plane, pick in ((self.low.reshape(-1, 3), np.minimum), (self.high.reshape(-1, 3), np.maximum)):
            plane[at] = pick(plane[at], theirs)
        best, owner = self.best.reshape(-1), self.owner.reshape(-1)
        better = unlike < best[at]
        best[at[better]] = unlike[better]
        owner[at[better]] = label

    def unexplained(self) -> NDArray[np.uint8]:
        """Pixels between cores that are no mixture of what lies in reach."""
        cv2 = opencv()
        side = 2 * int(_RINGING_REACH * self.working.unit) + 1
        kernel = np.ones((side, side), np.uint8)
        # Colours of cores are whole numbers, and of bytes OpenCV takes extremes much faster.
        top, bottom = cv2.dilate(self.high.astype(np.uint8), kernel), cv2.erode(self.low.astype(np.uint8), kernel)
        contrast = cv2.subtract(top, bottom)  # 0 where nothing is in reach
        at = np.flatnonzero(self.best >= 0)
        low, high, seen = (plane.reshape(-1, 3)[at] for plane in (self.low, self.high, self.opponent))
        slack = _UNLIKE + _RINGING * contrast.reshape(-1, 3)[at] + 3 * self.working.left
        outside = highest(np.maximum(low - seen, seen - high) - slack) > 0
        odd = np.zeros(self.labels.shape, np.uint8)
        odd.reshape(-1)[at[outside]] = 1
        return odd

    def settled(self) -> Labels:
        """Every pixel with its region; those that none reached go to the nearest."""
        return filled(self.owner)
