"""How the camera moved and turned: what the camera tool says, weighed against what it says it cannot tell.

A direction is claimed only where it makes a good part of the movement, and a turn only where it exceeds what the tool
notes as uncertain. Without a metric backend no length is claimed at all.
"""

from __future__ import annotations

import math
import re
from typing import Literal

import attrs

from openvlharness_adapters.models.planner.evidence import Seen
from openvlharness_adapters.models.planner.looks import Answer, Call, Cannot, Plan, made
from openvlharness_adapters.models.planner.places import Place
from openvlharness_core.messages import TextPart

CAMERA = "Camera_Trajectory_Tool"

Manner = Literal["motion", "move", "turn", "pan", "tilt"]
Ways = tuple[float, float, float]

_LEAST_SHARE = 0.3  # of the length of the movement, for a direction to be claimed
_LEAST_DEGREES = 2.0

_MOVES: dict[str, tuple[int, int]] = {
    "right": (0, 1), "left": (0, -1), "down": (1, 1), "downward": (1, 1), "up": (1, -1), "upward": (1, -1),
    "forward": (2, 1), "forwards": (2, 1), "backward": (2, -1), "backwards": (2, -1), "back": (2, -1),
}  # fmt: skip
"""Axis and sign of a movement: x right, y down, z forward."""
_TURNS: dict[str, tuple[int, int]] = {
    "right": (0, 1), "left": (0, -1), "down": (1, 1), "downward": (1, 1), "up": (1, -1), "upward": (1, -1),
    "clockwise": (2, 1), "counterclockwise": (2, -1), "counter-clockwise": (2, -1), "anticlockwise": (2, -1),
}  # fmt: skip
"""Angle and sign of a turn: yaw right, pitch down, roll clockwise."""
_MANNERS: dict[str, Manner] = {
    **dict.fromkeys(("move", "moved", "shift", "shifted", "go", "travel", "travelled", "translate"), "move"),
    **dict.fromkeys(("turn", "turned", "rotate", "rotated"), "turn"),
    **dict.fromkeys(("pan", "panned"), "pan"),
    **dict.fromkeys(("tilt", "tilted"), "tilt"),
}
_ANGLES: dict[Manner, tuple[int, ...]] = {
    "motion": (0, 1, 2),
    "move": (0, 1, 2),
    "turn": (0, 1, 2),
    "pan": (0,),
    "tilt": (1,),
}

_VERB = "|".join(_MANNERS)
_WAY = "|".join(sorted({*_MOVES, *_TURNS}, key=len, reverse=True))
_NOUN = "(?:image|picture|photo|photograph|view|shot|frame)"
_BETWEEN = (
    rf"(?: (?:between|across|over) (?:the |these |those )?(?:two |both )?{_NOUN}s"
    rf"| between the first(?: {_NOUN})? and (?:the )?(?P<and>second|last)(?: {_NOUN})?"
    rf"| from the first(?: {_NOUN})? to the (?P<to>second|last)(?: {_NOUN})?)?"
)
_TO = "(?:to the |towards the )?"
_ASKED = re.compile(
    rf"(?:how (?:did|has) the camera (?P<how>{_VERB})"
    "|(?:describe |estimate |what (?:is|was) )?(?:the |how the )?camera(?:'s)? (?P<noun>motion|movement|trajectory|rotation|moved|turned)"
    rf"|(?:in )?(?:which|what) (?:way|direction) (?:did|has) the camera (?P<which>{_VERB})"
    rf"|did the camera (?P<did>{_VERB})(?: {_TO}(?P<one>{_WAY})(?: or {_TO}(?P<other>{_WAY}))?)?){_BETWEEN}"
)
_NOUNS: dict[str, Manner] = {"rotation": "turn", "turned": "turn"}
VOCABULARY = frozenset(re.findall("[a-z]+", _ASKED.pattern)) | set(_MANNERS) | set(_MOVES) | set(_TURNS)


@attrs.frozen(kw_only=True)
class CameraMotion:
    """How the camera moved, or whether it moved in a way.

    Attributes:
        manner: what of the motion is asked for.
        ways: none to describe it, one to confirm, two to choose from.
        confirm: whether yes or no is asked for.
        until: which picture the first is compared with; `None` for all.
        place: the pictures.
    """

    manner: Manner
    ways: tuple[str, ...] = ()
    confirm: bool = False
    until: Literal["second", "last"] | None = None
    place: Place


@attrs.frozen(kw_only=True)
class Moved:
    """One picture's camera against the first, as the evidence says it.

    Attributes:
        picture: its handle.
        shift: right, down, forward; `None` where that is not observable.
        metric: whether it is in metres.
        turn: yaw, pitch, roll in degrees.
        doubt: how many degrees of turn the tool says to be uncertain.
    """

    picture: str
    shift: Ways | None
    metric: bool
    turn: Ways
    doubt: float

    @property
    def least(self) -> float:
        """Degrees from which a turn is claimed."""
        return max(_LEAST_DEGREES, self.doubt)


def motion_of(words: str, place: Place) -> CameraMotion | None:
    """What a question about the camera asks; `None` if it is another question."""
    found = _ASKED.fullmatch(words)
    if found is None or place.region is not None or place.which not in _ALL:
        return None
    verb = found["how"] or found["which"] or found["did"]
    manner = _MANNERS[verb] if verb else _NOUNS.get(found["noun"], "motion")
    ways = tuple(way for way in (found["one"], found["other"]) if way)
    known = _MOVES if manner == "move" else _TURNS
    if any(way not in known for way in ways) or len(set(ways)) < len(ways):
        return None
    until = found["and"] or found["to"]
    return CameraMotion(
        manner=manner,
        ways=ways,
        confirm=found["did"] is not None and len(ways) < 2,
        until=None if until is None else "second" if until == "second" else "last",
        place=place,
    )


_ALL = ("any", "all", "each")


def camera_motion(ask: CameraMotion, pictures: tuple[str, ...]) -> Plan[Answer]:
    """The plan: one call over the pictures, in their order."""
    if len(pictures) < 2:
        raise Cannot("the camera's motion shows only in two pictures or more")
    if ask.until is not None:
        pictures = (pictures[0], pictures[1] if ask.until == "second" else pictures[-1])
    call = Call(
        tool=CAMERA, arguments={"image_ids": list(pictures)}, reason="Comparing where the pictures were taken from."
    )
    moved = motions_of((yield from made(call)), pictures)
    grounds = f"The camera of {pictures[0]} is the reference. {' '.join(_described(each, 'motion') for each in moved)}"
    if ask.ways or ask.confirm:  # of several pictures, from the first to the last
        return Answer(text=_decided(ask, moved[-1]), grounds=grounds)
    if all(_is_open(each, ask.manner) for each in moved):
        words = _described(moved[-1], ask.manner).removesuffix(".")
        raise Cannot(f"{words[0].lower()}{words[1:]}")
    if len(moved) == 1:
        return Answer(text=_described(moved[0], ask.manner), grounds=grounds)
    told = " ".join(f"{each.picture}: {_described(each, ask.manner)}" for each in moved)
    return Answer(text=f"Against {pictures[0]}: {told}", grounds=grounds)


# --- what the evidence says ----------------------------------------------------------------------------------------

_NUMBER = r"[+-]\d+(?:\.\d+)?"
_LINE = re.compile(
    rf"^- (?P<picture>\w+): translation (?P<shift>.*); rotation .*, yaw (?P<yaw>{_NUMBER})°, pitch (?P<pitch>{_NUMBER})°, "
    rf"roll (?P<roll>{_NUMBER})°;",
    re.MULTILINE,
)
_UNCERTAIN = re.compile(r"uncertain by about (\d+(?:\.\d+)?) degrees")
_NOT_OBSERVABLE = "not observable"
_UNSCALED = "scale unknown"


def motions_of(seen: Seen, pictures: tuple[str, ...]) -> list[Moved]:
    """What the evidence says of each picture but the first.

    Raises:
        Cannot: it does not say it of each.
    """
    text = "\n".join(part.text for part in seen.parts if isinstance(part, TextPart))
    doubt = max((float(degrees) for degrees in _UNCERTAIN.findall(text)), default=0.0)
    found = []
    for line in _LINE.finditer(text):
        numbers = [float(value) for value in re.findall(rf"\(({_NUMBER})\)", line["shift"])]
        shift = None if line["shift"] == _NOT_OBSERVABLE else numbers[-3:]
        if shift is not None and len(shift) < 3:
            raise Cannot(f"{CAMERA} did not say how the camera of {line['picture']} moved")
        found.append(
            Moved(
                picture=line["picture"],
                shift=None if shift is None else (shift[0], shift[1], shift[2]),
                metric=_UNSCALED not in line["shift"],
                turn=(float(line["yaw"]), float(line["pitch"]), float(line["roll"])),
                doubt=doubt,
            )
        )
    if [each.picture for each in found] != list(pictures[1:]):
        raise Cannot(f"{CAMERA} did not say how each camera moved")
    return found


# --- words ---------------------------------------------------------------------------------------------------------


def _described(moved: Moved, manner: Manner) -> str:
    if manner == "motion" or manner == "move":
        return f"{_shift_words(moved)}; {_turn_words(moved, (0, 1, 2))}."
    words = _turn_words(moved, _ANGLES[manner])
    return f"{words[0].upper()}{words[1:]}."


def _is_open(moved: Moved, manner: Manner) -> bool:
    """Whether nothing can be told of what is asked."""
    turned = any(abs(moved.turn[angle]) > moved.least for angle in _ANGLES[manner])
    return not turned and (manner not in ("motion", "move") or moved.shift is None)


def _shift_words(moved: Moved) -> str:
    if moved.shift is None:
        return "It cannot be told whether the camera moved"
    length = math.hypot(*moved.shift)
    if length == 0:
        return "The camera did not move"
    ways = [
        way
        for way in ("right", "left", "down", "up", "forward", "backward")
        if _share(moved.shift, way) >= _LEAST_SHARE
    ]
    ways.sort(key=lambda way: -_share(moved.shift or (0, 0, 0), way))
    how_far = f"by {length:.2f} m" if moved.metric else "by an unknown distance (scale unknown)"
    return f"The camera moved {' and '.join(ways)} {how_far}"


def _share(shift: Ways, way: str) -> float:
    axis, sign = _MOVES[way]
    return sign * shift[axis] / (math.hypot(*shift) or 1.0)


def _turn_words(moved: Moved, angles: tuple[int, ...]) -> str:
    names = (("right", "left"), ("down", "up"), ("clockwise", "counterclockwise"))
    turns = [
        f"{names[angle][moved.turn[angle] < 0]} by {abs(moved.turn[angle]):.1f}°"
        for angle in angles
        if abs(moved.turn[angle]) > moved.least
    ]
    if turns:
        return f"it turned {', '.join(turns)}"
    return f"if it turned, then by less than {moved.least:.0f}°, which is not certain"


def _decided(ask: CameraMotion, moved: Moved) -> str:
    """Yes or no, or one of two ways. Raises Cannot where it is not plain."""
    if ask.manner == "move":
        return _decided_move(ask, moved)
    angles = {_TURNS[way][0] for way in ask.ways} or {0, 1, 2}
    if ask.manner in ("pan", "tilt"):
        angles &= {0 if ask.manner == "pan" else 1}
        if not angles:
            raise Cannot(f"a camera does not {ask.manner} {' or '.join(ask.ways)}")
    turned = [angle for angle in angles if abs(moved.turn[angle]) > moved.least]
    if ask.ways:
        fitting = [
            way for way in ask.ways if _TURNS[way][0] in turned and moved.turn[_TURNS[way][0]] * _TURNS[way][1] > 0
        ]
        if len(fitting) == 1 and len(ask.ways) == 2:
            return f"{fitting[0].capitalize()}: {_turn_words(moved, tuple(sorted(turned)))}."
        if len(ask.ways) == 1 and turned:
            return f"{'Yes' if fitting else 'No'}: {_turn_words(moved, tuple(turned))}."
    elif turned:
        return f"Yes: {_turn_words(moved, tuple(sorted(turned)))}."
    raise Cannot(f"{_turn_words(moved, tuple(sorted(angles)))}, so I cannot tell")


def _decided_move(ask: CameraMotion, moved: Moved) -> str:
    if moved.shift is None:
        raise Cannot(f"only the rotation can be told from these pictures: {_turn_words(moved, (0, 1, 2))}")
    still = math.hypot(*moved.shift) == 0
    if not ask.ways:
        return "No, it did not move." if still else f"Yes. {_shift_words(moved)}."
    shares = {way: _share(moved.shift, way) for way in ask.ways}
    if still:
        if len(ask.ways) == 1:
            return "No, it did not move."
        raise Cannot("the camera did not move")
    fitting = [way for way, share in shares.items() if share >= _LEAST_SHARE]
    if len(ask.ways) == 2 and len(fitting) == 1:
        return f"{fitting[0].capitalize()}. {_shift_words(moved)}."
    if len(ask.ways) == 1 and abs(shares[ask.ways[0]]) >= _LEAST_SHARE:
        return f"{'Yes' if fitting else 'No'}. {_shift_words(moved)}."
    raise Cannot(f"that is not plain: {_shift_words(moved)}")
