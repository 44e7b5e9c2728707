"""Tools to test games: a match played by hand, random legal play, and the conformance suite `check_game`.

They need nothing of a game but the interface in `sim.game`, so they serve a game that is not part of this
product as well as one that is.
"""

from sim.payloads import random_payload
from sim.testing.by_hand import Ask, MatchByHand, encode_events, state_bytes
from sim.testing.conformance import changed_records, check_game, smallest_table
from sim.testing.players import (
    RandomPlayers,
    play_on_bus,
    play_randomly,
    play_virtually,
    random_act,
)
from sim.testing.refusals import bad_input

__all__ = [
    "Ask",
    "MatchByHand",
    "RandomPlayers",
    "bad_input",
    "changed_records",
    "check_game",
    "encode_events",
    "play_on_bus",
    "play_randomly",
    "play_virtually",
    "random_act",
    "random_payload",
    "smallest_table",
    "state_bytes",
]
