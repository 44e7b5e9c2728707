"""The small world: the rules, agents that may do anything that they are allowed, and the messages between them.

A state is the place where the rules stand, the messages in flight in no order, who has initiated, and how many
messages may still be lost or doubled. What is left out, and why nothing is lost by it:

- An answer to an ask that was overtaken (by a new version, by consensus, by the end): the agent might have given it
  before that, and the answer been under way since. So such an ask vanishes. The same goes for a withdrawal that is
  sent once there is consensus.
- An answer that the rules refuse as overtaken, or as the second of its kind, vanishes: they would refuse it whenever it
  is read, for nothing that overtakes is ever undone. Whether they do is found out by trying, not taken for granted.
- A seat that has signed puts another version forward, unasked, once its signature was read: were it read behind the
  modification, it would be refused as overtaken.
- Asking again takes no time, and an agent may wait as long as it likes: its ask is under way so long.
- Verdicts: an agent may do everything that it may do without one.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Final, NamedTuple, TypeAlias

from experiments.modelcheck.config import Config
from experiments.modelcheck.places import Facts, Places, Step, shift
from sim.games.coalition.core import CORE, Core
from sim.games.coalition.items import Abort, Deploy, Initiate, Item, Modify, Reject, Sign, Tick
from sim.games.coalition.things import ENDS, Agent, Task, World

VALUE: Final = 1
SECONDS: Final = 4.0
ACTIVATION_TIMEOUT: Final = 2.0
LATENESS: Final = 1.0
"""What may pass after a deadline until the timer is read, in seconds."""


class Message(NamedTuple):
    """A message in flight: an ask to a seat, or its answer.

    Attributes:
        kind: "ask" or "decide" to a seat; "sign", "modify", "reject", "deploy" or "abort" from it.
        seat: The seat.
        formation: The formation.
        version: The version that it is about; 0 where it is about none.
        commit: Whether the seat commits.
    """

    kind: str
    seat: int
    formation: int
    version: int = 0
    commit: bool = False


class State(NamedTuple):
    """A state of the small world. Attributes as the module says."""

    place: int
    flights: tuple[Message, ...]
    initiated: tuple[int, ...]
    drops: int
    duplicates: int


class Move(NamedTuple):
    """What happens next: its name, what it is about, and what is sent."""

    name: str
    about: Message
    sent: Message | None = None


Next: TypeAlias = tuple[Move, State]
ASKS: Final = ("ask", "decide")
_TIME: Final = Message("tick", -1, 0)


class SmallWorld:
    """The small world of a configuration.

    Args:
        config: How large it is.
        core: The rules.
    """

    def __init__(self, config: Config, core: Core = CORE) -> None:
        self.config = config
        self.places = Places(core)
        self._commits = {"both": (False, True), "always": (True,), "never": (False,)}[config.commit]

    def start(self) -> State:
        """Return the state in which nothing has happened yet."""
        config = self.config
        tasks, agents = [Task(0, VALUE, config.quorum, SECONDS)], [Agent(units=1)] * config.agents
        world = World.make(tasks, agents, activation_timeout=ACTIVATION_TIMEOUT, max_versions=config.versions)
        return State(self.places.number(world), (), (), config.drops, config.duplicates)

    def broken(self, state: State) -> str | None:
        """Return what does not hold in a state, or None."""
        facts = self.places.facts[state.place]
        if facts.broken or state.flights:
            return facts.broken
        if facts.held:
            return "no lock is left HELD when all is quiet"
        if any(status not in ENDS for status in facts.status.values()):
            return "a formation that has not ended waits for somebody who is asked"
        return None

    def moves(self, state: State) -> Iterator[Next]:
        """Give everything that may happen next, and what it leads to."""
        yield from self._initiations(state)
        facts = self.places.facts[state.place]
        previous = None
        for at, message in enumerate(state.flights):
            if message == previous:  # its double: the same
                continue
            previous = message
            without = state.flights[:at] + state.flights[at + 1 :]
            if message.kind in ASKS:
                yield from self._answers(state, facts, message, without)
            else:
                yield Move("read", message), self._after(state, self.step(state.place, message).place, without)
            if state.drops:
                lost = state._replace(flights=without, drops=state.drops - 1)
                yield Move("lost", message), self.after_loss(lost, message)
            if state.duplicates:
                twice = (*without, message, message)
                yield Move("doubled", message), state._replace(flights=_sorted(*twice), duplicates=state.duplicates - 1)
        yield from self._withdrawals(state, facts)
        yield from self._second_thoughts(state, facts)
        yield from self._time(state, facts)

    # ── what agents do ──────────────────────────────────────────────────────────────────────────────────

    def _initiations(self, state: State) -> Iterator[Next]:
        for seat in range(self.config.formations):
            if seat in state.initiated:
                continue
            initiated = tuple(sorted((*state.initiated, seat)))
            for commit in self._commits:
                message = Message("initiate", seat, 0, 1, commit)
                after = self._after(state, self.step(state.place, message).place, state.flights)
                yield Move("read", message), after._replace(initiated=initiated)

    def _answers(self, state: State, facts: Facts, ask: Message, without: tuple[Message, ...]) -> Iterator[Next]:
        _, seat, formation, version, _ = ask
        if ask.kind == "decide":
            answers = [Message("deploy", seat, formation), Message("abort", seat, formation)]
        elif Message("reject", seat, formation) in without:
            return  # it has left, and says nothing more
        else:
            answers = [Message("reject", seat, formation)]
            if seat not in facts.signed[formation]:
                answers += [Message("sign", seat, formation, version, commit) for commit in self._commits]
            if version < self.config.versions:
                answers += [Message("modify", seat, formation, version, commit) for commit in self._commits]
        for answer in answers:
            yield Move("answers", ask, answer), state._replace(flights=_sorted(*without, answer))

    def _withdrawals(self, state: State, facts: Facts) -> Iterator[Next]:
        for formation, status in facts.status.items():
            if status != "open":
                continue
            under_way = [m.seat for m in state.flights if m.formation == formation and m.kind in ("sign", "modify")]
            for seat in sorted(dict.fromkeys([*facts.signed[formation], *under_way])):
                message = Message("reject", seat, formation)
                if seat not in facts.left[formation] and message not in state.flights:
                    place, flights = self.withdraws(state.place, message), _sorted(*state.flights, message)
                    yield Move("withdraws", message), state._replace(place=place, flights=flights)

    def _second_thoughts(self, state: State, facts: Facts) -> Iterator[Next]:
        for formation, status in facts.status.items():
            version = len(facts.digests[formation])
            if status != "open" or version == self.config.versions:
                continue
            for seat in facts.signed[formation]:
                if any(m.seat == seat and m.formation == formation and m.kind not in ASKS for m in state.flights):
                    continue
                for commit in self._commits:
                    message = Message("modify", seat, formation, version, commit)
                    yield Move("modifies", message), state._replace(flights=_sorted(*state.flights, message))

    def withdraws(self, place: int, message: Message) -> int:
        """Return where the world stands once an agent has sent a withdrawal: an agent changes nothing by itself."""
        return place

    # ── what the referee does ───────────────────────────────────────────────────────────────────────────

    def step(self, place: int, message: Message) -> Step:
        """Return what the rules make of a message."""
        change = lambda world: self.places.core.step(world, self._item(place, message), 0.0)[1]  # noqa: E731
        return self.places.step(place, message, change)

    def _item(self, place: int, message: Message) -> Item:
        kind, seat, formation, version, commit = message
        everyone = tuple(range(self.config.agents))
        owed = dict.fromkeys(everyone, 1)
        if kind == "tick":
            return Tick()
        if kind == "initiate":
            return Initiate(seat, 0, everyone, {seat: VALUE}, owed, commit)
        digest = self.places.facts[place].digests[formation][version - 1]
        match kind:
            case "sign":
                return Sign(seat, formation, digest, commit)
            case "modify":
                return Modify(seat, formation, digest, {seat: VALUE}, owed, commit)
            case "reject":
                return Reject(seat, formation)
            case "deploy":
                return Deploy(seat, formation)
            case _:
                return Abort(seat, formation)

    def _after(self, state: State, place: int, flights: tuple[Message, ...]) -> State:
        """Ask those whose answer is awaited anew; then those whom nothing that is under way can answer for."""
        before, facts = self.places.facts[state.place], self.places.facts[place]
        current = [message for message in flights if self.matters(place, facts, message)]
        anew = [awaited for awaited in facts.awaited if awaited not in before.awaited]
        asks = [_ask(*awaited) for awaited in anew]
        asked = state._replace(place=place, flights=_sorted(*current, *asks))
        return self.ask_again(asked)

    def matters(self, place: int, facts: Facts, message: Message) -> bool:
        """Return whether a message may still change anything."""
        if message.kind in ASKS:
            return (message.formation, message.version, message.seat) in facts.awaited
        return not self.step(place, message).for_good

    def after_loss(self, state: State, message: Message) -> State:
        """Return the state once a message was lost: who did not answer is asked again."""
        return self.ask_again(state)

    def ask_again(self, state: State) -> State:
        """Ask those whose answer is awaited and who have neither an ask nor an answer under way."""
        asks = [
            _ask(formation, stage, seat)
            for formation, stage, seat in self.places.facts[state.place].awaited
            if not any(m.seat == seat and m.formation == formation and _is_about(m, stage) for m in state.flights)
        ]
        return state._replace(flights=_sorted(*state.flights, *asks)) if asks else state

    def _time(self, state: State, facts: Facts) -> Iterator[Next]:
        if facts.next_due <= 0:
            yield Move("tick", _TIME), self._after(state, self.step(state.place, _TIME).place, state.flights)
        seconds = self.wait(state)
        if seconds:
            step = self.places.step(state.place, seconds, lambda world: shift(world, seconds))
            yield Move("waits", _TIME), self._after(state, step.place, state.flights)

    def wait(self, state: State) -> float:
        """Return how long nothing happens next: until the timer is due, or a little longer; 0 for neither."""
        due = self.places.facts[state.place].next_due
        return 0.0 if due < 0 or due == inf else due or LATENESS

    def taken(self, state: State, move: Move) -> Step | None:
        """Return what the rules made of a move; None if they had no part in it."""
        return self.step(state.place, move.about) if move.name in ("read", "tick") else None


def _ask(formation: int, stage: int, seat: int) -> Message:
    return Message("ask" if stage else "decide", seat, formation, stage)


def _is_about(message: Message, stage: int) -> bool:
    """Return whether a message asks for, or gives, the answer that is awaited at a stage."""
    if message.kind == "reject":
        return stage > 0
    return message.version == stage


def _sorted(*flights: Message) -> tuple[Message, ...]:
    return tuple(sorted(flights))
