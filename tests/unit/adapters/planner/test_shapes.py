"""Counting, locating and comparing shapes: right over random boards, or "Cannot", and never right by luck of a word."""

from __future__ import annotations

import random

import attrs
import pytest

from openvlharness_adapters.backends.embedded.vision.queries import COLOURS, SHAPES, ShapeQuery
from openvlharness_adapters.models.planner.locating import is_beside
from openvlharness_adapters.models.planner.questions import NotUnderstood, understand
from openvlharness_adapters.models.planner.shapes_asked import Things, may_overlap, things_of
from openvlharness_core.geometry import pixels_to_grid
from tests.unit.adapters.planner.board import INCLUDES, Board, Put, random_board
from tests.unit.adapters.planner.desk import calls, cannot

GROUNDING, CODING, DEPTH = "Visual_Grounding_Tool", "Python_Coding_Agent_Tool", "Depth_Estimation_Tool"
BOARD = (
    Put(colour="red", kind="circle", box=(20, 20, 80, 80), depth=2.0),
    Put(colour="blue", kind="square", box=(250, 30, 330, 110), depth=5.0),
    Put(colour="red", kind="triangle", box=(40, 190, 110, 260), depth=3.0),
    Put(colour="green", kind="circle", box=(290, 190, 390, 290), depth=7.0),
)


# --- phrases -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "things"),
    [
        ("the red circle", Things(colour="red", shape="circle")),
        ("all of the dark-blue squares", Things(tone="dark", colour="blue", shape="square")),
        ("shapes", Things()),
        ("the largest gray oval", Things(size="largest", colour="grey", shape="ellipse")),
        ("leftmost one", Things(side="leftmost")),
        ("circles that are not red", Things(shape="circle", but_not=Things(shape="circle", colour="red"))),
        ("non-red circles", Things(shape="circle", but_not=Things(shape="circle", colour="red"))),
        ("circles other than the red ones", Things(shape="circle", but_not=Things(shape="circle", colour="red"))),
        ("red shapes that are not circles", Things(colour="red", but_not=Things(colour="red", shape="circle"))),
        ("rectangles except squares", Things(shape="rectangle", but_not=Things(shape="square"))),
    ],
)
def test_a_phrase_names_things(words: str, things: Things) -> None:
    assert things_of(words) == things


@pytest.mark.parametrize(
    "words",
    ["", "the", "one", "red", "red circle big", "red blue circle", "circle red", "bright circle", "circles that are not", "squares that are not rectangles",
     "circles that are not circles", "circles that are not the largest", "dogs", "red and blue circles", "circles not"],
)  # fmt: skip
def test_a_phrase_with_a_word_too_many_or_too_few_is_none(words: str) -> None:
    assert things_of(words) is None


def test_kinds_overlap_where_one_thing_could_be_both() -> None:
    for one in SHAPES:
        for other in SHAPES:
            both = set(INCLUDES.get(one, (one,))) & set(INCLUDES.get(other, (other,)))
            assert may_overlap(Things(shape=one), Things(shape=other)) is bool(both)
    assert may_overlap(Things(colour="red"), Things(shape="circle"))
    assert not may_overlap(Things(colour="red"), Things(colour="blue", shape="circle"))


# --- one board -----------------------------------------------------------------------------------------------------

ANSWERS = {
    "How many red circles are there?": "1",
    "Count the shapes.": "4",
    "How many circles are in the picture?": "2",
    "How many red circles and blue squares are there?": "2: 1 red circle, 1 blue square",
    "How many circles are not red?": "1",
    "How many non-red shapes can you see?": "2",
    "How many shapes are not circles?": "2",
    "How many of the shapes are red?": "2",
    "How many red and green circles are there?": "2: 1 red circle, 1 green circle",
    "How many shapes aren't circles?": "2",
    "How many triangles or squares are there?": "2: 1 triangle, 1 square",
    "How many shapes are in the top half?": "2",
    "How many red shapes are on the left side?": "2",
    "How many circles are in the bottom right corner?": "1",
    "Is there a star?": "No.",
    "Are all circles red?": "No.",
    "Is every square blue?": "Yes.",
    "Is the red shape a circle?": "Cannot answer: there are 2 red shapes in input_image_1.",
    "Is the blue shape a square?": "Yes.",
    "Is the triangle green?": "No.",
    "How many more circles than squares are in the top half?": "0: 1 circle and 1 square",
    "Are there any red shapes?": "Yes.",
    "Are there more circles than squares?": "Yes: 2 circles and 1 square.",
    "Are there fewer circles than squares?": "No: 2 circles and 1 square.",
    "Are there more triangles than squares?": "No: 1 triangle and 1 square.",
    "Are there fewer triangles than squares?": "No: 1 triangle and 1 square.",
    "Are there fewer squares than circles?": "Yes: 1 square and 2 circles.",
    "Which are there fewer of: circles or squares?": "squares: 2 circles and 1 square.",
    "Which are there more of: circles or squares?": "circles: 2 circles and 1 square.",
    "Which are there fewer of: triangles or squares?": "Equally many: 1 triangle and 1 square.",
    "Are there as many triangles as squares?": "Yes: 1 triangle and 1 square.",
    "How many more circles than squares are there?": "1: 2 circles and 1 square",
    "What is the difference between the number of circles and the number of squares?": "1: 2 circles and 1 square",
    "Where is the red circle?": "at the top left, box [50, 67, 200, 267] on the 0-1000 grid",
    "Is the red circle left of the blue square?": "Yes.",
    "Is the red circle to the right of the blue square?": "No.",
    "Is the triangle below the red circle?": "Yes.",
    "Is the triangle above the red circle?": "No.",
    "Is the red circle in the top half?": "Yes.",
    "Is the triangle in the top right corner?": "No.",
    "Which is left of the blue square: the red circle or the green circle?": "The red circle.",
    "Which is further right, the triangle or the green circle?": "The green circle.",
    "Which is higher: the triangle or the square?": "The square.",
    "What is left of the blue square?": "Cannot answer: 2 shapes are left of the blue square.",
    "Which shape is right of the blue square?": "Cannot answer: the shape is not plainly right of the blue square, nor plainly not.",
    "Which circle is below the blue square?": "The green circle, at the bottom right, box [725, 633, 975, 967] on the 0-1000 grid.",
    "Which shape is the largest?": "Circle.",
    "What colour is the largest shape?": "Green.",
    "Which circle is the largest?": "Green.",
    "Which shape is leftmost?": "Circle.",
    "Which shape is furthest to the right?": "Circle.",
    "What is the smallest shape?": "Triangle.",
    "What colour is the triangle?": "Red.",
    "What is the colour of the square?": "Blue.",
    "What shape is the blue one?": "Square.",
    "Which shape is in the bottom left corner?": "Triangle.",
    "Is the red circle larger than the blue square?": "No.",
    "Is the red circle smaller than the blue square?": "Yes.",
    "Are the red circle and the blue square the same size?": "No.",
    "Which is bigger, the green circle or the blue square?": "The green circle.",
    "Which shape is nearest to the red circle?": "The triangle, at the bottom left, box [100, 633, 275, 867] on the 0-1000 grid.",
    "What is farthest from the red circle?": "The circle, at the bottom right, box [725, 633, 975, 967] on the 0-1000 grid.",
    "Which is farther from the red circle: the triangle or the green circle?": "The green circle.",
    "Which shape is closest to the camera?": "The circle, at the top left, box [50, 67, 200, 267] on the 0-1000 grid.",
    "Which is further from the camera: the triangle or the square?": "The square.",
    "How far is the triangle from the red circle?": "177 pixels between their middles.",
}  # fmt: skip


@pytest.mark.parametrize("question", ANSWERS)
async def test_one_board(question: str) -> None:
    report = await Board([BOARD], tools=("grounding", "coding", "depth")).ask(question)
    assert report.answer == ANSWERS[question]
    assert set(calls(report)) <= {GROUNDING, CODING, DEPTH}


QUALIFIERS = ("handwritten", "second", "almost", "big", "blue", "not", "twice", "striped", "leftmost")
TRUE_WITH = {"blue": "blue", "not": "not", "leftmost": "leftmost"}
"""Qualifiers that a question may take for what they mean; all others never."""


@pytest.mark.parametrize("question", ANSWERS)
def test_a_qualifier_too_many_is_taken_for_what_it_means_or_not_understood(question: str) -> None:
    words = question.split()
    plain = understand(question)
    for at in range(len(words) + 1):
        for qualifier in QUALIFIERS:
            try:
                asked = understand(" ".join([*words[:at], qualifier, *words[at:]]))
            except NotUnderstood:
                continue
            assert asked != plain, (at, qualifier)
            told = str(attrs.asdict(asked))
            if type(asked).__name__ in ("FindValue", "Subtract"):
                assert qualifier in told  # a label, which a row then must have letter for letter
            elif qualifier == "not":
                assert "'but_not': {" in told
            elif qualifier == "second":
                assert "'which': 2" in told
            else:
                assert qualifier in ("blue", "leftmost"), (at, qualifier)
                assert f"'{qualifier}'" in told


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("How many red dogs are there?", "“dogs”"),
        ("How many striped circles are there?", "“striped”"),
        ("Where is the cat?", "“cat”"),
        ("Where is the star?", "no star"),
        ("Where is the red shape left of the blue square?", "this kind of question"),
        ("What colour is the circle?", "2 circles"),
        ("How many circles and red shapes are there?", "not plain how to count"),
        ("How many circles are in the left third?", "not plainly"),
        ("Is the red circle left of the triangle?", "not plainly left of"),
        ("Is the circle larger than the square?", "2 circles"),
        ("Is the red shape larger than the red circle?", "2 red shapes"),
        ("Is the blue shape larger than the square?", "in one place"),
    ],
)
async def test_it_says_why_not(question: str, why: str) -> None:
    board = (attrs.evolve(BOARD[0], box=(100, 20, 160, 80)), *BOARD[1:]) if "left third" in question else BOARD
    report = await Board([board]).ask(question)
    assert cannot(report)
    assert why in report.answer


async def test_a_part_cannot_be_more_than_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that finds red circles and no circles is wrong somewhere; no count comes of that."""
    monkeypatch.setattr(Put, "fits", lambda put, query: query.colour == put.colour and query.shape == put.kind)
    report = await Board([BOARD]).ask("How many circles are not red?")
    assert report.answer == ("Cannot answer: more red circles than circles were found, so one of the counts is wrong.")


@pytest.mark.parametrize(
    ("side", "axis", "sign"), [("leftmost", 0, 1), ("rightmost", 0, -1), ("topmost", 1, 1), ("bottommost", 1, -1)]
)
@pytest.mark.parametrize(("gap_px", "is_plain"), [(1, False), (4, True)])
async def test_what_stands_about_equally_far_at_a_side_is_not_told_apart(
    side: str, axis: int, sign: int, gap_px: int, is_plain: bool
) -> None:
    """Five thousandths of the board, 2 px of 400 and 1.5 px of 300, must lie between the two."""

    def box(at: int, across: int) -> tuple[int, int, int, int]:
        first = (at, across) if axis == 0 else (across, at)
        return (first[0], first[1], first[0] + 40, first[1] + 40)

    board = [
        Put(colour="red", kind="circle", box=box(100, 20)),
        Put(colour="blue", kind="square", box=box(100 + sign * gap_px, 200)),
    ]
    report = await Board([board]).ask(f"Which shape is {side}?")
    assert report.answer is not None
    assert (report.answer == "Circle.") is is_plain
    assert ("about equally far" in report.answer) is not is_plain


async def test_regions_without_a_name_make_a_count_uncertain_and_are_named() -> None:
    board = (*BOARD, Put(colour="red", kind="circle", box=(180, 150, 220, 190), maybe=("pentagon",)))
    report = await Board([board]).ask("How many circles are there?")
    assert (
        report.answer == "Cannot answer: 1 more region of input_image_1 may or may not be a circle, so I cannot tell."
    )
    assert (await Board([board]).ask("How many squares are there?")).answer == "1"
    assert cannot(await Board([board]).ask("How many circles are not red?"))
    assert (await Board([board]).ask("Is there a circle?")).answer == "Yes."
    assert cannot(await Board([board]).ask("Is there a pentagon?"))


async def test_things_in_one_place_are_not_named() -> None:
    board = (
        Put(colour="red", kind="square", box=(20, 20, 80, 80)),
        Put(colour="blue", kind="circle", box=(20, 20, 80, 80)),
    )
    assert cannot(await Board([board]).ask("What colour is the square?"))
    assert cannot(await Board([board]).ask("Which shape is the largest?"))
    assert cannot(await Board([board]).ask("Is the red square left of the blue circle?"))
    assert (await Board([board]).ask("How many shapes are there?")).answer == "2"


async def test_sizes_are_compared_by_boxes_where_there_are_no_masks_and_that_is_said() -> None:
    board = Board([BOARD], with_masks=False)
    report = await board.ask("Which is larger: the red circle or the triangle?")
    assert report.answer == "The triangle by their boxes."
    report = await Board([BOARD]).ask("Which is larger: the red circle or the triangle?")
    assert report.answer == "The red circle."


async def test_what_is_nearly_equal_is_about_equal() -> None:
    board = [
        Put(colour="red", kind="square", box=(0, 0, 100, 100)),
        Put(colour="blue", kind="square", box=(200, 0, 300, 104)),
    ]
    assert "about equal" in (await Board([board]).ask("Is the red square larger than the blue square?")).answer
    assert (await Board([board]).ask("Are the red square and the blue square the same size?")).answer.startswith("Yes")
    board[1] = attrs.evolve(board[1], box=(200, 0, 300, 106))
    assert (await Board([board]).ask("Is the red square larger than the blue square?")).answer == "No."


async def test_several_pictures() -> None:
    pictures = [BOARD, BOARD[:1], BOARD[1:3]]
    for question, answer in {
        "How many circles are in the second image?": "1",
        "How many circles are in all images?": "3: 2 circles in input_image_1, 1 circle in input_image_2, 0 circles in input_image_3",
        "How many circles are in each image?": "input_image_1: 2; input_image_2: 1; input_image_3: 0",
        "Which image has the most red shapes?": "input_image_1: 2 in input_image_1, 1 in input_image_2, 1 in input_image_3.",
        "Which picture shows fewer circles?": "input_image_3: 2 in input_image_1, 1 in input_image_2, 0 in input_image_3.",
        "In the last image, is the triangle below the square?": "Yes.",
    }.items():
        assert (await Board(pictures).ask(question)).answer == answer
    report = await Board(pictures).ask("How many circles are there?")
    assert cannot(report)
    assert "which of the pictures" in report.answer


async def test_a_sum_is_the_coding_tools() -> None:
    board = Board([BOARD])
    report = await board.ask("How many circles and squares are there?")
    assert report.answer == "3: 2 circles, 1 square"
    assert calls(report) == [GROUNDING, GROUNDING, CODING]
    assert "['2', '1']" in board.executor.programs[0]
    assert (
        "not offered"
        in (await Board([BOARD], tools=("grounding",)).ask("How many circles and squares are there?")).answer
    )
    assert "not offered" in (await Board([BOARD]).ask("Which shape is closest to the camera?")).answer


# --- random boards -------------------------------------------------------------------------------------------------


def _truth(shapes: list[Put], colour: str | None, kind: str | None) -> list[Put]:
    query = ShapeQuery(colour=colour, shape=kind)
    return [shape for shape in shapes if attrs.evolve(shape, maybe=()).fits(query)]


def _phrase(rng: random.Random, shapes: list[Put], full: float = 0.7) -> tuple[str | None, str | None]:
    known = rng.choice(shapes) if shapes and rng.random() < 0.9 else None
    colour = (known.colour if known else rng.choice(COLOURS)) if rng.random() < full else None
    kind = (known.kind if known else rng.choice(SHAPES)) if rng.random() < full else None
    return colour, kind


def _words(colour: str | None, kind: str | None) -> str:
    return " ".join(filter(None, (colour, kind or "shape")))


async def test_counts_of_random_boards_are_right_or_not_given() -> None:
    rng = random.Random(11)
    given = 0
    for _ in range(150):
        shapes = random_board(rng, doubtful=True)
        (colour, kind), negated = _phrase(rng, shapes), rng.random() < 0.3
        wanted = _truth(shapes, colour, kind)
        words = _words(colour, kind) + "s"
        if negated and colour:
            words, wanted = (
                _words(None, kind) + f"s that are not {colour}",
                [s for s in _truth(shapes, None, kind) if s.colour != colour],
            )
        where = rng.choice(["", " in the top half", " on the right side", " in the bottom left corner"])
        report = await Board([shapes]).ask(f"How many {words} are{where or ' there'}?")
        if cannot(report):
            continue
        given += 1
        for shape in wanted:
            x1, y1, x2, y2 = shape.box
            assert where != " in the top half" or not y1 < 150 < y2
            assert where != " on the right side" or not x1 < 200 < x2
        inside = [
            shape
            for shape in wanted
            if {"": True, " in the top half": shape.middle[1] < 150, " on the right side": shape.middle[0] > 200}.get(where, shape.middle[0] < 200 and shape.middle[1] > 150)
        ]  # fmt: skip
        assert report.answer == str(len(inside)), (words, where, shapes)
    assert given > 60


async def test_relations_on_random_boards_are_right_or_not_given() -> None:
    rng = random.Random(12)
    given = 0
    for _ in range(150):
        shapes = random_board(rng)
        (colour, kind), (other_colour, other_kind) = _phrase(rng, shapes, 0.95), _phrase(rng, shapes, 0.95)
        ones, others = _truth(shapes, colour, kind), _truth(shapes, other_colour, other_kind)
        relation, axis, sign = rng.choice([("left of", 0, 1), ("right of", 0, -1), ("above", 1, 1), ("below", 1, -1)])
        report = await Board([shapes]).ask(
            f"Is the {_words(colour, kind)} {relation} the {_words(other_colour, other_kind)}?"
        )
        if cannot(report):
            continue
        given += 1
        assert len(ones) == len(others) == 1
        further = sign * (others[0].middle[axis] - ones[0].middle[axis])
        assert report.answer == ("Yes." if further > 0 else "No."), (shapes, relation)
    assert given > 10


@pytest.mark.parametrize("size", ["largest", "smallest", "leftmost", "rightmost", "topmost", "lowest"])
async def test_extremes_of_random_boards_are_right_or_not_given(size: str) -> None:
    rng = random.Random(size)
    given = 0
    measure = {
        "largest": lambda put: -put.area, "smallest": lambda put: put.area, "leftmost": lambda put: put.box[0],
        "rightmost": lambda put: -put.box[2], "topmost": lambda put: put.box[1], "lowest": lambda put: -put.box[3],
    }[size]  # fmt: skip
    for _ in range(25):
        shapes = random_board(rng)
        trait = rng.choice(["colour", "kind"])
        question = f"What colour is the {size} shape?" if trait == "colour" else f"Which shape is the {size}?"
        report = await Board([shapes]).ask(question)
        if not cannot(report):
            given += 1
            assert report.answer.casefold() == f"{getattr(min(shapes, key=measure), trait)}.", (question, shapes)
    assert given > 8


async def test_sizes_and_distances_on_random_boards_are_right_or_not_given() -> None:
    rng = random.Random(13)
    sizes = nearest = 0
    for _ in range(60):
        shapes = random_board(rng)
        (colour, kind), (other_colour, other_kind) = _phrase(rng, shapes, 0.95), _phrase(rng, shapes, 0.95)
        one, other = _words(colour, kind), _words(other_colour, other_kind)
        report = await Board([shapes]).ask(f"Is the {one} larger than the {other}?")
        if not cannot(report):
            sizes += 1
            (first,), (second,) = _truth(shapes, colour, kind), _truth(shapes, other_colour, other_kind)
            ratio = first.area / second.area
            assert {"Yes.": ratio > 1.02, "No.": ratio < 0.98}.get(report.answer, 0.93 < ratio < 1.07), (
                report.answer,
                ratio,
            )
        report = await Board([shapes]).ask(f"Which shape is nearest to the {one}?")
        if not cannot(report):
            nearest += 1
            (start,) = _truth(shapes, colour, kind)
            rest = [shape for shape in shapes if shape is not start]
            first = min(
                rest, key=lambda put: (put.middle[0] - start.middle[0]) ** 2 + (put.middle[1] - start.middle[1]) ** 2
            )
            box = list(pixels_to_grid(tuple(map(float, first.box)), (300, 400)))
            assert report.answer.startswith(f"The {first.kind}, "), (one, shapes)
            assert str(box) in report.answer
    assert sizes > 4
    assert nearest > 8


def test_sides_are_those_of_separate_boxes_and_otherwise_doubtful() -> None:
    assert is_beside((0, 0, 100, 100), "left of", (200, 0, 300, 100)) is True
    assert is_beside((200, 0, 300, 100), "left of", (0, 0, 100, 100)) is False
    assert is_beside((0, 0, 300, 100), "left of", (200, 0, 300, 100)) is None
    assert is_beside((0, 0, 300, 100), "left of", (0, 500, 300, 600)) is None
    assert is_beside((0, 0, 300, 100), "above", (0, 500, 300, 600)) is True
    assert is_beside((0, 0, 300, 100), "below", (0, 500, 300, 600)) is False
