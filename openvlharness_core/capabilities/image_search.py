"""Image search: where a picture, or one that looks like it, is known from."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from openvlharness_core.calls import Findings, Registered
from openvlharness_core.capabilities.base import IMAGE_ID, object_schema
from openvlharness_core.capabilities.found import nothing_found, search_evidence, search_findings, search_note
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.capabilities.regions import region_note
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import Part, TextPart
from openvlharness_core.ports.seeking import ImageSearchBackend
from openvlharness_core.prompts import PromptBundle

_PARAMETERS = object_schema({"image_id": IMAGE_ID}, ("image_id",))


@attrs.frozen(kw_only=True)
class ImageSearchCapability:
    """Searches by a picture.

    Canonical data: `image_id`, `items` (title, url, source, snippet, details, thumbnail_url, has_image), `summary` (null
    when nobody summarised), `nothing_relevant` (null when something was found), `note` (null if none).
    """

    backend: ImageSearchBackend
    images_per_search: int = 10
    timeout_seconds: float = 300.0
    key: str = attrs.field(default="image_search", init=False)
    name: str = attrs.field(default="Image_Search_Tool", init=False)

    @property
    def parameters(self) -> Mapping[str, object]:
        """An image."""
        return _PARAMETERS

    def description(self, prompts: PromptBundle) -> str:
        """In the bundle's words."""
        return prompts.text("tool_image_search")

    async def perform(self, arguments: Mapping[str, object], hands: Hands) -> Findings:
        """Search, and take thumbnails in."""
        record, picture = await hands.image(str(arguments["image_id"]))
        answered = await hands.within(
            self.timeout_seconds,
            "image_search",
            self.backend.search(picture.full, timeout_seconds=self.timeout_seconds),
        )
        return await search_findings(answered, {"image_id": record.handle}, hands, self.images_per_search)

    def evidence(
        self, findings: Findings, registered: Registered, workspace: Workspace, prompts: PromptBundle
    ) -> tuple[Part, ...]:
        """The visual matches, or why there are none."""
        data = findings.data
        of_crop = region_note(str(data["image_id"]), workspace, prompts)
        if not data["items"]:
            text = prompts.text("image_search_nothing", image=data["image_id"], reason=nothing_found(data))
            return (TextPart(text=text), *of_crop, *search_note(data, prompts))
        head = prompts.text("image_search_results", image=data["image_id"])
        return (TextPart(text=head), *of_crop, *search_evidence(data, registered, workspace, prompts))
