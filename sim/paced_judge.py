"""The judge of games that keep their own order: turns in several threads, as the state calls for them."""

from __future__ import annotations

from math import inf
from typing import Any

from sim.errors import IllegalAction
from sim.game import ActionType, Game, MessageOnly, Phase
from sim.judge import Judge, OpenTurn, Refused, start
from sim.messages import Act, EventKind, PhaseOpen, Rejection, YourTurn
from sim.paced import Call, PacedState
from sim.record import ActionBody, MatchSpec, NoticeBody
from sim.turns import AsCalled

_ALWAYS_LEGAL = (MessageOnly.name,)
_GRAIN = 1e-6
"""Seconds within which two times are the same instant."""


def appoint(spec: MatchSpec, game: Game) -> Judge:
    """Return the judge of a match, as its state needs one."""
    state = start(spec, game)
    return PacedJudge(spec, game, state) if isinstance(state, PacedState) else Judge(spec, game, state)


class PacedJudge(Judge):
    """Rules on one match of a paced game. Arguments and attributes as in `Judge`."""

    state: PacedState
    _keeper: AsCalled

    def __init__(self, spec: MatchSpec, game: Game, state: PacedState) -> None:
        self._numbered: dict[int, OpenTurn] = {}
        super().__init__(spec, game, state)
        self._threads = True
        self._rewords = type(state).heard is not PacedState.heard
        self._steady = False

    def _make_keeper(self) -> AsCalled:
        return AsCalled(self, at_once=self._concurrent)

    # ── the life of a match ─────────────────────────────────────────────────────────────────────────────

    def _leave_out_what_is_over(self) -> None:
        """Do not ask for a turn that this same item has ended, and ask once for one that it called for twice."""
        asked = set()
        for at, (seat, message) in reversed(list(enumerate(self.outbox))):
            if isinstance(message, (YourTurn, PhaseOpen)):
                turn = self._numbered[message.turn]
                if turn.id in asked or self._open.get(turn.place) is not turn:
                    self.outbox[at] = (seat, None)
                asked.add(turn.id)

    # ── submissions ─────────────────────────────────────────────────────────────────────────────────────

    def _turn_of(self, sender: int, number: int) -> OpenTurn | None:
        turn = self._numbered.get(number)
        if turn is not None and turn.seat == sender and self._open.get(turn.place) is turn:
            return turn
        if number:
            return None
        own = [turn for turn in self._open.values() if turn.seat == sender]
        return own[0] if len(own) == 1 else None

    def _meant(self, sender: int, action: Any, turn: OpenTurn | None) -> OpenTurn | None:
        """Return a turn for an action that answers none; it takes the place of one that is open in its thread."""
        if not action.unasked:
            return turn
        # Whatever turn is open: its payload says where it belongs.
        thread = self.state.thread_of(sender, action)
        place = thread * len(self._seats) + sender
        return OpenTurn(0, sender, 0, inf, (action.name,), place, thread, self._phase.name)

    def _check_turn(self, sender: int, act: Act, turn: OpenTurn | None) -> None:
        agent_id = self.spec.agent_ids[sender]
        if act.turn == 0 and self._action_types[act.action].unasked:
            return
        if turn is None:
            past = self._numbered.get(act.turn)
            if past is not None and past.seat == sender:
                raise Refused("late", f"turn {act.turn} of {agent_id} is over")
            raise Refused("not_your_turn", f"turn {act.turn} is no open turn of {agent_id}")
        if not turn.legal:
            raise Refused("not_your_turn", f"turn {turn.id} of {agent_id} waits until it is asked again")
        legal = self.state.legal(sender, turn.thread)
        if act.action not in legal:
            raise Refused(
                "game_rule_violation",
                f"{act.action} is not legal for {agent_id} in phase {turn.phase}: "
                f"legal are {', '.join((*legal, *_ALWAYS_LEGAL))}",
            )

    def _count_ping(self, sender: int, turn: OpenTurn | None) -> bool:
        if turn is None:
            return super()._count_ping(sender, turn)
        turn.pings += 1
        return turn.pings <= self.game.max_message_pings

    def _apply(self, sender: int, action: ActionType, turn: OpenTurn | None) -> None:
        if type(action) is MessageOnly:
            return
        assert turn is not None
        state = self.state
        before, state.now = state.now, self._time()
        try:
            state.apply(sender, action, turn.thread)
        except IllegalAction:
            state.now = before
            raise

    def _time(self) -> float:
        """Return the time for the rules: at the very instant of the alarm the order of the inbox decides.

        Timers are never to the point. What comes at that instant and is read before the alarm is not behind it.
        """
        now, alarm = self.log.now, self.state.alarm
        return alarm if alarm < now <= alarm + _GRAIN else now

    def _accept(self, sender: int, act: Act, action: ActionType, turn: OpenTurn | None) -> None:
        if type(action) is MessageOnly:
            self._accept_messages(sender, act, action, turn)
            return
        assert turn is not None
        thread = turn.thread
        said, heard = self._hear(sender, act, thread) if act.messages else ((), ())
        body = ActionBody(
            self.spec.agent_ids[sender],
            turn.phase,
            turn.round,
            turn.id,
            action.name,
            action,
            heard,
            None,
            None,
            None,
            thread,
            None if heard == said else said,
        )
        shown, party = self.state.shown(sender, action), self.state.party(thread)
        audience = party if party is None or sender in party else (sender,)  # as in `_audience`
        self.log.action("action", sender, act.cause, body, None if shown is action else shown, audience)
        if action.advances:
            self._open.pop(turn.place, None)
        else:
            turn.legal = ()  # it waits until the state calls for it again
        self._go_on()

    def _accept_messages(self, sender: int, act: Act, action: ActionType, turn: OpenTurn | None) -> None:
        """Write down what is said without an action, and ask the turn again that it came in."""
        quoted = self._numbered.get(act.turn) if turn is None else turn
        thread = quoted.thread if quoted is not None and quoted.seat == sender else 0
        said, heard = self._hear(sender, act, thread)
        body = ActionBody(
            self.spec.agent_ids[sender],
            self._phase.name if turn is None else turn.phase,
            0 if turn is None else turn.round,
            act.turn if turn is None else turn.id,
            action.name,
            action,
            heard,
            thread=thread,
            said=None if heard == said else said,
        )
        audience = self._audience(thread, sender) if said else (sender,)  # who whispers acts for nobody else
        self.log.action("action", sender, act.cause, body, None, audience)
        if turn is not None and turn.legal:
            turn.invalid = 0
            turn.legal = self.state.legal(sender, thread)
            self._ask(turn)

    def _hear(self, sender: int, act: Act, thread: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Write the private messages down; return the public ones as they are, and as others hear them."""
        state, rewords, said, heard = self.state, self._rewords, [], []
        for message in act.messages:
            text = state.heard(sender, message.text) if rewords else message.text
            if message.to is not None:
                self.log.private_message(sender, act.cause, message, thread, text)
            else:
                said.append(message.text)
                heard.append(text)
        return tuple(said), tuple(heard)

    def _audience(self, thread: int, sender: int) -> tuple[int, ...] | None:
        """Return who sees what a seat says and does in a thread; who has no part in it is heard by nobody."""
        party = self.state.party(thread)
        return party if party is None or sender in party else (sender,)

    # ── turns and phases ────────────────────────────────────────────────────────────────────────────────

    def _go_on(self) -> None:
        """Say and ask what the state wants said and asked."""
        state = self.state
        self._steady = False
        if state.notices:
            self._say()
        outcome = state.outcome()
        if outcome is not None:
            self._end(outcome)
        elif self._turns >= self.game.max_turns:
            self._end(state.stopped("timed_out", "max_turns"))
        else:
            if state.phase is not self._phase:
                self._enter(state.phase)
            self._keeper.ask(state.calls)
            if state.alarm < self.deadline:
                self.deadline = state.alarm
            elif not self._open and state.alarm == inf:
                self._close_phase()  # nobody is asked, and no alarm is set
        if len(self.outbox) > 1:
            self._leave_out_what_is_over()

    def _say(self) -> None:
        """Give the notices, and close the threads that are over."""
        state = self.state
        for notice in state.notices:
            to = state.party(notice.thread) if notice.to is None else notice.to
            self.log.notice(NoticeBody(notice.text, notice.thread, notice.closes, notice.facts), to)
            if notice.closes:
                self._keeper.withdraw(notice.thread)
                state.calls[:] = [call for call in state.calls if call.thread != notice.thread]
                for turn in [turn for turn in self._open.values() if turn.thread == notice.thread]:
                    del self._open[turn.place]
                    self.outbox.append((turn.seat, None))  # its agent may still be thinking
        state.notices.clear()

    def _begin(self, phase: Phase) -> None:
        self._enter(phase)
        self._go_on()

    def _enter(self, phase: Phase) -> None:
        if self._open:
            self.outbox.extend([(turn.seat, None) for turn in self._open.values()])  # their agents may still think
            self._open.clear()
        self._phase = phase
        self.log.phase(phase.name)
        self._keeper.begin(phase)

    def busy(self) -> bool:
        """Return whether a seat is asked and has not answered."""
        for turn in self._open.values():
            if turn.legal:
                return True
        return False

    def open_call(self, call: Call) -> None:
        """Ask a seat, if it can do anything; its deadline runs from now, but not past that of the turn around it."""
        seat, thread, seats = call.seat, call.thread, self._seats
        if seat not in seats:
            raise ValueError(f"there is no seat {seat} to be called")
        place = thread * len(seats) + seat
        legal = self.state.legal(seat, thread)
        turn = self._open.get(place)
        if turn is None:
            if not legal or self._turns >= self.game.max_turns:
                return
            turn = self._open_turn(call, place, legal)
        else:
            turn.calls += 1
            # A turn that goes round in circles waits for its deadline.
            turn.legal = legal if turn.calls <= self.game.max_turns else ()
            if not turn.legal:
                return
        self._steady = len(self._open) == 1  # nothing happens until it is answered: what is legal now still will be
        if seat in self._lost:
            self._auto.append(turn)
        else:
            self._ask(turn)

    def _open_turn(self, call: Call, place: int, legal: tuple[str, ...]) -> OpenTurn:
        number = self._turns = self._turns + 1
        deadline = self.log.now + self.game.turn_timeout
        if call.by < deadline:
            deadline = call.by
        if call.within is not None:
            deadline = self._no_later_than(call.within, deadline)
        if deadline < self.deadline:
            self.deadline = deadline
        phase = call.phase or self._phase.name
        seat = call.seat
        turn = OpenTurn(number, seat, call.round, deadline, legal, place, call.thread, phase)
        self._open[place] = self._numbered[number] = turn
        self._pings[seat] = 0
        return turn

    def _no_later_than(self, outer: tuple[int, int], deadline: float) -> float:
        seat, thread = outer
        turn = self._open.get(thread * len(self._seats) + seat)
        return deadline if turn is None else min(deadline, turn.deadline)

    def _ask(self, turn: OpenTurn, rejection: Rejection | None = None) -> None:
        if rejection is not None:
            turn.legal = self.state.legal(turn.seat, turn.thread)  # another's action may have changed it
        seat, thread, deadline = turn.seat, turn.thread, turn.deadline
        ask: YourTurn | PhaseOpen = self._ask_type(
            turn.id,
            turn.phase,
            turn.round,
            deadline,
            deadline - self.log.now,
            turn.legal + _ALWAYS_LEGAL,
            self.state.packed_view(seat, thread),
            rejection,
            thread,
        )
        self.outbox.append((seat, ask))

    def _read_deadline(self, at: float) -> None:
        for turn in [turn for turn in self._open.values() if turn.deadline <= at]:
            if self._open.get(turn.place) is turn:  # it may have hung on one that lapsed before it
                self._default(turn, "timeout", deadline=turn.deadline)
        while self.outcome is None and self.state.alarm <= at:
            self._wake()
        if self.outcome is None:
            self.deadline = min([self.state.alarm, *(turn.deadline for turn in self._open.values())])

    def _wake(self) -> None:
        """Let the state do what is due."""
        state, at = self.state, self.state.alarm
        self.log.alarm(at)
        state.now = self.log.now
        state.wake()
        if state.alarm <= at:
            raise RuntimeError(f"the alarm of {at} s is set again")
        self._go_on()

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
        seat, thread = turn.seat, turn.thread
        self.state.now = self.log.now
        action = self.state.default_action(seat, thread)
        if action is not None:
            self.state.apply(seat, action, thread)
        del self._open[turn.place]
        body = ActionBody(
            self.spec.agent_ids[seat],
            turn.phase,
            turn.round,
            turn.id,
            None if action is None else action.name,
            action,
            (),
            deadline,
            None,
            error,
            thread,
        )
        shown = None if action is None else self.state.shown(seat, action)
        audience = self._audience(thread, seat)
        self.log.action(kind, seat, 0, body, None if shown is action else shown, audience)
        self.outbox.append((seat, None))  # its agent may still be thinking
        self._go_on()
