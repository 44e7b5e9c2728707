"""Base of the scripted negotiators of the bargaining game: when to accept, what to offer, and how to say it."""

from __future__ import annotations

from typing import ClassVar

from actors.agent import Agent, Answer
from actors.scripted.bargaining.offering import make_package
from actors.scripted.bargaining.phrases import Mood, say
from actors.scripted.bargaining.table import Package, Table
from actors.turn import Turn
from sim.game import ActionType, Pass
from sim.games.bargaining.actions import Choose, Reply
from sim.games.bargaining.tags import write

_PASS = Pass()


class Negotiator(Agent):
    """Base of the scripted negotiators: a subclass says which surplus it asks for in a round.

    The surplus of an offer is what it leaves the seat, in currency (see `Table`). It accepts what leaves it no less
    than it asks for, by repeating it with MAKE_DEAL; it confirms what the other has repeated after it. It never
    agrees to a loss, whatever a subclass asks for.

    Where crossing prices close a deal, MAKE_DEAL is not said, and repeating a price closes it all the same.

    Args:
        agent_id: Its seat id.
        firm: Whether it talks firmly rather than politely; it makes no difference to its offers.
    """

    games: ClassVar[tuple[str, ...]] = ("bargaining",)

    binding: ClassVar[bool] = False
    """Whether it says MAKE_DEAL with every offer, so that the other can close at once; else in the last round."""

    exact: bool = False
    """Whether its prices keep all their digits, instead of being rounded to what people say."""

    def __init__(self, agent_id: str, *, firm: bool = False) -> None:
        super().__init__(agent_id)
        self.firm = firm

    def decide(self, turn: Turn) -> Answer:
        """Choose whom to talk to, or accept, or make an offer."""
        if Choose.name in turn.allowed_actions:
            return self.choose(turn)
        return self.answer(Table(turn)) if Reply.name in turn.allowed_actions else _PASS

    # ── for subclasses ──────────────────────────────────────────────────────────────────────────────────

    def ask(self, table: Table) -> float:
        """Return the surplus that its offer is to leave it in this round."""
        raise NotImplementedError

    def least(self, table: Table, ask: float) -> float:
        """Return the surplus from which on it accepts an offer of the other's."""
        return ask

    def mood(self, table: Table, package: Package) -> Mood:
        """Return how an offer is to be put."""
        if table.mine is None:
            return "open"
        if table.last:
            return "final"
        return "hold" if package == table.mine else "counter"

    def choose(self, turn: Turn) -> ActionType:
        """Pick whom to talk to in this round: one conversation after the other."""
        there = [line for line in turn.state["threads"] if line["status"] == "open"]
        line = there[(turn.state["round"] - 1) % len(there)]
        return Choose(line["partner"], line["products"][0])

    # ── what all do alike ───────────────────────────────────────────────────────────────────────────────

    def answer(self, table: Table) -> ActionType:
        """Accept the other's offer, or make one; pass where no price could leave it without a loss."""
        ask = max(0.0, self.ask(table))
        theirs = table.theirs
        if theirs is not None and self.accepts(table, theirs, ask):
            return self.speak(table, theirs, "confirm" if theirs == table.mine else "accept", closing=True)
        package = make_package(table, ask, exact=self.exact) or make_package(
            table, ask, exact=self.exact, terms=table.best()
        )
        if package is None:
            return _PASS
        closing = self.binding or (table.last and table.buying)
        return self.speak(table, package, self.mood(table, package), closing=closing)

    def accepts(self, table: Table, theirs: Package, ask: float) -> bool:
        """Return whether it takes the other's offer."""
        gain = table.surplus(theirs)
        if gain < 0 or not table.can_have(theirs):
            return False
        return theirs == table.mine or gain >= self.least(table, ask)

    def speak(self, table: Table, package: Package, mood: Mood, *, closing: bool) -> Reply:
        """Put an offer into words."""
        table.memo.spoke(table.surplus(package))
        words = say(mood, table.label, table.memo.rng, buying=table.buying, firm=self.firm)
        tags = write(
            package.price,
            "buyer" if table.buying else "seller",
            items=package.items,
            terms=package.terms,
            make_deal=closing and not table.crossing,
        )
        return Reply(f"{words} {tags}")
