"""Twenty buyers race for the units of twenty sellers over a bus with random delays: no unit is sold twice."""

from __future__ import annotations

import json
import os
from collections import Counter

import msgspec
import pytest

from actors.agent import Agent, Answer
from actors.runtime.local import LocalCell
from actors.runtime.plan import Plan, Point, Settings
from actors.turn import Turn
from experiments.welfare import best_matching
from sim.clock import run_virtual
from sim.delivery import Delivery
from sim.games.bargaining import BargainingGame, Reply
from sim.games.bargaining.tags import write
from sim.record import MatchRecord
from sim.replay import rejudge

SEEDS = int(os.environ.get("QUORUM_RACE_SEEDS", "120"))
"""How many markets are played; 1,000 take about five minutes."""

SIDE, UNITS = 20, 5


class Eager(Agent):
    """Bids near its value, or asks near its cost, so that many deals race for the same buyer and the same units."""

    def decide(self, turn: Turn) -> Answer:
        mine, buys = turn.state["my_reservation_price"], turn.role == "buyer"
        price = mine * (turn.rng.uniform(0.7, 1.0) if buys else turn.rng.uniform(1.0, 1.3))
        return Reply(
            f"{turn.state['partner']}, my price. {write(round(price, 2) or 0.01, 'buyer' if buys else 'seller')}"
        )


def market() -> BargainingGame:
    return BargainingGame(
        market="MB1PMS",
        products={"unit": {}},
        buyers={f"buyer_{n}": {"max_price": [60, 160]} for n in range(SIDE)},
        sellers={f"seller_{n}": {"min_price": [40, 140], "list_price": 180, "stock": UNITS} for n in range(SIDE)},
        deal_rule="crossing",
        max_rounds=3,
    )


@pytest.fixture(scope="module")
def records() -> list[MatchRecord]:
    game = market()
    plan = Plan((Point(game, tuple(Eager(a) for a in game.seat_ids() or ())),), SEEDS, seed=5)
    settings = Settings(clock="virtual", explore=5, window=8, delivery=Delivery(delay="lognormal:50ms:1", reorder=True))

    async def play() -> list[MatchRecord]:
        return [record async for batch in LocalCell(plan, settings).play(range(SEEDS)) for record in batch]

    return run_virtual(play(), explore=5)


def test_no_unit_is_sold_twice_and_nobody_buys_twice(records: list[MatchRecord]) -> None:
    assert len(records) == SEEDS
    for record in records:
        deals = record.outcome.figures["deals"]
        assert record.outcome.status == "resolved"
        assert max(Counter(deal["buyer"] for deal in deals).values()) == 1
        assert max(Counter(deal["seller"] for deal in deals).values()) <= UNITS
        assert len(deals) == len({deal["thread"] for deal in deals})


def test_deals_did_race_and_the_losers_were_told(records: list[MatchRecord]) -> None:
    late, told = 0, Counter[str]()
    for record in records:
        for event in record.events:
            if event.kind == "rejected":
                late += json.loads(event.body)["code"] == "late"
            elif event.kind == "notice":
                body = json.loads(event.body)
                told["deal" if "Deal at" in body["text"] else body["text"].rsplit(" ", 2)[-2]] += body["closes"]
                assert event.recipients is not None and len(event.recipients) == 2
    assert late > SEEDS  # offers that were on their way when their conversation closed
    assert told["deal"] == sum(len(record.outcome.figures["deals"]) for record in records)
    assert told["has"] > 10 * SEEDS  # "... has bought."


def test_every_trade_and_the_welfare_are_in_the_record(records: list[MatchRecord]) -> None:
    for record in records:
        figures, ids = record.outcome.figures, record.spec.agent_ids
        utilities = dict(zip(ids, record.outcome.utilities, strict=True))
        for deal in figures["deals"]:
            value, cost = figures["values"][deal["buyer"]]["unit"], figures["costs"][deal["seller"]]["unit"]
            assert cost <= deal["price"] <= value
            assert deal["buyer_surplus"] + deal["seller_surplus"] == pytest.approx(value - cost)
            assert utilities[deal["buyer"]] == pytest.approx(value - deal["price"])
        welfare = sum(utilities.values())
        assert welfare == pytest.approx(sum(d["buyer_surplus"] + d["seller_surplus"] for d in figures["deals"]))
        gains = [[v["unit"] - c["unit"] for c in figures["costs"].values()] for v in figures["values"].values()]
        best, _ = best_matching(gains, [UNITS] * SIDE)
        assert 0 < welfare <= best * (1 + 1e-9)


def test_the_record_of_a_race_can_be_judged_again(records: list[MatchRecord]) -> None:
    for record in records[:5]:
        rejudge(record, msgspec.structs.replace(market()))


def test_who_wins_depends_on_the_schedule_and_on_nothing_else(records: list[MatchRecord]) -> None:
    buyers = Counter(record.outcome.figures["deals"][0]["buyer"] for record in records)
    assert len(buyers) > SIDE / 2  # no seat is always first
