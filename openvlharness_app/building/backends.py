"""The backends behind the tools, one each; those that a configuration does not select are never made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from openvlharness_app.backend_settings import EmbeddedSearchSettings
from openvlharness_app.building.plugins import find_plugin, selected_name
from openvlharness_app.building.raw_servers import find_raw_backend
from openvlharness_app.building.remote import Remotes
from openvlharness_app.building.searching import Searching
from openvlharness_app.faults import ConfigurationError, Fault
from openvlharness_app.settings import Settings
from openvlharness_core import (
    CameraBackend,
    DepthBackend,
    GroundingBackend,
    ImageSearchBackend,
    OcrBackend,
    Offload,
    PageBackend,
    TextSearchBackend,
    ZoomBackend,
)

if TYPE_CHECKING:
    from openvlharness_adapters.backends.embedded.corpus.index import Corpus
    from openvlharness_adapters.imaging.codec import PillowCodec


def zoom_backend(settings: Settings, codec: PillowCodec, offload: Offload) -> ZoomBackend:
    """Cropping in this process."""
    from openvlharness_adapters.imaging.zoom import InProcessZoom

    return find_plugin(settings, "zoom") or InProcessZoom(codec=codec, offload=offload)


def ocr_backend(settings: Settings, remotes: Remotes, codec: PillowCodec, offload: Offload) -> OcrBackend:
    """The selected reader."""
    if (caller := remotes.find("ocr")) is not None:
        from openvlharness_adapters.router_client.backends import RemoteOcr

        return RemoteOcr(caller)
    raw: OcrBackend | None = find_raw_backend(remotes, "ocr", offload)
    if raw is not None:
        return raw
    from openvlharness_adapters.backends.embedded.ocr import EmbeddedOcr

    return find_plugin(settings, "ocr") or EmbeddedOcr(pixels=codec.pixels, offload=offload)


def grounding_backend(settings: Settings, remotes: Remotes, codec: PillowCodec, offload: Offload) -> GroundingBackend:
    """Who finds things; words are found through the embedded reader, which loads nothing before it is asked."""
    if (caller := remotes.find("grounding")) is not None:
        from openvlharness_adapters.router_client.backends import RemoteGrounding

        return RemoteGrounding(caller)
    raw: GroundingBackend | None = find_raw_backend(remotes, "grounding", offload)
    if raw is not None:
        return raw
    from openvlharness_adapters.backends.embedded.grounding import EmbeddedGrounding
    from openvlharness_adapters.backends.embedded.ocr import EmbeddedOcr

    plugin: GroundingBackend | None = find_plugin(settings, "grounding")
    reader = EmbeddedOcr(pixels=codec.pixels, offload=offload)
    return plugin or EmbeddedGrounding(pixels=codec.pixels, offload=offload, ocr=reader)


def depth_backend(settings: Settings, remotes: Remotes, offload: Offload) -> DepthBackend:
    """Who estimates depth: the router, a raw server or a plug-in, since nothing that runs on any CPU does it honestly from one picture.

    Raises:
        ConfigurationError: the configuration names no router and selects neither a raw server nor a plug-in.
    """
    if (caller := remotes.find("depth")) is not None:
        from openvlharness_adapters.router_client.backends import RemoteDepth

        return RemoteDepth(caller)
    raw: DepthBackend | None = find_raw_backend(remotes, "depth", offload)
    if raw is not None:
        return raw
    plugin: DepthBackend | None = find_plugin(settings, "depth")
    if plugin is None:
        name = selected_name(settings, "depth") or "nothing"
        raise ConfigurationError(
            [Fault(key="capabilities.tools.depth.backend", expected="a raw server's or a plug-in", got=name)]
        )
    return plugin


def camera_backend(settings: Settings, remotes: Remotes, codec: PillowCodec, offload: Offload) -> CameraBackend:
    """Who recovers how the camera moved."""
    if (caller := remotes.find("camera_pose")) is not None:
        from openvlharness_adapters.router_client.backends import RemoteCamera

        return RemoteCamera(caller)
    raw: CameraBackend | None = find_raw_backend(remotes, "camera_pose", offload)
    if raw is not None:
        return raw
    from openvlharness_adapters.backends.embedded.camera import EmbeddedCamera
    from openvlharness_adapters.imaging.focal import focal_px

    plugin: CameraBackend | None = find_plugin(settings, "camera_pose")
    return plugin or EmbeddedCamera(pixels=codec.pixels, offload=offload, focal=focal_px)


def text_search_backend(
    settings: Settings, remotes: Remotes, offload: Offload, searching: Searching
) -> TextSearchBackend:
    """Who searches by words."""
    if (caller := remotes.find("text_search")) is not None:
        from openvlharness_adapters.router_client.backends import RemoteTextSearch

        return RemoteTextSearch(caller)
    if selected_name(settings, "text_search") == "serper_text_search":
        return searching.text_search()
    from openvlharness_adapters.backends.embedded.corpus.text_search import EmbeddedTextSearch

    plugin: TextSearchBackend | None = find_plugin(settings, "text_search")
    corpus = _corpus(settings, settings.services.tools.embedded_text_search)
    return plugin or EmbeddedTextSearch(corpus=corpus, offload=offload)


def image_search_backend(
    settings: Settings, remotes: Remotes, codec: PillowCodec, offload: Offload, searching: Searching
) -> ImageSearchBackend:
    """Who searches by a picture."""
    if (caller := remotes.find("image_search")) is not None:
        from openvlharness_adapters.router_client.backends import RemoteImageSearch

        return RemoteImageSearch(caller)
    if selected_name(settings, "image_search") == "serper_image_search":
        return searching.image_search()
    from openvlharness_adapters.backends.embedded.corpus.image_search import EmbeddedImageSearch

    plugin: ImageSearchBackend | None = find_plugin(settings, "image_search")
    corpus = _corpus(settings, settings.services.tools.embedded_image_search)
    return plugin or EmbeddedImageSearch(corpus=corpus, pixels=codec.pixels, offload=offload)


def page_backend(settings: Settings, remotes: Remotes, offload: Offload, searching: Searching) -> PageBackend:
    """Who visits pages."""
    if (caller := remotes.find("web_visit")) is not None:
        from openvlharness_adapters.router_client.backends import RemotePages

        return RemotePages(caller)
    if selected_name(settings, "web_visit") == "serper_webpage_visit":
        return searching.pages()
    from openvlharness_adapters.backends.embedded.corpus.pages import EmbeddedPages

    plugin: PageBackend | None = find_plugin(settings, "web_visit")
    corpus = _corpus(settings, settings.services.tools.embedded_webpage_visit)
    return plugin or EmbeddedPages(corpus=corpus, offload=offload)


def _corpus(settings: Settings, entry: EmbeddedSearchSettings | None) -> Corpus:
    from openvlharness_adapters.backends.embedded.corpus.index import Corpus
    from openvlharness_adapters.imaging.thumbnails import Thumbnails

    thumbnails = Thumbnails(max_pixels=settings.images.max_pixels)
    path = Path(entry.corpus) if entry is not None and entry.corpus else None
    return Corpus(path=path, decode=thumbnails.decoded, thumbnail=thumbnails.small)
