from __future__ import annotations

import numpy as np

from openvlharness_core.depth import DepthMap
from openvlharness_core.detections import Detections
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.testing import FakeCodec, FakeRenderer, fake_image


def test_its_drawings_name_what_they_show_and_can_be_taken_in() -> None:
    renderer = FakeRenderer()
    image = EncodedImage(data=fake_image(40, 60), media_type="image/png", size_hw=(40, 60))
    found = Detections(boxes_xyxy_px=np.array([[1, 2, 3, 4]]), scores=np.ones(1), size_hw=(40, 60))
    drawn = renderer.overlay(image, found)
    renderer.depth_view(DepthMap(values=np.array([[1.0, 2.5]]), is_metric=True), "turbo")
    assert FakeCodec().probe(drawn.image.data).size_hw == (440, 660)
    assert drawn.to_source == ((1 / 11, 0.0, 0.0), (0.0, 1 / 11, 0.0))
    assert renderer.drawn[0].startswith("overlay of 1 objects")
    assert renderer.drawn[1] == "depth from 1 to 2.5 in turbo"
