"""An agent that learns to form coalitions: models of initiation, evaluation and activation."""

from __future__ import annotations

from typing import Final

from actors.learning.learner import Chosen, Learner
from actors.learning.models import Feature, ModelSpec, Tabular, make_model
from actors.learning.selection import Selection
from actors.scripted.coalition.member import Member
from actors.scripted.coalition.past import past_features
from actors.scripted.coalition.sharing import demand, partners, reshare, share_out
from actors.scripted.coalition.situation import Discovery, Proposal, discovery_features, proposal_features
from actors.scripted.options import Count, Part, Text
from actors.turn import Turn
from sim.game import ActionType
from sim.games.coalition.actions import Abort, Decision, Decline, Deploy, Modify, Reject, Sign

_GAIN: Final = Feature("gain", -1.0, 1.0, 4)
INITIATION: Final = Tabular(features=(_GAIN,))
EVALUATION: Final = Tabular(features=(_GAIN, Feature("signed", 0.0, 1.0, 2)))
ACTIVATION: Final = Tabular(features=(_GAIN,))
EPSILON_GREEDY: Final = Selection(kind="epsilon_greedy", epsilon=0.1)


class CoalitionLearner(Learner, Member):
    """Learns from what its decisions bring: whether and how to initiate, to sign, modify or reject, to deploy.

    Each step has a model that scores its actions, in the order in which equal ones are taken: at C1 "decline",
    "equal", "proportional" and "greedy" (an offer that keeps a part); at C2 "reject", "sign", "commit" (sign and lock
    what is owed) and "modify" (ask for an equal share, or share out anew where someone has left); at C4
    "abort" and "deploy". At first all are worth the `initial` value of their model. What a model may look at is
    listed in `discovery_features`, `proposal_features` and `past_features`.

    Args:
        agent_id: Its seat id.
        selection: How it chooses among scored actions: `kind` argmax, epsilon_greedy (with `epsilon`), softmax
            (`temperature`), or system_rule and other (`function`, an import path).
        initiation: The model of C1: `kind` tabular or linear, its `features` (each with `name`, `low`, `high` and
            `bins`) and `initial`.
        evaluation: The model of C2.
        activation: The model of C4.
        greed: The part of the value that its greedy offer keeps before the rest is shared out.
        extra: How many partners it invites beyond those that the task needs.
        stake: Units that each member owes by the versions that it puts forward first.
        commit: Whether it locks what it owes when it puts a version forward.
        modifies: How often it asks for a better share of one formation.
        learning: Whether it learns; else its models stay as they are.
        policies: A run directory to take its models from, as this agent left them there.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        selection: Selection = EPSILON_GREEDY,
        initiation: ModelSpec = INITIATION,
        evaluation: ModelSpec = EVALUATION,
        activation: ModelSpec = ACTIVATION,
        greed: Part = 0.2,
        extra: Count = 0,
        stake: Count = 1,
        commit: bool = False,
        modifies: Count = 1,
        learning: bool = True,
        policies: Text | None = None,
    ) -> None:
        specs = {"initiation": initiation, "evaluation": evaluation, "activation": activation}
        models = {name: make_model(spec) for name, spec in specs.items()}
        super().__init__(agent_id, models, selection, learning=learning, policies=policies)
        self.greed = greed
        self.extra = extra
        self.stake = stake
        self.commit = commit
        self.modifies = modifies

    def initiate(self, turn: Turn, found: Discovery) -> ActionType:
        """Choose among offers, and none."""
        members = partners(found, self.extra, self.draws(turn, "partners", found.task.id))
        seen = discovery_features(found, members or [found.myself]) | past_features(turn)
        if members is None:
            return Decline(decision=self.ruled("too few peers", seen))
        offers = {
            "equal": share_out(found.task, members, "equal"),
            "proportional": share_out(found.task, members, "proportional"),
            "greedy": share_out(found.task, members, "equal", self.greed),
        }
        chosen = self.choose(turn, "initiation", f"C1 {found.task.id}", seen, ("decline", *offers))
        decision = declared(chosen)
        if chosen.action == "decline":
            return Decline(decision=decision)
        return self.propose(found, offers[chosen.action], decision)

    def evaluate(self, turn: Turn, offer: Proposal) -> ActionType:
        """Choose among signing, modifying and rejecting."""
        asked: dict[int, int] = turn.memory.setdefault("asked", {})
        wanted = self._wanted(offer) if asked.get(offer.formation, 0) < self.modifies or offer.dead else None
        actions = ["reject"]
        if Sign.name in turn.allowed_actions:
            actions += ["sign", "commit"] if offer.my_commitment and offer.can_commit else ["sign"]
        if wanted is not None and Modify.name in turn.allowed_actions:
            actions.append("modify")
        # Who has signed a version decides on it again once somebody whom it pays has left: that is another decision.
        again = " again" if offer.dead else ""
        name = f"C2 {offer.task.id} {offer.initiator} {offer.version.number}{again}"
        chosen = self.choose(turn, "evaluation", name, proposal_features(offer) | past_features(turn), actions)
        if chosen.action == "modify" and wanted is not None:
            asked[offer.formation] = asked.get(offer.formation, 0) + 1
            return self.counter(offer, wanted, declared(chosen))
        return self._answer_to(offer, chosen)

    def _answer_to(self, offer: Proposal, chosen: Chosen) -> ActionType:
        if chosen.action == "reject":
            return Reject(formation=offer.formation, decision=declared(chosen))
        return self.sign(offer, declared(chosen), commit=chosen.action == "commit")

    def _wanted(self, offer: Proposal) -> dict[str, int] | None:
        """Return the allocation that it would ask for."""
        if offer.dead:
            return reshare(offer, "equal")
        return demand(offer, offer.equal_share) if 0 < offer.my_share < offer.equal_share else None

    def activate(self, turn: Turn, offer: Proposal) -> ActionType:
        """Choose between deploying and aborting."""
        name = f"C4 {offer.task.id} {offer.initiator}"
        seen = proposal_features(offer) | past_features(turn)
        chosen = self.choose(turn, "activation", name, seen, ("abort", "deploy"))
        if chosen.action == "deploy":
            return Deploy(formation=offer.formation, decision=declared(chosen))
        return Abort(formation=offer.formation, decision=declared(chosen))


def declared(chosen: Chosen) -> Decision:
    """Return how a decision was made, as its action declares it; `option` in the context is the model's action."""
    return Decision(
        selection=chosen.selection,
        probability=chosen.probability,
        policy=chosen.policy,
        context={"option": chosen.action, **chosen.features},
        id=chosen.id,
    )
