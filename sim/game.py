"""What a game is: its parameters, and a state that knows the rules.

A `Game` is frozen and shared by all its matches. Its `start` makes the `State` of one match, which says what
is legal, applies actions, builds views and tells the outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from random import Random
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

from sim.errors import ConfigError
from sim.messages import MAX_BYTES, Struct

Status: TypeAlias = Literal["resolved", "timed_out", "agent_failed", "aborted"]
"""How a match ended: by its rules, at a cap, by a seat that took its process down, or from outside."""


class ActionType(Struct, frozen=True, omit_defaults=True):
    """Base of a game's action types: the fields are the payload.

    Attributes:
        name: What the action is called; it tells the types apart.
        private_fields: Optional fields that no other seat may see.
        aliases: Other names under which a field is taken, by alias; one beside the field's own name is an error.
        advances: Whether it ends the turn that it answers.
        unasked: Whether a paced game takes it without a turn as well; its payload tells in which thread.
    """

    name: ClassVar[str]
    private_fields: ClassVar[tuple[str, ...]] = ()
    aliases: ClassVar[Mapping[str, str]] = MappingProxyType({})
    advances: ClassVar[bool] = True
    unasked: ClassVar[bool] = False

    def public_part(self) -> ActionType | None:
        """Return the action as the other seats may see it; None when they may see all of it."""
        hidden = {field: None for field in self.private_fields if getattr(self, field) is not None}
        return msgspec.structs.replace(self, **hidden) if hidden else None


class Pass(ActionType, frozen=True):
    """Give up the turn without acting."""

    name: ClassVar[str] = "pass"


class MessageOnly(ActionType, frozen=True):
    """Send messages without advancing the turn."""

    name: ClassVar[str] = "message_only"
    advances: ClassVar[bool] = False


class Phase(Struct, frozen=True):
    """A stretch of the match with its own order and limit.

    Attributes:
        name: The phase's name.
        order: Seats that take part, in the order of a round.
        rounds: How many rounds it lasts at most; in concurrent order, actions per seat.
        ends_when_all_pass: Whether a round in which every seat passed ends it.
    """

    name: str
    order: tuple[int, ...]
    rounds: int
    ends_when_all_pass: bool = False


class Goal(Struct, frozen=True):
    """What a game is about, in one figure: the share of its matches that ended so.

    Attributes:
        name: What the figure is called, such as "funded".
        trigger: The trigger of the matches that count.
    """

    name: str
    trigger: str


class Outcome(Struct, frozen=True):
    """How a match ended.

    Attributes:
        status: How it ended.
        trigger: What ended it, in the game's own words.
        utilities: What each seat gets, in seat order, in the game's currency.
        details: What else the game reports to all, such as totals. A `reason` in it is the trigger in the game's own
            words.
        figures: What it reports to the record alone, because it is computed from what is private.
    """

    status: Status
    trigger: str
    utilities: tuple[float, ...]
    details: dict[str, Any] = {}  # noqa: RUF012
    figures: dict[str, Any] = {}  # noqa: RUF012

    def to_dict(self, agent_ids: tuple[str, ...]) -> dict[str, Any]:
        """Return the outcome in the documented shape: `payoffs`, `trigger` (or `reason`), details and figures."""
        payoffs = [
            {"agent_id": agent_id, "utility": utility}
            for agent_id, utility in zip(agent_ids, self.utilities, strict=True)
        ]
        ending = {} if "reason" in self.details else {"trigger": self.trigger}
        return {"payoffs": payoffs, **ending, **self.details, **self.figures}


class State(msgspec.Struct, kw_only=True):
    """Where a match stands, and the rules that take it on from there. Lives as long as the match.

    Its methods are pure but for what they say: no clock, no I/O, no randomness, no `hash`, no iteration over
    sets. What they change is the state itself, and nothing else holds a part of it.

    Attributes:
        phase: The phase that the match is in; another object once another phase begins.
    """

    phase: Phase

    def private_facts(self, seat: int) -> dict[str, Any]:
        """Return what this seat alone is told at the beginning."""
        return {}

    def legal(self, seat: int) -> tuple[str, ...]:
        """Return the names of the actions that the seat may take now, without `message_only`.

        Empty when there is nothing for the seat to do: its turn is skipped.
        """
        raise NotImplementedError

    def apply(self, seat: int, action: Any) -> None:
        """Apply a legal action, whole or not at all.

        Raises:
            IllegalAction: The rules refuse it; the state is unchanged.
        """
        raise NotImplementedError

    def default_action(self, seat: int) -> ActionType | None:
        """Return what a seat does that does not answer: it passes where it may, else nothing."""
        return Pass() if Pass.name in self.legal(seat) else None

    def close_phase(self) -> None:
        """End the phase: its rounds are used up, its deadline has passed, or all have passed."""
        raise NotImplementedError

    def view(self, seat: int) -> dict[str, Any]:
        """Build what the seat may see, from nothing else; `action_history` is added for it."""
        raise NotImplementedError

    def outcome(self) -> Outcome | None:
        """Return the outcome once the rules say that the match is over, else None."""
        raise NotImplementedError

    def stopped(self, status: Status, trigger: str) -> Outcome:
        """Return the outcome of a match that something else than its rules ended."""
        raise NotImplementedError

    def check(self) -> None:
        """Check what holds of every state that the rules can reach. Stress runs ask after each item that was read.

        Raises:
            AssertionError: An invariant of the rules is broken; the text says which.
        """

    def races(self) -> dict[str, int]:
        """Return how often actions got in each other's way so far, by the kind of race; stress runs add them up."""
        return {}


class Game(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every game: its parameters, and how a match of it begins. It is shared by all matches.

    The fields here are the parameters that all games share.

    Attributes:
        game_id: Name of the game.
        action_types: Its actions by name, `message_only` among them.
        goal: What its figures are about; None where no one figure says it.
        draws: Whether a match of it begins with a draw.
        turn_order: "round_robin" asks one seat at a time; "concurrent" opens a phase to all who may act.
        turn_timeout: Seconds that a seat has for a turn.
        phase_timeout: Seconds that a concurrent phase lasts at most; None: `turn_timeout` for each of its rounds.
        max_turns: Turns after which the match is stopped.
        max_invalid: Rejected answers in a row after which a turn takes the default action.
        max_messages_per_turn: Messages that one submission may carry.
        max_message_pings: `message_only` submissions of one seat within one turn.
        max_bytes: Size of one submission, in bytes.
    """

    game_id: ClassVar[str]
    action_types: ClassVar[Mapping[str, type[ActionType]]]
    goal: ClassVar[Goal | None] = None
    draws: ClassVar[bool] = True

    turn_order: Literal["round_robin", "concurrent"] = "round_robin"
    turn_timeout: float = 30.0
    phase_timeout: float | None = None
    max_turns: int = 1000
    max_invalid: int = 3
    max_messages_per_turn: int = 10
    max_message_pings: int = 5
    max_bytes: int = MAX_BYTES

    def __post_init__(self) -> None:
        for key, kind in _types(type(self)).items():
            held = getattr(self, key)
            try:
                msgspec.convert(held, kind)
            except msgspec.ValidationError as error:
                raise ConfigError(f"{key}: {error}") from None
            if type(held) is int and abs(held) >= 2**63:
                raise ConfigError(f"{key}={held}: a whole number of at most 64 bits is needed")
        for key in ("turn_timeout", "phase_timeout"):
            seconds = getattr(self, key)
            if seconds is not None and not 0 < seconds < float("inf"):
                raise ConfigError(f"{key}={seconds}: a number of seconds above 0 is needed")
        for key, least in _LEAST.items():
            if getattr(self, key) < least:
                raise ConfigError(f"{key}={getattr(self, key)}: at least {least} is needed")

    def check_seats(self, agent_ids: tuple[str, ...]) -> None:
        """Check that the game can be played by these seats.

        Raises:
            ConfigError: Too few or too many, or a parameter names seats that are not there.
        """
        raise NotImplementedError

    def seat_ids(self) -> tuple[str, ...] | None:
        """Return the ids of the seats where the parameters name them; None where the line-up does."""
        return None

    def role(self, agent_ids: tuple[str, ...], seat: int) -> str:
        """Return the name of a seat's role."""
        raise NotImplementedError

    def rules_text(self, role: str) -> str:
        """Say the rules in words, to someone in this role."""
        raise NotImplementedError

    def start(self, agent_ids: tuple[str, ...], rng: Random) -> State:
        """Return the state at the beginning; all that is drawn is drawn here."""
        raise NotImplementedError


@cache
def _types(kind: type[Game]) -> dict[str, Any]:
    """Return the types of a game's parameters."""
    return {field.name: field.type for field in msgspec.structs.fields(kind)}


_LEAST = {"max_turns": 1, "max_invalid": 1, "max_messages_per_turn": 0, "max_message_pings": 0, "max_bytes": 64}


def check_agent_ids(agent_ids: tuple[str, ...]) -> None:
    """Check that seat ids are there, are text, and are unique.

    Raises:
        ConfigError: They are not.
    """
    for agent_id in agent_ids:
        if not agent_id or agent_id != agent_id.strip():
            raise ConfigError(f"seat id {agent_id!r}: a non-empty name without blanks around it is needed")
    repeated = sorted({a for a in agent_ids if agent_ids.count(a) > 1})
    if repeated:
        raise ConfigError(f"seat ids must be unique; given more than once: {', '.join(repeated)}")
