"""How large the small world is that the model check searches."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from sim.errors import ConfigError

Commit: TypeAlias = Literal["both", "always", "never"]
"""Whether agents commit with their signatures: as they like, each time, or not at all."""


class Config(msgspec.Struct, frozen=True):
    """A small world, and how far it is searched.

    Every agent has one unit, and owes it as a member of any coalition. The initiators are the first seats, one for
    each formation; all agents are invited to all formations, which are for one exclusive task. Whoever puts a version
    forward allocates the whole value to itself.

    Attributes:
        agents: How many agents.
        quorum: How many signatures make consensus.
        versions: How many versions a formation may have.
        formations: How many formations there may be.
        drops: How many messages may be lost, in all.
        duplicates: How many messages may arrive twice, in all.
        commit: Whether agents commit.
        max_states: After how many states the search gives up.
    """

    agents: int = 3
    quorum: int = 2
    versions: int = 2
    formations: int = 1
    drops: int = 1
    duplicates: int = 0
    commit: Commit = "both"
    max_states: int = 2_000_000

    def __post_init__(self) -> None:
        least = {"agents": 1, "quorum": 1, "versions": 1, "formations": 1, "drops": 0, "duplicates": 0, "max_states": 1}
        for name, lowest in least.items():
            if getattr(self, name) < lowest:
                raise ConfigError(f"{name}={getattr(self, name)}: {lowest} or more is needed")
        for name in ("quorum", "formations"):
            if getattr(self, name) > self.agents:
                raise ConfigError(f"{name}={getattr(self, name)}: at most as many as there are agents ({self.agents})")
