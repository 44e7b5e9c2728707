"""The policies of a run's learning agents: taken from its directory when it goes on, and kept there while it plays."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from actors.learning import load_policies, policy_file, save_policies
from actors.runtime.copies import learners
from actors.runtime.plan import Plan

EVERY: Final = 30.0
"""Seconds after which policies are saved again, besides at the end."""


class Policies:
    """What the learning agents of a run have learnt, on disk.

    They are in `policies/`; those of a grid in `point-N/policies/`, as each of its points has agents of its own. A run
    that is stopped saves them, too. Where its process is killed, what was learnt since they were last saved is lost,
    and what was learnt from matches that are played again counts twice.

    Args:
        run: The run directory.
        plan: What is played.
    """

    def __init__(self, run: Path, plan: Plan) -> None:
        self._agents = [
            (run if len(plan.points) == 1 else run / f"point-{point}", agent)
            for (point, _), agent in learners(plan).items()
        ]
        self._saved = time.monotonic()

    def load(self) -> None:
        """Give the agents what they had learnt when the run stopped.

        Raises:
            RunError: A file is damaged.
        """
        for folder, agent in self._agents:
            if policy_file(folder, agent.agent_id).exists():
                agent.restore(load_policies(folder, agent.agent_id))

    def keep(self) -> None:
        """Save, unless that was done a short while ago."""
        if self._agents and time.monotonic() - self._saved >= EVERY:
            self.save()

    def save(self) -> None:
        """Save what they have learnt."""
        for folder, agent in self._agents:
            save_policies(folder, agent.agent_id, agent.models)
        self._saved = time.monotonic()
