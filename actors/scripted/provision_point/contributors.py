"""Scripted agents for the provision-point game: rational, free-riding, coordinating, zero-intelligence."""

from __future__ import annotations

from typing import ClassVar

from actors.agent import Agent, Answer, Decision
from actors.scripted.options import Amount, Count, Part, Positive, Text
from actors.scripted.provision_point.table import Table
from actors.turn import Turn
from sim.game import ActionType, Pass
from sim.games.provision_point.actions import (
    AnnounceProject,
    SignalIntent,
    SubmitAmount,
    SubmitCommitment,
    UpdateCommitment,
)

_ANNOUNCEMENT = AnnounceProject(
    "A shared project that none of us can afford alone.", return_description="Access for every contributor."
)
_PASS = Pass()


class Contributor(Agent):
    """Base of the scripted agents of this game: a subclass says what it signals and what it commits.

    In the coordinator's seat it announces the project as configured, and passes from then on.

    Args:
        agent_id: Its seat id.
        valuation: What it declares where contributors set their own valuation (valuation_mode auto);
            None draws it evenly from 0 to 1.5 times the threshold.
        talk: Whether it says one public sentence with each action.
    """

    games: ClassVar[tuple[str, ...]] = ("provision-point",)

    def __init__(self, agent_id: str, *, valuation: Amount | None = None, talk: bool = False) -> None:
        super().__init__(agent_id)
        self.valuation = valuation
        self.talk = talk

    def decide(self, turn: Turn) -> Answer:
        """Announce, signal or commit, as the turn asks for."""
        if turn.role == "coordinator":
            return self.coordinate(turn)
        table = Table(turn, self.valuation)
        action = self.signal(table) if turn.phase == "signal" else self.commit(table)
        said = self.say(table, action)
        return Decision(action, said) if said else action

    def coordinate(self, turn: Turn) -> Answer:
        """Act in the coordinator's seat."""
        action = _ANNOUNCEMENT if "announce_project" in turn.allowed_actions else _PASS
        return Decision(action, (sentence(action),)) if self.talk else action

    def signal(self, table: Table) -> ActionType:
        """Return what it does in the signal phase."""
        return _PASS

    def commit(self, table: Table) -> ActionType:
        """Return what it does in the commit phase."""
        raise NotImplementedError

    def say(self, table: Table, action: ActionType) -> tuple[str, ...]:
        """Return what it says in public along with an action."""
        return (sentence(action),) if self.talk else ()


def sentence(action: ActionType) -> str:
    """Say an action in words."""
    match action:
        case AnnounceProject():
            return "Here is the project; let us fund it together."
        case SignalIntent(approximate_amount=amount):
            return f"I could put in about {amount:.6g}."
        case SubmitCommitment(amount=amount) | SubmitAmount(amount=amount):
            return f"I commit {amount:.6g}."
        case UpdateCommitment(new_amount=amount):
            return f"I now stand at {amount:.6g}."
        case Pass():
            return "I pass for now."
    return f"I choose {action.name.replace('_', ' ')}."


class RationalContributor(Contributor):
    """Commits the smallest amount that reaches the threshold with what the others commit, up to its limit.

    The limit is w = min((1 - margin) v, endowment), v being its valuation; T is the threshold, and a tick the
    smallest amount that it deals in (0.01 where T is 100 to 999).

    Full mode is the contribution game with refund of Bagnoli and Lipman (1989, Review of Economic Studies 56),
    except that who commits nothing gets nothing. There the best reply to the sum C of the others'
    commitments is c = max(tick, T - C) if c <= w; what is committed in vain is refunded, so where c > w
    offering w costs nothing and lets others complete it. Hence c = min(w, max(tick, T - C)). In the first round
    the signals of those who have not committed yet count as commitments; from the second on, when all have had
    their turn, commitments alone count. It lowers its commitment when less is enough. It signals a fair
    part of what is not signalled yet, min(w, (T - S) / k) with S the sum of the signals and k the contributors
    that have not signalled, and then raises its signal by what is still missing. So a table of these funds the
    project exactly if the sum of their limits is at least T, if there are two rounds of commitments.

    In simple mode a shortfall is lost and a commitment is final. It takes the others to be like itself: all who
    may still pay split the gap evenly (the symmetric equilibrium of Palfrey and Rosenthal, 1984, Journal of
    Public Economics 24, with divisible contributions). It commits its part (T - C) / k if that is at most
    (1 - margin) v, k being itself and those who have neither committed nor passed; else it passes.

    Args:
        agent_id: Its seat id.
        margin: The part of its valuation that it wants to keep.
        valuation: As in `Contributor`.
        talk: As in `Contributor`.
    """

    def __init__(
        self, agent_id: str, *, margin: Part = 0.0, valuation: Amount | None = None, talk: bool = False
    ) -> None:
        super().__init__(agent_id, valuation=valuation, talk=talk)
        self.margin = margin

    def signal(self, table: Table) -> ActionType:
        """Signal a fair part of the gap, then what is still missing."""
        limit = table.limit(1 - self.margin)
        gap = table.threshold - sum(table.signals.values())
        mine = table.signals.get(table.me)
        if limit < table.tick or gap <= 0:
            return _PASS
        if mine is None:
            amount = min(limit, table.round_up(gap / (len(table.contributors) - len(table.signals))))
        else:
            amount = min(limit, mine + table.round_up(gap))
        return _PASS if amount == mine else SignalIntent(amount, table.undeclared())

    def commit(self, table: Table) -> ActionType:
        """Commit the best reply."""
        amount = fair_part(table, 1 - self.margin) if table.simple else best_reply(table, 1 - self.margin)
        return _PASS if amount is None else table.commit(amount)


def best_reply(table: Table, part: float) -> float | None:
    """Return the best reply in full mode, at most a part of the valuation; None when there is nothing to gain."""
    limit = table.limit(part)
    if limit < table.tick:
        return None
    first = table.mine is None and table.turn.round == 1
    return min(limit, table.reach(table.expected() if first else table.others))


def fair_part(table: Table, part: float) -> float | None:
    """Return an even part of the gap in simple mode; None when it is more than a part of the valuation."""
    limit = table.limit(part)
    payers = 1 + len(table.waiting())
    if table.gap / payers > limit:
        return None
    return min(limit, table.reach(table.others) if payers == 1 else table.round_up(table.gap / payers))


class FreeRider(Contributor):
    """Contributes as little as possible and presses the others in public to pay more: the attacker.

    In full mode, where only who commits has a part in the project, it commits one tick (0.01 where the
    threshold is 100 to 999); in simple mode it passes. Only when it has held out for `patience` rounds and the
    project would still fail does it pay what is missing, and no more than the part `stake` of its valuation.

    Args:
        agent_id: Its seat id.
        patience: Rounds of the commit phase for which it holds out.
        stake: The most that it pays in the end, as a part of its valuation.
        valuation: As in `Contributor`.
        talk: Whether it presses the others.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        patience: Count = 1,
        stake: Part = 0.5,
        valuation: Amount | None = None,
        talk: bool = True,
    ) -> None:
        super().__init__(agent_id, valuation=valuation, talk=talk)
        self.patience = patience
        self.stake = stake

    def commit(self, table: Table) -> ActionType:
        """Commit a tick or nothing, and what is missing at the very end."""
        limit = table.limit(self.stake)
        if _rounds(table) > self.patience and 0 < (amount := table.reach(table.others)) <= limit:
            return table.commit(amount)
        if table.simple or table.mine is not None or table.worth < table.tick:
            return _PASS
        return table.commit(min(table.tick, table.most))

    def say(self, table: Table, action: ActionType) -> tuple[str, ...]:
        """Press those who could pay more."""
        if not self.talk or table.gap <= 0:
            return ()
        paying = [a for a in table.contributors if a != table.me and a not in table.commitments]
        if table.turn.phase == "signal":
            return ("I have very little to give this time. Those who gain most from this should carry it.",)
        if paying:
            return (f"{table.gap:.6g} is missing and we are waiting for {', '.join(paying)}. Do not let us down.",)
        return (f"I have done what I can; {table.gap:.6g} more from the rest of you and it is done.",)


def _rounds(table: Table) -> int:
    """Return the round; in concurrent order, where each action of another asks it again, as many asks as seats."""
    turn = table.turn
    return 1 + (turn.round - 1) // len(table.contributors) if turn.concurrent else turn.round


class ZeroIntelligence(Contributor):
    """Signals and commits random amounts within its budget, and learns nothing.

    The zero-intelligence trader with a budget constraint (ZI-C) of Gode and Sunder (1993, Journal of Political
    Economy 101): each amount is drawn evenly from 0 to the most that it can commit without a loss, which is
    min(valuation, endowment), or in simple mode its reservation value up to the threshold. It draws anew on
    each turn on which it may revise its commitment.
    """

    def signal(self, table: Table) -> ActionType:
        """Signal a random amount."""
        amount = _draw(table)
        return _PASS if amount is None else SignalIntent(amount, table.undeclared())

    def commit(self, table: Table) -> ActionType:
        """Commit a random amount."""
        if table.turn.allowed_actions[0] == Pass.name:
            return _PASS
        amount = _draw(table)
        if amount is None:
            return _PASS
        return table.commit(amount) if table.mine is None else UpdateCommitment(amount)


def _draw(table: Table) -> float | None:
    budget = table.limit()
    if budget < table.tick:
        return None
    return budget * (1.0 - table.turn.rng.random())


class Coordinator(RationalContributor):
    """Announces the project, encourages, and reports the total whenever it has changed.

    In a contributor's seat it commits as `RationalContributor` does.

    Args:
        agent_id: Its seat id.
        project: The description that it announces.
        returns: What each contributor receives in return.
        threshold: The threshold that it announces; None announces the configured one.
        talk: Whether it encourages and reports.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        project: Text = _ANNOUNCEMENT.description,
        returns: str = _ANNOUNCEMENT.return_description,
        threshold: Positive | None = None,
        talk: bool = True,
    ) -> None:
        super().__init__(agent_id, talk=talk)
        self.announcement = AnnounceProject(project, threshold, returns)

    def coordinate(self, turn: Turn) -> Answer:
        """Announce, then report."""
        action = self.announcement if "announce_project" in turn.allowed_actions else _PASS
        report = _report(turn) if self.talk else ""
        return Decision(action, (report,)) if report else action


def _report(turn: Turn) -> str:
    """Return what a coordinator says: how far the contributors are, when that is news to them."""
    state = turn.state
    if turn.phase == "announce":
        return "Let us fund this together. Say what you can give, then commit to it."
    signalling = turn.phase == "signal"
    standing: dict[str, float] = state["signals"] if signalling else state["commitments"]
    total, threshold = sum(standing.values()), state["threshold"]
    news = (turn.phase, total)
    if turn.memory.get("reported") == news:
        return ""
    turn.memory["reported"] = news
    text = f"{total:.6g} of {threshold:.6g} is {'signalled' if signalling else 'committed'}"
    if total >= threshold:
        return f"{text}: we have it. Please stand by it."
    silent = [a for a in state["contributors"] if a not in standing]
    waiting = f" We have yet to hear from {', '.join(silent)}." if silent else ""
    return f"{text}; {threshold - total:.6g} is missing.{waiting}"
