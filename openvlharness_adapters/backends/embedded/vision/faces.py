"""Frontal faces, by the cascade of Haar features whose data ships with OpenCV."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from openvlharness_adapters.backends.embedded.vision.opencv import NAME, opencv
from openvlharness_adapters.backends.embedded.vision.working import Pixels
from openvlharness_core.detections import Detections
from openvlharness_core.errors import CapabilityUnavailableError

_MOST_PIXELS = 1_000_000
_NEIGHBOURS = 6
_LEAST_SIDE = 24  # pixels; the data was trained at that size
_SURE = 5.0  # weight of the last stage at which a face is as good as sure


def face_detections(pixels: Pixels) -> Detections:
    """Faces that look at the camera, upright, in a picture, uint8 (height, width, 3) RGB. Boxes only.

    Raises:
        CapabilityUnavailableError: OpenCV, its cascades or their data are missing.
    """
    cv2 = opencv()
    height, width = pixels.shape[:2]
    scale = min(1.0, math.sqrt(_MOST_PIXELS / (height * width)))
    grey = cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_RGB2GRAY)
    if scale < 1:
        grey = cv2.resize(
            grey, (max(1, round(width * scale)), max(1, round(height * scale))), interpolation=cv2.INTER_AREA
        )
    found, weights = _found(cv2.equalizeHist(grey)) if min(grey.shape) >= _LEAST_SIDE else ([], [])
    boxes = np.array([[x, y, x + w, y + h] for x, y, w, h in found], np.float64).reshape(-1, 4) / scale
    order = np.lexsort((boxes[:, 0], boxes[:, 1]))
    scores = 1 / (1 + np.exp(-2 * np.asarray(weights, np.float64).reshape(-1) / _SURE))
    return Detections(
        boxes_xyxy_px=np.clip(boxes[order], 0, [width, height, width, height]).astype(np.float32),
        scores=scores[order].astype(np.float32),
        size_hw=(height, width),
    )


def _found(grey: Pixels) -> tuple[list[list[int]], list[float]]:
    cv2 = opencv()
    data = Path(getattr(getattr(cv2, "data", None), "haarcascades", "")) / "haarcascade_frontalface_default.xml"
    if not hasattr(cv2, "CascadeClassifier") or not data.is_file():
        raise CapabilityUnavailableError(
            NAME,
            f"finding faces needs OpenCV 4 with its cascade data, not {cv2.__version__}: pip install 'openvlharness[embedded]'",
        )
    cascade = cv2.CascadeClassifier(str(data))  # one for each call: it keeps state while it looks
    found, _, weights = cascade.detectMultiScale3(
        grey, scaleFactor=1.1, minNeighbors=_NEIGHBOURS, minSize=(_LEAST_SIDE, _LEAST_SIDE), outputRejectLevels=True
    )
    return [[int(value) for value in box] for box in found], [float(weight) for weight in np.ravel(weights)]
