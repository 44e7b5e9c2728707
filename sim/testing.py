"""Tools to test games: a match played by hand, random legal play, and the conformance suite `check_game`.

They need nothing of a game but the interface in `sim.game`, so they serve a game that is not part of this
product as well as one that is.
"""

from __future__ import annotations

import asyncio
import copy
import math
import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from random import Random
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import inspect as types

from sim.actions import decode_payload
from sim.bus import Address, Bus, LocalBus, Receiver
from sim.clock import Clock, run_virtual
from sim.errors import ConfigError, IllegalAction, RecordMismatch
from sim.game import ActionType, Game, MessageOnly, Outcome
from sim.judge import Judge
from sim.messages import (
    REFEREE,
    Act,
    AnyMessage,
    Deadline,
    Event,
    EventKind,
    Forfeit,
    Lost,
    Message,
    PhaseOpen,
    Rejection,
    ToReferee,
    Update,
    Verdict,
    YourTurn,
    encode,
)
from sim.record import MatchRecord, MatchSpec
from sim.referee import Referee
from sim.replay import rejudge
from sim.rng import generator

Ask: TypeAlias = YourTurn | PhaseOpen
Alter: TypeAlias = Callable[[Any, int, Random], None]
Budget: TypeAlias = Callable[[Any, Outcome], float | None]

TURN_ORDERS: Final = ("round_robin", "concurrent")

_WORDS: Final = ("yes", "no", "a fair share", "für alle ✓", "🤝")
_SCALES: Final = (1.0, 10.0, 100.0)


# ── a match by hand ─────────────────────────────────────────────────────────────────────────────────────


class MatchByHand:
    """One match without a clock, a bus or agents: whoever holds it reads items to the judge, one by one.

    Every seat is sent what it may see at once, as a reactive seat is.

    Args:
        game: The game.
        agent_ids: The seats.
        seed: Seed of the match.
        index: Number of the match.

    Attributes:
        spec: What makes the match.
        judge: Rules on it.
        now: Seconds since the match opened; set it to let time pass.
        sent: What each seat was sent, in order.
        script: What was read: (when, sender, item).
        turns: Turns that seats were asked for: number -> seat.
        lapsed: Numbers of those that lapsed.
    """

    def __init__(self, game: Game, agent_ids: Sequence[str], seed: int = 0, *, index: int = 0) -> None:
        game.check_seats(tuple(agent_ids))
        self.game = game
        self.spec = MatchSpec(index, tuple(agent_ids), seed)
        self.judge = Judge(self.spec, game)
        self.now = 0.0
        self.sent: list[list[Update]] = [[] for _ in agent_ids]
        self.script: list[tuple[float, int, ToReferee]] = []
        self.turns: dict[int, int] = {}
        self.lapsed: set[int] = set()
        self._told = [0] * len(agent_ids)
        self._asks: list[Ask | None] = [None] * len(agent_ids)
        self._causes = [0] * len(agent_ids)

    def open(self) -> MatchByHand:
        """Open the match."""
        self.judge.open()
        self._deliver()
        return self

    @property
    def seats(self) -> range:
        """The seat numbers."""
        return range(len(self.spec.agent_ids))

    @property
    def outcome(self) -> Outcome | None:
        """How the match ended, or None."""
        return self.judge.outcome

    @property
    def events(self) -> list[Event]:
        """What happened so far."""
        return self.judge.log.events

    def ask(self, seat: int) -> Ask | None:
        """Return what the seat was last asked, if that turn is open."""
        return self._asks[seat] if self.judge.outcome is None and self.judge.has_turn(seat) else None

    def open_turns(self) -> list[tuple[int, int]]:
        """Return the open turns as (seat, number)."""
        return [(seat, ask.turn) for seat in self.seats if (ask := self.ask(seat)) is not None]

    def view(self, seat: int) -> dict[str, Any]:
        """Return what the seat may see of the state."""
        return self.judge.state.view(seat)

    def state_bytes(self) -> bytes:
        """Return the state as bytes, to compare."""
        return state_bytes(self.judge.state)

    def next_cause(self, seat: int) -> int:
        """Return a submission number that the seat has not used."""
        self._causes[seat] += 1
        return self._causes[seat]

    def act(
        self,
        seat: int,
        action: str | ActionType,
        payload: Any = None,
        *,
        turn: int | None = None,
        messages: Sequence[Message | str] = (),
    ) -> Rejection | None:
        """Submit an action for a seat, as an answer to its open turn unless another is named.

        Returns:
            Why it was rejected; None when it was accepted.
        """
        if isinstance(action, ActionType):
            action, payload = action.name, action
        if turn is None:
            ask = self.ask(seat)
            turn = ask.turn if ask is not None else 0
        said = tuple(Message(m) if isinstance(m, str) else m for m in messages)
        packed = msgspec.msgpack.encode({} if payload is None else payload)
        return self.read(seat, Act(seat, turn, self.next_cause(seat), action, packed, said))

    def read(self, sender: int, item: ToReferee) -> Rejection | None:
        """Read an item to the judge; return why it was rejected if it was."""
        self.script.append((self.now, sender, item))
        self.judge.read(sender, item, self.now)
        rejection = None
        for seat, message in self.judge.outbox:
            if type(message) is Verdict and seat == sender and message.rejection is not None:
                rejection = message.rejection
        self._deliver()
        return rejection

    def lapse(self) -> None:
        """Let time pass to the next deadline, and read it."""
        self.now = self.judge.deadline
        self.lapsed.update(turn for _seat, turn in self.open_turns())
        self.read(REFEREE, Deadline(self.now))

    def record(self) -> MatchRecord:
        """Return the record; the match must be over."""
        return self.judge.close()

    def _deliver(self) -> None:
        for seat, message in (*self.judge.outbox, *((seat, None) for seat in self.seats)):
            news = self.judge.log.since(self._told[seat], seat)
            self._told[seat] = len(self.events)
            if news or message is not None:
                self.sent[seat].append(Update(news, message))
            if isinstance(message, (YourTurn, PhaseOpen)):
                self._asks[seat] = message
                self.turns[message.turn] = seat
        self.judge.outbox.clear()


def state_bytes(state: Any) -> bytes:
    """Return a game's state as bytes, to compare it with what it was or with that of another match."""
    try:
        return msgspec.msgpack.encode(state)
    except TypeError:  # a type that msgspec does not know
        return pickle.dumps(copy.deepcopy(state))


# ── random legal play ───────────────────────────────────────────────────────────────────────────────────


def random_payload(kind: type[ActionType], rng: Random, scales: Sequence[float] = _SCALES) -> dict[str, Any]:
    """Draw a payload that the types of an action allow.

    Args:
        kind: The action type.
        rng: Where it is drawn from.
        scales: Amounts that are plausible in this game, for numbers that have no upper bound.
    """
    payload: dict[str, Any] = _draw(types.type_info(kind), rng, scales)
    return payload


def _draw(kind: types.Type, rng: Random, scales: Sequence[float]) -> Any:
    match kind:
        case types.StructType():
            fields = (f for f in kind.fields if f.required or rng.random() < 0.5)
            return {f.encode_name: _draw(f.type, rng, scales) for f in fields}
        case types.Metadata():
            return _draw(kind.type, rng, scales)
        case types.UnionType():
            return _draw(rng.choice(kind.types), rng, scales)
        case types.BoolType():
            return rng.random() < 0.5
        case types.IntType() | types.FloatType():
            return _draw_number(kind, rng, scales)
        case types.StrType():
            text = rng.choice(_WORDS).ljust(kind.min_length or 0, ".")
            return text[: kind.max_length]
        case types.LiteralType():
            return rng.choice(kind.values)
        case types.EnumType():
            return rng.choice([member.value for member in kind.cls])
        case types.ListType() | types.VarTupleType() | types.SetType() | types.FrozenSetType():
            least = kind.min_length or 0
            most = least + 3 if kind.max_length is None else kind.max_length
            return [_draw(kind.item_type, rng, scales) for _ in range(rng.randint(least, min(most, least + 3)))]
        case types.TupleType():
            return [_draw(item, rng, scales) for item in kind.item_types]
        case types.DictType():
            least = kind.min_length or 0
            pairs = range(rng.randint(least, least + 2))
            return {_draw(kind.key_type, rng, scales): _draw(kind.value_type, rng, scales) for _ in pairs}
    return None


def _draw_number(kind: types.IntType | types.FloatType, rng: Random, scales: Sequence[float]) -> float:
    low = kind.ge if kind.ge is not None else kind.gt if kind.gt is not None else 0.0
    high = kind.le if kind.le is not None else kind.lt
    if high is None:
        high = low + rng.choice(scales)
    if isinstance(kind, types.IntType):
        first = math.floor(low) + 1 if kind.gt is not None else math.ceil(low)
        last = math.ceil(high) - 1 if kind.lt is not None else math.floor(high)
        return rng.randint(first, max(first, last))
    number = round(rng.uniform(low, high), 2)
    inside = (kind.gt is None or number > low) and (kind.lt is None or number < high)
    return number if inside and low <= number <= high else (low + high) / 2


def random_act(game: Game, agent_ids: Sequence[str], ask: Ask, seat: int, cause: int, rng: Random) -> Act:
    """Draw an answer to what a seat is asked: an allowed action, a payload that fits, and sometimes a message."""
    allowed = [name for name in ask.allowed if name != MessageOnly.name]
    messages: tuple[Message, ...] = ()
    if rng.random() < 0.15:
        to = None if rng.random() < 0.5 else (rng.choice(agent_ids),)
        messages = (Message(rng.choice(_WORDS), to),)
    if not allowed or (messages and rng.random() < 0.3):
        action, messages = MessageOnly.name, messages or (Message("well"),)
    else:
        action = rng.choice(allowed)
    numbers = [float(n) for n in _numbers(msgspec.msgpack.decode(ask.view)) if 0 < n < 1e9]
    payload = random_payload(game.action_types[action], rng, numbers or _SCALES)
    return Act(seat, ask.turn, cause, action, msgspec.msgpack.encode(payload), messages)


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _numbers(item)


def play_randomly(match: MatchByHand, rng: Random, *, lapses: float = 0.05) -> MatchRecord:
    """Play an open match to its end, every seat at random; some turns lapse.

    Raises:
        AssertionError: It does not end.
    """
    game, agent_ids = match.game, match.spec.agent_ids
    most = 10 * (game.max_turns + 1) * (game.max_message_pings + game.max_invalid + 1)
    for _ in range(min(most, 1_000_000)):
        if match.outcome is not None:
            return match.record()
        turns = match.open_turns()
        assert turns, "no turn is open and the match is not over"
        if rng.random() < lapses:
            match.lapse()
            continue
        match.now += rng.random() * 1e-3 * game.turn_timeout
        seat, _turn = rng.choice(turns)
        ask = match.ask(seat)
        assert ask is not None
        match.read(seat, random_act(game, agent_ids, ask, seat, match.next_cause(seat), rng))
    raise AssertionError("random legal play does not end")


# ── a match on a bus ────────────────────────────────────────────────────────────────────────────────────


async def play_on_bus(
    spec: MatchSpec,
    game: Game,
    players: Callable[[Bus, Clock], Receiver],
    *,
    bus: Bus | None = None,
    reactive: Collection[int] = (),
) -> MatchRecord:
    """Play one match in the running event loop, real or virtual.

    Args:
        spec: What makes the match.
        game: Its rules.
        players: Given the bus and the clock, returns what receives for the seats.
        bus: The bus; None makes a `LocalBus`.
        reactive: Seats that are sent every event at once.
    """
    clock, bus = Clock(), LocalBus() if bus is None else bus
    ended: asyncio.Future[MatchRecord] = asyncio.get_running_loop().create_future()
    receive = players(bus, clock)
    addresses = [Address(spec.index, seat) for seat in range(len(spec.agent_ids))]
    for address in addresses:
        bus.attach(address, receive)
    try:
        Referee(spec, game, bus, clock, ended.set_result, reactive=reactive).open()
        return await ended
    finally:
        for address in addresses:
            bus.detach(address)


class RandomPlayers:
    """All seats of a match on a bus, each playing at random and answering after a delay of its own.

    Args:
        spec: The match.
        game: Its rules.
        bus: Where the referee is reached.
        clock: The time.
    """

    def __init__(self, spec: MatchSpec, game: Game, bus: Bus, clock: Clock) -> None:
        self._spec, self._game, self._bus, self._clock = spec, game, bus, clock
        self._rngs = [generator(spec.seed, "player", seat) for seat in range(len(spec.agent_ids))]
        self._causes = [0] * len(spec.agent_ids)

    def receive(self, sender: Address, to: Address, message: AnyMessage) -> None:
        """Take in what a seat is sent, and answer what it is asked."""
        if isinstance(message, Update) and isinstance(message.message, (YourTurn, PhaseOpen)):
            delay = self._rngs[to.seat].choice((0.0, 0.0, 1.0)) * 1e-4 * self._game.turn_timeout
            self._clock.at(self._clock.now() + delay, self._answer, sender, to, message.message)

    def _answer(self, referee: Address, seat: Address, ask: Ask) -> None:
        number = seat.seat
        self._causes[number] += 1
        agent_ids, rng = self._spec.agent_ids, self._rngs[number]
        act = random_act(self._game, agent_ids, ask, number, self._causes[number], rng)
        self._bus.send(seat, referee, act)


def play_virtually(spec: MatchSpec, game: Game, *, explore: int | None = None) -> MatchRecord:
    """Play one match of `RandomPlayers` in virtual time, under one schedule."""

    def players(bus: Bus, clock: Clock) -> Receiver:
        return RandomPlayers(spec, game, bus, clock).receive

    return run_virtual(play_on_bus(spec, game, players), explore=explore)


# ── the conformance suite ───────────────────────────────────────────────────────────────────────────────


def check_game(
    game: Game,
    agent_ids: Sequence[str] | None = None,
    *,
    seeds: Iterable[int] = range(4),
    alter: Alter | None = None,
    budget: Budget | None = None,
) -> None:
    """Check all that a game must keep to, in both turn orders:

    - the same seed gives the same events, byte for byte, to the end of the match, and under one schedule of the
      virtual clock the same record; one seat at a time, no schedule changes the outcome;
    - to look at a state (`view`, `legal`, `phase`, `outcome`, ...) changes nothing in it;
    - no seat is sent a byte that depends on another's private facts, or on the private part of its actions,
      before that seat acts differently;
    - illegal, late, duplicate, foreign and malformed input is rejected, and changes nothing;
    - random legal play ends within `max_turns`, with a finite payoff for each seat, within the budget;
    - a record can be judged again, and one with a changed byte cannot.

    Args:
        game: The game, with its parameters. Its `turn_order` does not matter.
        agent_ids: The seats; None takes the smallest table that the game allows.
        seeds: Seeds of the matches that are played for each property.
        alter: Changes the private facts of one seat in a state that has just been started, and nothing else. None
            finds them itself: what changes `private_facts` of one seat alone is that seat's private matter.
        budget: Given the final state and the outcome, returns what the payoffs must add up to, or None where
            the rules promise nothing.

    Raises:
        AssertionError: It does not; the text names the property, the turn order and the seed.
    """
    ids = smallest_table(game) if agent_ids is None else tuple(agent_ids)
    for order in TURN_ORDERS:
        ordered = msgspec.structs.replace(game, turn_order=order)
        for seed in seeds:
            for name, check in _properties(ordered, ids, seed, alter, budget):
                try:
                    check()
                except Exception as error:
                    said = str(error) if isinstance(error, AssertionError) else f"raised {error!r}"
                    raise AssertionError(f"{game.game_id} ({order}, seed {seed}): {name}: {said}") from error


def smallest_table(game: Game) -> tuple[str, ...]:
    """Return the fewest seats that a game can be played by.

    Raises:
        ConfigError: It asks for ids of its own, or for more than 32 seats.
    """
    problem = None
    for seats in range(1, 33):
        ids = tuple(f"agent_{n + 1}" for n in range(seats))
        try:
            game.check_seats(ids)
        except ConfigError as error:
            problem = error
        else:
            return ids
    raise ConfigError(f"give agent_ids: agent_1, agent_2, ... are not what this game needs ({problem})")


def _properties(
    game: Game, ids: tuple[str, ...], seed: int, alter: Alter | None, budget: Budget | None
) -> list[tuple[str, Callable[[], None]]]:
    return [
        ("the same seed gives the same match", lambda: _check_determinism(game, ids, seed)),
        ("one schedule gives one record", lambda: _check_schedules(game, ids, seed)),
        ("looking at a state leaves it as it is", lambda: _check_looking(game, ids, seed)),
        ("views leak nothing", lambda: _check_views(game, ids, seed, alter)),
        ("refused input changes nothing", lambda: _check_refusals(game, ids, seed)),
        ("a turn ends after max_invalid rejected answers", lambda: _check_patience(game, ids, seed)),
        ("random legal play ends", lambda: _check_end(game, ids, seed, budget)),
        ("a record can be judged again", lambda: _check_record(game, ids, seed)),
    ]


def _random_match(game: Game, ids: tuple[str, ...], seed: int) -> tuple[MatchByHand, MatchRecord]:
    match = MatchByHand(game, ids, seed).open()
    return match, play_randomly(match, generator(seed, "conformance"))


def _check_determinism(game: Game, ids: tuple[str, ...], seed: int) -> None:
    (first, one), (second, two) = _random_match(game, ids, seed), _random_match(game, ids, seed)
    assert encode_events(one) == encode_events(two), "two matches of one seed differ"
    assert one.outcome == two.outcome, f"{one.outcome} and then {two.outcome}"
    for seat in first.seats:
        same = [encode(u) for u in first.sent[seat]] == [encode(u) for u in second.sent[seat]]
        assert same, f"{ids[seat]} is not sent the same in two matches of one seed"


def encode_events(record: MatchRecord) -> bytes:
    """Return the events of a record as bytes, to compare."""
    return msgspec.msgpack.encode(record.events)


def _check_schedules(game: Game, ids: tuple[str, ...], seed: int) -> None:
    spec = MatchSpec(0, ids, seed)
    outcomes = []
    for explore in (None, 1, 2):
        one, two = (play_virtually(spec, game, explore=explore) for _ in range(2))
        assert encode_events(one) == encode_events(two), f"schedule {explore} gives two different records"
        rejudge(one, game)
        outcomes.append(one.outcome)
    if game.turn_order == "round_robin":
        assert all(o == outcomes[0] for o in outcomes), f"the schedule changes the outcome: {outcomes}"


def _check_looking(game: Game, ids: tuple[str, ...], seed: int) -> None:
    match, rng = MatchByHand(game, ids, seed).open(), generator(seed, "looking")
    while match.outcome is None:
        state, before = match.judge.state, match.state_bytes()
        for seat in match.seats:
            views = [msgspec.msgpack.encode(state.view(seat)) for _ in range(2)]
            assert views[0] == views[1], f"two views of {ids[seat]} differ"
            state.legal(seat)
            state.private_facts(seat)
            state.default_action(seat)
        state.phase  # noqa: B018
        assert state.outcome() is None, "the game has an outcome, but the match goes on"
        state.stopped("aborted", "aborted")
        assert match.state_bytes() == before, "view, legal, phase, outcome or another of them changed the state"
        _one_step(match, rng)


def _one_step(match: MatchByHand, rng: Random) -> None:
    turns = match.open_turns()
    assert turns, "no turn is open and the match is not over"
    seat, _turn = rng.choice(turns)
    ask = match.ask(seat)
    assert ask is not None
    if rng.random() < 0.05:
        match.lapse()
    else:
        match.read(seat, random_act(match.game, match.spec.agent_ids, ask, seat, match.next_cause(seat), rng))


# ── views leak nothing ──────────────────────────────────────────────────────────────────────────────────


def _check_views(game: Game, ids: tuple[str, ...], seed: int, alter: Alter | None) -> None:
    base, _record = _random_match(game, ids, seed)
    change = alter or _Facts(game, ids, seed).alter
    for seat in base.seats:
        rng = generator(seed, "views", seat)
        _compare_twins(base, _twin(base, seat, rng, change), seat, base.script)
        varied = [(now, who, _vary(game, item, rng) if who == seat else item) for now, who, item in base.script]
        if varied != base.script:
            _compare_twins(base, MatchByHand(game, ids, base.spec.seed), seat, varied)


def _twin(base: MatchByHand, seat: int, rng: Random, alter: Alter) -> MatchByHand:
    """Return a match like another, but for the private facts of one seat."""
    game, ids = base.game, base.spec.agent_ids
    twin = MatchByHand(game, ids, base.spec.seed)
    facts = [copy.deepcopy(twin.judge.state.private_facts(s)) for s in twin.seats]
    alter(twin.judge.state, seat, rng)
    for other in twin.seats:
        if other != seat:
            same = twin.judge.state.private_facts(other) == facts[other]
            assert same, f"to alter the facts of {ids[seat]} altered those of {ids[other]} as well"
    return twin


def _compare_twins(
    base: MatchByHand, twin: MatchByHand, seat: int, script: Sequence[tuple[float, int, ToReferee]]
) -> None:
    """Play the twin like its base, and compare what the others are sent until the seat acts differently."""
    again = MatchByHand(base.game, base.spec.agent_ids, base.spec.seed).open()
    _same_to_others(again, twin.open(), seat, "when the match opens")
    for (now, sender, item), (_now, _sender, other_item) in zip(base.script, script, strict=True):
        again.now = twin.now = now
        start = len(again.events)
        refused, refused_too = again.read(sender, item), twin.read(sender, other_item)
        if sender == seat and (refused is None) != (refused_too is None):
            return  # the twin may not do what its base did
        if _defaults(again, seat, start) != _defaults(twin, seat, start):
            return  # its default action is another
        said = item.action if isinstance(item, Act) else type(item).__name__
        _same_to_others(again, twin, seat, f"after {said} of seat {sender}")


def _defaults(match: MatchByHand, seat: int, start: int) -> list[bytes]:
    return [e.body for e in match.events[start:] if e.sender == seat and e.kind in ("timeout", "forfeit")]


def _same_to_others(one: MatchByHand, two: MatchByHand, seat: int, when: str) -> None:
    ids = one.spec.agent_ids
    for other in one.seats:
        was, now_is = one.sent[other], two.sent[other]
        if other != seat and [encode(update) for update in was] != [encode(update) for update in now_is]:
            raise AssertionError(
                f"{ids[other]} is sent {now_is} instead of {was} {when}, as private matters of {ids[seat]} differ"
            )
        was.clear()
        now_is.clear()


def _vary(game: Game, item: ToReferee, rng: Random) -> ToReferee:
    """Return an act with another private part and the same public one."""
    if not isinstance(item, Act) or item.action not in game.action_types:
        return item
    kind = game.action_types[item.action]
    try:
        action = decode_payload(kind, item.payload)
    except ValueError:
        return item
    public = action.public_part()
    if public is None:
        return item
    for _ in range(20):
        drawn = random_payload(kind, rng)
        hidden = {k: v for k, v in drawn.items() if getattr(action, k) != getattr(public, k, None)}
        payload = msgspec.to_builtins(action) | hidden
        packed = msgspec.msgpack.encode(payload)
        if decode_payload(kind, packed) != action and decode_payload(kind, packed).public_part() == public:
            return msgspec.structs.replace(item, payload=packed)
    return item


class _Facts:
    """Which leaves of a state hold whose private facts: found by changing one leaf at a time."""

    def __init__(self, game: Game, ids: tuple[str, ...], seed: int) -> None:
        state, *others = (game.start(ids, generator(seed + n, "game")) for n in range(4))
        seats = range(len(ids))
        facts = [copy.deepcopy(state.private_facts(seat)) for seat in seats]
        self._owned: list[list[tuple[tuple[Any, ...], Any]]] = [[] for _ in seats]
        for path, value in list(_leaves(state)):
            for candidate in _candidates(path, value, others):
                altered = copy.deepcopy(state)
                try:
                    _put(altered, path, candidate)
                    changed = [s for s in seats if altered.private_facts(s) != facts[s]]
                except Exception:  # not a value that the game can live with, or a leaf that is part of a key
                    continue
                if len(changed) == 1:
                    self._owned[changed[0]].append((path, candidate))
                    break

    def alter(self, state: Any, seat: int, rng: Random) -> None:
        """Change the private facts of a seat."""
        for path, value in self._owned[seat]:
            _put(state, path, value)


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        children: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    elif isinstance(value, Game):
        return  # its parameters are shared by all matches
    elif isinstance(value, msgspec.Struct):
        children = ((name, getattr(value, name)) for name in value.__struct_fields__)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        children = vars(value).items()
    else:
        if value is None or isinstance(value, (bool, int, float, str)):
            yield path, value
        return
    for key, child in children:
        yield from _leaves(child, (*path, key))


def _get(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key] if isinstance(value, (dict, list)) else getattr(value, key)
    return value


def _put(value: Any, path: tuple[Any, ...], leaf: Any) -> None:
    holder, key = _get(value, path[:-1]), path[-1]
    if isinstance(holder, (dict, list)):
        holder[key] = leaf
    elif isinstance(holder, msgspec.Struct):
        msgspec.structs.force_setattr(holder, key, leaf)
    else:
        setattr(holder, key, leaf)


def _candidates(path: tuple[Any, ...], value: Any, others: Sequence[Any]) -> Iterator[Any]:
    for other in others:
        try:
            drawn = _get(other, path)
        except (KeyError, IndexError, AttributeError):
            continue
        if drawn != value:
            yield drawn
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value + 1


# ── refused input changes nothing ───────────────────────────────────────────────────────────────────────


def _check_refusals(game: Game, ids: tuple[str, ...], seed: int) -> None:
    patient = msgspec.structs.replace(game, max_invalid=10**9, max_bytes=min(game.max_bytes, 65536))
    match, rng = MatchByHand(patient, ids, seed).open(), generator(seed, "refusals")
    tried = 0
    while match.outcome is None:
        _check_illegal_actions(match, rng)
        attacks = list(bad_input(match, rng))
        for what, sender, item in attacks if tried == 0 else rng.sample(attacks, min(8, len(attacks))):
            tried += 1
            before = (match.state_bytes(), match.open_turns(), match.judge.deadline)
            rejection = match.read(sender, item)
            assert (match.state_bytes(), match.open_turns(), match.judge.deadline) == before, (
                f"{what} changed the state or whose turn it is: {item!r:.500}"
            )
            if isinstance(item, Act) and sender in match.seats:
                assert rejection is not None, f"{what} was not rejected: {item!r:.500}"
        _one_step(match, rng)
    rejudge(match.record(), patient)


def _check_illegal_actions(match: MatchByHand, rng: Random) -> None:
    """Check that what the rules themselves refuse leaves the state as it was."""
    before = match.state_bytes()
    for seat, _turn in match.open_turns():
        for name in match.judge.state.legal(seat):
            kind = match.game.action_types[name]
            for scales in (_SCALES, (1e-9,), (1e9,)):
                action = decode_payload(kind, msgspec.msgpack.encode(random_payload(kind, rng, scales)))
                state = copy.deepcopy(match.judge.state)
                try:
                    state.apply(seat, action)
                except IllegalAction:
                    assert state_bytes(state) == before, f"{action} was refused, and yet changed the state"


Attack: TypeAlias = tuple[str, int, ToReferee]


def bad_input(match: MatchByHand, rng: Random) -> Iterator[Attack]:
    """Draw input that must be refused as the match stands: (what it is, who really sends it, the item)."""
    for seat in match.seats:
        ask = match.ask(seat)
        yield from _bad_acts(match, seat, ask.turn if ask is not None else 0, rng)
        yield from _spoofs(match, seat, ask.turn if ask is not None else 0)
    yield "a deadline that is not due", REFEREE, Deadline(match.now - 1.0)
    yield "the loss of nobody", REFEREE, Lost(len(match.seats), "lost")


def _bad_acts(match: MatchByHand, seat: int, turn: int, rng: Random) -> Iterator[Attack]:
    game = match.game

    def act(action: str, payload: bytes, messages: tuple[Message, ...] = (), at: int = turn) -> Act:
        return Act(seat, at, match.next_cause(seat), action, payload, messages)

    legal = match.judge.state.legal(seat) if match.ask(seat) is not None else ()
    yield "an unknown action", seat, act("no such action", b"\x80")
    for name, kind in game.action_types.items():
        packed = msgspec.msgpack.encode(random_payload(kind, rng))
        hello = (Message("hello"),)
        if name not in (*legal, MessageOnly.name) and not _may_act_unasked(match, seat, name):
            yield f"{name}, which is not legal now", seat, act(name, packed)
        for what, payload in _malformed(kind, packed, rng):
            yield f"{name} with {what}", seat, act(name, payload, hello if kind is MessageOnly else ())
        yield (
            f"{name} of a turn that never was",
            seat,
            act(name, packed, (), 10**9) if kind is not MessageOnly else act(name, packed),
        )
        yield f"{name} to a stranger", seat, act(name, packed, (Message("psst", ("nobody here",)),))
        yield f"{name} with text that is none", seat, act(name, packed, (Message("\ud800"),))
        yield f"{name} to a name that is none", seat, act(name, packed, (Message("psst", ("\udfff",)),))
        yield f"{name} with too many messages", seat, act(name, packed, hello * (game.max_messages_per_turn + 1))
        yield f"{name} with too much text", seat, act(name, packed, (Message("x" * game.max_bytes),) * 2)
    yield "ten megabytes", seat, act(next(iter(game.action_types)), bytes(10**7))
    yield "a message_only without messages", seat, act(MessageOnly.name, b"\x80")
    past = [n for n, who in match.turns.items() if who == seat and n != turn]
    timed = [name for name, kind in game.action_types.items() if kind is not MessageOnly]
    over = past if game.turn_order == "round_robin" else [n for n in past if n in match.lapsed]
    for number in over[-3:]:
        yield "an answer to a turn that is over", seat, act(rng.choice(timed), b"\x80", (), number)
    for _now, sender, item in match.script[-20:]:
        if sender == seat and isinstance(item, Act):
            yield "a submission that was received before", seat, item


def _may_act_unasked(match: MatchByHand, seat: int, name: str) -> bool:
    concurrent = match.game.turn_order == "concurrent"
    return concurrent and name in match.judge.state.legal(seat)


def _malformed(kind: type[ActionType], packed: bytes, rng: Random) -> Iterator[tuple[str, bytes]]:
    fields = msgspec.msgpack.decode(packed)
    wrong: dict[str, Any] = {
        "a list": [1, 2],
        "a map": {"a": {"b": []}},
        "true": True,
        "not a number": math.nan,
        "infinity": math.inf,
        "minus infinity": -math.inf,
        "bytes": b"\xff",
        "a word": "many",
    }
    payloads = [
        (f"{field} = {what}", msgspec.msgpack.encode(fields | {field: value}))
        for field in kind.__struct_fields__
        for what, value in wrong.items()
    ]
    payloads += [
        ("a field that it has not", msgspec.msgpack.encode(fields | {"no such field": 1})),
        ("nothing", msgspec.msgpack.encode(None)),
        ("no bytes", b""),
        ("a list for a map", msgspec.msgpack.encode([1, 2, 3])),
        ("half of its bytes", packed[: len(packed) // 2]),
        ("a byte too many", packed + b"\x01"),
        ("random bytes", rng.randbytes(rng.randint(1, 40))),
        ("a deep nest", b"\x91" * 5000 + b"\x01"),
    ]
    for what, payload in payloads:
        try:
            decode_payload(kind, payload)
        except ValueError:
            yield what, payload


def _spoofs(match: MatchByHand, seat: int, turn: int) -> Iterator[Attack]:
    seats, empty = len(match.seats), b"\x80"
    for other in (*match.seats, seats, seats + 7, REFEREE, -2):
        if other == seat:
            continue
        for name in match.game.action_types:
            cause = match.next_cause(seat)
            yield f"{name} in the name of another", other, Act(seat, turn, cause, name, empty, (Message("I am he"),))
        if other != REFEREE:
            yield "the forfeit of another", other, Forfeit(seat, turn, "spoofed")
            yield "the loss of another", other, Lost(seat, "spoofed")


def _check_patience(game: Game, ids: tuple[str, ...], seed: int) -> None:
    match, rng = MatchByHand(game, ids, seed).open(), generator(seed, "patience")
    for _ in range(rng.randint(0, 5)):
        if match.outcome is None:
            _one_step(match, rng)
    if match.outcome is not None:
        return
    seat, turn = rng.choice(match.open_turns())
    for attempt in range(game.max_invalid):
        assert (seat, turn) in match.open_turns(), f"the turn is over after {attempt} rejected answers"
        match.act(seat, "no such action", turn=turn)
    assert (seat, turn) not in match.open_turns(), f"the turn is open after {game.max_invalid} rejected answers"
    assert any(e.kind == "forfeit" and e.sender == seat for e in match.events), "it is not in the record"


# ── the end, and the record ─────────────────────────────────────────────────────────────────────────────


def _check_end(game: Game, ids: tuple[str, ...], seed: int, budget: Budget | None) -> None:
    match, record = _random_match(game, ids, seed)
    outcome = record.outcome
    most = game.max_turns + (len(ids) if game.turn_order == "concurrent" else 0)
    assert record.turns <= most, f"{record.turns} turns; at most {game.max_turns} are allowed"
    assert outcome.status in ("resolved", "timed_out"), f"nobody failed, and yet it ended as {outcome.status}"
    assert len(outcome.utilities) == len(ids), f"{len(outcome.utilities)} payoffs for {len(ids)} seats"
    assert all(math.isfinite(u) for u in outcome.utilities), f"payoffs {outcome.utilities} are not finite"
    sum_ = None if budget is None else budget(match.judge.state, outcome)
    if sum_ is not None:
        total = sum(outcome.utilities)
        assert math.isclose(total, sum_, rel_tol=1e-9, abs_tol=1e-6), f"payoffs add up to {total}, not to {sum_}"


def _check_record(game: Game, ids: tuple[str, ...], seed: int) -> None:
    _match, record = _random_match(game, ids, seed)
    rejudge(record, game)
    for what, changed in changed_records(record, generator(seed, "forger")):
        try:
            rejudge(changed, game)
        except RecordMismatch as mismatch:
            assert record.spec.match_id in str(mismatch), f"{what}: the error does not name the match: {mismatch}"
        else:
            raise AssertionError(f"{what}: nobody noticed")


def changed_records(record: MatchRecord, rng: Random) -> Iterator[tuple[str, MatchRecord]]:
    """Make records that differ from a true one in one event each: (what was changed, the record)."""
    events = list(record.events)
    kinds: tuple[EventKind, ...] = ("open", "action", "message", "rejected", "timeout", "forfeit", "lost", "end")
    for seq, event in enumerate(events):
        at = rng.randrange(len(event.body))
        byte = bytes([event.body[at] ^ (1 << rng.randrange(8))])
        changes: dict[str, Any] = {
            "body": event.body[:at] + byte + event.body[at + 1 :],
            "time": math.nextafter(event.time, math.inf),
            "kind": rng.choice([k for k in kinds if k != event.kind]),
            "sender": event.sender + 1,
            "cause": event.cause + 1,
            "recipients": (0,) if event.recipients is None else None,
            "seq": event.seq + 1,
        }
        for field, value in changes.items():
            forged = msgspec.structs.replace(event, **{field: value})
            yield (
                f"{field} of event {seq}",
                msgspec.structs.replace(record, events=[*events[:seq], forged, *events[seq + 1 :]]),
            )
        yield f"event {seq} left out", msgspec.structs.replace(record, events=[*events[:seq], *events[seq + 1 :]])
