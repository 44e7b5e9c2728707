"""Matches of scripted negotiators, and what was offered in them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import msgspec
from test_scripted import bodies, play

from actors.agent import Agent, Answer
from actors.registry import AGENTS, make_agent
from actors.turn import Turn
from sim import MatchRecord, Pass
from sim.games.bargaining import BargainingGame, Reply
from sim.games.bargaining.tags import Offer, read, write

KINDS = [kind for kind, cls in AGENTS.items() if "bargaining" in getattr(cls, "games", ("bargaining",))]
"""All that play this game."""

Who: TypeAlias = str | tuple[str, dict[str, Any]] | Agent
"""A kind, a kind with options, or an agent."""


class Wall(Agent):
    """Stands by a price.

    Args:
        agent_id: Its seat id.
        price: The price.
        deal: Whether it says MAKE_DEAL.
    """

    def __init__(self, agent_id: str, price: float, *, deal: bool = False) -> None:
        super().__init__(agent_id)
        self.price, self.deal = price, deal

    def decide(self, turn: Turn) -> Answer:
        return Reply(f"No. {write(self.price, turn.state['role'], make_deal=self.deal)}")


class Steps(Agent):
    """Names one price after the other, and stays with the last."""

    def __init__(self, agent_id: str, *prices: float) -> None:
        super().__init__(agent_id)
        self.prices = prices

    def decide(self, turn: Turn) -> Answer:
        price = self.prices[min(turn.round, len(self.prices)) - 1]
        return Reply(f"Well. {write(price, turn.state['role'])}") if price > 0 else Pass()


def seat(who: Who, agent_id: str) -> Agent:
    if isinstance(who, Agent):
        return who
    kind, options = (who, {}) if isinstance(who, str) else who
    return make_agent(kind, agent_id, options)


def haggle(game: BargainingGame, who: Sequence[Who], seeds: Iterable[int] = (1,), **kept: Any) -> list[MatchRecord]:
    """Play a match for each seed; who sits where in the order of the seats."""
    agents = [seat(one, agent_id) for one, agent_id in zip(who, game.seat_ids(), strict=True)]
    return play(game, agents, seeds, **kept)


def texts(record: MatchRecord, agent_id: str, thread: int = 1) -> list[str]:
    """Return what a seat has said in a conversation, as its counterpart reads it."""
    said = [body for body in bodies(record, "action") if body["agent_id"] == agent_id and body["action"] == "reply"]
    return [body["payload"]["text"] for body in said if body["thread"] == thread]


def offers(record: MatchRecord, agent_id: str, thread: int = 1) -> list[Offer]:
    """Return what a seat has offered in a conversation about a price alone."""
    role = "buyer" if agent_id.startswith("b") else "seller"
    return [read(text, role) for text in texts(record, agent_id, thread)]  # type: ignore[arg-type]


def prices(record: MatchRecord, agent_id: str, thread: int = 1) -> list[float]:
    return [offer.price for offer in offers(record, agent_id, thread)]


def deals(records: Iterable[MatchRecord]) -> list[dict[str, Any]]:
    return [deal for record in records for deal in record.outcome.figures["deals"]]


def assert_sound(record: MatchRecord) -> None:
    """Assert that a match ended by its rules, that no answer was wrong, and that nobody has lost."""
    assert record.outcome.status == "resolved"
    assert record.errors == ()
    for event in record.events:
        assert event.kind not in ("timeout", "forfeit", "lost", "abort")
        if event.kind == "rejected":  # a conversation may close, or a product sell, while an answer is on its way
            body = msgspec.json.decode(event.body)
            assert body["code"] == "late" or "is none of them" in body["reason"], body
    assert record.outcome.figures["overflows"] == []
    assert min(record.outcome.utilities) >= 0


# ── markets at random ───────────────────────────────────────────────────────────────────────────────────


def some_market(rng: random.Random) -> dict[str, Any]:
    """Return parameters of any size and kind; some of them make no market."""
    scale = 10 ** rng.uniform(-1, 6)
    products = [f"thing_{n}" for n in range(rng.choice((1, 1, 2, 3)))]
    lot = rng.choice(("each", "bundle", "choose"))
    terms = {"days": {"low": 1.0, "high": 30.0}, "warranty": {"options": ["none", "year", "two"]}}
    if rng.random() < 0.6:
        terms = {}

    def amount(low: float, high: float) -> Any:
        drawn = rng.uniform(low, high) * scale
        return round(drawn, 2) if rng.random() < 0.7 else [round(drawn * 0.9, 2), round(drawn * 1.1, 2)]

    def weights() -> dict[str, Any]:
        if not terms or rng.random() < 0.1:
            return {}
        options = {option: rng.uniform(-0.3, 0.3) * scale for option in ("none", "year")}
        return {"days": rng.uniform(-0.3, 0.3) * scale, "warranty": options}

    return {
        "products": {product: {"name": f"Thing of the {n}th kind"} for n, product in enumerate(products)},
        "buyers": {
            f"buyer_{n}": {
                "max_price": {p: amount(0.8, 1.5) for p in products} if rng.random() < 0.5 else amount(0.8, 1.5),
                "weights": weights(),
            }
            for n in range(rng.choice((1, 1, 2, 3)))
        },
        "sellers": {
            f"seller_{n}": {
                "min_price": amount(0.3, 1.0),
                "list_price": amount(0.6, 2.0),
                "stock": rng.choice((1, 1, 2)),
                "weights": weights(),
            }
            for n in range(rng.choice((1, 1, 2, 3)))
        },
        "lot": lot,
        "choose": rng.randint(1, len(products)) if lot == "choose" else None,
        "terms": terms,
        "max_rounds": rng.choice((1, 2, 5, 12)),
        "deal_rule": rng.choice(("make_deal", "crossing")),
        "threads": rng.choice(("parallel", "sequential")),
        "turn_order": rng.choice(("concurrent", "round_robin")),
    }
