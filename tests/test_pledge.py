"""Pledgers, and the pools that are played by them: API pool, GPU cluster, infrastructure upgrade, quorum gate."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.agent import Agent
from actors.scripted.provision_point.contributors import Coordinator
from actors.scripted.provision_point.pledge import Pledger
from experiments.config import compose
from experiments.runner import run_config
from sim.clock import run_virtual
from sim.errors import ConfigError
from sim.games.provision_point import ProvisionPointGame
from sim.record import MatchRecord
from sim.replay import rejudge

Play = Callable[..., Awaitable[MatchRecord]]

CASES = ("api_pool", "gpu_cluster", "infrastructure_upgrade", "quorum_gate")


def composed(case: str, *settings: str) -> tuple[Any, Sequence[Agent]]:
    """The game of a case and its line-up."""
    plan, _ = compose([f"game=provision_point/{case}", *settings]).plan()
    (point,) = plan.points
    return point.game, point.agents


def played(play: Play, case: str, worth: dict[str, float] | None = None) -> MatchRecord:
    """Play a case; what it is worth to whom is given, or as the case has it."""
    settings = [f"game.valuations.{seat}={value}" for seat, value in (worth or {}).items()]
    game, agents = composed(case, *(["game.valuation_mode=fixed", *settings] if worth else []))
    record = run_virtual(play(game, agents))
    rejudge(record, game)
    return record


def commitments(record: MatchRecord) -> dict[str, float]:
    """What each seat has committed in the end."""
    made = {}
    for event in record.events:
        body = msgspec.json.decode(event.body)
        if event.kind == "action" and body["action"] in ("submit_commitment", "update_commitment"):
            made[body["agent_id"]] = body["payload"].get("amount", body["payload"].get("new_amount"))
    return made


def gains(record: MatchRecord) -> dict[str, float]:
    return dict(zip(record.spec.agent_ids, record.outcome.utilities, strict=True))


# ── the cases ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("case", CASES)
def test_a_case_is_one_setting_with_the_line_up_of_its_own_name(case: str, tmp_path: Path) -> None:
    config = compose([f"game=provision_point/{case}"])
    named = compose([f"game=provision_point/{case}", f"agents=provision_point/{case}"])
    assert config.points[0]["agents"] == named.points[0]["agents"]
    run = run_config(compose([f"game=provision_point/{case}", "num_matches=12", f"out={tmp_path / 'run'}"]))
    assert run.matches()["status"].to_list() == ["resolved"] * 12
    assert run.matches()["error"].to_list() == [None] * 12
    assert run.matches()["uncounted"].to_list() == [0] * 12


def adopters(seat: str, count: int, seats: int, value: float) -> dict[str, float]:
    """It is worth a value to so many seats, and nothing to the rest."""
    return {f"{seat}_{n}": value if n <= count else 0.0 for n in range(1, seats + 1)}


@pytest.mark.parametrize(("count", "funded"), [(0, False), (6, False), (7, True), (8, True), (10, True)])
def test_the_api_pool_is_bought_if_seven_of_ten_commit_fifteen_tokens_each(
    count: int, funded: bool, play: Play
) -> None:
    record = played(play, "api_pool", adopters("specialist", count, 10, 40.0))
    assert commitments(record) == {f"specialist_{n}": 15.0 for n in range(1, count + 1)}
    assert (record.outcome.trigger == "threshold_met") == funded
    assert record.outcome.details["total_committed"] == 15.0 * count
    expected = {f"specialist_{n}": 25.0 if funded and n <= count else 0.0 for n in range(1, 11)}
    assert gains(record) == {"coordinator": 0.0, **expected}


@pytest.mark.parametrize(("value", "pays"), [(14.99, False), (15.0, True)])
def test_who_is_asked_for_more_than_it_is_worth_to_it_pays_nothing(value: float, pays: bool, play: Play) -> None:
    record = played(play, "api_pool", adopters("specialist", 10, 10, value))
    assert len(commitments(record)) == (10 if pays else 0)


@pytest.mark.parametrize(("count", "upgraded"), [(7, False), (8, True), (10, True)])
def test_the_upgrade_is_worthwhile_if_eight_of_ten_adopt_it(count: int, upgraded: bool, play: Play) -> None:
    record = played(play, "infrastructure_upgrade", adopters("user", count, 10, 30.0))
    assert commitments(record) == {f"user_{n}": 10.0 for n in range(1, count + 1)}
    assert (record.outcome.trigger == "threshold_met") == upgraded
    assert sum(record.outcome.utilities) == (20.0 * count if upgraded else 0.0)


@pytest.mark.parametrize(("count", "passed"), [(2, False), (3, True), (5, True)])
def test_the_gate_opens_if_three_of_five_authorise(count: int, passed: bool, play: Play) -> None:
    record = played(play, "quorum_gate", adopters("approver", count, 5, 1.5))
    assert commitments(record) == {f"approver_{n}": 1.0 for n in range(1, count + 1)}
    assert (record.outcome.trigger == "threshold_met") == passed
    assert record.messages > 0, "approvers say what they do"


def test_the_cluster_is_paid_for_in_proportion_to_use_and_one_tops_up_what_is_missing(play: Play) -> None:
    record = played(play, "gpu_cluster")
    paid = commitments(record)
    assert record.outcome.trigger == "threshold_met"
    assert {seat: paid[seat] for seat in ("vision", "language", "chemistry")} == {
        "vision": 0.35 * 1200,
        "language": 0.30 * 1200,
        "chemistry": 0.10 * 1200,
    }
    assert "climate" not in paid, "a tenth of 1,200 is more than the 90 that it is worth to it"
    assert paid["robotics"] == pytest.approx(300.0)
    assert sum(paid.values()) == pytest.approx(1200.0)
    assert gains(record) == pytest.approx(
        {"coordinator": 0, "vision": 220, "language": 160, "robotics": 40, "chemistry": 60, "climate": 0}
    )


# ── pledgers ────────────────────────────────────────────────────────────────────────────────────────────


def full(**parameters: Any) -> ProvisionPointGame:
    return ProvisionPointGame(**({"threshold": 100.0, "endowment": 80.0} | parameters))


def pool(play: Play, game: ProvisionPointGame, *pledgers: Pledger) -> MatchRecord:
    record = run_virtual(play(game, [Coordinator("coordinator"), *pledgers]))
    rejudge(record, game)
    return record


def valued(**worth: float) -> dict[str, Any]:
    return {"valuation_mode": "fixed", "valuations": worth}


@pytest.mark.parametrize("turn_order", ["round_robin", "concurrent"])
def test_a_pledger_signals_and_commits_its_price_once(turn_order: Any, play: Play) -> None:
    game = full(turn_order=turn_order, **valued(a=90, b=90))
    record = pool(play, game, Pledger("a", amount=60), Pledger("b", share=0.4))
    took = [msgspec.json.decode(e.body) for e in record.events if e.kind == "action" and e.sender > 0]
    told = [(t["agent_id"], t["payload"]["approximate_amount"]) for t in took if t["action"] == "signal_intent"]
    assert sorted(told) == [("a", 60.0), ("b", 40.0)]
    made = [(t["agent_id"], t["payload"]["amount"]) for t in took if t["action"] == "submit_commitment"]
    assert sorted(made) == [("a", 60.0), ("b", 40.0)]
    assert not [t for t in took if t["action"] == "update_commitment"]
    assert gains(record) == {"coordinator": 0.0, "a": 30.0, "b": 50.0}
    assert record.errors == ()


def test_a_pledger_pays_nothing_beyond_its_means(play: Play) -> None:
    record = pool(play, full(**valued(a=200, b=200)), Pledger("a", amount=81), Pledger("b", share=0.8))
    assert commitments(record) == {"b": 80.0}
    assert record.outcome.trigger == "rounds_exhausted"


def test_a_share_is_of_the_threshold_that_is_announced(play: Play) -> None:
    agents = [Coordinator("coordinator", threshold=60), Pledger("a", share=0.5), Pledger("b", share=0.5)]
    record = run_virtual(play(full(**valued(a=90, b=90)), agents))
    assert commitments(record) == {"a": 30.0, "b": 30.0}
    assert record.outcome.trigger == "threshold_met"


def test_a_pledger_declares_what_it_is_worth_to_it_where_that_is_left_to_it(play: Play) -> None:
    game = full(valuation_mode="auto")
    record = pool(play, game, Pledger("a", amount=50, valuation=70), Pledger("b", amount=50, valuation=55))
    assert gains(record) == {"coordinator": 0.0, "a": 20.0, "b": 5.0}
    assert record.outcome.status == "resolved"


def test_a_pledger_plays_the_simple_mode_too(play: Play) -> None:
    game = ProvisionPointGame(mode="simple", threshold=100.0, valuations={"a": 70.0, "b": 70.0})
    record = run_virtual(play(game, [Pledger("a", share=0.5), Pledger("b", amount=50)]))
    assert record.outcome.trigger == "threshold_met"
    assert record.errors == ()


@pytest.mark.parametrize("price", [{}, {"amount": 5, "share": 0.5}])
def test_a_pledger_has_one_price(price: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="pledger x needs an amount or a share of the threshold, and not both"):
        Pledger("x", **price)


@pytest.mark.parametrize("price", ["amount=0", "amount=-5", "share=0", "share=1.5", "amount=many"])
def test_a_price_that_is_none_is_refused_by_its_key(price: str) -> None:
    key, _, value = price.partition("=")
    with pytest.raises(ConfigError, match=f"agents.seats.approver.{key}"):
        compose(
            [
                "game=provision_point/quorum_gate",
                "~agents.seats.approver.amount",
                f"+agents.seats.approver.{key}={value}",
            ]
        ).plan()
