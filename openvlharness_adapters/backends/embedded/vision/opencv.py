"""Where OpenCV is met: imported at the first use, since it is an extra and takes a moment."""

from __future__ import annotations

from typing import Any

from openvlharness_core.errors import CapabilityUnavailableError

NAME = "embedded_grounding"


def opencv() -> Any:
    """The `cv2` module.

    Raises:
        CapabilityUnavailableError: it is not installed.
    """
    try:
        import cv2
    except ImportError as error:
        raise CapabilityUnavailableError(
            NAME,
            f"finding things needs OpenCV, which is not installed: pip install 'openvlharness[embedded]' ({error})",
        ) from error
    return cv2
