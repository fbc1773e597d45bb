"""Devices and weights, in front of a double of torch: the quick suite has none, and no machine of ours has two cards."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from openvlharness_adapters.servers.sources import Weights, WeightsUnavailableError

_MODULE = "openvlharness_adapters.servers.devices"


class FakeTorch(ModuleType):
    """As much of torch as a device takes; notes what it is told."""

    def __init__(self, cards: int) -> None:
        super().__init__("torch")
        self.said: list[tuple[str, object]] = []
        self.float32, self.bfloat16, self.float16 = "float32", "bfloat16", "float16"
        self.cuda = SimpleNamespace(
            is_available=lambda: cards > 0,
            device_count=lambda: cards,
            is_bf16_supported=lambda: True,
            empty_cache=lambda: self.said.append(("emptied", None)),
            set_per_process_memory_fraction=lambda share, number: self.said.append(("capped", (share, number))),
        )

    def device(self, name: str) -> object:
        _, _, number = name.partition(":")
        return SimpleNamespace(index=int(number) if number else None)

    def empty(self, size: int, device: str) -> None:
        if device != "cpu":
            raise RuntimeError(f"Expected one of cpu, cuda device type at start of device string: {device}")

    def set_float32_matmul_precision(self, precision: str) -> None:
        self.said.append(("precision", precision))


@pytest.fixture
def torch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTorch]:
    fake = FakeTorch(request.param)
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.delitem(sys.modules, _MODULE, raising=False)
    yield fake
    sys.modules.pop(_MODULE, None)


def _opened(name: str | None, fraction: float | None) -> Any:
    return importlib.import_module(_MODULE).opened(name, fraction)


@pytest.mark.parametrize("torch", [2], indirect=True)
def test_a_card_is_taken_and_its_memory_capped(torch: FakeTorch) -> None:
    first, second = _opened(None, 0.2), _opened("cuda:1", 0.35)
    assert (first.name, first.dtype, second.name) == ("cuda:0", "bfloat16", "cuda:1")
    assert [said for said in torch.said if said[0] == "capped"] == [("capped", (0.2, 0)), ("capped", (0.35, 1))]
    first.release()
    assert torch.said[-1] == ("emptied", None)


@pytest.mark.parametrize("torch", [2], indirect=True)
def test_without_a_fraction_nothing_is_capped(torch: FakeTorch) -> None:
    _opened(None, None)
    assert "capped" not in [said for said, _ in torch.said]


@pytest.mark.parametrize("torch", [0], indirect=True)
def test_without_a_card_it_is_the_processor(torch: FakeTorch) -> None:
    device = _opened(None, 0.2)
    assert (device.name, device.dtype, device.is_card) == ("cpu", "float32", False)
    device.release()
    assert torch.said == []


@pytest.mark.parametrize(("torch", "name"), [(1, "cuda:1"), (0, "cuda"), (1, "tpu")], indirect=["torch"])
def test_a_device_that_is_not_there_is_named(torch: FakeTorch, name: str) -> None:
    with pytest.raises(Exception, match=rf"device: expected .*{name}") as caught:
        _opened(name, None)
    assert type(caught.value).__name__ == "DeviceUnavailableError"


# ---- weights ---------------------------------------------------------------------------------------------------------


def test_a_folder_is_never_looked_up(tmp_path: Path) -> None:
    assert Weights(place=str(tmp_path), revision="main").options == {"local_files_only": True}


@pytest.mark.parametrize(
    ("weights", "options"),
    [
        (Weights(place="facebook/sam3"), {"local_files_only": False}),
        (Weights(place="facebook/sam3", offline=True), {"local_files_only": True}),
        (Weights(place="facebook/sam3", revision="v1"), {"local_files_only": False, "revision": "v1"}),
    ],
)
def test_a_name_is_looked_up_unless_it_must_not(weights: Weights, options: dict[str, object]) -> None:
    seen: list[object] = []
    assert weights.loaded(lambda place, **given: seen.append((place, given)) or "model") == "model"
    assert seen == [("facebook/sam3", options)]


@pytest.mark.parametrize(("offline", "where"), [(False, "the hub"), (True, "the hub's cache")])
def test_weights_that_cannot_be_loaded_are_named_with_their_place(offline: bool, where: str) -> None:
    def load(place: str, **_: object) -> None:
        raise OSError("no file named config.json")

    with pytest.raises(WeightsUnavailableError, match=rf"a/b: expected weights in {where}, got OSError: no file named"):
        Weights(place="a/b", offline=offline).loaded(load)
