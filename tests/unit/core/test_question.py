"""What may be asked, and what is refused before anything is read."""

from __future__ import annotations

import pathlib

import pytest

from openvlharness_core.errors import HarnessError, InvalidQuestionError
from openvlharness_core.question import ImageInput, Question

PIC = ImageInput.from_bytes(b"x", name="x.png")


def test_text_comes_before_its_pictures() -> None:
    assert Question("How many?", [PIC]).parts == ("How many?", PIC)
    assert Question(text="How many?", images=iter([PIC, PIC])).parts == ("How many?", PIC, PIC)
    assert Question("How many?").parts == ("How many?",)


def test_parts_keep_any_order() -> None:
    question = Question(parts=(PIC, "before", PIC, "after"))
    assert question.parts == (PIC, "before", PIC, "after")
    assert question.text == "before\nafter"


def test_a_question_is_a_value() -> None:
    assert Question("a", [PIC]) == Question(parts=["a", PIC])
    assert hash(Question("a", [PIC])) == hash(Question(parts=["a", PIC]))


@pytest.mark.parametrize(
    ("fields", "part", "problem"),
    [
        ({}, "text", "expected a question, got no text"),
        ({"text": "  \n"}, "text", "got no text"),
        ({"images": [PIC]}, "text", "got no text"),
        ({"parts": []}, "text", "got no text"),
        ({"text": 5}, "part 1", "expected text or an ImageInput, got int"),
        ({"text": "a", "parts": ["b"]}, "parts", "got both"),
        ({"images": [PIC], "parts": ["b"]}, "parts", "got both"),
        ({"text": "a", "images": ["photo.jpg"]}, "image 1", "expected an ImageInput, got str"),
        ({"text": "a", "images": [PIC, b"x"]}, "image 2", "expected an ImageInput, got bytes"),
        ({"text": "a", "images": "photo.jpg"}, "images", "expected a list, got str"),
        ({"text": "a", "images": PIC}, "images", "expected a list, got ImageInput"),
        ({"text": "a", "images": None}, "images", "expected a list, got NoneType"),
        ({"parts": "How many?"}, "parts", "expected a list, got str"),
        ({"parts": ["a", pathlib.Path("b.png")]}, "part 2", "expected text or an ImageInput, got"),
        ({"parts": ["a", None]}, "part 2", "got NoneType"),
    ],
)
def test_what_is_no_question_is_refused_by_part(fields: dict[str, object], part: str, problem: str) -> None:
    with pytest.raises(InvalidQuestionError) as raised:
        Question(**fields)  # type: ignore[arg-type]
    assert isinstance(raised.value, HarnessError)
    assert raised.value.part == part
    assert problem in raised.value.problem
    assert str(raised.value) == f"{part}: {raised.value.problem}"


def test_where_a_picture_may_come_from() -> None:
    assert ImageInput.from_path("a.png") == ImageInput(kind="path", value="a.png", name="a.png")
    assert ImageInput.from_path(pathlib.PurePosixPath("d/a.png")).value == "d/a.png"
    assert ImageInput.from_bytes(bytearray(b"x")).value == b"x"  # type: ignore[arg-type]
    assert ImageInput.from_bytes(memoryview(b"x"), name="n").value == b"x"  # type: ignore[arg-type]
    assert ImageInput.from_bytes(b"x", name="n") == ImageInput(kind="bytes", value=b"x", name="n")
    assert ImageInput.from_data_url("DATA:image/png;base64,eA==").kind == "data_url"
    assert ImageInput.from_url("HTTPS://example.com/a.png?k=secret").name == "https://example.com/a.png"


def test_names_can_be_printed_and_bytes_are_not() -> None:
    odd = ImageInput.from_path("photo\udcff.png")
    assert (odd.value, odd.name) == ("photo\udcff.png", "photo\ufffd.png")
    assert "secret" not in repr(ImageInput.from_bytes(b"secret"))
    assert len(ImageInput.from_url("https://example.com/" + "x" * 500).name) == 100


@pytest.mark.parametrize(
    "make",
    [
        lambda: ImageInput.from_path(""),
        lambda: ImageInput.from_path(3),
        lambda: ImageInput.from_path(b"a.png"),
        lambda: ImageInput.from_path(None),
        lambda: ImageInput.from_bytes("text"),  # type: ignore[arg-type]
        lambda: ImageInput.from_bytes(None),  # type: ignore[arg-type]
        lambda: ImageInput.from_data_url("image/png;base64,"),
        lambda: ImageInput.from_data_url(""),
        lambda: ImageInput.from_url("ftp://example.com/a.png"),
        lambda: ImageInput.from_url("example.com/a.png"),
        lambda: ImageInput.from_url("/a.png"),
        lambda: ImageInput(kind="file", value="a.png"),  # type: ignore[arg-type]
        lambda: ImageInput(kind="bytes", value="a.png"),
        lambda: ImageInput(kind="path", value=b"a.png"),
    ],
)
def test_a_source_that_is_none_is_refused_at_once(make: object) -> None:
    with pytest.raises(InvalidQuestionError, match="image: expected"):
        make()  # type: ignore[operator]
