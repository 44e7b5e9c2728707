"""The games, and the registry that finds them by id."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sim.errors import ConfigError, nearest
from sim.game import Game
from sim.games.bargaining import BargainingGame
from sim.games.coalition import CoalitionGame
from sim.games.principal_agent import PrincipalAgentGame
from sim.games.provision_point import ProvisionPointGame

GAMES: Mapping[str, type[Game]] = MappingProxyType(
    {kind.game_id: kind for kind in (ProvisionPointGame, PrincipalAgentGame, BargainingGame, CoalitionGame)}
)
"""The games of the product, by id. Read-only: other games are passed as objects or by import path."""


def game_type(game_id: str) -> type[Game]:
    """Find a game by its id ("provision-point"; underscores will do).

    Raises:
        ConfigError: There is none; the text names the nearest.
    """
    found = GAMES.get(game_id.replace("_", "-"))
    if found is not None:
        return found
    hint = nearest(game_id.replace("_", "-"), GAMES)
    raise ConfigError(f"game_id={game_id}: there is no such game{hint} (there is: {', '.join(GAMES)})")
