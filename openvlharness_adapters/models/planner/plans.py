"""Which plan answers which kind of question. A further kind gets a question in `questions` and a line here."""

from __future__ import annotations

from collections.abc import Sequence

from openvlharness_adapters.models.planner.camera_motion import CameraMotion, camera_motion
from openvlharness_adapters.models.planner.comparing import comparing
from openvlharness_adapters.models.planner.counting import CountingAsk, counting
from openvlharness_adapters.models.planner.locating import locating
from openvlharness_adapters.models.planner.locating_asked import LocatingAsk
from openvlharness_adapters.models.planner.looking_up import LookUp, WhereFrom, look_up, where_from
from openvlharness_adapters.models.planner.looks import Answer, Cannot, Plan, in_one_picture
from openvlharness_adapters.models.planner.places import pictures_of
from openvlharness_adapters.models.planner.questions import Ask, Compute, FindValue, ReadText, Subtract
from openvlharness_adapters.models.planner.reading import read_text
from openvlharness_adapters.models.planner.sums import compute, subtract
from openvlharness_adapters.models.planner.values import find_value


def plan_for(ask: Ask, pictures: Sequence[str]) -> Plan[Answer]:
    """The plan for a question about these pictures.

    Raises:
        Cannot: the question means a picture that is not there.
    """
    if isinstance(ask, LookUp):
        return look_up(ask)
    try:
        meant = pictures_of(ask.place, pictures)
    except ValueError as error:
        raise Cannot(str(error)) from None
    match ask:
        case ReadText():
            return read_text(ask, meant)
        case FindValue():
            return find_value(ask, meant)
        case Compute():
            return compute(ask, meant)
        case Subtract():
            return subtract(ask, meant)
        case CameraMotion():
            return camera_motion(ask, meant)
        case WhereFrom():
            return in_one_picture(ask.place.which, meant, where_from)
    if isinstance(ask, CountingAsk):
        return counting(ask, meant)
    if isinstance(ask, LocatingAsk):
        return locating(ask, meant)
    return comparing(ask, meant)
