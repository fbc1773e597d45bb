"""Where an answer is found, and where one only seems to be."""

from __future__ import annotations

import time

import hypothesis
import pytest
from hypothesis import strategies as st

from openvlharness_core.agent.answers import final_answer, find_tags, tagged_answer

FENCE = "```"

# text, the answer in a tag (`answer_tag`), the answer under `answer_tag_or_text`
CASES: list[tuple[str, str | None, str | None]] = [
    # plain
    ("", None, None),
    ("   \n", None, None),
    ("four", None, "four"),
    ("  four \n", None, "four"),
    ("<answer>4</answer>", "4", "4"),
    ("<answer>\n 4 \n</answer>", "4", "4"),
    ("I see four. <answer>4</answer>", "4", "4"),
    ("<answer>4</answer> That is all.", "4", "4"),
    ("<answer>a\nb</answer>", "a\nb", "a\nb"),
    # letter case
    ("<ANSWER>4</ANSWER>", "4", "4"),
    ("<Answer>4</answer>", "4", "4"),
    ("<answer>Yes</ANSWER>", "Yes", "Yes"),
    # not our tag
    ("<answers>4</answers>", None, "<answers>4</answers>"),
    ("<answer4</answer>", None, "<answer4"),
    ("&lt;answer&gt;4&lt;/answer&gt;", None, "&lt;answer&gt;4&lt;/answer&gt;"),
    # several
    ("<answer>3</answer> no: <answer>4</answer>", "4", "4"),
    ("<answer>3</answer><answer>4</answer><answer>5</answer>", "5", "5"),
    ("<answer>3</answer> or <answer>", "3", "3"),
    ("<answer>3</answer> or <answer>4", "3", "3"),
    ("<answer>3</answer> then <answer></answer>", None, None),
    # empty
    ("<answer></answer>", None, None),
    ("<answer> \n </answer>", None, None),
    ("four <answer></answer>", None, None),
    # unclosed
    ("<answer>4", "4", "4"),
    ("I think <answer>4 because", "4 because", "4 because"),
    ("<answer>", None, None),
    ("four <answer>", None, "four"),
    ("four </answer>", None, "four"),
    ("</answer>4<answer>", None, "4"),
    # nested: opened again before it was closed
    ("I answer in <answer> tags: <answer>4</answer>", "4", "4"),
    ("<answer><answer>4</answer></answer>", "4", "4"),
    ("<answer>3 <answer>4", "4", "4"),
    # reasoning
    ("<think>hm</think><answer>4</answer>", "4", "4"),
    ("<think><answer>3</answer></think><answer>4</answer>", "4", "4"),
    ("<think><answer>3</answer></think>", None, None),
    ("<think><answer>3</answer></think> four", None, "four"),
    ("<think><answer>3</answer>", None, None),
    ("<THINKING>is it <answer>3</answer>?</THINKING>four", None, "four"),
    ("<thinking>hm</thinking>\n<answer>4</answer>", "4", "4"),
    ("<answer>4</answer><think>or <answer>5</answer></think>", "4", "4"),
    ("a<think>b</think>c<think>d", None, "ac"),
    # the opening tag of the reasoning stood in the prompt
    ("hm, <answer>3</answer>?</think><answer>4</answer>", "4", "4"),
    ("hm, <answer>3</answer>?</think>four", None, "four"),
    ("hm, <answer>3</answer>?</think>", None, None),
    ("hm </think> four", None, "four"),
    (f"let me see:\n{FENCE}python\nprint(\n</think>\n<answer>4</answer>", "4", "4"),
    # fences
    (f"{FENCE}\n<answer>3</answer>\n{FENCE}", None, f"{FENCE}\n3\n{FENCE}"),
    (f"{FENCE}\n<answer>3</answer>\n{FENCE}\n<answer>4</answer>", "4", "4"),
    (f"{FENCE}xml\n<answer>3</answer>\n{FENCE} <answer>4</answer>", "4", "4"),
    ("~~~\n<answer>3</answer>\n~~~\n<answer>4</answer>", "4", "4"),
    (f"~~~\n{FENCE}\n<answer>3</answer>\n~~~\n<answer>4</answer>", "4", "4"),
    (f"{FENCE}`\n{FENCE}\n<answer>3</answer>\n{FENCE}\n{FENCE}`\n<answer>4</answer>", "4", "4"),
    (f"   {FENCE}\n<answer>3</answer>\n   {FENCE}\n<answer>4</answer>", "4", "4"),
    (f"{FENCE}\n<answer>3</answer>", None, f"{FENCE}\n3"),
    (f"so {FENCE} is no fence here <answer>4</answer>", "4", "4"),
    (f"{FENCE}print(1){FENCE} gives <answer>4</answer>", "4", "4"),
    (f"{FENCE}<answer>3</answer>{FENCE}\n<answer>4</answer>", "4", "4"),
    (f"<answer>\n{FENCE}json\n[1]\n{FENCE}\n</answer>", f"{FENCE}json\n[1]\n{FENCE}", f"{FENCE}json\n[1]\n{FENCE}"),
    (f"{FENCE}\n<think>\n{FENCE}\n<answer>4</answer>", "4", "4"),
    (f"<think>\n{FENCE}\n</think>\n<answer>4</answer>", "4", "4"),
    # call markup
    ("<tool_call>{}</tool_call>", None, None),
    ("<tool_call>{}", None, None),
    ("four <tool_call>{}</tool_call>", None, None),
    ("<tool_call><answer>3</answer></tool_call>", None, None),
    ("<tool_call><answer>3</answer></tool_call><answer>4</answer>", "4", "4"),
    ("<answer>4</answer><tool_call>{}</tool_call>", "4", "4"),
    ("<answer>4 <tool_call>{}</tool_call></answer>", "4", "4"),
    ("<answer><tool_call>{}</tool_call></answer>", None, None),
    ("<answer><tool_call>{}", None, None),
    ('<function=zoom>{"x": 1}</function>', None, None),
    ("<function_call>{}</function_call> four", None, None),
    ("<|tool_calls_section_begin|>x<|tool_calls_section_end|>four", None, None),
    ("<|tool_call_begin|>x<|tool_call_end|>", None, None),
    ('[TOOL_CALLS][{"name": "zoom"}]', None, None),
    ("four [TOOL_CALLS] zoom", None, None),
    (f"{FENCE}\n<tool_call>\n{FENCE}\nfour", None, f"{FENCE}\n<tool_call>\n{FENCE}\nfour"),
    ("<think>should I write <tool_call>?</think> four", None, "four"),
    ("four <tool_call>{}</tool_call> <answer>4</answer>", "4", "4"),
    ("<think>should I write <tool_call>?</think><answer>4</answer>", "4", "4"),
    (f"{FENCE}\n<tool_call>\n{FENCE}\n<answer>4</answer>", "4", "4"),
    ("<tool_call><think></tool_call><answer>4</answer>", "4", "4"),
]


@pytest.mark.parametrize(("text", "tagged", "_"), CASES)
def test_the_tag_alone(text: str, tagged: str | None, _: str | None) -> None:
    assert final_answer(text, "answer_tag") == tagged


@pytest.mark.parametrize(("text", "_", "either"), CASES)
def test_the_tag_or_else_the_text(text: str, _: str | None, either: str | None) -> None:
    assert final_answer(text, "answer_tag_or_text") == either


@pytest.mark.parametrize(("text", "tagged", "_"), CASES)
def test_beside_a_call_only_a_complete_tag_counts(text: str, tagged: str | None, _: str | None) -> None:
    assert tagged_answer(text) == (tagged if find_tags(text).complete else None)


def test_no_text_is_no_answer() -> None:
    assert final_answer(None, "answer_tag_or_text") is None
    assert tagged_answer(None) is None


pieces = st.sampled_from(
    [
        "<answer>", "</answer>", "<ANSWER>", "<think>", "</think>", "<thinking>", "</thinking>", "```", "\n```\n", "````", "~~~",
        "\n", " ", "4", "x" * 50, "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "<function=", "<function=f>", "</function>",
        "<|tool_calls_begin|>", "<|tool_calls_end|>", "\ud83d", "😀", "\0", "<", ">", "`",
    ]
)  # fmt: skip


@hypothesis.given(st.lists(pieces, max_size=25).map("".join))
def test_any_text_has_an_answer_or_none(text: str) -> None:
    for answer in (final_answer(text, "answer_tag"), final_answer(text, "answer_tag_or_text"), tagged_answer(text)):
        assert answer is None or answer == answer.strip() != ""


without_tags = st.text(alphabet=st.characters(exclude_characters="<["))


@hypothesis.given(without_tags, without_tags.filter(str.strip))
def test_an_answer_behind_closed_reasoning_is_found(thought: str, answer: str) -> None:
    text = f"<think>{thought}<answer>no</answer>```</think>\n<answer>{answer}</answer>"
    assert final_answer(text, "answer_tag") == answer.strip()


@pytest.mark.parametrize(
    "piece", ["<answer>", "<think>", "```\n", "<tool_call>", "<function=", "</answer>", "<answer>x</answer>", "````x`"]
)
def test_long_texts_take_linear_work(piece: str) -> None:
    """Ten times the text may take ten times as long, or twice that; a square would take a hundred times."""

    def seconds(times: int) -> float:
        best = 10.0
        for _ in range(3):
            begin = time.process_time()
            final_answer(piece * times, "answer_tag_or_text")
            best = min(best, time.process_time() - begin)
        return best

    assert seconds(20_000) < 40 * max(seconds(2_000), 0.0005)


@pytest.mark.parametrize(
    "text",
    [
        "some words\n" * 200_000,
        "wörter und ~ a\n" * 130_000,
        "`" * 2_000_000,
        "`a` [b] <c>\n" * 80_000,
        "\n   " * 500_000,
    ],
    ids=["words", "letters beyond ASCII", "one long fence", "signs that begin nothing", "blanks"],
)
def test_long_texts_are_looked_through_in_passing(text: str) -> None:
    begin = time.process_time()
    assert find_tags(text).complete is None
    assert time.process_time() - begin < 0.3  # 2 million letters took 0.4 to 4 seconds; now 0.02 to 0.1


def test_a_word_about_the_tag_in_code_opens_nothing() -> None:
    assert final_answer("Put it behind `<answer>` and stop", "answer_tag") is None
    assert final_answer("Put it behind `<answer>`: <answer>7", "answer_tag") == "7"
    assert final_answer("`<answer>7</answer>`", "answer_tag") == "7"
