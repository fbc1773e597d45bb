"""Camera pose: how the camera moved from the first of several pictures to each other one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import attrs

from openvlharness_core.calls import Findings, NewBinding, NewImage, Registered
from openvlharness_core.cameras import CameraTrajectory
from openvlharness_core.capabilities.answered import value_of
from openvlharness_core.capabilities.base import IMAGE_ID, object_schema
from openvlharness_core.capabilities.bounds import NAMED_LIMIT
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.capabilities.motion import Motion, motions
from openvlharness_core.capabilities.regions import region_note
from openvlharness_core.errors import MalformedResultError, ToolExecutionError
from openvlharness_core.memory.workspace import Workspace
from openvlharness_core.messages import ImagePart, Part, TextPart
from openvlharness_core.ports.imaging import EvidenceRenderer
from openvlharness_core.ports.perception import CameraBackend
from openvlharness_core.prompts import PromptBundle
from openvlharness_core.texts import bounded, clean_text

SALIENT_METRES = 1.0
SALIENT_DEGREES = 10.0
METRES_NOISE, DEGREES_NOISE = 1e-6, 1e-4
"""What float32 matrices may take from a motion of exactly that much; nothing that is printed shows it."""
NOTES_LIMIT, NOTE_LIMIT = 10, 600
"""Notes of the backend that the model is shown, and characters of each."""
_WHOLE = "the report of this call"
COORDINATE_SYSTEM = "camera axes: +X right, +Y down, +Z forward; extrinsics are world-to-camera"

_PARAMETERS = object_schema(
    {
        "image_ids": {
            "type": "array",
            "items": IMAGE_ID,
            "minItems": 2,
            "maxItems": NAMED_LIMIT,
            "description": f"Handles of 2 to {NAMED_LIMIT} images of one scene, in order; the first is the reference.",
        }
    },
    ("image_ids",),
)
_NOTES = {
    "intrinsics": "(N, 3, 3), each for its image's pixels; the image's corner is (0, 0), the middle of its first pixel (0.5, 0.5)",
    "extrinsics": "(N, 3, 4), world-to-camera [R | t]: x_camera = R @ x_world + t; the first need not be the identity; centre = -R.T @ t",
    "coordinate_system": COORDINATE_SYSTEM,
    "reference_image_id": "the image of row 0",
    "sizes": "[height, width] of each image",
    "is_metric": "whether translations are metres; otherwise their scale is unknown",
    "translation_known": "one a camera; where it is False only the rotation counts",
}


@attrs.frozen(kw_only=True)
class CameraPoseCapability:
    """Recovers how the camera moved.

    Canonical data: `image_ids`, `num_images`, `reference_image_id`, `is_metric`, `cameras` (one an image: `image_id`,
    `centre` in the first camera's frame, `distance`, `forward`, `angle`, `yaw`, `pitch`, `roll` in degrees,
    `translation_known`), `notes`, `coordinate_system`, `binding`; matrices are in the binding `camera_trajectory_result`.
    """

    backend: CameraBackend
    renderer: EvidenceRenderer
    timeout_seconds: float = 300.0
    key: str = attrs.field(default="camera_pose", init=False)
    name: str = attrs.field(default="Camera_Trajectory_Tool", init=False)

    @property
    def parameters(self) -> Mapping[str, object]:
        """At least two images."""
        return _PARAMETERS

    def description(self, prompts: PromptBundle) -> str:
        """In the bundle's words."""
        return prompts.text("tool_camera_pose")

    async def perform(self, arguments: Mapping[str, object], hands: Hands) -> Findings:
        """Ask the backend and draw the cameras from above."""
        looked_up = [await hands.image(alias) for alias in cast("list[str]", arguments["image_ids"])]
        handles = [record.handle for record, _ in looked_up]
        pictures = [picture.full for _, picture in looked_up]
        try:
            answered = await hands.within(
                self.timeout_seconds,
                "camera_pose",
                self.backend.trace(pictures, timeout_seconds=self.timeout_seconds),
            )
        except ToolExecutionError as error:  # it knows pictures by position, the model by handle
            order = ", ".join(f"{position} is {handle}" for position, handle in enumerate(handles, 1))
            raise ToolExecutionError(
                error.backend, f"{error.reason} (of the pictures, {order})", usage=error.usage
            ) from error
        path = value_of(answered, CameraTrajectory, "camera_pose")
        if path.sizes_hw != tuple(picture.size_hw for picture in pictures):
            sizes = [list(picture.size_hw) for picture in pictures]
            expected = f"{sizes!s:.200} like the images, got {[list(size) for size in path.sizes_hw]!s:.200}"
            raise MalformedResultError("sizes", expected, usage=answered.usage)
        drawn = await hands.offload.run(lambda: self.renderer.trajectory_view(path, handles))
        binding = _binding(path, handles)
        data = {
            "image_ids": handles,
            "num_images": len(handles),
            "reference_image_id": handles[0],
            "is_metric": path.is_metric,
            "cameras": [
                {"image_id": handle} | motion.to_data() for handle, motion in zip(handles, motions(path), strict=True)
            ],
            "notes": [clean_text(note) for note in path.notes],
            "coordinate_system": COORDINATE_SYSTEM,
            "binding": hands.workspace.name_for(binding),
        }
        image = NewImage(picture=await hands.take_in(drawn.data), parents=tuple(dict.fromkeys(handles)))
        return Findings.of(answered, data, images=(image,), bindings=(binding,))

    def evidence(
        self, findings: Findings, registered: Registered, workspace: Workspace, prompts: PromptBundle
    ) -> tuple[Part, ...]:
        """What moved where, image by image, the convention, and the view from above."""
        data, drawing = findings.data, registered.images[0]
        cameras = cast("list[dict[str, object]]", data["cameras"])
        metric = bool(data["is_metric"])
        lines = [prompts.text("camera_intro", count=data["num_images"], reference=data["reference_image_id"])]
        lines += [_line(camera, metric, prompts) for camera in cameras[1:]]
        lines.append(prompts.text("camera_convention"))
        if not metric:
            lines.append(prompts.text("camera_scale_unknown"))
        lines += [prompts.text("camera_note", note=note) for note in _told(cast("list[str]", data["notes"]))]
        if data["binding"]:
            lines.append(prompts.text("kept_in_binding", binding=data["binding"]))
        notes = [
            note
            for handle in dict.fromkeys(cast("list[str]", data["image_ids"]))
            for note in region_note(handle, workspace, prompts)
        ]
        picture = workspace.images.resolve(drawing).picture
        assert picture is not None
        return (
            TextPart(text="\n".join(lines)),
            *notes,
            TextPart(text=prompts.text("camera_picture", handle=drawing)),
            ImagePart(handle=drawing, image=picture.sent),
        )


def _told(notes: list[str]) -> list[str]:
    """The notes that the model is shown, each cut where it is too long, and how many there are beyond."""
    told = [bounded(note, NOTE_LIMIT, _WHOLE) for note in notes[:NOTES_LIMIT]]
    rest = len(notes) - NOTES_LIMIT
    return [*told, f"{rest} more notes are in {_WHOLE}"] if rest > 0 else told


def _binding(path: CameraTrajectory, handles: list[str]) -> NewBinding:
    fields: dict[str, object] = {
        "image_ids": handles,
        "num_images": len(handles),
        "reference_image_id": handles[0],
        "intrinsics": path.intrinsics,
        "extrinsics": path.extrinsics_w2c,
        "sizes": [list(size) for size in path.sizes_hw],
        "is_metric": path.is_metric,
        "translation_known": list(path.translation_known),
        "coordinate_system": COORDINATE_SYSTEM,
    }
    rows = f"rows of intrinsics, extrinsics, sizes and translation_known, in order: {', '.join(handles)}"
    notes = _NOTES | {"image_ids": rows}
    return NewBinding(stem="camera_trajectory_result", fields=fields, notes=notes, image_id=handles[0])


def _line(camera: Mapping[str, object], metric: bool, prompts: PromptBundle) -> str:
    motion = Motion.from_data(camera)
    return prompts.text(
        "camera_line",
        image=camera["image_id"],
        translation=_translation(motion, metric, prompts),
        rotation=prompts.text(
            "camera_rotation_salient" if motion.angle >= SALIENT_DEGREES - DEGREES_NOISE else "camera_rotation_small",
            angle=signed(motion.angle).lstrip("+"),
        ),
        forward=", ".join(map(signed, motion.forward)),
        yaw=signed(motion.yaw),
        pitch=signed(motion.pitch),
        roll=signed(motion.roll),
    )


def _translation(motion: Motion, metric: bool, prompts: PromptBundle) -> str:
    if not motion.translation_known:
        return prompts.text("camera_translation_unknown")
    words = prompts.text("camera_directions").split()
    axes = [
        f"{words[2 * axis + (value < 0 and signed(value) != '+0.00')]} ({signed(value)})"
        for axis, value in enumerate(motion.centre)
    ]
    details = ", ".join(axes)
    largest = max(range(3), key=lambda axis: abs(motion.centre[axis]))
    if not metric and motion.distance == 0:
        return prompts.text("camera_translation_unmoved", details=details)
    if not metric:
        return prompts.text("camera_translation_unscaled", direction=axes[largest], details=details)
    distance = f"{motion.distance:.2f}"
    if motion.distance < SALIENT_METRES - METRES_NOISE:
        return prompts.text("camera_translation_small", details=details, distance=distance)
    return prompts.text("camera_translation_salient", direction=axes[largest], details=details, distance=distance)


def signed(value: float) -> str:
    """Two decimals with a sign; zero, and what rounds to it, is +0.00."""
    text = f"{value:+.2f}"
    return "+0.00" if text == "-0.00" else text
