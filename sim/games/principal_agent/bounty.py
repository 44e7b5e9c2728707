"""A bounty: one contract, several workers who accept and deliver at the same time; the first good ones are paid.

Thread 0 is where the contract is posted. Worker number n then has thread n, with the principal and the oracle, for
its own questions, its answer and its deliverable: competitors see neither.
"""

from __future__ import annotations

from math import inf
from typing import Any

from msgspec import field

from sim.game import ActionType, Outcome, Phase, Status
from sim.games.principal_agent.chain import efforts
from sim.games.principal_agent.delegation import Delegation
from sim.games.principal_agent.parameters import Parameters
from sim.paced import Call, Notice, PacedState

AWARDED = "bounty_awarded"
TOO_LATE = "too_late"
"""How a worker's part ended that was not over when the last award was taken."""


class BountyState(PacedState, kw_only=True):
    """State of a bounty.

    Attributes:
        game: The parameters.
        agent_ids: The seats.
        posting: The offer to all (thread 0).
        lines: The delegation to each worker, from thread 1 on.
        winners: Workers whose deliverables are paid, in the order in which their scores were read.
    """

    game: Parameters
    agent_ids: tuple[str, ...]
    posting: Delegation
    lines: list[Delegation]
    winners: list[int] = field(default_factory=list)

    def _at(self, thread: int) -> Delegation:
        return self.lines[thread - 1] if thread else self.posting

    def legal(self, seat: int, thread: int = 0) -> tuple[str, ...]:
        """Return the actions that the seat may take in a thread."""
        return () if thread == 0 and self.posting.contract is not None else self._at(thread).legal(seat)

    def apply(self, seat: int, action: Any, thread: int = 0) -> None:
        """Apply an action that `legal` allows, or a default."""
        own = self._at(thread)
        own.apply(action)
        if thread == 0:
            self._offered(own)
            return
        if own.outcome_score is not None:
            self._award(own, own.outcome_score)
        if own.over:
            self.notices.append(Notice(self._said(own), thread, closes=True))
        else:
            self._call(thread)

    def _offered(self, posting: Delegation) -> None:
        if posting.contract is None:
            if not posting.over:
                self._call(0)
            return
        for thread, line in enumerate(self.lines, 1):
            line.post(posting.contract)
            self._call(thread)
        self.phase = Phase("compete", tuple(range(len(self.agent_ids))), 1)

    def _award(self, own: Delegation, score: float) -> None:
        """Pay a deliverable that is good enough; none that comes after the last award, for that ends the match."""
        assert own.contract is not None
        if score >= self.game.accepted_from(own.contract.outcome_levels):
            self.winners.append(own.worker)
        else:
            own.payment = 0.0

    def _said(self, own: Delegation) -> str:
        worker = self.agent_ids[own.worker]
        if own.outcome_score is None:
            return f"It is over for {worker}: {own.reason}."
        won = "wins" if own.worker in self.winners else "does not win"
        return f"{worker} {won}: {own.reason}, score {own.outcome_score:g}, payment {own.payment:g}."

    def _call(self, thread: int) -> None:
        own = self._at(thread)
        self.calls.append(Call(own.mover, thread, own.round, own.phase))

    def default_action(self, seat: int, thread: int = 0) -> ActionType:
        """Return what a silent seat does."""
        return self._at(thread).default_action()

    def party(self, thread: int) -> tuple[int, ...] | None:
        """Return who takes part in a thread; all see the contract posted."""
        return self._at(thread).party if thread else None

    def view(self, seat: int, thread: int = 0) -> dict[str, Any]:
        """Build what a seat sees of a thread that it takes part in, and how many awards are left."""
        own = self._at(thread)
        if thread and seat not in own.party:
            return {}
        return {**own.view(), "awards_left": self.game.winners - len(self.winners)}

    def outcome(self) -> Outcome | None:
        """Return the outcome once the winners are found or nobody is left."""
        if self.posting.reason is not None:
            return self._outcome("resolved", self.posting.reason)
        if len(self.winners) < self.game.winners and not all(line.over for line in self.lines):
            return None
        if self.winners:
            return self._outcome("resolved", AWARDED)
        rejected = all(line.reason == "contract_rejected" for line in self.lines)
        return self._outcome("resolved", "contract_rejected" if rejected else "no_winner")

    def stopped(self, status: Status, trigger: str) -> Outcome:
        """Return the outcome of a match that was cut off: awards that were taken are paid."""
        return self._outcome(status, trigger)

    def check(self) -> None:
        """Check every worker's part, and that the first good deliverables are paid and no other."""
        self.posting.check()
        contract, winners = self.posting.contract, self.winners
        accepted_from = inf if contract is None else self.game.accepted_from(contract.outcome_levels)
        assert len(set(winners)) == len(winners) <= self.game.winners, f"awards to {winners}"
        for line in self.lines:
            line.check()
            won = line.worker in winners
            assert line.contract is contract, "a worker has another contract"
            good = line.outcome_score is not None and line.outcome_score >= accepted_from
            what = "wins" if won else "does not win"
            assert won == good, f"seat {line.worker} {what} with score {line.outcome_score}"
            assert won or not line.payment, f"seat {line.worker} is paid without an award"

    def races(self) -> dict[str, int]:
        """Return how many workers were still at it when the last award was taken."""
        late = sum(not line.over and line.accepted is True for line in self.lines)
        return {"workers_cut_off": late} if late and len(self.winners) == self.game.winners else {}

    def _outcome(self, status: Status, trigger: str) -> Outcome:
        utilities = [0.0] * len(self.agent_ids)
        for line in self.lines:
            line.pay(utilities)
        details: dict[str, Any] = {"reason": trigger}
        if self.posting.contract is not None:
            late = TOO_LATE if status == "resolved" else trigger
            details["winners"] = [self.agent_ids[seat] for seat in self.winners]
            details["payment"] = 0.0 - utilities[self.posting.principal]
            details["workers"] = [{"agent_id": self.agent_ids[d.worker], **d.result(late)} for d in self.lines]
        return Outcome(status, trigger, tuple(utilities), details, efforts(self.lines, self.agent_ids, utilities))


def start(game: Parameters, agent_ids: tuple[str, ...]) -> BountyState:
    """Return the state at the beginning: the principal is asked for the contract."""
    lines = [Delegation(game=game, principal=p, worker=w, oracle=o) for p, w, o in game.parties(len(agent_ids))]
    principal, _, oracle = game.parties(len(agent_ids))[0]
    return BountyState(
        game=game,
        agent_ids=agent_ids,
        phase=Phase("offer", (principal,), game.max_rounds_offer),
        posting=Delegation(game=game, principal=principal, worker=lines[0].worker, oracle=oracle),
        lines=lines,
        calls=[Call(principal)],
    )
