"""Coalition matches by hand."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from sim.games.coalition import CoalitionGame
from sim.messages import Rejection
from sim.testing import MatchByHand

IDS = ("a", "b", "c", "d")


class Table(MatchByHand):
    """A match of one task at time 0, which `a` discovers; quorum 2, value 30, 10 units and cost 3 each."""

    def __init__(self, seats: int = 4, **parameters: Any) -> None:
        task = {"value": 30, "quorum": 2, "requires": [], "seconds": 10.0, "at": 0}
        tasks = [task | changes for changes in parameters.pop("tasks", [{}])]
        given: dict[str, Any] = {"discoverers": ("a",), "kinds": 0, "costs": 3, "units": 10, **parameters}
        super().__init__(CoalitionGame(tasks=tasks, **given), IDS[:seats])
        self.open()

    def seen(self, agent_id: str, thread: int | None = None) -> dict[str, Any]:
        """Return the view of what a seat was last asked, in a thread or in its oldest open turn."""
        ask = self.ask(IDS.index(agent_id), self.turn(agent_id, thread))
        assert ask is not None
        view: dict[str, Any] = msgspec.msgpack.decode(ask.view)
        return view

    def turn(self, agent_id: str, thread: int | None) -> int | None:
        """Return the number of the open turn of a seat in a thread."""
        if thread is None:
            return None
        seat = IDS.index(agent_id)
        return next(turn.id for turn in self.judge.open_turns() if (turn.seat, turn.thread) == (seat, thread))

    def asked(self, agent_id: str) -> bool:
        """Return whether a seat is asked something."""
        return any(seat == IDS.index(agent_id) for seat, _ in self.open_turns())

    def do(self, agent_id: str, name: str, thread: int | None = None, **payload: Any) -> Rejection | None:
        """Answer an open turn."""
        return self.act(IDS.index(agent_id), name, payload, turn=self.turn(agent_id, thread))

    def send(self, agent_id: str, name: str, formation: int = 1, **payload: Any) -> Rejection | None:
        """Act without a turn."""
        return self.act(IDS.index(agent_id), name, {"formation": formation, **payload}, turn=0)

    def initiate(self, agent_id: str = "a", *, owes: int = 0, commit: bool = False, **payload: Any) -> None:
        """Initiate a formation in which `a` and `b` share evenly."""
        shared = {"allocation": {"a": 15, "b": 15}, "commitment": {"a": owes, "b": owes}, "commit": commit}
        assert self.do(agent_id, "initiate", **shared | payload) is None

    def digest(self, formation: int = 1) -> str:
        """Return the digest of the current version."""
        found = self.world.formation(formation)
        assert found is not None
        digest: str = found.current.digest
        return digest

    def pass_time(self, to: float) -> None:
        """Let time pass; what is due by then is read."""
        while self.outcome is None and self.judge.deadline <= to:
            self.now = max(self.now, self.judge.deadline)
            self.lapse()
        self.now = to

    @property
    def world(self) -> Any:
        """The world of the core."""
        return self.judge.state.world  # type: ignore[attr-defined]

    def status(self, formation: int = 1) -> str:
        """Return where a formation stands, with the reason why it came to nothing."""
        found = self.world.formation(formation)
        return found.status if found.reason is None else f"{found.status}: {found.reason}"

    def rows(self, **like: Any) -> list[dict[str, Any]]:
        """Return the facts of the notices that hold these."""
        notices = [json.loads(event.body).get("facts", {}) for event in self.events if event.kind == "notice"]
        return [facts for facts in notices if like.items() <= facts.items()]
