"""The pictures a program leaves: files in its working directory, and Pillow images in its variables."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from typing import Protocol, cast

from openvlharness_adapters.executor.wire import MAX_IMAGE_BYTES, MAX_IMAGES, MAX_NAME_CHARACTERS, picture_type
from openvlharness_core.texts import clean_text

_PNG_MODES = {"1", "L", "LA", "I", "I;16", "P", "RGB", "RGBA"}


class _Image(Protocol):
    """What is used of a Pillow image; Pillow itself is the program's, and not imported here."""

    @property
    def mode(self) -> str: ...

    def convert(self, mode: str) -> _Image: ...

    def save(self, file: io.BytesIO, kind: str) -> None: ...


def pictures(directory: str, namespace: Mapping[str, object]) -> tuple[list[tuple[str, bytes]], list[str]]:
    """(name, encoded bytes) of at most 8 pictures, files by name and then variables; and what was left out and why.

    Files count as pictures by their first bytes, and only regular ones are opened: a link leads elsewhere, and a pipe
    would block. The same bytes are taken once, since programs tend to save what a variable holds.
    """
    taken: list[tuple[str, bytes]] = []
    left_out: list[str] = []
    seen: set[bytes] = set()
    for name, data in (*_files(directory), *_variables(namespace)):
        if data in seen:
            continue
        if len(data) > MAX_IMAGE_BYTES:
            left_out.append(f"picture {name}: more than {MAX_IMAGE_BYTES} bytes")
        elif len(taken) == MAX_IMAGES:
            left_out.append(f"picture {name}: more than {MAX_IMAGES} pictures")
        else:
            seen.add(data)
            taken.append((name, data))
    return taken, left_out


def _name(text: str) -> str:
    return clean_text(text)[:MAX_NAME_CHARACTERS]


def _files(directory: str) -> Iterator[tuple[str, bytes]]:
    """Pictures among the files, one byte more than may be taken at most."""
    for name in sorted(os.listdir(directory)):
        try:
            descriptor = os.open(os.path.join(directory, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:  # a link, a socket, a file without rights
            continue
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                continue
            head = file.read(12)
            if picture_type(head) is not None:
                yield _name(name), head + file.read(MAX_IMAGE_BYTES + 1 - len(head))


def _variables(namespace: Mapping[str, object]) -> Iterator[tuple[str, bytes]]:
    pillow = sys.modules.get("PIL.Image")
    image_class = getattr(pillow, "Image", None)
    if not isinstance(image_class, type):  # Pillow is not there, so no variable can hold a picture of its
        return
    for name, value in list(namespace.items()):
        if type(name) is str and not name.startswith("_") and isinstance(value, image_class):
            try:
                data = _encoded(cast(_Image, value))
            except Exception as fault:  # noqa: BLE001  a picture of no pixels, of a closed file, of a subclass of the program's
                sys.stderr.write(f"[picture {_name(name)}: {type(fault).__name__}: {fault}]\n")
                continue
            yield _name(name), data


def _encoded(image: _Image) -> bytes:
    """PNG, or JPEG where a PNG would be too large to be taken."""
    data = _saved(image, _PNG_MODES, "PNG")
    return data if len(data) <= MAX_IMAGE_BYTES else _saved(image, {"L", "RGB"}, "JPEG")


def _saved(image: _Image, modes: set[str], kind: str) -> bytes:
    shown = image if image.mode in modes else image.convert("RGB")
    file = io.BytesIO()
    shown.save(file, kind)
    return file.getvalue()
