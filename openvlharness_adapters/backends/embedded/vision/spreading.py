"""What lies between smooth cores: mixtures of those nearby, or something of its own.

Luma and chroma are judged apart, because JPEG blurs chroma over more pixels than luma and rings in both.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from openvlharness_adapters.backends.embedded.vision.labels import Labels, filled, highest
from openvlharness_adapters.backends.embedded.vision.opencv import opencv
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
    colours: dict[int, NDArray[np.float32]] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        cv2 = opencv()
        pixels = self.working.pixels
        self.reach = _REACH * self.working.unit + 2
        self.opponent = cv2.cvtColor(pixels, cv2.COLOR_RGB2YCrCb).astype(np.float32)
        self.owner = self.labels.copy()
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
        seen, best = self.opponent[rows, columns], self.best[rows, columns]
        places = np.flatnonzero(own)
        wide_rows = own.shape[1]
        if colour is None:
            some = places[:: max(1, len(places) // 2000)]
            self.colours[label] = np.median(seen[some // wide_rows, some % wide_rows], axis=0)
        else:
            self.colours[label] = colour
        distance, nearest = cv2.distanceTransformWithLabels(
            (~own).astype(np.uint8), cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL
        )
        y, x = np.nonzero((best >= 0) & (distance <= self.reach))
        if not len(y):
            return
        here, away = seen[y, x], distance[y, x]
        if colour is None:
            nearby = places[nearest[y, x] - 1]  # OpenCV numbers the pixels of `own` row by row, from 1
            theirs = seen[nearby // wide_rows, nearby % wide_rows]
        else:
            theirs = np.broadcast_to(colour, here.shape)
        apart = np.abs(here - theirs)
        # A far region is as likely as a near one by colour alone; ties go to the near one.
        unlike = apart[:, 0] + apart[:, 1] + apart[:, 2]
        unlike += away * 0.3 + np.maximum(0, away - 4 * self.working.unit) * 6 / self.working.unit
        for plane, pick in ((self.low, np.minimum), (self.high, np.maximum)):
            part = plane[rows, columns]
            part[y, x] = pick(part[y, x], theirs)
        better = unlike < best[y, x]
        best[y[better], x[better]] = unlike[better]
        self.owner[rows, columns][y[better], x[better]] = label

    def unexplained(self) -> NDArray[np.uint8]:
        """Pixels between cores that are no mixture of what lies in reach."""
        cv2 = opencv()
        side = 2 * int(_RINGING_REACH * self.working.unit) + 1
        kernel = np.ones((side, side), np.uint8)
        top, bottom = cv2.dilate(self.high, kernel), cv2.erode(self.low, kernel)
        y, x = np.nonzero(self.best >= 0)
        slack = _UNLIKE + _RINGING * np.maximum(top[y, x] - bottom[y, x], 0) + 3 * self.working.left
        seen = self.opponent[y, x]
        outside = highest(np.maximum(self.low[y, x] - seen, seen - self.high[y, x]) - slack) > 0
        odd = np.zeros(self.labels.shape, np.uint8)
        odd[y[outside], x[outside]] = 1
        return odd

    def settled(self) -> Labels:
        """Every pixel with its region; those that none reached go to the nearest."""
        return filled(self.owner)
