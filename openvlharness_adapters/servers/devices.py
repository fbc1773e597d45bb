"""Where a model works and how much memory it may take. Imports torch, so it is imported only by servers that need it."""

from __future__ import annotations

import gc
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import attrs
import torch

from openvlharness_core.errors import HarnessError


class DeviceUnavailableError(HarnessError):
    """The device that was asked for is not there."""


@attrs.frozen(kw_only=True)
class Device:
    """One device.

    Attributes:
        name: as torch calls it, such as `cuda:0` or `cpu`.
        dtype: numbers that models are loaded in.
    """

    name: str
    dtype: Any

    @property
    def is_card(self) -> bool:
        """Whether it has memory of its own."""
        return self.name.startswith("cuda")

    def release(self) -> None:
        """Give back what is held for nobody."""
        gc.collect()
        if self.is_card:
            torch.cuda.empty_cache()

    def mixed(self) -> AbstractContextManager[object]:
        """Mixed precision on a card, for networks whose weights stay in float32; nothing elsewhere."""
        context: AbstractContextManager[object] = (
            torch.autocast("cuda", dtype=self.dtype) if self.is_card else nullcontext()
        )
        return context


def opened(name: str | None, memory_fraction: float | None) -> Device:
    """The device, its memory capped.

    Args:
        name: `cuda`, `cuda:1`, `cpu`, …; `None` takes a graphics card if there is one.
        memory_fraction: share of the card's memory that this process may take, above 0 up to 1; the rest belongs to the
            other servers of the same card. Main memory is not capped: that is the service manager's work.

    Raises:
        DeviceUnavailableError: no such device.
    """
    chosen = name or ("cuda" if torch.cuda.is_available() else "cpu")
    if not chosen.startswith("cuda"):
        try:
            torch.empty(0, device=chosen)
        except (RuntimeError, AssertionError) as error:
            raise DeviceUnavailableError(
                f"device: expected one that is there, got {chosen!r} ({error!s:.120})"
            ) from None
        return Device(name=chosen, dtype=torch.float32)
    number = torch.device(chosen).index or 0
    if number >= torch.cuda.device_count():
        raise DeviceUnavailableError(f"device: expected one of {torch.cuda.device_count()} cards, got {chosen!r}")
    torch.set_float32_matmul_precision("high")  # tensor cores for networks that stay in float32
    if memory_fraction is not None:
        torch.cuda.set_per_process_memory_fraction(memory_fraction, number)
    return Device(name=f"cuda:{number}", dtype=torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16)
