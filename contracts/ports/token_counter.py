"""What every TokenCounter promises.

Subclass `TokenCounterContract` in a test module as `Test…` and supply a fixture `counter`.
"""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor

import attrs
import pytest

from openvlharness_core.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage, VirtualCall
from openvlharness_core.ports.tokens import TokenCounter

from .chat_model import ZOOM, conversation

_SEGMENTS: tuple[tuple[Message, ...], ...] = (conversation()[:2], conversation()[2:4], conversation()[4:])


def _text(words: int) -> tuple[Message, ...]:
    return (UserMessage.of_text(" ".join(["horse"] * words)),)


class TokenCounterContract:
    """See the module."""

    @pytest.mark.parametrize("segments", [0, 1, 3])
    def test_one_number_a_segment_and_one_for_the_rest(self, counter: TokenCounter, segments: int) -> None:
        counts = counter.count(_SEGMENTS[:segments], (ZOOM,))
        assert len(counts) == segments + 1
        assert all(type(count) is int for count in counts)
        assert all(count > 0 for count in counts)

    def test_a_segment_counts_the_same_wherever_and_whenever_it_stands(self, counter: TokenCounter) -> None:
        *forward, framing = counter.count(_SEGMENTS, (ZOOM,))
        *backward, again = counter.count(_SEGMENTS[::-1], (ZOOM,))
        assert (backward[::-1], again) == (forward, framing)
        assert [counter.count([segment], (ZOOM,))[0] for segment in _SEGMENTS] == forward

    def test_counts_of_segments_may_be_added(self, counter: TokenCounter) -> None:
        """Forms of a turn are counted apart and sent side by side."""
        *apart, _ = counter.count(_SEGMENTS, ())
        together, _ = counter.count([tuple(message for segment in _SEGMENTS for message in segment)], ())
        assert sum(apart) == together

    def test_an_empty_segment_is_nothing(self, counter: TokenCounter) -> None:
        """A turn without an update has its place among the segments all the same."""
        assert counter.count([(), _SEGMENTS[0]], (ZOOM,)) == (0, *counter.count([_SEGMENTS[0]], (ZOOM,)))

    def test_more_text_is_more_tokens(self, counter: TokenCounter) -> None:
        few, more, many, _ = counter.count([_text(1), _text(20), _text(2000)], ())
        assert few < more < many

    def test_a_picture_counts_beside_its_text(self, counter: TokenCounter) -> None:
        (shown,) = [message for message in conversation() if isinstance(message, ToolMessage)]
        bare = attrs.evolve(shown, parts=shown.parts[:1])
        with_picture, without, _ = counter.count([(shown,), (bare,)], ())
        assert with_picture > without

    def test_arguments_of_calls_count(self, counter: TokenCounter) -> None:
        short, long = (
            AssistantMessage(text="", calls=(VirtualCall(id="a", tool="Zoom_In_Tool", arguments=arguments),))
            for arguments in ("{}", '{"objective": "' + "horse " * 200 + '"}')
        )
        of_short, of_long, _ = counter.count([(short,), (long,)], ())
        assert of_long > of_short

    def test_tools_count(self, counter: TokenCounter) -> None:
        system = (SystemMessage(text="Answer."),)
        bare, one, two = (
            counter.count([system], tools) for tools in ((), (ZOOM,), (ZOOM, attrs.evolve(ZOOM, name="Other_Tool")))
        )
        assert bare[-1] < one[-1] < two[-1]
        assert bare[0] == one[0] == two[0]

    def test_what_is_counted_is_left_as_it_was(self, counter: TokenCounter) -> None:
        segments = copy.deepcopy(_SEGMENTS)
        counter.count(segments, (ZOOM,))
        assert segments == _SEGMENTS

    def test_any_thread_may_count(self, counter: TokenCounter) -> None:
        """The runner puts the call through `Offload`, for several questions at once."""
        alone = counter.count(_SEGMENTS, (ZOOM,))
        with ThreadPoolExecutor(4) as pool:
            counted = list(pool.map(lambda _: counter.count(_SEGMENTS, (ZOOM,)), range(16)))
        assert counted == [alone] * 16
