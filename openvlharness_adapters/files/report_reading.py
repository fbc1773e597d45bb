"""From the files of a saved report to the value again, strictly: what breaks a promise is named by file and place."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import attrs

from openvlharness_adapters.files.binding_values import Array, arrays_from_bytes, fields_from_json
from openvlharness_adapters.files.json_places import Place, first_difference, json_place
from openvlharness_adapters.files.report_files import ARRAYS, BINDINGS
from openvlharness_adapters.files.step_reading import StepReader
from openvlharness_core.agent.conversation import TurnTokens
from openvlharness_core.agent.report import (
    REPORT_SCHEMA,
    SUFFIXES,
    Asked,
    AskedImage,
    AskedText,
    ModelName,
    Report,
    TurnRecord,
)
from openvlharness_core.agent.state import StopError, StopReason
from openvlharness_core.errors import HarnessError, SavedFileError
from openvlharness_core.memory.bindings import Binding
from openvlharness_core.memory.images import QUESTION, ImageRecord, Lineage
from openvlharness_core.memory.webpages import PageRecord
from openvlharness_core.pictures import EncodedImage, Picture
from openvlharness_core.question import Exchange

_IMAGE_HANDLE = re.compile(r"(?:input_image|tool_generated_image)_[1-9][0-9]{0,8}")
_PAGE_HANDLE = re.compile(r"webpage_url_[1-9][0-9]{0,8}")
_STOP_REASONS: tuple[StopReason, ...] = get_args(StopReason)


@attrs.frozen(kw_only=True)
class ReportReader:
    """Reads one report.

    Attributes:
        directory: where it lies, for error messages.
        find: bytes of a plain name below the directory, `None` if there is no such file.
    """

    directory: Path
    find: Callable[[str], bytes | None]

    def read(self, file: str, data: bytes) -> Report:
        """The report whose `report.json` is `data`.

        Raises:
            SavedFileError: anything that `report_to_files` would not have written, naming file and place.
        """
        whole = json_place(file, data)
        if whole["schema"].value != REPORT_SCHEMA:
            raise whole["schema"].wrong(REPORT_SCHEMA)
        images = tuple(self._image(handle, place) for handle, place in whole["images"].entries())
        steps = StepReader(records={record.handle: record for record in images}, envelope=self._envelope)
        private = whole["private"]
        report = Report(
            task_id=whole["task_id"].optional(Place.text),
            question=tuple(_asked(place) for place in whole["question"].items()),
            answer=whole["answer"].optional(Place.text),
            error=whole["error"].optional(_stop_error),
            stop_reason=whole["stop_reason"].one_of(_STOP_REASONS),
            model=_model_name(whole["model"]),
            steps=tuple(steps.read(place, position) for position, place in enumerate(whole["steps"].items())),
            images=images,
            bindings=self._bindings([name for name, _ in whole["bindings"].entries()]),
            pages=tuple(_page(handle, place) for handle, place in whole["pages"].entries()),
            seconds=whole["seconds"].number(),
            turns=tuple(_turn(place) for place in private["turns"].items()),
            fixed_tokens=private["fixed_tokens"].optional(Place.whole),
            prices=_prices(whole["usage"]),
        )
        _agree(whole, report)
        return report

    # --- pictures ----------------------------------------------------------------------------------------------------

    def _image(self, handle: str, place: Place) -> ImageRecord:
        if not _IMAGE_HANDLE.fullmatch(handle):
            raise SavedFileError(place.file, f"{place.path}: expected the handle of a picture as key")
        private = place["private"]
        url = private["url"].optional(Place.text)
        lineages = tuple(
            Lineage(
                tool=each["tool"].text(),
                parents=each["parents"].texts(),
                to_source=each["to_source"].optional(Place.affine),
            )
            for each in private["lineages"].items()
        )
        if (tool := private["tool"].optional(Place.text)) is not None:
            to_source = place["to_source"].optional(Place.affine)
            lineages = (*lineages, Lineage(tool=tool, parents=place["parents"].texts(), to_source=to_source))
        return ImageRecord(
            handle=handle,
            source=place["source"].text() if url is None else QUESTION,
            picture=private["picture"].optional(lambda picture: self._picture(handle, place, picture)),
            url=url,
            lineages=lineages,
        )

    def _picture(self, handle: str, place: Place, private: Place) -> Picture:
        full = self._encoded(f"images/{handle}", place["file"], place["size"], private["sha256"])
        sent = private["sent"].optional(
            lambda shrunk: self._encoded(f"images/{handle}.sent", shrunk["file"], shrunk["size"], shrunk["sha256"])
        )
        return Picture(
            full=full,
            sent=full if sent is None else sent,
            digest=private["digest"].text(),
            notes=private["notes"].texts(),
        )

    def _encoded(self, stem: str, file: Place, size: Place, sha256: Place) -> EncodedImage:
        names = {f"{stem}.{suffix}": media_type for media_type, suffix in SUFFIXES.items()}
        name = file.one_of(tuple(names))
        image = EncodedImage(data=self._bytes(name), media_type=names[name], size_hw=size.size_hw())
        if image.digest != sha256.text():
            raise SavedFileError(
                str(self.directory / name), f"expected the bytes that were saved, SHA-256 {sha256.value}, got others"
            )
        return image

    # --- what lies beside --------------------------------------------------------------------------------------------

    def _envelope(self, name: str) -> dict[str, object]:
        return json_place(str(self.directory / name), self._bytes(name)).object()

    def _bindings(self, names: list[str]) -> tuple[Binding, ...]:
        if not names:
            return ()
        whole = json_place(str(self.directory / BINDINGS), self._bytes(BINDINGS))
        arrays: dict[str, Array] | None = None

        def find(reference: Place) -> Array:
            nonlocal arrays
            if arrays is None:
                arrays = arrays_from_bytes(self._bytes(ARRAYS), str(self.directory / ARRAYS))
            return arrays[reference.one_of(tuple(arrays))]

        return tuple(_binding(name, whole[name], find) for name in names)

    def _bytes(self, name: str) -> bytes:
        try:
            data = self.find(name)
        except OSError as error:
            raise SavedFileError(
                str(self.directory / name), f"cannot be read: {error.strerror or type(error).__name__}"
            ) from error
        if data is None:
            raise SavedFileError(str(self.directory / name), "expected a file of the report, found none")
        return data


def _agree(whole: Place, report: Report) -> None:
    """What follows from other parts of the report must say the same: usage, descriptors, sizes, file names."""
    try:
        again = report.to_dict()
    except HarnessError as error:
        raise SavedFileError(whole.file, str(error)) from None
    if place := first_difference(whole.value, again):
        raise SavedFileError(
            whole.file, f"{place}: expected what follows from the rest of the report, got another value"
        )


def _binding(name: str, place: Place, find: Callable[[Place], Array]) -> Binding:
    return Binding(
        name=name,
        stem=place["stem"].text(),
        fields=fields_from_json(place["fields"], find),
        notes={key: note.text() for key, note in place["notes"].entries()},
        image_id=place["image_id"].optional(Place.text),
    )


def _asked(place: Place) -> Asked:
    match place["type"].one_of(("exchange", "text", "image")):
        case "exchange":
            return Exchange(question=place["question"].text(), answer=place["answer"].text())
        case "text":
            return AskedText(text=place["text"].text())
        case _:
            notes = place["notes"].texts() if "notes" in place.object() else ()
            return AskedImage(handle=place["handle"].text(), notes=notes)


def _stop_error(place: Place) -> StopError:
    return StopError(code=place["code"].text(), message=place["message"].text())


def _model_name(place: Place) -> ModelName:
    """Reports of before profiles were kept have none."""
    return ModelName(
        alias=place["alias"].text(),
        model_id=place["model_id"].text(),
        protocol=place["protocol"].text(),
        profile=place["profile"].object() if "profile" in place.object() else None,
    )


def _prices(usage: Place) -> dict[str, dict[str, float]]:
    """By role; money is told only where there are any."""
    if "money" not in usage.object():
        return {}
    return {role: prices.numbers() for role, prices in usage["money"]["prices"].entries()}


def _page(handle: str, place: Place) -> PageRecord:
    if not _PAGE_HANDLE.fullmatch(handle):
        raise SavedFileError(place.file, f"{place.path}: expected the handle of a page as key")
    return PageRecord(handle=handle, url=place["url"].text(), title=place["title"].text())


def _turn(place: Place) -> TurnRecord:
    return TurnRecord(extras=place["extras"].text(), tokens=place["tokens"].optional(_tokens))


def _tokens(place: Place) -> TurnTokens:
    return TurnTokens(
        whole=place["whole"].whole(),
        pictures_as_lines=place["pictures_as_lines"].whole(),
        one_line=place["one_line"].whole(),
        update=place["update"].whole(),
    )
