"""Who plays in the bench: agents that look at their state and say one public sentence with every action."""

from __future__ import annotations

from actors.agent import Agent, Answer, Decision
from actors.runtime.plan import Plan, Point
from actors.turn import Turn
from sim.game import Pass
from sim.games.provision_point import (
    AnnounceProject,
    ProvisionPointGame,
    SignalIntent,
    SubmitAmount,
    SubmitCommitment,
    UpdateCommitment,
)


class Steady(Agent):
    """Takes part in every round: announces, signals, commits, and revises its commitment."""

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


def plan(mode: str, seats: int, matches: int) -> Plan:
    """Return the plan of a bench."""
    game = ProvisionPointGame(mode="full" if mode == "full" else "simple")
    return Plan((Point(game, tuple(Steady(f"agent_{n + 1}") for n in range(seats))),), matches, seed=1)
