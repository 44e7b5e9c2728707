"""The conformance suite: every game passes it, and every kind of broken game fails it by name."""

from __future__ import annotations

import itertools
import random
from random import Random
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import pytest

from sim.errors import ConfigError, IllegalAction
from sim.game import ActionType, Game, MessageOnly, Outcome, Pass, Phase, State, Status
from sim.games import GAMES
from sim.games.provision_point import ProvisionPointGame
from sim.testing import MatchByHand, check_game, play_randomly, smallest_table, state_bytes

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "provision-point": [
        {},
        {"mode": "simple"},
        {"mode": "simple", "max_rounds_commit": 100, "threshold": 500},
        {"valuation_mode": "auto"},
        {"allow_commitment_updates": False, "max_rounds_commit": 2},
        {"valuations": {"agent_2": 80}},
        {"mode": "simple", "valuations": {"agent_1": 70, "agent_2": 70}},
        {"max_turns": 3},
    ],
    "principal-agent": [
        {},
        {
            "outcome_levels": [
                {"label": "ok", "threshold": 40, "payment": 5},
                {"label": "no", "threshold": 1, "payment": 0},
            ]
        },
        {"max_clarify_rounds": 0},
        {"oracle": "consumer"},
        {"shape": "bounty", "winners": 3, "accept_level": 20.0},
        {"shape": "bounty", "oracle": "consumer", "accept_level": "partial"},
        {"shape": "chain", "depth": 2},
        {"shape": "chain", "depth": 5, "oracle": "consumer", "max_rounds_offer": 9},
        {"max_turns": 3},
    ],
    "bargaining": [
        {"max_rounds": 5},
        {"max_rounds": 1, "deal_rule": "crossing"},
        {"max_rounds": 4, "max_turns": 3},
        {
            "max_rounds": 2,
            "threads": "sequential",
            "products": {"a": {}},
            "buyers": {"ben": {"max_price": 9}, "bea": {"max_price": [5, 9]}},
            "sellers": {n: {"min_price": [2, 6], "list_price": [8, 9]} for n in ("sue", "sam", "sid")},
        },
    ],
    "coalition": [
        {"tasks": 2},
        {"tasks": [{"at": 0, "value": 30, "quorum": 2, "requires": []}], "discoverers": "all"},
        {"tasks": 3, "seconds": 20, "max_versions": 2, "horizon": 5.0, "exclusive": False, "discoverers": 2},
        {"max_turns": 3},
    ],
}


def provision_budget(state: Any, outcome: Outcome) -> float | None:
    """Full mode: what the project is worth to those who paid, less what they paid. Simple mode as its rules say."""
    if outcome.status != "resolved":
        return 0.0
    paid = sum(state.commitments.values())
    if not hasattr(state, "reservation_values"):
        worth = sum(v or 0.0 for v, a in zip(state.valuations, state.agent_ids, strict=True) if a in state.commitments)
        return worth - paid if outcome.trigger == "threshold_met" else 0.0
    return sum(state.reservation_values) if outcome.trigger == "threshold_met" else -paid


def nothing_is_made(state: Any, outcome: Outcome) -> float | None:
    """What one pays another gets."""
    return 0.0


def gains_from_trade(state: Any, outcome: Outcome) -> float | None:
    """What is sold is worth more to its buyer than to its seller; the price is between them."""
    return sum(deal["max_surplus"] for deal in outcome.figures["deals"])


def shared_out_less_costs(state: Any, outcome: Outcome) -> float | None:
    """Members of active coalitions share what was allocated, and bear their costs."""
    return float(outcome.figures["allocated"] - outcome.figures["costs"])


BUDGETS = {
    "provision-point": provision_budget,
    "principal-agent": nothing_is_made,
    "bargaining": gains_from_trade,
    "coalition": shared_out_less_costs,
}


@pytest.mark.parametrize(
    ("kind", "key"), [(kind, field.name) for kind in GAMES.values() for field in msgspec.structs.fields(kind)]
)
@pytest.mark.parametrize("held", [b"12", object(), {"x": [None]}, 10**30], ids=["bytes", "object", "mapping", "large"])
def test_a_parameter_that_cannot_be_one_is_a_mistake_of_the_configuration_that_names_it(
    kind: type[Game], key: str, held: Any
) -> None:
    with pytest.raises(ConfigError, match=rf"\A{key}\b"):
        kind(**{key: held})


@pytest.mark.parametrize(
    ("game_id", "parameters"),
    [(game_id, parameters) for game_id, several in VARIANTS.items() for parameters in several],
    ids=str,
)
def test_every_game_of_the_product_passes(game_id: str, parameters: dict[str, Any]) -> None:
    game = GAMES[game_id](**parameters)
    check_game(game, game.seat_ids(), budget=BUDGETS.get(game_id), seeds=range(3))


def test_every_registered_game_has_a_variant_here() -> None:
    assert set(VARIANTS) == set(GAMES)


@pytest.mark.parametrize("seats", [3, 5])
def test_larger_tables_pass(seats: int) -> None:
    ids = tuple(f"s{n}" for n in range(seats))
    check_game(ProvisionPointGame(), ids, seeds=[11])
    check_game(ProvisionPointGame(mode="simple"), ids, seeds=[11])


# ── a game of one's own, to break ───────────────────────────────────────────────────────────────────────


class Bid(ActionType, frozen=True):
    """Bid for the vase; `limit` is between the bidder and the auctioneer."""

    name: ClassVar[str] = "bid"
    private_fields: ClassVar[tuple[str, ...]] = ("limit",)

    units: Annotated[int, msgspec.Meta(ge=1, le=10)]
    mood: Literal["calm", "eager"] = "calm"
    tags: Annotated[tuple[str, ...], msgspec.Meta(max_length=2)] = ()
    limit: Annotated[float, msgspec.Meta(gt=0, le=100)] | None = None


class AuctionState(State, kw_only=True):
    """A sealed worth for each seat, and the bids so far."""

    game: Any
    worth: list[int]
    hidden: list[float]
    bids: list[int]
    closed: bool = False

    def private_facts(self, seat: int) -> dict[str, Any]:
        return {"worth": self.worth[seat]}

    def legal(self, seat: int) -> tuple[str, ...]:
        return ("bid", "pass")

    def apply(self, seat: int, action: Any) -> None:
        if type(action) is Bid:
            if action.units <= max(self.bids):
                raise IllegalAction("a bid must be above the last")
            self.bids[seat] = action.units
            if action.limit is not None:
                self.hidden[seat] = action.limit

    def close_phase(self) -> None:
        self.closed = True

    def view(self, seat: int) -> dict[str, Any]:
        return {"bids": self.bids, "my_worth": self.worth[seat], "my_limit": self.hidden[seat]}

    def outcome(self) -> Outcome | None:
        if not self.closed:
            return None
        winner = self.bids.index(max(self.bids))
        utilities = [0.0] * len(self.bids)
        utilities[winner] = float(self.worth[winner] - self.bids[winner])
        return Outcome("resolved", "closed", tuple(utilities), {"price": max(self.bids)})

    def stopped(self, status: Status, trigger: str) -> Outcome:
        return Outcome(status, trigger, (0.0,) * len(self.bids))


class Auction(Game, frozen=True, kw_only=True):
    """An auction of a vase among two or more."""

    game_id: ClassVar[str] = "auction"
    action_types: ClassVar[Any] = {kind.name: kind for kind in (Bid, Pass, MessageOnly)}
    state_type: ClassVar[type[AuctionState]] = AuctionState
    rounds: int = 3

    def check_seats(self, agent_ids: tuple[str, ...]) -> None:
        if len(agent_ids) < 2:
            raise ConfigError("two bidders are needed")

    def role(self, agent_ids: tuple[str, ...], seat: int) -> str:
        return "bidder"

    def rules_text(self, role: str) -> str:
        return "The highest bid wins."

    def start(self, agent_ids: tuple[str, ...], rng: Random) -> State:
        count = len(agent_ids)
        return self.state_type(
            phase=Phase("bid", tuple(range(count)), self.rounds, ends_when_all_pass=True),
            game=self,
            worth=[rng.randint(5, 20) for _ in agent_ids],
            hidden=[0.0] * count,
            bids=[0] * count,
        )


def auction(state: type[AuctionState]) -> Auction:
    """Return the auction with other rules."""

    class Variant(Auction, frozen=True, kw_only=True):
        state_type: ClassVar[type[AuctionState]] = state

    return Variant()


class ShowsTheWorthOfAll(AuctionState, kw_only=True):
    def view(self, seat: int) -> dict[str, Any]:
        return {"bids": self.bids, "worth": self.worth}


class ShowsTheSumOfWorths(AuctionState, kw_only=True):
    def view(self, seat: int) -> dict[str, Any]:
        return {"bids": self.bids, "sum": sum(self.worth)}


class ShowsALimit(AuctionState, kw_only=True):
    def view(self, seat: int) -> dict[str, Any]:
        return {"bids": self.bids, "limits": self.hidden}


class EndsByALimit(AuctionState, kw_only=True):
    def outcome(self) -> Outcome | None:
        if max(self.hidden) > 50:
            self.closed = True
        return super().outcome()


class PaysByALimit(AuctionState, kw_only=True):
    def outcome(self) -> Outcome | None:
        outcome = super().outcome()
        if outcome is None:
            return None
        return msgspec.structs.replace(outcome, details={"highest limit": max(self.hidden)})


class AppliesBeforeItRefuses(AuctionState, kw_only=True):
    def apply(self, seat: int, action: Any) -> None:
        if type(action) is Bid and action.units == 1:
            self.hidden[seat] += 1
            raise IllegalAction("one is unlucky")
        super().apply(seat, action)


class CountsLooks(AuctionState, kw_only=True):
    looks: int = 0

    def view(self, seat: int) -> dict[str, Any]:
        self.looks += 1
        return super().view(seat)


class ThrowsDice(AuctionState, kw_only=True):
    def apply(self, seat: int, action: Any) -> None:
        super().apply(seat, action)
        self.bids[seat] += random.randint(0, 3)


class RemembersOtherMatches(AuctionState, kw_only=True):
    served: ClassVar[itertools.count[int]] = itertools.count()

    def outcome(self) -> Outcome | None:
        outcome = super().outcome()
        return None if outcome is None else msgspec.structs.replace(outcome, details={"served": next(self.served)})


class PaysNoNumber(AuctionState, kw_only=True):
    def outcome(self) -> Outcome | None:
        outcome = super().outcome()
        return None if outcome is None else msgspec.structs.replace(outcome, utilities=(float("nan"),) * len(self.bids))


class PaysOneSeatTooFew(AuctionState, kw_only=True):
    def stopped(self, status: Status, trigger: str) -> Outcome:
        return Outcome(status, trigger, (0.0,))

    def outcome(self) -> Outcome | None:
        outcome = super().outcome()
        return None if outcome is None else msgspec.structs.replace(outcome, utilities=(*outcome.utilities, 1.0))


class NeverEnds(AuctionState, kw_only=True):
    def close_phase(self) -> None:
        self.phase = Phase("bid", self.phase.order, 3)


class Stuck(AuctionState, kw_only=True):
    def legal(self, seat: int) -> tuple[str, ...]:
        return () if any(self.bids) else ("bid", "pass")

    def close_phase(self) -> None:
        """Nobody can do anything, and it goes on."""
        self.phase = Phase("bid", self.phase.order, 3)


class Crashes(AuctionState, kw_only=True):
    def apply(self, seat: int, action: Any) -> None:
        super().apply(seat, action)
        if type(action) is Bid:
            raise ZeroDivisionError("in the rules")


def test_a_game_of_ones_own_passes() -> None:
    check_game(Auction(), seeds=range(3))
    check_game(Auction(), ("x", "y", "z", "w"), seeds=[5])


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (ShowsTheWorthOfAll, "views leak nothing"),
        (ShowsTheSumOfWorths, "views leak nothing"),
        (ShowsALimit, "views leak nothing"),
        (EndsByALimit, "views leak nothing|looking at a state"),
        (PaysByALimit, "views leak nothing"),
        (AppliesBeforeItRefuses, "refused input changes nothing"),
        (CountsLooks, "looking at a state leaves it as it is"),
        (ThrowsDice, "the same seed gives the same match"),
        (RemembersOtherMatches, "the same seed gives the same match"),
        (PaysNoNumber, "finite|differ|RecordMismatch|nan"),
        (PaysOneSeatTooFew, "2 finite utilities"),
        (Stuck, "raised RecursionError"),
        (Crashes, "raised ZeroDivisionError"),
    ],
)
def test_a_broken_game_fails_by_the_name_of_what_it_breaks(broken: type[AuctionState], says: str) -> None:
    with pytest.raises(AssertionError, match=says) as caught:
        check_game(auction(broken), seeds=range(6))
    assert "auction (" in str(caught.value)
    assert "seed " in str(caught.value)


def test_a_game_that_never_ends_by_itself_is_ended_by_its_cap() -> None:
    class Endless(Auction, frozen=True, kw_only=True):
        state_type: ClassVar[type[AuctionState]] = NeverEnds
        max_turns: int = 15

    check_game(Endless(), seeds=[1])


def test_a_budget_that_is_not_kept_is_named() -> None:
    with pytest.raises(AssertionError, match=r"random legal play ends: payoffs add up to .*, not to 12345"):
        check_game(Auction(), seeds=[1], budget=lambda state, outcome: 12345.0)
    check_game(Auction(), seeds=[1], budget=lambda state, outcome: None)


def test_an_alteration_of_ones_own_is_used_and_must_keep_to_one_seat() -> None:
    def alter(state: Any, seat: int, rng: Random) -> None:
        state.worth[seat] += 1

    def alter_all(state: Any, seat: int, rng: Random) -> None:
        state.worth[:] = [w + 1 for w in state.worth]

    check_game(Auction(), seeds=[1], alter=alter)
    with pytest.raises(AssertionError, match="views leak nothing: to alter the facts of agent_1 altered those of"):
        check_game(Auction(), seeds=[1], alter=alter_all)
    with pytest.raises(AssertionError, match="views leak nothing"):
        check_game(auction(ShowsTheSumOfWorths), seeds=[1], alter=alter)


# ── what the suite plays with ───────────────────────────────────────────────────────────────────────────


def test_random_amounts_are_of_the_size_of_the_numbers_in_view() -> None:
    game = ProvisionPointGame(mode="simple", threshold=5000)
    funded = 0
    for seed in range(100):
        outcome = play_randomly(MatchByHand(game, ("a", "b"), seed).open(), Random(seed)).outcome
        funded += outcome.trigger == "threshold_met"
    assert 0 < funded < 100


def test_random_play_resolves_matches_either_way() -> None:
    for parameters in ({}, {"mode": "simple"}):
        game = ProvisionPointGame(**parameters)  # type: ignore[arg-type]
        triggers = [
            play_randomly(MatchByHand(game, ("a", "b", "c"), seed).open(), Random(seed)).outcome.trigger
            for seed in range(60)
        ]
        assert set(triggers) == {"threshold_met", "rounds_exhausted"}


def test_the_smallest_table_of_a_game_is_found() -> None:
    assert smallest_table(ProvisionPointGame()) == ("agent_1", "agent_2")
    with pytest.raises(ConfigError, match="missing"):
        smallest_table(ProvisionPointGame(valuations={"c1": 80}))


def test_states_are_compared_by_their_bytes() -> None:
    one, two = (MatchByHand(ProvisionPointGame(), ("a", "b"), seed).judge.state for seed in (1, 2))
    assert state_bytes(one) == state_bytes(one)
    assert state_bytes(one) != state_bytes(two)
    assert state_bytes({1 + 2j: "a type that msgspec does not know"}) != state_bytes({1 + 3j: ""})
