"""A line of contracts, each inside the one before it; the single shape is a line of one.

The outer contract is thread 0, the one inside it thread 1, and so on. A worker that delegates is the principal of
the next thread; its own turn waits there and then comes back to it. Only those who take part in a contract see what
is said and done in its thread; that there was a delegation is seen in the thread where it was made.
"""

from __future__ import annotations

from math import fsum
from typing import Any

from sim.game import ActionType, Outcome, Phase, Status
from sim.games.principal_agent.actions import Delegated, DelegateTask
from sim.games.principal_agent.delegation import Delegation
from sim.games.principal_agent.parameters import Parameters
from sim.paced import Call, Notice, PacedState
from sim.views import encode

WITHDRAWN = "withdrawn"
"""How a contract ended whose outer contract was over before it."""


class ChainState(PacedState, kw_only=True):
    """State of a single match or of a chain: the contracts so far, by thread.

    Attributes:
        game: The parameters.
        agent_ids: The seats.
        line: The delegations, the outer one first; each worker delegates once at most.
        parties: Principal, worker and oracle of each contract that there can be.
    """

    game: Parameters
    agent_ids: tuple[str, ...]
    line: list[Delegation]
    parties: list[tuple[int, int, int]]

    def legal(self, seat: int, thread: int = 0) -> tuple[str, ...]:
        """Return the actions that the seat may take: none while its turn waits for the contract inside."""
        if thread >= len(self.line):
            return ()
        own = self.line[thread]
        legal = own.legal(seat)
        if not legal or own.phase != "execute":
            return legal
        last = thread + 1 == len(self.line)
        if not last and not self.line[thread + 1].over:
            return ()
        return (*legal, DelegateTask.name) if last and len(self.line) < len(self.parties) else legal

    def apply(self, seat: int, action: Any, thread: int = 0) -> None:
        """Apply an action that `legal` allows, or a default."""
        if type(action) is DelegateTask:
            self._delegate(action, thread)
            return
        own = self.line[thread]
        own.apply(action)
        if not own.over:
            self._call(thread)
            return
        for inner in range(thread + 1, len(self.line)):
            if not self.line[inner].over:
                self.line[inner].reason = WITHDRAWN
                self.notices.append(Notice("The contract is withdrawn.", inner, closes=True))
        if thread > 0:
            self.notices.append(Notice(_said(own), thread, closes=True))
            self._call(thread - 1)

    def _delegate(self, action: DelegateTask, thread: int) -> None:
        principal, worker, oracle = self.parties[len(self.line)]
        inner = Delegation(game=self.game, principal=principal, worker=worker, oracle=oracle)
        inner.post(inner.drawn_up(action))
        self.line.append(inner)
        self.notices.append(Notice(f"{self.agent_ids[principal]} posts a contract.", thread + 1))
        self._call(thread + 1)

    def _call(self, thread: int) -> None:
        """Call for the next move in a thread, and have the match's phase follow that of the outer contract."""
        own = self.line[thread]
        if thread == 0 and own.phase != self.phase.name:
            self.phase = Phase(own.phase, own.party, 1)
        within = None if thread == 0 else (own.principal, thread - 1)
        self.calls.append(Call(own.mover, thread, own.round, own.phase, within))

    def default_action(self, seat: int, thread: int = 0) -> ActionType:
        """Return what a silent seat does."""
        return self.line[thread].default_action()

    def party(self, thread: int) -> tuple[int, ...] | None:
        """Return those who take part in a thread's contract; all where the match has no other seats."""
        party = self.line[thread].party
        return None if len(party) == len(self.agent_ids) else party

    def shown(self, seat: int, action: ActionType) -> ActionType:
        """Return an action as the others see it: of a delegation, that there is one."""
        if type(action) is DelegateTask:
            return Delegated()
        return super().shown(seat, action) if action.private_fields else action

    def view(self, seat: int, thread: int = 0) -> dict[str, Any]:
        """Build what a seat sees of a contract that it takes part in; a chain's worker also sees the one inside."""
        if thread >= len(self.line) or seat not in self.line[thread].party:
            return {}
        own = self.line[thread]
        built = own.view()
        if self.game.shape == "chain" and seat == own.worker:
            inner = self.line[thread + 1] if thread + 1 < len(self.line) else None
            built["inner"] = None if inner is None else {"reason": inner.reason, **inner.view()}
        return built

    def packed_view(self, seat: int, thread: int = 0) -> bytes:
        """Pack the view; a contract is packed once, when it is posted."""
        if self.game.shape == "chain" or thread or seat not in self.line[0].party:
            return PacedState.packed_view(self, seat, thread)
        return encode(self.line[0].view(packed=True))

    def outcome(self) -> Outcome | None:
        """Return the outcome once the outer contract is over."""
        reason = self.line[0].reason
        return None if reason is None else self._outcome("resolved", reason)

    def stopped(self, status: Status, trigger: str) -> Outcome:
        """Return the outcome of a match that was cut off: what was paid inside it stays paid."""
        return self._outcome(status, trigger)

    def check(self) -> None:
        """Check every contract, that each is inside the one before it, and that payments add up to nothing."""
        assert 0 < len(self.line) <= len(self.parties), f"{len(self.line)} contracts"
        utilities = [0.0] * len(self.agent_ids)
        for thread, own in enumerate(self.line):
            own.check()
            own.pay(utilities)
            assert own.party == tuple(sorted(set(self.parties[thread]))), f"others take part in thread {thread}"
            outer = self.line[thread - 1] if thread else None
            assert outer is None or own.principal == outer.worker, "a contract is not inside the one before it"
            assert outer is None or outer.phase in ("execute", "verify"), "a part was delegated before it was accepted"
            assert outer is None or own.over or not outer.over, "a contract outlives the one around it"
        assert abs(fsum(utilities)) <= 1e-9 * (1 + fsum(map(abs, utilities))), "payments do not add up to nothing"

    def _outcome(self, status: Status, trigger: str) -> Outcome:
        utilities = [0.0] * len(self.agent_ids)
        for delegation in self.line:
            delegation.pay(utilities)
        inner = {"inner": self._inner(1)} if len(self.line) > 1 else {}  # not seen from outside, so for the record
        figures = {**inner, **self._figures(utilities)}
        return Outcome(status, trigger, tuple(utilities), self.line[0].result(trigger), figures)

    def _inner(self, thread: int) -> dict[str, Any]:
        """Return the outcome of a contract inside, and of those inside it."""
        own = self.line[thread]
        utilities = [0.0] * len(self.agent_ids)
        own.pay(utilities)
        payoffs = [{"agent_id": self.agent_ids[seat], "utility": utilities[seat]} for seat in own.party]
        said = {"payoffs": payoffs, **own.result(WITHDRAWN)}
        return {**said, "inner": self._inner(thread + 1)} if thread + 1 < len(self.line) else said

    def _figures(self, utilities: list[float]) -> dict[str, Any]:
        if self.game.shape == "single":
            (own,) = self.line
            if own.effort_cost is None:
                return {}
            return {"effort_cost": own.effort_cost, "net_worker": utilities[own.worker] - own.effort_cost}
        return efforts(self.line, self.agent_ids, utilities)


def efforts(delegations: list[Delegation], agent_ids: tuple[str, ...], utilities: list[float]) -> dict[str, Any]:
    """Return what the workers' efforts cost them and what is left to them, by seat id, of those who told."""
    told = [(d.worker, d.effort_cost) for d in delegations if d.effort_cost is not None]
    if not told:
        return {}
    return {
        "effort_cost": {agent_ids[worker]: cost for worker, cost in told},
        "net_worker": {agent_ids[worker]: utilities[worker] - cost for worker, cost in told},
    }


def _said(own: Delegation) -> str:
    if own.outcome_score is None:
        return f"The contract is over: {own.reason}."
    return f"The contract is over: {own.reason}, score {own.outcome_score:g}, payment {own.payment:g}."


def start(game: Parameters, agent_ids: tuple[str, ...]) -> ChainState:
    """Return the state at the beginning: the principal is asked for the outer contract."""
    parties = game.parties(len(agent_ids))
    principal, worker, oracle = parties[0]
    outer = Delegation(game=game, principal=principal, worker=worker, oracle=oracle)
    return ChainState(
        game=game,
        agent_ids=agent_ids,
        phase=Phase("offer", outer.party, game.max_rounds_offer),
        line=[outer],
        parties=parties,
        calls=[Call(principal)],
    )
