"""What a question cost: every role, every tool, on success and failure; saved, read back and replayed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from openvlharness_adapters.files.report_store import read_report, write_report
from openvlharness_core.agent.replay import replay
from openvlharness_core.agent.report import Report
from openvlharness_core.calls import Findings
from openvlharness_core.capabilities.hands import Hands
from openvlharness_core.errors import BackendUnavailableError, MalformedResultError, ToolFailure
from openvlharness_core.testing.models import calling, saying
from openvlharness_core.usage import Spent, search_credits
from tests.support.report_schema import check_report
from tests.unit.core.agents import QUESTION, Own, agent

ASKED = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details.cached_tokens": 40}
AUXILIARY = Spent(role="auxiliary", model="qwen", usage={"prompt_tokens": 1000, "completion_tokens": 50})
CODING = Spent(role="coding", model="m", usage={"prompt_tokens": 7, "completion_tokens": 3, "x.y": 0.5})
BILL = (AUXILIARY, AUXILIARY, CODING, search_credits(2), search_credits(1.5))
PRICES = {
    "orchestrator": {"input": 1.0, "cache_read": 0.1, "output": 10.0},
    "coding": {"input": 1.0, "output": 10.0},
    "auxiliary": {"input": 0.2, "output": 0.4},
}


def _tool(*, error: Exception | None = None) -> Own:
    async def does(arguments: Mapping[str, object], hands: Hands) -> Findings:
        if error is not None:
            raise error
        return Findings(data={}, usage=BILL)

    return Own(does=does)


async def _report(tool: Own, prices: Mapping[str, Mapping[str, float]] = PRICES, **answer: Any) -> Report:
    replies = [calling("Own_Tool"), saying("<answer>2</answer>")]
    script = [attrs.evolve(reply, usage=ASKED) for reply in replies]
    if answer:
        script[-1] = attrs.evolve(script[-1], **answer)
    return await agent(script, tool, prices=prices).answer(QUESTION)


FAILURES = [
    None,
    ToolFailure("tool_execution_error", "no", usage=BILL),
    BackendUnavailableError("serper", "no", usage=BILL),
    MalformedResultError("pages", "a page", usage=BILL),
]


@pytest.mark.parametrize("error", FAILURES, ids=["success", "tool failure", "backend away", "malformed"])
async def test_every_role_is_counted_and_in_the_total(error: Exception | None) -> None:
    usage = (await _report(_tool(error=error))).usage
    assert usage["roles"] == {
        "orchestrator": {"prompt_tokens": 200, "completion_tokens": 20, "prompt_tokens_details.cached_tokens": 80},
        "auxiliary": {"prompt_tokens": 2000, "completion_tokens": 100},
        "coding": {"prompt_tokens": 7, "completion_tokens": 3, "x.y": 0.5},
    }
    assert usage["total"] == {
        "prompt_tokens": 2207,
        "completion_tokens": 123,
        "prompt_tokens_details.cached_tokens": 80,
        "x.y": 0.5,
    }
    assert usage["tools"]["Own_Tool"]["search_credits"] == 3.5
    money = usage["money"]
    assert money["roles"]["orchestrator"] == pytest.approx((120 * 1.0 + 80 * 0.1 + 20 * 10.0) / 1e6, rel=1e-12)
    assert money["roles"]["auxiliary"] == pytest.approx((2000 * 0.2 + 100 * 0.4) / 1e6, rel=1e-12)
    assert money["roles"]["coding"] == pytest.approx((7 * 1.0 + 3 * 10.0) / 1e6, rel=1e-12)
    assert money["total"] == pytest.approx(sum(money["roles"].values()), rel=1e-12)
    assert money["prices"] == PRICES


async def test_without_prices_no_money_is_told() -> None:
    assert (await _report(_tool(), {})).usage.keys() == {"total", "roles", "tools"}


async def test_a_role_without_prices_leaves_the_others_theirs_but_no_total() -> None:
    money = (await _report(_tool(), {"orchestrator": PRICES["orchestrator"]})).usage["money"]
    assert money["roles"]["orchestrator"] > 0
    assert (money["roles"]["auxiliary"], money["roles"]["coding"], money["total"]) == (None, None, None)


async def test_a_reply_without_usage_leaves_no_claim_for_its_role() -> None:
    report = await _report(_tool(), usage={})
    assert report.usage["roles"]["orchestrator"]["prompt_tokens"] == 100
    assert report.usage["money"]["roles"]["orchestrator"] is None
    assert report.usage["money"]["total"] is None


@pytest.mark.parametrize("prices", [{}, PRICES, {"auxiliary": {}}], ids=["none", "all", "one"])
async def test_it_is_saved_and_read_back(prices: Mapping[str, Mapping[str, float]], tmp_path: Path) -> None:
    report = await _report(_tool(), prices)
    check_report(report.to_dict())
    write_report(report, tmp_path)
    again = read_report(tmp_path)
    assert again.usage == report.usage
    assert again.prices == prices


async def test_a_replay_finds_no_difference() -> None:
    made = agent([], _tool(), prices=PRICES)
    report = await _report(_tool())
    assert replay(report, made.toolset, made.policy, made.codec, made.limits) == ()
