"""Grounding in this process, on any CPU, with nothing downloaded: a closed vocabulary, and honest about the rest."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

import attrs

from openvlharness_adapters.backends.embedded.vision.faces import face_detections
from openvlharness_adapters.backends.embedded.vision.matching import detections_of
from openvlharness_adapters.backends.embedded.vision.opencv import NAME, opencv
from openvlharness_adapters.backends.embedded.vision.queries import (
    FaceQuery,
    NotInGrammarError,
    Query,
    ShapeQuery,
    TextQuery,
    understood_query,
)
from openvlharness_adapters.backends.embedded.vision.scene import Scene, scene_of
from openvlharness_adapters.backends.embedded.vision.words import text_detections
from openvlharness_adapters.backends.embedded.vision.working import Pixels
from openvlharness_core.detections import Detections
from openvlharness_core.errors import (
    CapabilityUnavailableError,
    HarnessError,
    ToolExecutionError,
    UnsupportedQueryError,
)
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.offload import Offload
from openvlharness_core.ports.perception import OcrBackend
from openvlharness_core.results import Answered

_SCENES_KEPT = 4


@attrs.define(eq=False)
class _Scenes:
    """What the latest pictures show: several questions about one picture look at it once. Threads may share it."""

    _kept: OrderedDict[str, Scene] = attrs.field(factory=OrderedDict, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def of(self, image: EncodedImage, pixels: Pixels) -> Scene:
        with self._lock:
            scene = self._kept.get(image.digest)
        if scene is None:
            scene = scene_of(pixels)
        with self._lock:
            self._kept[image.digest] = scene
            self._kept.move_to_end(image.digest)
            while len(self._kept) > _SCENES_KEPT:
                self._kept.popitem(last=False)
        return scene


@attrs.frozen(kw_only=True, eq=False)
class EmbeddedGrounding:
    """The `GroundingBackend` that needs no service. OpenCV is imported at the first call.

    Shapes come with masks, and with `Detections.unnamed`: how many regions may be what was asked for and cannot be told,
    because the edge cuts them, something hides them, they run into each other, or they lie between two names. Only where
    that is 0 is the number of detections an answer to "how many". Text and faces come as boxes alone.

    Attributes:
        pixels: decodes: uint8 (height, width, 3) RGB of the picture's size.
        offload: where it is decoded and looked at.
        ocr: who reads for text queries, asked for nothing else; `None` if nobody does.
    """

    pixels: Callable[[EncodedImage], Pixels]
    offload: Offload
    ocr: OcrBackend | None = None
    _scenes: _Scenes = attrs.field(factory=_Scenes, init=False, repr=False)

    async def ground(self, image: EncodedImage, query: str, *, timeout_seconds: float) -> Answered[Detections]:
        """See `GroundingBackend`. Looking cannot be interrupted, so `timeout_seconds` is left to whoever waits.

        Raises:
            UnsupportedQueryError: a word outside the vocabulary; the reason names the first one and the vocabulary.
            CapabilityUnavailableError: the extra `embedded` is not installed, or nobody reads for a text query.
            ToolExecutionError: OpenCV failed, or the reader told no places.
            UnreadableImageError: pixels that cannot be decoded.
        """
        try:
            asked = understood_query(query)
        except NotInGrammarError as error:
            raise UnsupportedQueryError(NAME, error.problem) from None
        if isinstance(asked, TextQuery):
            return await self._read(image, asked, timeout_seconds)
        return Answered(value=await self.offload.run(lambda: self._look(image, asked)), backend=NAME)

    async def _read(self, image: EncodedImage, asked: TextQuery, timeout_seconds: float) -> Answered[Detections]:
        if self.ocr is None:
            raise CapabilityUnavailableError(NAME, "finding text needs a reader, and none is configured")
        read = await self.ocr.read(image, timeout_seconds=timeout_seconds)
        lines = read.value.lines
        if lines is None:
            raise ToolExecutionError(NAME, f"{read.backend} reads text but does not tell where it stands")
        found = await self.offload.run(lambda: text_detections(lines, asked.words, self.pixels(image)))
        return Answered(value=found, backend=NAME, sidecars={"reader": read.backend}, usage=read.usage)

    def _look(self, image: EncodedImage, asked: Query) -> Detections:
        cv2 = opencv()
        pixels = self.pixels(image)
        try:
            if isinstance(asked, FaceQuery):
                return face_detections(pixels)
            assert isinstance(asked, ShapeQuery)
            return detections_of(self._scenes.of(image, pixels), asked, pixels)
        except HarnessError:
            raise
        except cv2.error as error:
            raise ToolExecutionError(NAME, f"OpenCV failed: {error.err}") from error
