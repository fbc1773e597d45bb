"""The first messages of a question: system prompt, earlier exchanges, the question with its pictures, the inventory."""

from __future__ import annotations

from openvlharness_core.agent.policy import TurnPolicy
from openvlharness_core.memory.inventory import environment_update
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import AssistantMessage, ImagePart, Message, Part, SystemMessage, TextPart, UserMessage
from openvlharness_core.question import Intake


def registered_inputs(intake: Intake, workspace: Workspace) -> Workspace:
    """Memory with every picture of the question under its handle, in order."""
    for part in intake.parts:
        if not isinstance(part, str):
            workspace = workspace.with_input(part)
    return workspace


def opening_messages(
    intake: Intake, workspace: Workspace, policy: TurnPolicy
) -> tuple[tuple[Message, ...], str | None]:
    """The opening, and the text of its update; `None` without tools, since nobody could use the names in it.

    Each picture is preceded by its handle. Of more pictures than a request may carry the first are shown; the others
    are listed by handle and stay usable.
    """
    prompts = policy.prompts
    messages: list[Message] = [SystemMessage(text=prompts.text("system"))]
    for exchange in intake.history:
        messages.append(UserMessage.of_text(exchange.question))
        # strict servers refuse an empty message, here as in a reply
        messages.append(
            AssistantMessage(text=exchange.answer if exchange.answer.strip() else prompts.text("empty_reply"))
        )
    messages.append(UserMessage(parts=_question_parts(intake, workspace, policy)))
    if not policy.tools:
        return tuple(messages), None
    update = environment_update(workspace, prompts, policy.webpage_env_update_limit)
    messages.append(UserMessage.of_text(update))
    return tuple(messages), update


def _question_parts(intake: Intake, workspace: Workspace, policy: TurnPolicy) -> tuple[Part, ...]:
    prompts = policy.prompts
    records = iter(workspace.images.records)
    prefix = prompts.text("user_prefix")
    parts: list[Part] = [TextPart(text=prefix)] if prefix.strip() else []
    shown, left = 0, []
    for part in intake.parts:
        if isinstance(part, str):
            if part.strip():  # strict servers refuse a blank part
                parts.append(TextPart(text=part))
            continue
        record = next(records)
        if policy.max_pictures is not None and shown >= policy.max_pictures:
            left.append(record.handle)
            continue
        shown += 1
        parts.append(TextPart(text=prompts.text("image_label", handle=record.handle)))
        if record.picture is None:
            parts.append(ImagePart(handle=record.handle, url=record.url))
        else:
            parts.append(ImagePart(handle=record.handle, image=record.picture.sent))
            notes = (prompts.text("image_note", handle=record.handle, note=note) for note in record.picture.notes)
            parts.extend(TextPart(text=note) for note in notes)
    if left:
        parts.append(TextPart(text=prompts.text("images_not_shown", handles=", ".join(left))))
    return tuple(parts)
