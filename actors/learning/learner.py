"""An agent that learns: it scores its actions by value models, and learns from the utility of each decision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from actors.agent import Agent
from actors.learning.checkpoints import load_policies
from actors.learning.functions import Options
from actors.learning.models import model_from_bytes
from actors.learning.selection import Selection
from actors.learning.value import Features, Update, ValueModel, merge
from actors.seat import Seat
from actors.turn import Turn
from sim.errors import ConfigError
from sim.messages import Event
from sim.record import NoticeBody

Lessons: TypeAlias = dict[str, list[Update]]
"""What was learnt from, by the name of the model that has learnt it."""


class Chosen(msgspec.Struct, frozen=True):
    """A decision that an agent has made, and how.

    Attributes:
        id: What it calls the decision; unique for the agent in the match.
        model: Name of the model that scored the actions.
        policy: The same with its version, as the record has it, such as "evaluation@127".
        version: The version of the model.
        features: What the model looked at.
        action: The action chosen.
        selection: The selection function.
        probability: With which probability it chose this action.
    """

    id: str
    model: str
    policy: str
    version: int
    features: dict[str, float]
    action: str
    selection: str
    probability: float


class Learner(Agent):
    """An agent with a value model for each kind of decision.

    It learns when a match is over: from each decision for which a notice tells it `id` and `utility`, once. Its models
    serve all its matches, so those that are played at the same time are decided by the same versions. The runner keeps
    them in the run directory (see `actors.learning.checkpoints`); where a run has several cells, each plays with a
    copy, and one place gathers what they have learnt from.

    Args:
        agent_id: Its seat id.
        models: Its models by name.
        selection: How it chooses among scored actions.
        learning: Whether it learns; else its models stay as they are.
        policies: A run directory to take its models from, as this agent left them there.

    Attributes:
        models: Its models by name.
    """

    def __init__(
        self,
        agent_id: str,
        models: Mapping[str, ValueModel],
        selection: Selection,
        *,
        learning: bool = True,
        policies: str | None = None,
    ) -> None:
        super().__init__(agent_id)
        selection.check()
        if selection.kind == "system_rule" and selection.function is None:
            raise ConfigError("selection.kind=system_rule needs selection.function: a rule for every decision")
        self.models = dict(models)
        self.selection = selection
        self.learning = learning
        self.policies = policies
        self._lessons: Lessons | None = None
        if policies is not None:
            self.restore(load_policies(Path(policies), agent_id))

    # ── deciding ────────────────────────────────────────────────────────────────────────────────────────

    def choose(self, turn: Turn, model: str, decision_id: str, features: Features, actions: Sequence[str]) -> Chosen:
        """Choose an action.

        The draw depends on the seat's seed, the agent and the decision's id, and on nothing else.

        Args:
            turn: The turn in which it is decided.
            model: Name of the model that scores the actions.
            decision_id: Unique for the agent in the match, and the same whatever the schedule.
            features: The context.
            actions: The names of the legal actions; of equal ones the first is the best.
        """
        scorer = self.models[model]
        options = Options(tuple(scorer.scores(features, actions)), tuple(actions), features)
        choice = self.selection.select(options, turn.seat.opening.seed, self.agent_id, decision_id)
        chosen = Chosen(
            decision_id,
            model,
            f"{model}@{scorer.version}",
            scorer.version,
            dict(features),
            actions[choice.index],
            choice.function,
            choice.probability,
        )
        turn.memory.setdefault("chosen", {})[decision_id] = chosen
        return chosen

    # ── learning ────────────────────────────────────────────────────────────────────────────────────────

    def ended(self, seat: Seat) -> None:
        """Learn from the decisions of a match: each has one utility."""
        open_: dict[str, Chosen] = seat.memory.pop("chosen", {})
        if not self.learning:
            return
        lessons: Lessons = {}
        for decision_id, utility in utilities(seat.events):
            chosen = open_.pop(decision_id, None)
            if chosen is not None:
                name = f"{seat.match_id}/{decision_id}"
                update = Update(name, chosen.features, chosen.action, utility, chosen.version)
                lessons.setdefault(chosen.model, []).append(update)
        self.learn(lessons)
        self.note(lessons)

    def learn(self, lessons: Mapping[str, Sequence[Update]]) -> None:
        """Learn from utilities, in the order given."""
        for model, updates in lessons.items():
            self.models[model].learn_batch(updates)

    def restore(self, models: Mapping[str, ValueModel]) -> None:
        """Take on models that were kept.

        Raises:
            ConfigError: They are not those of such an agent.
        """
        if models.keys() != self.models.keys():
            held, needed = ", ".join(sorted(models)), ", ".join(sorted(self.models))
            raise ConfigError(f"policies of agent {self.agent_id} are for {held}; this agent decides on {needed}")
        self.models = dict(models)

    # ── copies of one agent in several cells ────────────────────────────────────────────────────────────

    def versions(self) -> dict[str, bytes]:
        """Return its models as bytes, for its copies."""
        return {name: model.to_bytes() for name, model in self.models.items()}

    def exchange(self, versions: Mapping[str, bytes]) -> Lessons:
        """Go on with the models that one place keeps for all copies; return what this copy has learnt from since.

        What it returns is learnt again here, as the models that it was given do not have it yet.
        """
        learnt = self._lessons or {}
        self.models = {name: model_from_bytes(data) for name, data in versions.items()}
        self.learn(learnt)
        self._lessons = {}
        return learnt

    def note(self, lessons: Mapping[str, Sequence[Update]]) -> None:
        """Keep what it has learnt from until it is asked, if it is one copy of several."""
        if self._lessons is not None:
            for model, updates in lessons.items():
                self._lessons.setdefault(model, []).extend(updates)

    def gather(self, lessons: Iterable[Mapping[str, Sequence[Update]]]) -> None:
        """Learn from what copies have learnt from, in an order that does not depend on who was first."""
        found = list(lessons)
        for model in self.models:
            self.models[model].learn_batch(merge(each.get(model, ()) for each in found))


def utilities(events: Iterable[Event]) -> Iterator[tuple[str, float]]:
    """Give the utility of each decision that the referee has told it of, by the id that its maker gave it."""
    for event in events:
        if event.kind == "notice" and b'"utility"' in event.body:
            facts = _notice.decode(event.body).facts
            if isinstance(decision_id := facts.get("id"), str):
                yield decision_id, float(facts["utility"])


_notice = msgspec.json.Decoder(NoticeBody)
