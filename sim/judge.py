"""The referee's pure core: reads the inbox of one match, item by item, and rules on each.

A judge has no clock, no bus and no task. Whoever owns it hands it an item and the time, then sends what is in
`outbox` and sets a timer for `deadline`. So a live match, a stress test and a record that is judged again all
run the same code.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import Any

import msgspec

from sim.actions import decode_payload
from sim.errors import IllegalAction
from sim.game import ActionType, Game, MessageOnly, Outcome, Phase, State
from sim.log import EventLog, submission_size
from sim.messages import (
    REFEREE,
    Abort,
    Act,
    Code,
    Deadline,
    EventKind,
    Forfeit,
    Lost,
    MatchEnd,
    MatchOpen,
    PhaseOpen,
    Rejection,
    ToReferee,
    ToSeat,
    Verdict,
    YourTurn,
)
from sim.record import ActionBody, MatchRecord, MatchSpec
from sim.rng import UNDRAWN, derive_each, generator
from sim.turns import Concurrent, RoundRobin, TurnKeeper

_NO_ATTEMPT = ("agent_not_in_match", "duplicate", "late", "not_your_turn")
"""Codes of submissions that were no attempt at the open turn, and do not count against it."""

_ALWAYS_LEGAL = (MessageOnly.name,)

_json = msgspec.json.Encoder()
_outcome_decoder = msgspec.json.Decoder(Outcome)
_pack = msgspec.msgpack.Encoder()


class OpenTurn(msgspec.Struct, gc=False):
    """An open turn. Its place is seat and thread in one number; in a game of one thread it is the seat."""

    id: int
    seat: int
    round: int
    deadline: float
    legal: tuple[str, ...]
    place: int
    thread: int = 0
    phase: str = ""
    invalid: int = 0
    pings: int = 0
    calls: int = 1


class Refused(Exception):
    """A submission is refused: with which code, and why."""

    def __init__(self, code: Code, reason: str) -> None:
        self.rejection = Rejection(code, reason)


class Judge:
    """Rules on one match.

    Args:
        spec: What makes the match.
        game: Its rules.
        state: Where it begins; None starts it.

    Attributes:
        state: The game's state; the judge owns it.
        log: The events so far.
        outbox: What is to be sent, as (seat, message); None stands for the news alone. Whoever sends it empties it.
        deadline: When the next open turn lapses, in seconds of the match, or before that; infinite when none is open.
        outcome: How the match ended, or None.
    """

    def __init__(self, spec: MatchSpec, game: Game, state: State | None = None) -> None:
        self.spec = spec
        self.game = game
        self.state = start(spec, game) if state is None else state
        self.log = EventLog(spec.agent_ids)
        self.outbox: list[tuple[int, ToSeat | None]] = []
        self.deadline = inf
        self.outcome: Outcome | None = None
        self._seats = range(len(spec.agent_ids))
        self._action_types = game.action_types
        self._threads = False
        self._concurrent = game.turn_order == "concurrent"
        self._steady = not self._concurrent  # one at a time, what was legal when a turn was opened still is
        self._keeper = self._make_keeper()
        self._ask_type = PhaseOpen if self._concurrent else YourTurn
        self._open: dict[int, OpenTurn] = {}
        self._lapsed: set[int] = set()
        self._seen: list[set[int]] = [set() for _ in self._seats]
        self._pings = [0] * len(self._seats)
        self._lost: set[int] = set()
        self._auto: list[OpenTurn] = []
        self._turns = 0
        self._errors: list[str] = []

    def _make_keeper(self) -> TurnKeeper:
        return Concurrent(self) if self._concurrent else RoundRobin(self)

    # ── the life of a match ─────────────────────────────────────────────────────────────────────────────

    def open(self) -> None:
        """Open the match at time 0: tell every seat its role and its private facts, and begin the first phase."""
        spec, game = self.spec, self.game
        roles = tuple(game.role(spec.agent_ids, seat) for seat in self._seats)
        private = [self.state.private_facts(seat) for seat in self._seats]
        self.log.opened(game.game_id, roles, private)
        seeds = derive_each(spec.seed, "seat", len(spec.agent_ids))
        for seat in self._seats:
            opening = MatchOpen(
                match_id=spec.match_id,
                agent_id=spec.agent_ids[seat],
                agent_ids=spec.agent_ids,
                role=roles[seat],
                rules=game.rules_text(roles[seat]),
                private=_pack.encode(private[seat]),
                seed=seeds[seat],
                threads=self._threads,
            )
            self.outbox.append((seat, opening))
        self._begin(self.state.phase)
        self._settle()

    def read(self, sender: int, item: ToReferee, now: float) -> None:
        """Rule on one item of the inbox.

        Args:
            sender: The seat that really sent it; `REFEREE` for the clock and the process.
            item: The item.
            now: Seconds since the match opened.
        """
        if self.outcome is not None:
            if isinstance(item, Act):
                self._answer(sender, item.cause, Rejection("match_not_running", f"{self.spec.match_id} is over"))
            return
        self.log.now = now
        if type(item) is Act:
            try:
                action, turn = self._check(sender, item)
                self._apply(sender, action, turn)
            except Refused as refused:
                self._reject(sender, item, refused.rejection)
            except IllegalAction as illegal:
                self._reject(sender, item, Rejection(illegal.code, str(illegal)))
            else:
                self._accept(sender, item, action, turn)
        elif isinstance(item, Deadline):
            self._read_deadline(item.at)
        elif isinstance(item, Forfeit):
            if sender in (item.seat, REFEREE):
                self._read_forfeit(item)
        elif isinstance(item, Lost):
            if sender in (item.seat, REFEREE) and item.seat in self._seats:
                self._read_lost(item)
        elif isinstance(item, Abort):
            self._read_abort(item)
        if self._auto:
            self._settle()

    def close(self) -> MatchRecord:
        """Return the record; the match must be over. The turn-keeper goes, so that no cycle keeps the judge alive."""
        assert self.outcome is not None
        del self._keeper
        return MatchRecord(
            spec=self.spec,
            events=self.log.events,
            outcome=self.outcome,
            turns=self._turns,
            messages=self.log.messages,
            seconds=self.log.now,
            errors=tuple(self._errors),
            uncounted=self.log.uncounted,
        )

    # ── submissions ─────────────────────────────────────────────────────────────────────────────────────

    def _check(self, sender: int, act: Act) -> tuple[Any, OpenTurn | None]:
        """Return the typed action and the open turn of its sender, or raise why it is refused."""
        game = self.game
        if sender != act.seat or sender not in self._seats:
            raise Refused("agent_not_in_match", f"seat {act.seat} is not the sender's")
        seen = self._seen[sender]
        if act.cause in seen:
            raise Refused("duplicate", f"submission {act.cause} was received before")
        seen.add(act.cause)
        try:
            size = submission_size(act)
        except UnicodeEncodeError:
            raise Refused("invalid_payload", "text that is not Unicode") from None
        if size > game.max_bytes:
            raise Refused("too_large", f"{size:,} bytes; at most {game.max_bytes:,} are allowed")
        kind = self._action_types.get(act.action)
        if kind is None:
            if act.problem:
                raise Refused("invalid_payload", act.problem[:500])
            known = ", ".join(game.action_types)
            raise Refused("invalid_action_type", f"{act.action[:40]!r} is not an action of this game: {known}")
        turn = self._turn_of(sender, act.turn)
        if kind is not MessageOnly and not (
            self._steady and turn is not None and act.turn == turn.id and act.action in turn.legal
        ):
            self._check_turn(sender, act, turn)
        try:
            action = decode_payload(kind, act.payload)
        except ValueError as error:
            raise Refused("invalid_payload", str(error)) from None
        messages = act.messages
        if messages:
            count, most = len(messages), game.max_messages_per_turn
            if count > most:
                raise Refused("game_rule_violation", f"{count} messages in one submission; at most {most} are allowed")
            for message in messages:
                if message.to is not None:
                    self._check_recipients(message.to)
        if kind is MessageOnly:
            self._check_ping(sender, act, turn)
        return action, turn if act.turn else self._meant(sender, action, turn)

    def _meant(self, sender: int, action: Any, turn: OpenTurn | None) -> OpenTurn | None:
        """Return the turn that an action is for which quotes none."""
        return turn

    def _turn_of(self, sender: int, number: int) -> OpenTurn | None:
        """Return the open turn of a seat that quotes this number."""
        return self._open.get(sender)

    def _apply(self, sender: int, action: ActionType, turn: OpenTurn | None) -> None:
        if type(action) is not MessageOnly:
            self.state.apply(sender, action)

    def _check_turn(self, sender: int, act: Act, turn: OpenTurn | None) -> None:
        agent_id = self.spec.agent_ids[sender]
        if act.turn in self._lapsed:
            raise Refused("late", f"turn {act.turn} of {agent_id} has lapsed")
        if turn is None or act.turn != turn.id:
            in_phase = act.turn == 0 or self._first_turn <= act.turn <= self._turns
            if not (self._concurrent and in_phase and self._keeper.may_act(sender)):
                raise Refused("not_your_turn", f"it is not the turn of {agent_id}")
        legal = self.state.legal(sender)
        if act.action not in legal:
            raise Refused(
                "game_rule_violation",
                f"{act.action} is not legal for {agent_id} in phase {self._phase.name}: "
                f"legal are {', '.join((*legal, MessageOnly.name))}",
            )

    def _check_recipients(self, agent_ids: tuple[str, ...]) -> None:
        for agent_id in agent_ids:
            if agent_id not in self.spec.agent_ids:
                raise Refused("invalid_payload", f"a message to {agent_id[:40]!r}, who is not in this match")

    def _check_ping(self, sender: int, act: Act, turn: OpenTurn | None) -> None:
        if not act.messages:
            raise Refused("invalid_payload", "message_only needs at least one message")
        if not self._count_ping(sender, turn):
            most = self.game.max_message_pings
            raise Refused("game_rule_violation", f"message_only was used {most} times in this turn, the most allowed")

    def _count_ping(self, sender: int, turn: OpenTurn | None) -> bool:
        """Count a `message_only`; return whether there was one left."""
        if self._pings[sender] >= self.game.max_message_pings:
            return False
        self._pings[sender] += 1
        return True

    def _accept(self, sender: int, act: Act, action: ActionType, turn: OpenTurn | None) -> None:
        said: list[str] = []
        for message in act.messages:
            if message.to is None:
                said.append(message.text)
            else:
                self.log.private_message(sender, act.cause, message)
        turn_id, round_number = (turn.id, turn.round) if turn is not None else (act.turn, 0)
        agent_id, phase = self.spec.agent_ids[sender], self._phase.name
        body = ActionBody(agent_id, phase, round_number, turn_id, action.name, action, tuple(said))
        hidden = (sender,) if type(action) is MessageOnly and not said else None  # who whispers acts for nobody else
        public_part = action.public_part() if action.private_fields else None
        self.log.action("action", sender, act.cause, body, public_part, hidden)
        if type(action) is not MessageOnly:
            if turn is not None:
                del self._open[turn.place]
            if not self._moved_on() and self._keeper.acted(sender, action):
                self._close_phase()
        elif turn is not None:
            turn.invalid = 0
            self._ask(turn)

    def _reject(self, sender: int, act: Act, rejection: Rejection) -> None:
        turn = self._turn_of(sender, act.turn)
        attempt = turn is not None and act.turn == turn.id and rejection.code not in _NO_ATTEMPT
        attempt = attempt and turn is not None and turn.legal != ()  # a turn that waits is not asked
        self.log.rejected(sender if sender in self._seats else REFEREE, act, rejection, attempt=attempt)
        self._answer(sender, act.cause, rejection)
        if turn is None or not attempt:
            return
        turn.invalid += 1
        if turn.invalid >= self.game.max_invalid:
            self._default(turn, "forfeit", error=f"{turn.invalid} rejected answers")
        else:
            self._ask(turn, rejection)

    def _answer(self, sender: int, cause: int, rejection: Rejection) -> None:
        if sender in self._seats:
            self.outbox.append((sender, Verdict(cause, rejection)))

    # ── other items ─────────────────────────────────────────────────────────────────────────────────────

    def _read_deadline(self, at: float) -> None:
        lapsed = [turn for turn in self._open.values() if turn.deadline <= at]
        for turn in lapsed:
            self._lapsed.add(turn.id)
            self._default(turn, "timeout", deadline=turn.deadline, go_on=not self._concurrent)
            if self._concurrent and self._moved_on():
                return  # what the default did ended the phase, and the other turns with it
        if lapsed and self._concurrent:
            self._close_phase()

    def _read_forfeit(self, forfeit: Forfeit) -> None:
        turn = self._turn_of(forfeit.seat, forfeit.turn)
        if turn is not None and turn.id == forfeit.turn:
            self._errors.append(f"{self.spec.agent_ids[forfeit.seat]}: {forfeit.error}")
            self._default(turn, "forfeit", error=forfeit.error)

    def _read_lost(self, lost: Lost) -> None:
        if lost.seat in self._lost:
            return
        self._lost.add(lost.seat)
        self._errors.append(f"{self.spec.agent_ids[lost.seat]}: {lost.error}")
        self.log.lost(lost)
        self._auto.extend([turn for turn in self._open.values() if turn.seat == lost.seat])

    def _read_abort(self, abort: Abort) -> None:
        self._errors.append(abort.reason)
        self.log.abort(abort)
        try:
            self._end(self.state.stopped(abort.status, abort.status))
        except Exception:  # rules that are broken may not even be able to stop
            self._end(Outcome(abort.status, abort.status, (0.0,) * len(self._seats)))

    # ── turns and phases ────────────────────────────────────────────────────────────────────────────────

    def has_turn(self, seat: int) -> bool:
        """Return whether the seat has an open turn."""
        return seat in self._open

    def open_turns(self) -> list[OpenTurn]:
        """Return the open turns, by seat."""
        return sorted(self._open.values(), key=lambda turn: (turn.seat, turn.id))

    def open_turn(self, seat: int, round_number: int, legal: tuple[str, ...]) -> None:
        """Ask a seat; its deadline runs from now, or is that of the concurrent phase."""
        self._turns += 1
        if self._concurrent:
            deadline = self._phase_deadline
            self._pings[seat] = 0
        else:
            deadline = self.log.now + self.game.turn_timeout
            self._pings = [0] * len(self._pings)
        turn = self._open[seat] = OpenTurn(self._turns, seat, round_number, deadline, legal, seat)
        self.deadline = deadline
        if seat in self._lost:
            self._auto.append(turn)
        else:
            self._ask(turn)

    def _ask(self, turn: OpenTurn, rejection: Rejection | None = None) -> None:
        seat = turn.seat
        legal = self.state.legal(seat) if self._concurrent else turn.legal
        ask = self._ask_type(
            turn.id,
            self._phase.name,
            turn.round,
            turn.deadline,
            turn.deadline - self.log.now,
            legal + _ALWAYS_LEGAL,
            _pack.encode(self.state.view(seat)),
            rejection,
        )
        self.outbox.append((seat, ask))

    def _default(
        self,
        turn: OpenTurn,
        kind: EventKind,
        *,
        deadline: float | None = None,
        error: str | None = None,
        go_on: bool = True,
    ) -> None:
        """Give a turn the game's default action."""
        action = self.state.default_action(turn.seat)
        if action is not None:
            self.state.apply(turn.seat, action)
        del self._open[turn.place]
        name = None if action is None else action.name
        agent_id, phase = self.spec.agent_ids[turn.seat], self._phase.name
        body = ActionBody(agent_id, phase, turn.round, turn.id, name, action, (), deadline, None, error)
        self.log.action(kind, turn.seat, 0, body, None)
        self.outbox.append((turn.seat, None))  # its agent may still be thinking
        if go_on and not self._moved_on() and self._keeper.acted(turn.seat, action):
            self._close_phase()

    def _moved_on(self) -> bool:
        """Return whether the match is over or in another phase by now; if so that has begun."""
        outcome = self.state.outcome()
        if outcome is not None:
            self._end(outcome)
        elif self._turns >= self.game.max_turns:
            self._end(self.state.stopped("timed_out", "max_turns"))
        elif self.state.phase is not self._phase:
            self._begin(self.state.phase)
        else:
            return False
        return True

    def _close_phase(self) -> None:
        self.state.close_phase()
        outcome = self.state.outcome()
        if outcome is not None:
            self._end(outcome)
        else:
            self._begin(self.state.phase)

    def _begin(self, phase: Phase) -> None:
        self._open.clear()
        self._phase = phase
        self._first_turn = self._turns + 1
        self._phase_deadline = self.log.now + (self.game.phase_timeout or self.game.turn_timeout * phase.rounds)
        self.log.phase(phase.name)
        if self._keeper.begin(phase):
            self._close_phase()

    def _settle(self) -> None:
        """Give lost seats their default actions; in a loop, for a match may be all lost seats."""
        while self._auto:
            turn = self._auto.pop(0)
            if self._open.get(turn.place) is turn:
                self._default(turn, "forfeit", error="the seat is lost")

    def _end(self, outcome: Outcome) -> None:
        utilities = outcome.utilities
        if len(utilities) != len(self._seats) or not all(map(isfinite, utilities)):
            raise ValueError(f"the outcome has to give {len(self._seats)} finite utilities, not {utilities}")
        outcome = _outcome_decoder.decode(_json.encode(outcome))  # as the record will hold it
        ends = []
        for utility in outcome.utilities:
            own = {"status": outcome.status, "trigger": outcome.trigger, "utility": utility}
            ends.append(MatchEnd(_json.encode(outcome.details | own)))
        self.log.end(outcome)
        self.outbox.extend(enumerate(ends))
        self.outcome = outcome
        self.deadline = inf
        self._open.clear()
        self._auto.clear()


def start(spec: MatchSpec, game: Game) -> State:
    """Return the state of a match at its beginning."""
    return game.start(spec.agent_ids, generator(spec.seed, "game") if game.draws else UNDRAWN)
