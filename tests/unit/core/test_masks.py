"""Masks as run lengths: byte for byte what pycocotools reads and writes, and nothing but a named fault for anything else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from pycocotools import mask as coco

from openvlharness_core.errors import MalformedResultError
from openvlharness_core.masks import decode_mask, encode_mask, runs_of, runs_of_all
from openvlharness_core.run_lengths import RunLengthFault, counts_of_texts, text_of_counts

# pycocotools hands numpy an array in a way that numpy is about to forbid.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

Mask = NDArray[np.bool_]
SMALL = st.tuples(st.integers(1, 9), st.integers(1, 9)).flatmap(lambda shape: arrays(bool, shape))


def counts_of(mask: Mask) -> list[int]:
    """Uncompressed counts, written as slowly and plainly as can be."""
    counts, now = [0], False
    for pixel in mask.flatten(order="F").tolist():
        if pixel is not now:
            counts.append(0)
            now = pixel
        counts[-1] += 1
    return counts


def coco_text(mask: Mask) -> str:
    encoded = coco.encode(np.asfortranarray(mask.astype(np.uint8)))
    assert encoded["size"] == list(mask.shape)
    text: str = encoded["counts"].decode("ascii")
    return text


def disk(height: int, width: int, x: float, y: float, radius: float) -> Mask:
    rows, columns = np.mgrid[:height, :width]
    found: Mask = (columns - x) ** 2 + (rows - y) ** 2 <= radius**2
    return found


def agrees(mask: Mask) -> None:
    """What there is to say about one mask and pycocotools."""
    height, width = mask.shape
    text, size = coco_text(mask), [height, width]
    assert encode_mask(mask) == {"size": size, "counts": text}
    for counts in (text, text.encode("ascii"), counts_of(mask), tuple(counts_of(mask))):
        decoded = decode_mask({"size": size, "counts": counts})
        assert (decoded.dtype, decoded.shape) == (np.bool_, mask.shape)
        assert np.array_equal(decoded, mask)
    if mask.any() or mask.size > 1:
        packed = coco.frPyObjects({"size": size, "counts": counts_of(mask)}, height, width)
        assert np.array_equal(coco.decode(packed), mask)
    assert runs_of({"size": size, "counts": text}).areas().tolist() == [int(mask.sum())]


@given(SMALL)
def test_any_small_mask(mask: Mask) -> None:
    agrees(mask)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("share", [0.02, 0.5, 0.97])
def test_random_masks_that_are_not_square(seed: int, share: float) -> None:
    dice = np.random.default_rng(seed)
    height, width = dice.integers(1, 90, 2)
    agrees(dice.random((height, width)) < share)


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (7, 33), (33, 7), (1, 2), (2, 1)])
def test_empty_full_and_single_pixels(shape: tuple[int, int]) -> None:
    agrees(np.zeros(shape, bool))
    agrees(np.ones(shape, bool))
    for place in ((0, 0), (-1, -1), (0, -1), (-1, 0)):
        single = np.zeros(shape, bool)
        single[place] = True
        agrees(single)
        agrees(~single)


@pytest.mark.parametrize(
    "mask",
    [
        disk(300, 401, 200, 150, 90),
        disk(300, 401, 390, 5, 60),
        ~disk(120, 500, 250, 60, 55),
        np.indices((97, 61)).sum(axis=0) % 2 == 0,
        np.repeat(np.arange(300) % 7 < 3, 200).reshape(300, 200),
    ],
    ids=["disk", "cut disk", "hole", "chessboard", "stripes"],
)
def test_shapes_with_few_long_and_with_many_short_runs(mask: Mask) -> None:
    agrees(mask)


def test_the_smallest_mask_that_shows_which_way_it_is_read() -> None:
    expected = [[False, True, False], [False, False, False]]
    assert decode_mask({"size": [2, 3], "counts": [2, 1, 3]}).tolist() == expected
    assert encode_mask(np.array(expected)) == {"size": [2, 3], "counts": coco_text(np.array(expected))}


def test_what_is_not_zero_is_in_the_mask() -> None:
    assert np.array_equal(decode_mask(encode_mask(np.array([[0, 2], [0.5, 0]]))), [[False, True], [True, False]])


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (4,), (2, 2, 2), ()])
def test_no_mask_is_not_encoded(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"mask of shape \(height, width\)"):
        encode_mask(np.zeros(shape, bool))


def test_a_decoded_mask_is_the_callers_own() -> None:
    rle = encode_mask(np.eye(4, 6, dtype=bool))
    decoded = decode_mask(rle)
    decoded[:] = False
    assert decode_mask(rle).sum() == 4


@settings(max_examples=40)
@given(st.lists(SMALL, max_size=6), st.randoms(use_true_random=False))
def test_many_masks_are_read_as_each_is_alone(masks: list[Mask], dice: Any) -> None:
    height, width = 9, 11
    whole = []
    for mask in masks:
        plane = np.zeros((height, width), bool)
        plane[: mask.shape[0], : mask.shape[1]] = mask
        whole.append(plane)
    forms = [(coco_text, lambda mask: coco_text(mask).encode("ascii"), counts_of)[dice.randrange(3)] for _ in whole]
    rles = [{"size": [height, width], "counts": form(mask)} for form, mask in zip(forms, whole, strict=True)]
    runs = runs_of_all(rles, (height, width))
    assert runs.decoded().shape == (len(whole), height, width)
    assert np.array_equal(runs.decoded(), np.array(whole).reshape(-1, height, width))
    assert runs.areas().tolist() == [int(mask.sum()) for mask in whole]


@settings(max_examples=60)
@given(SMALL, st.data())
def test_the_share_outside_a_box_is_that_of_the_pixels(mask: Mask, data: st.DataObject) -> None:
    corner = st.floats(-4, 13, allow_nan=False)
    boxes = np.array(data.draw(st.lists(st.tuples(corner, corner, corner, corner), min_size=1, max_size=4)))
    expected = []
    for x1, y1, x2, y2 in boxes:
        rows, columns = np.indices(mask.shape)
        touched = (columns + 1 > x1) & (columns < x2) & (rows + 1 > y1) & (rows < y2)
        touched &= (np.floor(x1) < np.ceil(x2)) & (np.floor(y1) < np.ceil(y2))
        expected.append(1 - (mask & touched).sum() / mask.sum() if mask.any() else 0.0)
    rle = {"size": list(mask.shape), "counts": coco_text(mask)}
    shares = runs_of_all([rle] * len(boxes), mask.shape).shares_outside(boxes)
    assert np.allclose(shares, expected, atol=1e-12)


@given(st.lists(st.integers(0, 2**30), min_size=1, max_size=30))
def test_counts_of_any_size_go_there_and_back(counts: list[int]) -> None:
    text = text_of_counts(np.array(counts))
    read, lengths = counts_of_texts([text.encode("ascii")])
    assert (read.tolist(), lengths.tolist()) == (counts, [len(counts)])
    if sum(counts) < 2**32:
        packed = coco.frPyObjects({"size": [1, sum(counts)], "counts": counts}, 1, sum(counts))
        assert packed["counts"] == text.encode("ascii")


@settings(max_examples=50)
@given(st.lists(st.lists(st.integers(0, 5000), max_size=12), max_size=8))
def test_texts_behind_each_other_do_not_run_into_each_other(many: list[list[int]]) -> None:
    texts = [text_of_counts(np.array(counts, np.int64)).encode("ascii") for counts in many]
    read, lengths = counts_of_texts(texts)
    assert lengths.tolist() == [len(counts) for counts in many]
    assert read.tolist() == [count for counts in many for count in counts]


@pytest.mark.parametrize("wrong", [b"0 ", b"\x80", b"0p", b"0P", b"PPPPPPP0"])
@pytest.mark.parametrize("position", range(3))
def test_a_fault_says_in_which_text_it_is(wrong: bytes, position: int) -> None:
    texts = [b"", b"010", b"03"]
    texts[position] = wrong
    with pytest.raises(RunLengthFault) as raised:
        counts_of_texts(texts)
    assert raised.value.position == position


FAULTS: list[tuple[object, str]] = [
    (None, "rle"),
    ("020", "rle"),
    ([2, 1, 3], "rle"),
    ({"counts": [2, 1, 3]}, "rle.size"),
    ({"size": None, "counts": [6]}, "rle.size"),
    ({"size": 6, "counts": [6]}, "rle.size"),
    ({"size": "23", "counts": [6]}, "rle.size"),
    ({"size": [2], "counts": [6]}, "rle.size"),
    ({"size": [2, 3, 1], "counts": [6]}, "rle.size"),
    ({"size": [2.0, 3.0], "counts": [6]}, "rle.size"),
    ({"size": [True, 6], "counts": [6]}, "rle.size"),
    ({"size": [0, 3], "counts": []}, "rle.size"),
    ({"size": [-2, -3], "counts": [6]}, "rle.size"),
    ({"size": [2**30, 2**30], "counts": "0"}, "rle.size"),
    ({"size": [10**400, 10**400], "counts": "0"}, "rle.size"),
    ({"size": [2, 3]}, "rle.counts"),
    ({"size": [2, 3], "counts": None}, "rle.counts"),
    ({"size": [2, 3], "counts": 6}, "rle.counts"),
    ({"size": [2, 3], "counts": {"0": 6}}, "rle.counts"),
    ({"size": [2, 3], "counts": []}, "rle.counts"),
    ({"size": [2, 3], "counts": ""}, "rle.counts"),
    ({"size": [2, 3], "counts": b""}, "rle.counts"),
    ({"size": [2, 3], "counts": [2, 1, 2]}, "rle.counts"),
    ({"size": [2, 3], "counts": [2, 1, 4]}, "rle.counts"),
    ({"size": [2, 3], "counts": [8, -2]}, "rle.counts"),
    ({"size": [2, 3], "counts": [2, 1.0, 3]}, "rle.counts"),
    ({"size": [2, 3], "counts": [5, True]}, "rle.counts"),
    ({"size": [2, 3], "counts": [2, "1", 3]}, "rle.counts"),
    ({"size": [2, 3], "counts": [2, None, 4]}, "rle.counts"),
    ({"size": [2, 3], "counts": [10**30]}, "rle.counts"),
    ({"size": [2, 3], "counts": "213 "}, "rle.counts"),
    ({"size": [2, 3], "counts": "21é"}, "rle.counts"),
    ({"size": [2, 3], "counts": "21\ud83d"}, "rle.counts"),
    ({"size": [2, 3], "counts": b"\xff\xfe"}, "rle.counts"),
    ({"size": [2, 3], "counts": "21S"}, "rle.counts"),  # a group that more should follow
    ({"size": [2, 3], "counts": "8N"}, "rle.counts"),  # 8, -2
    ({"size": [2, 3], "counts": "P" * 40 + "0"}, "rle.counts"),
]


@pytest.mark.parametrize(("rle", "field"), FAULTS, ids=lambda value: f"{value!r:.50}")
def test_what_is_no_mask_is_named(rle: object, field: str) -> None:
    with pytest.raises(MalformedResultError) as raised:
        decode_mask(rle)
    assert raised.value.field == field
    assert len(str(raised.value)) < 300
    if isinstance(rle, dict) and field == "rle.counts":
        good = {"size": [2, 3], "counts": "213"}
        with pytest.raises(MalformedResultError) as raised:
            runs_of_all([good, good, rle, good], (2, 3), "pred_masks")
        assert raised.value.field == "pred_masks[2].counts"


def test_a_mask_of_another_size_is_named_with_both() -> None:
    with pytest.raises(MalformedResultError, match=r"masks\[1\].size: expected \[2, 3\] like .*, got \[3, 2\]"):
        runs_of_all([{"size": [2, 3], "counts": [6]}, {"size": [3, 2], "counts": [6]}], (2, 3))


def read_or_refused(rle: object) -> None:
    """The mask with exactly its size, or a named fault; anything else is raised."""
    try:
        decoded = decode_mask(rle)
    except MalformedResultError:
        return
    assert list(decoded.shape) == rle["size"]  # type: ignore[index]


COMPRESSED = st.text(st.characters(min_codepoint=48, max_codepoint=111), max_size=20)
SIZES = st.lists(st.integers(1, 40), min_size=2, max_size=2)


@given(SIZES, st.one_of(COMPRESSED, st.text(max_size=12), st.binary(max_size=12)))
def test_any_text_is_read_or_refused(size: list[int], counts: str | bytes) -> None:
    read_or_refused({"size": size, "counts": counts})


@given(SMALL, st.data())
def test_a_good_text_with_one_sign_changed_cut_or_added(mask: Mask, data: st.DataObject) -> None:
    text = coco_text(mask)
    place = data.draw(st.integers(0, len(text)))
    sign = data.draw(st.characters(min_codepoint=40, max_codepoint=120))
    for counts in (text[:place] + sign + text[place + 1 :], text[:place], text[:place] + sign + text[place:]):
        read_or_refused({"size": list(mask.shape), "counts": counts})


JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.binary(max_size=4)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["size", "counts"]), inner),
    max_leaves=8,
)


@given(st.one_of(JUNK, st.fixed_dictionaries({"size": st.one_of(SIZES, JUNK), "counts": st.one_of(COMPRESSED, JUNK)})))
def test_anything_at_all_is_read_or_refused(rle: object) -> None:
    read_or_refused(rle)
