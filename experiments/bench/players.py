"""Who plays in the bench: agents that look at their state, and say something with every action."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from actors.agent import Agent, Answer, Decision
from actors.runtime.plan import Plan, Point
from actors.turn import Turn
from sim.game import Pass
from sim.games.bargaining import BargainingGame, Reply
from sim.games.principal_agent import (
    AcceptContract,
    AnswerClarification,
    AskClarification,
    PostContract,
    PrincipalAgentGame,
    RecordOutcomeScore,
    SubmitDeliverable,
)
from sim.games.provision_point import (
    AnnounceProject,
    ProvisionPointGame,
    SignalIntent,
    SubmitAmount,
    SubmitCommitment,
    UpdateCommitment,
)


class Steady(Agent):
    """Takes part in every round of a provision point: announces, signals, commits, and revises its commitment."""

    def decide(self, turn: Turn) -> Answer:
        """Answer with an action and a sentence."""
        state, allowed = turn.state, turn.allowed_actions
        share = state["threshold"] / (state["num_agents"] - 1)
        if "announce_project" in allowed:
            return Decision(
                AnnounceProject("A shared cluster.", 100.0, "Compute time."), ["Let us fund this together."]
            )
        if "signal_intent" in allowed:
            return Decision(SignalIntent(share), ["I intend to pay my share."])
        if "update_commitment" in allowed:
            return Decision(UpdateCommitment(min(share + turn.round, state["endowment"])), ["I add a little."])
        if "submit_commitment" in allowed and "endowment" in state:
            return Decision(SubmitCommitment(min(share, state["endowment"])), ["I am in with my share."])
        if "submit_commitment" in allowed:
            return Decision(SubmitAmount(state["threshold"] / state["num_agents"]), ["I am in with my share."])
        return Decision(Pass(), ["Nothing to add."])


ROUNDS = 8
"""Rounds of a negotiation in the bench; the last one is the deal."""


class Haggler(Agent):
    """Moves its price by an equal step each round, and closes at 14,000 in the last one."""

    def decide(self, turn: Turn) -> Answer:
        """Answer with a sentence and a price."""
        state = turn.state
        now, last = state["round"], state["max_rounds"]
        step = -250 if state["role"] == "buyer" else 250
        price = 14_000 + step * (last - now)
        tag = f"### {state['role'].upper()}_PRICE(${price:,}) ###"
        deal = " MAKE_DEAL" if now == last else ""
        return Reply(f"In round {now} of {last} this is what I can do for it. {tag}{deal}")


class Contractor(Agent):
    """Plays each role of a contract: two questions are asked and answered, the work is done and scored."""

    def decide(self, turn: Turn) -> Answer:
        """Answer with the action of the phase, and a sentence."""
        state, allowed = turn.state, turn.allowed_actions
        if "post_contract" in allowed:
            return Decision(PostContract("Fix the failing tests.", "All of them pass."), ["Here is the task."])
        if "answer_clarification" in allowed:
            return Decision(AnswerClarification("The newest release."), ["I hope that this helps."])
        if "ask_clarification" in allowed and len(state["clarifications"]) < 2:
            return Decision(AskClarification("Which release is meant?"), ["One question first."])
        if "accept_contract" in allowed:
            return Decision(AcceptContract(), ["Agreed."])
        if "submit_deliverable" in allowed:
            return Decision(SubmitDeliverable("All tests pass; the fault was in the clock."), ["Done."])
        return Decision(RecordOutcomeScore(85.0, "They pass."), ["Well done."])


def _provision_point(mode: Any, seats: int) -> Point:
    return Point(ProvisionPointGame(mode=mode), tuple(Steady(f"agent_{n + 1}") for n in range(seats)))


def _bargaining() -> Point:
    return Point(BargainingGame(max_rounds=ROUNDS), (Haggler("buyer"), Haggler("seller")))


def _principal_agent() -> Point:
    return Point(PrincipalAgentGame(), tuple(Contractor(name) for name in ("principal", "worker", "oracle")))


CASES: Mapping[str, Callable[[], Point]] = MappingProxyType(
    {
        "provision simple": lambda: _provision_point("simple", 2),
        "provision full": lambda: _provision_point("full", 3),
        "provision 5 seats": lambda: _provision_point("full", 5),
        "bargaining": _bargaining,
        "principal-agent": _principal_agent,
    }
)
"""What is played in the bench, by name."""


def plan(case: str, matches: int) -> Plan:
    """Return the plan of a case of the bench."""
    return Plan((CASES[case](),), matches, seed=1)
