"""Steps of a saved report as values again."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from openvlharness_adapters.files.json_places import Place
from openvlharness_core.agent.report import envelope_file
from openvlharness_core.agent.steps import CompactionStep, EnvironmentUpdateStep, ModelStep, Step, ToolStep
from openvlharness_core.calls import CallFailure, CapabilityResult, Origin, Registered
from openvlharness_core.errors import FAILURE_CODES
from openvlharness_core.memory.images import ImageRecord
from openvlharness_core.messages import ImagePart, Part, TextPart, VirtualCall
from openvlharness_core.usage import Spent

_KINDS = ("model", "tool", "environment_update", "compaction")


@attrs.frozen(kw_only=True)
class StepReader:
    """Reads the steps of one report.

    Attributes:
        records: pictures by handle, which evidence refers to.
        envelope: reads the envelope of that file name.
    """

    records: Mapping[str, ImageRecord]
    envelope: Callable[[str], dict[str, object]]

    def read(self, place: Place, position: int) -> Step:
        """Step number `position`, from 0.

        Raises:
            SavedFileError: it is none, naming the place.
        """
        match place["kind"].one_of(_KINDS):
            case "model":
                return _model_step(place)
            case "tool":
                return self._tool_step(place, position)
            case "environment_update":
                return EnvironmentUpdateStep(text=place["text"].text())
            case _:
                return CompactionStep(
                    iteration=place["iteration"].whole(), reason=place["reason"].text(), forms=place["forms"].texts()
                )

    def _tool_step(self, place: Place, position: int) -> ToolStep:
        arguments = place["arguments"]
        return ToolStep(
            call_id=place["call_id"].text(),
            tool=place["tool"].text(),
            arguments=arguments.value if isinstance(arguments.value, str) else arguments.object(),
            result=self._result(place, position),
            notes=place["private"]["notes"].texts(),
            seconds=place["seconds"].number(),
        )

    def _result(self, place: Place, position: int) -> CapabilityResult:
        artifacts, private = place["artifacts"], place["private"]
        reference = private["envelope_ref"]
        envelope = None
        if reference.value is not None:
            envelope = self.envelope(reference.one_of((envelope_file(position),)))
        return CapabilityResult(
            data=place["data"].optional(Place.object),
            evidence=tuple(self._part(part) for part in place["evidence"].items()),
            artifacts=Registered(
                images=artifacts["images"].texts(),
                bindings=artifacts["bindings"].texts(),
                pages=artifacts["pages"].texts(),
            ),
            failure=place["error"].optional(_failure),
            backend=private["backend"].optional(Place.text),
            envelope=envelope,
            sidecars=private["sidecars"].object(),
            usage=tuple(_spent(each) for each in place["usage"].items()),
            performed=private["performed"].flag(),
            origins=tuple(_origin(each) for each in private["origins"].items()),
            downloads=private["downloads"].texts(),
        )

    def _part(self, place: Place) -> Part:
        """A part of evidence; a handle without a picture is kept, for a replay to stumble over."""
        if place["type"].one_of(("text", "image")) == "text":
            return TextPart(text=place["text"].text())
        handle = place["handle"].text()
        record = self.records.get(handle)
        if record is None or record.picture is None:
            return ImagePart(handle=handle, url=record.url if record else None)
        return ImagePart(handle=handle, image=record.picture.sent)


def _model_step(place: Place) -> ModelStep:
    truncated = place["private"]["truncated"].texts()
    return ModelStep(
        iteration=place["iteration"].whole(),
        text=place["text"].optional(Place.text),
        reasoning=place["reasoning"].optional(Place.text),
        calls=tuple(_call(call, truncated) for call in place["calls"].items()),
        finish_reason=place["finish_reason"].optional(Place.text),
        usage=place["usage"].numbers(),
        seconds=place["seconds"].number(),
    )


def _call(place: Place, truncated: tuple[str, ...]) -> VirtualCall:
    call_id = place["id"].text()
    return VirtualCall(
        id=call_id,
        tool=place["tool"].text(),
        arguments=place["arguments"].text(),
        truncated=call_id in truncated,
    )


def _failure(place: Place) -> CallFailure:
    return CallFailure(code=place["code"].one_of(FAILURE_CODES), message=place["message"].text())


def _spent(place: Place) -> Spent:
    return Spent(role=place["role"].text(), model=place["model"].optional(Place.text), usage=place["usage"].numbers())


def _origin(place: Place) -> Origin:
    return Origin(parents=place["parents"].texts(), to_source=place["to_source"].optional(Place.affine))
