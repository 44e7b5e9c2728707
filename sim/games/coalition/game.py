"""The coalition game: any number of agents, tasks and formations in one match."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import ClassVar

from sim.errors import ConfigError
from sim.game import ActionType, Goal, MessageOnly, Pass, Phase, State, check_agent_ids
from sim.games.coalition import rules
from sim.games.coalition.actions import Abort, Decline, Deploy, Initiate, Modify, Reject, Sign
from sim.games.coalition.outcome import FORMED
from sim.games.coalition.parameters import Parameters, bounds
from sim.games.coalition.scenario import draw
from sim.games.coalition.state import CoalitionState
from sim.games.coalition.things import World


class CoalitionGame(Parameters, frozen=True, kw_only=True, dict=True):
    """Agents who discover tasks agree, by signatures, on who does them together and who gets what.

    Protocol: initiation (C1), evaluation (C2), an automatic threshold check, activation (C4). What an agent can do and
    how many units it has is public; what a task costs it is its private matter. A formation is seen by those who are
    invited to it. Where the protocol is silent:

    - A seat may invite the peers that it knows.
    - It is asked once whether it initiates, when it discovers the task; silence declines. Once an exclusive task is
      taken, those who have not answered are asked no more.
    - A seat that waits is asked again when the version, the signatures or the party have changed. A pass names no
      version: where another came while the seat was thinking, it is asked once more. One that does not answer is asked
      again after each `turn_timeout`, until the deadline.
    - The match ends when nothing is open and nothing is to be discovered.

    The parameters are those of `Parameters`.

    turn.state:
        step: "C1" (initiate or decline), "C2" (sign, modify, reject or pass) or "C4" (deploy or abort).
        me: Seat id of the agent.
        capabilities: What it can do, component by component.
        units: How many units it has free: neither held nor bound in any formation.
        my_cost: What the task costs it as a member, its private matter, in currency.
        task: What it is about: `id`, `value` in currency, `quorum`, `requires` by component, `seconds` that a formation
            may take, and whether it is `exclusive`.
        peers: Whom it can invite, each with `id`, `capabilities` and the `units` brought along (C1).
        formation: Number of the formation (C2 and C4, as all that follows).
        status: "open" or "consensus".
        initiator: Seat id of who decides once there is consensus.
        invited: Who may sign, the initiator first; each as in `peers`.
        opened: When it was initiated, in seconds of the match.
        deadline: When it fails without consensus, in seconds of the match.
        version: The current version: its `number`, `digest`, `parent` (digest of the one before; None for the first),
            `author`, and by seat id the `allocation` in currency and the `commitment` in units.
        versions_left: How many more there may be.
        signed: Who has signed the current version, by seat id, and whether with its commitment locked.
        left: Seat ids of those who have rejected.
        my_share: What the current version gives the agent, in currency.
        my_commitment: How many units the agent owes by it as a member.
        my_locked: How many it has locked for this formation; they count towards what it owes, whatever the version.
        members: Seat ids of the coalition (C4).
        decide_by: When it is aborted unless it was decided on, in seconds of the match (C4).
        uncommitted: Members that have not locked what they owe, and how many units, by seat id (C4).
    """

    game_id: ClassVar[str] = "coalition"
    action_types: ClassVar[Mapping[str, type[ActionType]]] = MappingProxyType(
        {kind.name: kind for kind in (Initiate, Decline, Sign, Modify, Reject, Deploy, Abort, Pass, MessageOnly)}
    )
    goal: ClassVar[Goal | None] = Goal("formed", FORMED)

    def check_seats(self, agent_ids: tuple[str, ...]) -> None:
        """Check that there are seats enough, and that the parameters name these seats and no others."""
        check_agent_ids(agent_ids)
        if len(agent_ids) < 2:
            raise ConfigError(f"a coalition needs 2 seats or more; given: {', '.join(agent_ids) or 'none'}")
        for key, quorum in self._quorums():
            if quorum > len(agent_ids):
                raise ConfigError(f"{key}={quorum}: there are {len(agent_ids)} seats, and as many can sign")
        for key, named, all_ in self.named():
            for agent_id in named:
                if agent_id not in agent_ids:
                    raise ConfigError(f"{key}: there is no seat {agent_id!r} (there is: {', '.join(agent_ids[:20])})")
            missing = [agent_id for agent_id in agent_ids if agent_id not in named] if all_ else []
            if missing:
                raise ConfigError(f"{key}: nothing is said for {', '.join(missing[:20])}; name each seat")

    def _quorums(self) -> list[tuple[str, int]]:
        if isinstance(self.tasks, int):
            return [("quorum", bounds(self.quorum)[1])]
        given = [(f"tasks[{place}].quorum", task.quorum) for place, task in enumerate(self.tasks)]
        return [
            ("quorum", bounds(self.quorum)[1]) if quorum is None else (key, bounds(quorum)[1]) for key, quorum in given
        ]

    def role(self, agent_ids: tuple[str, ...], seat: int) -> str:
        """Return "agent"."""
        return "agent"

    def rules_text(self, role: str) -> str:
        """Say the rules in words."""
        said = self.__dict__.setdefault("_rules", {})  # every seat of every match is told
        if role not in said:
            said[role] = rules.text(self, role)
        text: str = said[role]
        return text

    def start(self, agent_ids: tuple[str, ...], rng: Random) -> State:
        """Return the state at the beginning; those who discover something at time 0 are asked at once."""
        scenario = draw(self, agent_ids, rng)
        timeout, versions = self.activation_timeout, self.max_versions
        world = World.make(scenario.tasks, scenario.agents, activation_timeout=timeout, max_versions=versions)
        state = CoalitionState(
            phase=Phase("formation", tuple(range(len(agent_ids))), 1),
            game=self,
            agent_ids=agent_ids,
            seats={agent_id: seat for seat, agent_id in enumerate(agent_ids)},
            world=world,
            costs=scenario.costs,
            peers=scenario.peers,
            discoveries=scenario.discoveries,
            decided=[0] * len(agent_ids),
            utilities=[0] * len(agent_ids),
        )
        state.discover()
        return state
