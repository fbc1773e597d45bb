"""What a report says about a question, turned back into what the engine was told then."""

from __future__ import annotations

import attrs

from openvlharness_core.agent.protocol import Cancelled, DeadlinePassed, Event, ModelFailed
from openvlharness_core.agent.report import AskedImage, AskedText, Report
from openvlharness_core.agent.steps import ModelStep, ToolStep
from openvlharness_core.calls import Findings, NewBinding, NewImage, NewPage
from openvlharness_core.errors import HarnessError
from openvlharness_core.memory.images import QUESTION, ImageRecord
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import ModelReply
from openvlharness_core.pictures import ImageLimits, Picture, RemotePicture
from openvlharness_core.ports.imaging import ImageCodec
from openvlharness_core.question import Exchange, Intake


class NotInReport(HarnessError):
    """The report refers to something that it does not hold.

    Attributes:
        place: where it refers to it.
        name: what it refers to.
    """

    def __init__(self, place: str, name: str) -> None:
        super().__init__(f"{place}: {name} is not in the report")
        self.place = place
        self.name = name


@attrs.define
class Recorded:
    """One report, read for replaying it; pictures are taken in as they are today, each once."""

    report: Report
    codec: ImageCodec
    limits: ImageLimits
    _pictures: dict[str, Picture] = attrs.field(factory=dict, init=False)

    def intake(self) -> Intake:
        """The question as it was taken in.

        Raises:
            NotInReport: a picture of the question that the report does not hold.
            UnreadableImageError: a picture that today's codec refuses.
        """
        inputs = iter([record for record in self.report.images if record.source == QUESTION])
        history: list[Exchange] = []
        parts: list[str | Picture | RemotePicture] = []
        for position, asked in enumerate(self.report.question):
            match asked:
                case Exchange():
                    history.append(asked)
                case AskedText(text=text):
                    parts.append(text)
                case AskedImage(handle=handle):
                    record = next(inputs, None)
                    if record is None:
                        raise NotInReport(f"question[{position}].handle", handle)
                    parts.append(RemotePicture(url=record.url) if record.url is not None else self._picture(record))
        return Intake(parts=tuple(parts), task_id=self.report.task_id, history=tuple(history))

    def reply(self, step: ModelStep, turn: int) -> ModelReply:
        """Reply number `turn`, from 0, as the model gave it but for its ids, which are those that are used."""
        turns = self.report.turns
        return ModelReply(
            text=step.text,
            calls=step.calls,
            reasoning=step.reasoning,
            finish_reason=step.finish_reason,
            usage=step.usage,
            extras=turns[turn].extras if turn < len(turns) else "{}",
        )

    def with_downloads(self, workspace: Workspace, step: ToolStep) -> Workspace:
        """Memory with the remote pictures that this call downloaded.

        Raises:
            NotInReport: a picture that the report does not hold.
            UnreadableImageError: a picture that today's codec refuses.
        """
        for handle in step.result.downloads:
            workspace = workspace.with_download(handle, self._picture(self._record(handle, "downloads")))
        return workspace

    def findings(self, step: ToolStep, place: str) -> Findings:
        """What a successful call found, so that it can be registered again.

        Raises:
            NotInReport: an artifact that the report does not hold, by its place below `place`.
            UnreadableImageError: a picture that today's codec refuses.
        """
        result, artifacts = step.result, step.result.artifacts
        images = []
        for number, handle in enumerate(artifacts.images):
            record = self._record(handle, f"{place}.artifacts.images[{number}]")
            if number >= len(result.origins):
                raise NotInReport(f"{place}.private.origins[{number}]", f"the origin of {handle}")
            origin = result.origins[number]
            images.append(NewImage(picture=self._picture(record), parents=origin.parents, to_source=origin.to_source))
        return Findings(
            data=result.data or {},
            images=tuple(images),
            bindings=tuple(
                self._binding(name, f"{place}.artifacts.bindings[{number}]")
                for number, name in enumerate(artifacts.bindings)
            ),
            pages=tuple(
                self._page(handle, f"{place}.artifacts.pages[{number}]")
                for number, handle in enumerate(artifacts.pages)
            ),
            backend=result.backend,
            envelope=result.envelope,
            sidecars=result.sidecars,
            usage=result.usage,
        )

    def ending(self) -> Event | None:
        """What ended the question from outside, where no reply did; `None` where one did."""
        error = self.report.error
        match self.report.stop_reason:
            case "deadline":
                return DeadlinePassed()
            case "cancelled":
                return Cancelled()
            case "model_failed" | "context_exceeded" as reason if error is not None:
                return ModelFailed(code=error.code, message=error.message, context=reason == "context_exceeded")
        return None

    def counts(self, first: int, fresh: int, opening: bool) -> tuple[int, ...] | None:
        """What was counted of `fresh` turns from number `first` on, as `TokensCounted` brings it; `None` if it was not."""
        tokens = [turn.tokens for turn in self.report.turns[first : first + fresh]]
        if self.report.fixed_tokens is None or len(tokens) < fresh:
            return None
        counts = [self.report.fixed_tokens] if opening else []
        for each in tokens:
            if each is None:
                return None
            counts += [each.whole, each.pictures_as_lines, each.one_line, each.update]
        return (*counts, 0)

    def _picture(self, record: ImageRecord) -> Picture:
        """The picture as today's codec takes it in; its identity and notes are those of the bytes that came then."""
        if record.handle not in self._pictures:
            if record.picture is None:
                raise NotInReport(f"images.{record.handle}.file", "the picture")
            self._pictures[record.handle] = self._taken_in(record.picture)
        return self._pictures[record.handle]

    def _taken_in(self, then: Picture) -> Picture:
        """The picture as it would be sent today.

        Bytes that had to change when they came are in the report as changed, and shrinking those gives others than
        shrinking what came gave. So the recorded copy stands there, unless today's rules want another size.
        """
        today = self.codec.take_in(then.full.data, self.limits)
        as_it_came = then.digest == then.full.digest
        kept = not as_it_came and today.sent.size_hw == then.sent.size_hw
        return attrs.evolve(today, sent=then.sent if kept else today.sent, digest=then.digest, notes=then.notes)

    def _record(self, handle: str, place: str) -> ImageRecord:
        for record in self.report.images:
            if record.handle == handle:
                return record
        raise NotInReport(place, handle)

    def _binding(self, name: str, place: str) -> NewBinding:
        for record in self.report.bindings:
            if record.name == name:
                return NewBinding(stem=record.stem, fields=record.fields, notes=record.notes, image_id=record.image_id)
        raise NotInReport(place, name)

    def _page(self, handle: str, place: str) -> NewPage:
        for record in self.report.pages:
            if record.handle == handle:
                return NewPage(url=record.url, title=record.title)
        raise NotInReport(place, handle)
