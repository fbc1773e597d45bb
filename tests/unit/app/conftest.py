"""Pictures drawn for these tests."""

from __future__ import annotations

import io

import pytest
from PIL import Image


@pytest.fixture
def picture() -> bytes:
    """A small PNG, half of it red."""
    image = Image.new("RGB", (64, 48), "white")
    image.paste("red", (0, 0, 32, 48))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()
