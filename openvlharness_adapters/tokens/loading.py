"""From what a profile calls its tokenizer to a counter: a file here, or a name on the hub.

A hub name is looked for in the local cache first, so that a machine that has it needs no network, and downloaded
otherwise, unless `HF_HUB_OFFLINE` forbids that. Loading happens in a thread that is left to itself when the time is over:
neither a hub that accepts and never answers nor a dead network disk can hold up a question.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from openvlharness_adapters.http.redaction import NOTHING_SECRET
from openvlharness_adapters.tokens.counter import TokenizerCounter
from openvlharness_adapters.tokens.picture_rule import PictureRule
from openvlharness_core.errors import TokenizerUnavailableError
from openvlharness_core.profile import ModelProfile
from openvlharness_core.texts import clean_text, excerpt

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILE = "tokenizer.json"
_EXTRA = "pip install 'openvlharness[models]'"


def open_counter(profile: ModelProfile, *, timeout_seconds: float = 60.0) -> TokenizerCounter:
    """The counter of a model, ready to count; blocks, so call it before the loop runs or through `Offload`.

    Args:
        profile: its `tokenizer` is a path of a `tokenizer.json`, of a folder that holds one, or a hub name.
        timeout_seconds: how long loading may take, a download included.

    Raises:
        TokenizerUnavailableError: no tokenizer is named, it cannot be loaded in that time, or the profile does not say
            what pictures cost.
    """
    named = profile.tokenizer
    if not named:
        raise TokenizerUnavailableError(f"profile {profile.alias}", "expected a tokenizer, got none")
    try:
        PictureRule.of(profile)  # said before anything is downloaded
    except ValueError as problem:
        raise TokenizerUnavailableError(named, f"profile {profile.alias}: {problem}") from problem
    return TokenizerCounter(tokenizer=open_tokenizer(named, timeout_seconds=timeout_seconds), profile=profile)


def open_tokenizer(named: str, revision: str | None = None, *, timeout_seconds: float = 60.0) -> Tokenizer:
    """A tokenizer by its path or hub name, of one revision where the hub has several; blocks like `open_counter`.

    Raises:
        TokenizerUnavailableError: it cannot be loaded in that time.
    """
    return _within(timeout_seconds, named, lambda: _load(named, revision))


def _within(seconds: float, named: str, load: Callable[[], Tokenizer]) -> Tokenizer:
    """What `load` returns, from a thread of its own that does not keep the process from ending."""
    loaded: list[Tokenizer] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            loaded.append(load())
        except BaseException as error:  # noqa: BLE001 - a file that makes the Rust side panic raises no Exception
            failed.append(error)

    thread = threading.Thread(target=run, name="tokenizer", daemon=True)
    thread.start()
    thread.join(seconds)
    if loaded:
        return loaded[0]
    if failed:
        raise TokenizerUnavailableError(named, _reason(failed[0]))
    raise TokenizerUnavailableError(named, f"not loaded within {seconds:g} seconds")


def _reason(error: BaseException) -> str:
    if isinstance(error, ImportError):
        return f"it needs packages that are not installed: {_EXTRA} ({error})"
    said = excerpt(clean_text(NOTHING_SECRET.clean(str(error))), 300)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _load(named: str, revision: str | None) -> Tokenizer:
    from tokenizers import Tokenizer  # an extra, and 40 ms that only counting needs

    path = Path(named).expanduser()
    if path.is_dir():
        path /= FILE
    if not path.is_file():
        if path.suffix == ".json" or path.is_absolute() or named.startswith((".", "~")):
            raise FileNotFoundError(f"no file {path}")
        path = Path(_from_hub(named, revision))
    return Tokenizer.from_file(str(path))


def _from_hub(name: str, revision: str | None) -> str:
    """Path of the file in the local cache, where it is put if it is not there yet; the hub's variables are obeyed."""
    from huggingface_hub import constants, hf_hub_download, try_to_load_from_cache

    cached = try_to_load_from_cache(name, FILE, revision=revision)
    if isinstance(cached, str):
        return cached
    if constants.HF_HUB_OFFLINE:
        raise FileNotFoundError("not in the hub's cache, and HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE forbids a download")
    return hf_hub_download(name, FILE, revision=revision)
