"""Fake pictures: a tiny format of our own whose bytes say their size, so that core needs no decoder in tests."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from openvlharness_core.errors import FetchError, UnreadableImageError
from openvlharness_core.pictures import EncodedImage, ImageHeader, ImageLimits, Picture, digest_of


def fake_image(height: int = 40, width: int = 60, content: str = "") -> bytes:
    """Bytes that `FakeCodec` takes for a picture of that size; `content` makes them differ."""
    return f"FAKE {height} {width} {content}".encode()


@attrs.define
class FakeCodec:
    """Reads `fake_image` bytes; crops them by writing new ones. Counts what it takes in."""

    taken_in: int = 0

    def probe(self, data: bytes) -> ImageHeader:
        """The size that the bytes say."""
        words = data.split(b" ", 3)
        if len(words) < 4 or words[0] != b"FAKE":
            raise UnreadableImageError(f"expected a fake picture, got {len(data)} other bytes")
        return ImageHeader(media_type="image/png", size_hw=(int(words[1]), int(words[2])))

    def take_in(self, data: bytes, limits: ImageLimits) -> Picture:
        """The picture, sent as it is."""
        self.taken_in += 1
        image = EncodedImage(data=data, media_type="image/png", size_hw=self.probe(data).size_hw)
        return Picture(full=image, sent=image, digest=digest_of(data))

    def data_of_url(self, url: str) -> bytes:
        """Whatever stands behind the comma."""
        if "," not in url:
            raise UnreadableImageError("expected a data URL with a comma")
        return url.split(",", 1)[1].encode()

    def crop(self, image: EncodedImage, region_xyxy_px: tuple[int, int, int, int]) -> EncodedImage:
        """A fake picture of the region's size whose content names the region and the source."""
        x1, y1, x2, y2 = region_xyxy_px
        data = fake_image(y2 - y1, x2 - x1, f"{region_xyxy_px} of {image.digest[:12]}")
        return EncodedImage(data=data, media_type="image/png", size_hw=(y2 - y1, x2 - x1))


@attrs.define
class FakeFetcher:
    """Serves `files` by path or URL and remembers what was asked for."""

    files: Mapping[str, bytes] = attrs.field(factory=dict)
    fetched: list[str] = attrs.field(factory=list, init=False)

    async def fetch(self, source: str) -> bytes:
        """The bytes of that name."""
        self.fetched.append(source)
        if source not in self.files:
            raise FetchError(source, "no such file")
        return self.files[source]
