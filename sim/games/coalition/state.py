"""The state of a coalition match: it reads actions into the core, and says, asks and pays what follows."""

from __future__ import annotations

from math import inf
from typing import Any

from msgspec import field

from sim.errors import IllegalAction
from sim.game import ActionType, Outcome, Pass, Status
from sim.games.coalition import actions, facts, items, reading, views
from sim.games.coalition.actions import Decline, Silence
from sim.games.coalition.asking import Asking
from sim.games.coalition.observing import Observer
from sim.games.coalition.outcome import outcome_of
from sim.games.coalition.scenario import Discovery
from sim.games.coalition.talks import PHASES, Made, Place, Talk
from sim.games.coalition.things import Formation
from sim.paced import Call


class CoalitionState(Asking, kw_only=True, dict=True):
    """Formations in flight, each in a thread of its own, on top of the world that the core owns.

    Thread 0 is the lobby. A discovery is a thread of one seat; a formation is a thread of the invited; where the
    initiator has to decide after consensus, that is a thread of the members.

    Other attributes as in `Asking`.

    Attributes:
        seats: The seats, by seat id.
        costs: What membership costs each seat, by task; task 1 comes first.
        peers: The seats that each seat knows.
        discoveries: What is discovered, in order.
        discovered: How much of it has been.
        searching: The threads in which a seat is asked whether it initiates, by task and seat.
        decided: How many decisions each seat has made.
        paid: How many decisions have been paid for.
        utilities: What each seat has got so far.
        ticked: When time was last read.
    """

    seats: dict[str, int]
    costs: list[list[int]]
    peers: list[tuple[int, ...]]
    discoveries: list[Discovery]
    discovered: int = 0
    searching: dict[int, dict[int, int]] = field(default_factory=dict)
    decided: list[int] = field(default_factory=list)
    paid: int = 0
    utilities: list[int] = field(default_factory=list)
    ticked: float = -inf

    def __post_init__(self) -> None:
        self.observer = Observer()

    # ── what a seat sees, and what it may do ────────────────────────────────────────────────────────────

    def private_facts(self, seat: int) -> dict[str, Any]:
        """Return what each task costs the seat as a member."""
        return {"costs": {str(task): cost for task, cost in enumerate(self.costs[seat], 1)}}

    def view(self, seat: int, thread: int = 0) -> dict[str, Any]:
        """Build what the seat may see of a discovery, or of a formation."""
        return views.view(self, seat, self.places[thread - 1]) if thread else {}

    def party(self, thread: int) -> tuple[int, ...] | None:
        """Return who takes part in a thread; the lobby is for all."""
        return self.places[thread - 1].party if thread else None

    def legal(self, seat: int, thread: int = 0) -> tuple[str, ...]:
        """Return what the seat is asked for in a thread; what it may do unasked is not in it."""
        if not thread:
            return ()
        place = self.places[thread - 1]
        if place.step == "C1":
            return ("initiate", "decline") if seat in self.searching.get(place.task, {}) else ()
        formation = self.world.open.get(place.formation)
        if formation is None or seat not in self.core.awaited(formation):
            return ()
        if place.step == "C4":
            return ("deploy", "abort") if formation.status == "consensus" else ()
        if formation.status != "open":
            return ()
        sign = () if formation.dead() else ("sign",)
        modify = ("modify",) if len(formation.versions) < self.world.max_versions else ()
        return (*sign, *modify, "reject", "pass")

    def default_action(self, seat: int, thread: int = 0) -> ActionType | None:
        """Return what silence is: declining to initiate, else no answer."""
        if not self.legal(seat, thread):
            return None
        return Decline() if self.places[thread - 1].step == "C1" else Silence()

    def thread_of(self, seat: int, action: Any) -> int:
        """Return the thread that an unasked action is meant for.

        Raises:
            IllegalAction: It names no formation that the seat is invited to.
        """
        formation = None if action.formation is None else self.world.formation(action.formation)
        if formation is None or seat not in formation.invited:
            named = "none" if action.formation is None else str(action.formation)
            raise IllegalAction(f"an action without a turn names a formation that you are invited to, not {named}")
        talk = self.talks[formation.number]
        return talk.current if isinstance(action, (actions.Deploy, actions.Abort)) else talk.thread

    # ── what happens ────────────────────────────────────────────────────────────────────────────────────

    def apply(self, seat: int, action: Any, thread: int = 0) -> None:
        """Apply an action in a thread.

        Raises:
            IllegalAction: The rules refuse it; its code is "late" for what was overtaken by something.
        """
        place = self.places[thread - 1]
        if isinstance(action, (Pass, Silence)):
            self.wait(seat, place, silent=isinstance(action, Silence))
        elif isinstance(action, Decline):
            self._answered(seat, place.task)
            made = self._decide(seat, place, action, "listening")
            self._pay(made, thread, {"task": place.task, "end": "listening", "utility": 0})
        else:
            self._read(seat, action, place)
        self._set_alarm()

    def wake(self) -> None:
        """Discover what is to be discovered, end what is due, and ask again who has not answered."""
        self.now = now = max(self.now, self.alarm)
        self.ticked = now
        self._follow(self._step(items.Tick()))
        self.discover()
        self.ask_again()
        self._set_alarm()

    def discover(self) -> None:
        """Ask those who discover something by now."""
        found = self.discoveries
        while self.discovered < len(found) and found[self.discovered].at <= self.now:
            discovery = found[self.discovered]
            self.discovered += 1
            self.notices.append(facts.discovered(self, discovery))
            threads = self.searching[discovery.task] = {}
            for seat in discovery.seats:
                threads[seat] = self.open_thread("C1", discovery.task, 0, (seat,))
                self.calls.append(Call(seat, threads[seat], 1, PHASES["C1"]))
        self._set_alarm()

    def _set_alarm(self) -> None:
        found, again = self.discoveries, self.again
        discovery = found[self.discovered].at if self.discovered < len(found) else inf
        self.alarm = min(self.world.next_due, discovery, again[0][0] if again else inf)

    def _read(self, seat: int, action: Any, place: Place) -> None:
        """Have the core read an action; write down that it was decided on, and what follows."""
        item = reading.item(self, seat, action, place)
        effects = self._step(item)
        if isinstance(action, actions.Initiate):
            self._answered(seat, place.task)
            self._begin(self.world.formation(effects[0].formation))
        number = effects[0].formation
        talk, after = self.talks[number], facts.NEXT[action.name]
        talk.asked.pop(seat, None)
        talk.waiting.pop(seat, None)
        talk.made.append(self._decide(seat, place, action, after, number, effects[0].version))
        self._follow(effects)

    def _answered(self, seat: int, task: int) -> None:
        """A seat has said whether it initiates."""
        asked = self.searching[task]
        del asked[seat]
        if not asked:
            del self.searching[task]

    def _step(self, item: items.Item) -> tuple[items.Effect, ...]:
        try:
            _, effects = self.core.step(self.world, item, self.now)
        except IllegalAction as error:
            self.observer.refused(self.world, item, error, self.now)
            raise IllegalAction(reading.in_words(str(error), self.agent_ids), code=error.code) from None
        self.observer.followed(effects)
        return effects

    def _begin(self, formation: Formation | None) -> None:
        """Open a thread for a new formation, and tell the invited."""
        assert formation is not None
        thread = self.open_thread("C2", formation.task, formation.number, formation.invited)
        self.talks[formation.number] = Talk(thread)
        self.notices.append(facts.proposed(self, formation, thread))

    # ── what follows ────────────────────────────────────────────────────────────────────────────────────

    def _follow(self, effects: tuple[items.Effect, ...]) -> None:
        """Say, ask and pay what follows from effects of the core."""
        changed: dict[int, bool] = {}
        for effect in effects:
            number = effect.formation
            match effect:
                case items.Checked():
                    self.notices.append(facts.checked(self, effect))
                case items.Proposed():
                    changed[number] = True
                case items.Signed() | items.Left():
                    changed.setdefault(number, False)
                case items.Reached():
                    self._reach(effect)
                case items.Activated() | items.Aborted() | items.Failed():
                    self._end(effect)
        for number, thinking in changed.items():
            self.ask_all(number, thinking=thinking)

    def _reach(self, effect: items.Reached) -> None:
        """Tell the party of consensus, and ask the initiator unless the coalition is active at once."""
        formation, talk = self.world.formation(effect.formation), self.talks[effect.formation]
        assert formation is not None
        talk.reached = self.now
        if self.world.tasks[formation.task].exclusive:
            for thread in self.searching.pop(formation.task, {}).values():
                self.notices.append(facts.taken(formation.task, thread))
        if effect.decide_by is None:
            return
        self.notices.append(facts.reached(self, formation, effect, talk.thread))
        talk.asked.clear()
        talk.waiting.clear()
        talk.activation = self.open_thread("C4", formation.task, formation.number, formation.members)
        self.ask(formation, talk, formation.initiator)

    def _end(self, effect: items.Activated | items.Aborted | items.Failed) -> None:
        """Pay for the decisions, tell the party, and close the thread."""
        formation, talk = self.world.formation(effect.formation), self.talks[effect.formation]
        assert formation is not None
        talk.ended = self.now
        talk.asked.clear()
        talk.waiting.clear()
        if formation.status == "active":
            for seat in formation.members:
                self.utilities[seat] += self.utility(formation, seat)
        ending = facts.ended(self, formation, effect, talk.current)
        for made in talk.made:
            self._pay(made, ending.thread, facts.payment(formation, self.utility(formation, made.seat)))
        talk.made.clear()
        self.notices.append(ending)

    def utility(self, formation: Formation, seat: int) -> int:
        """Return what a formation brings a seat: its share less its cost as a member, else nothing."""
        if formation.status != "active" or seat not in formation.members:
            return 0
        return formation.current.allocation.get(seat, 0) - self.costs[seat][formation.task - 1]

    # ── decisions ───────────────────────────────────────────────────────────────────────────────────────

    def _decide(self, seat: int, place: Place, action: Any, after: str, formation: int = 0, version: int = 0) -> Made:
        """Write a decision down."""
        self.decided[seat] += 1
        made = Made(seat, self.decided[seat], place.step, action.name, action.decision)
        self.notices.append(facts.decided(self, made, place, after, formation, version))
        return made

    def _pay(self, made: Made, thread: int, brings: dict[str, Any]) -> None:
        """Tell a seat, and it alone, what came of a decision."""
        self.paid += 1
        self.notices.append(facts.paid(made, thread, brings))

    # ── the end, and what is to be looked at ────────────────────────────────────────────────────────────

    @property
    def over(self) -> bool:
        """Whether nothing is open and nothing is to be discovered."""
        return not (self.world.open or self.searching) and self.discovered == len(self.discoveries)

    def outcome(self) -> Outcome | None:
        """Return the outcome once nothing is open and nothing is to be discovered."""
        return outcome_of(self, "resolved", None) if self.over else None

    def stopped(self, status: Status, trigger: str) -> Outcome:
        """Return the outcome of a match that was cut off: the coalitions that are active stand."""
        return outcome_of(self, status, trigger)

    def check(self) -> None:
        """Check the invariants, of what has changed since it was last asked; of everything at the end."""
        self.observer.check(self.world, self.ticked, over=self.over)
        decisions = sum(len(self.talks[number].made) for number in self.world.open)
        assert self.paid + decisions == sum(self.decided), "each decision has one utility, when its formation ends"
        self.check_asking()

    def races(self) -> dict[str, int]:
        """Return how often actions got in each other's way."""
        return dict(self.observer.races)
