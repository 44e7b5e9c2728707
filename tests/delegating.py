"""Principal-agent matches by hand: seats by name, and the usual way from a contract to a payment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sim.games.principal_agent import PrincipalAgentGame
from sim.messages import Rejection
from sim.testing import MatchByHand

CONTRACT: Mapping[str, Any] = {
    "task_description": "Write unit tests",
    "success_criteria": "All tests pass with >80% coverage",
}
PRINCIPAL, WORKER, ORACLE = 0, 1, 2


def match(*agent_ids: str, **parameters: Any) -> MatchByHand:
    """Open a match; without seats those of the single shape."""
    return MatchByHand(PrincipalAgentGame(**parameters), agent_ids or ("principal", "worker", "oracle")).open()


def posted(*agent_ids: str, levels: Any = None, **parameters: Any) -> MatchByHand:
    """Open a match and post the contract."""
    opened = match(*agent_ids, **parameters)
    extra = {} if levels is None else {"outcome_levels": levels}
    assert opened.act(PRINCIPAL, "post_contract", {**CONTRACT, **extra}) is None
    return opened


def accepted(**parameters: Any) -> MatchByHand:
    """Open a match of the single shape and have the contract accepted."""
    opened = posted(**parameters)
    assert opened.act(WORKER, "accept_contract") is None
    return opened


def delivered(**parameters: Any) -> MatchByHand:
    """Open a match of the single shape and have the work delivered."""
    opened = accepted(**parameters)
    assert opened.act(WORKER, "submit_deliverable", {"content": "Tests written with 95% coverage"}) is None
    return opened


def do(opened: MatchByHand, seat: int, action: str, payload: Any = None, *, thread: int = 0) -> Rejection | None:
    """Answer the open turn of a seat in a thread."""
    return opened.act(seat, action, payload, turn=turn_in(opened, seat, thread))


def turn_in(opened: MatchByHand, seat: int, thread: int) -> int:
    """Return the number of the open turn of a seat in a thread; 0 when there is none."""
    open_ = (number for who, number in opened.open_turns() if who == seat and opened.thread(number) == thread)
    return next(open_, 0)


def asked(opened: MatchByHand) -> set[tuple[int, int, str]]:
    """Return who is asked: (seat, thread, phase)."""
    made = set()
    for seat, number in opened.open_turns():
        ask = opened.ask(seat, number)
        assert ask is not None
        made.add((seat, ask.thread, ask.phase))
    return made


def code(rejection: Rejection | None) -> str:
    """Return the code of a rejection, or "accepted"."""
    return "accepted" if rejection is None else rejection.code


def said(opened: MatchByHand) -> dict[str, Any]:
    """Return the outcome as it is reported."""
    assert opened.outcome is not None
    return opened.outcome.to_dict(opened.spec.agent_ids)
