"""Agents that are asked in several threads at once: they think side by side, and each thought ends with its turn."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from paced_game import Accept, Bid, Consult, Market, Panel, Report

from actors.agent import Action, Agent, Answer, Decision
from actors.runtime.host import AgentHost
from actors.seat import Seat
from actors.turn import Turn
from sim.bus import Address, LocalBus
from sim.clock import Clock, run_virtual
from sim.delivery import Delivery, UnreliableBus
from sim.game import Game, Pass
from sim.games.bargaining import BargainingGame
from sim.messages import Act, Event, Forfeit, MatchEnd, MatchOpen, Message, PhaseOpen, Update, Verdict, YourTurn
from sim.record import MatchRecord
from sim.replay import rejudge

Play = Callable[..., Awaitable[MatchRecord]]


def desks(**parameters: Any) -> Market:
    return Market(**({"turn_order": "concurrent", "turn_timeout": 10.0, "rounds": 1} | parameters))


def panel(**parameters: Any) -> Panel:
    return Panel(**({"turn_order": "concurrent", "turn_timeout": 10.0, "topics": 1} | parameters))


def bodies(record: MatchRecord, seat: int, *kinds: str) -> list[dict[str, Any]]:
    return [msgspec.json.decode(e.body) for e in record.events if e.kind in kinds and e.sender == seat]


def threads(record: MatchRecord, seat: int, kind: str) -> list[int]:
    return sorted(body.get("thread", 0) for body in bodies(record, seat, kind))


class Passes(Agent):
    def decide(self, turn: Turn) -> Answer:
        return Pass()


class Slow(Agent):
    """Passes after a second; notes how many thoughts there were at once, and which were cancelled."""

    seconds = 1.0

    def __init__(self, agent_id: str) -> None:
        super().__init__(agent_id)
        self.now = self.most = self.begun = 0
        self.cancelled: list[int] = []

    async def act(self, turn: Turn) -> Answer:
        self.now += 1
        self.begun += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.wait(turn))
        except asyncio.CancelledError:
            self.cancelled.append(turn.thread)
            raise
        finally:
            self.now -= 1
        return self.answer(turn)

    def wait(self, turn: Turn) -> float:
        return self.seconds

    def answer(self, turn: Turn) -> Answer:
        return Pass()


def sellers(count: int) -> list[Agent]:
    return [Passes(f"s{n}") for n in range(count)]


def left(ended: Agent) -> int:
    """How many thoughts of an agent are still there."""
    return getattr(ended, "now", 0)


def run(play: Play, game: Game, agents: list[Agent], **options: Any) -> tuple[MatchRecord, list[Agent]]:
    """Play a match and judge it again; nothing may go on when it is over."""

    async def main() -> MatchRecord:
        problems: list[Any] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: problems.append(context))
        record = await play(game, agents, **options)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not others, others
        assert not problems, problems
        return record

    record = run_virtual(main())
    rejudge(record, game)
    return record, agents


# ── side by side ────────────────────────────────────────────────────────────────────────────────────────


async def test_in_real_time_too(play: Play) -> None:
    slow = Slow("b")
    slow.seconds = 0.05
    record = await play(desks(rounds=2), [slow, *sellers(8)])
    assert 0.1 <= record.seconds < 0.6
    assert slow.most == 8
    rejudge(record, desks(rounds=2))


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_slow_agent_in_eight_threads_takes_one_delay_a_round_and_not_eight(rounds: int, play: Play) -> None:
    slow = Slow("b")
    record, _ = run(play, desks(rounds=rounds), [slow, *sellers(8)])
    assert record.seconds == pytest.approx(rounds * 1.0, abs=1e-6)
    assert (slow.most, slow.begun, slow.cancelled) == (8, 8 * rounds, [])


def test_one_at_a_time_it_thinks_of_one_thing_at_a_time(play: Play) -> None:
    slow = Slow("b")
    record, _ = run(play, desks(turn_order="round_robin"), [slow, *sellers(8)])
    assert record.seconds == pytest.approx(8.0, abs=1e-6)
    assert slow.most == 1


def test_one_agent_at_all_seats_thinks_of_all_of_them(play: Play) -> None:
    agents: list[Agent] = [Slow("b1"), Slow("b2"), Slow("s1"), Slow("s2")]
    record, _ = run(play, desks(buyers=2, rounds=2), agents)
    assert record.seconds == pytest.approx(4.0, abs=1e-6)


def test_an_agent_that_decides_at_once_plays_all_threads(play: Play) -> None:
    record, _ = run(play, desks(rounds=2), [Passes("b"), *sellers(8)])
    assert record.seconds == 0.0
    assert threads(record, 0, "action") == sorted([*range(1, 9)] * 2)
    assert record.errors == ()


# ── the end of a thought ────────────────────────────────────────────────────────────────────────────────


class SlowInTwo(Slow):
    """Takes for ever in thread 2."""

    def wait(self, turn: Turn) -> float:
        return 1e6 if turn.thread == 2 else 1.0


def test_a_turn_that_lapses_is_cancelled_and_the_others_are_not(play: Play) -> None:
    agent = SlowInTwo("b")
    record, _ = run(play, desks(rounds=2), [agent, *sellers(3)])
    assert agent.cancelled == [2, 2]
    assert threads(record, 0, "timeout") == [2, 2]
    assert threads(record, 0, "action") == [1, 1, 3, 3]
    assert record.seconds == pytest.approx(20.0, abs=1e-5)
    assert left(agent) == 0


class Buys(Slow):
    """Accepts in thread 1 what is on offer, and thinks for ever elsewhere once it has bid."""

    def wait(self, turn: Turn) -> float:
        return 1.0 if turn.thread == 1 else 5.0

    def answer(self, turn: Turn) -> Answer:
        return Accept() if "accept" in turn.allowed_actions else Bid(50)


def test_what_is_thought_of_in_a_thread_that_is_closed_is_cancelled_at_once(play: Play) -> None:
    """The first pair trades after two seconds, and the other buyer is left with the other seller."""
    first, second = Buys("b1"), SlowInTwo("b2")
    second.wait = lambda turn: 4.0  # type: ignore[method-assign]
    record, _ = run(play, desks(buyers=2, rounds=2), [first, second, Passes("s1"), Passes("s2")])
    assert first.cancelled == [2], "it has bought"
    assert second.cancelled == [3], "the first seller has sold"
    assert threads(record, 1, "timeout") == []
    assert left(first) == left(second) == 0


def test_the_end_of_the_match_cancels_all_thoughts(play: Play) -> None:
    class Ends(Passes):
        def decide(self, turn: Turn) -> Answer:
            return Accept() if "accept" in turn.allowed_actions else Bid(5)

    class BidsInOne(Slow):
        def wait(self, turn: Turn) -> float:
            return 1.0 if turn.thread == 1 else 1e6

        def answer(self, turn: Turn) -> Answer:
            return Bid(5)

    agent = BidsInOne("b")
    record, _ = run(play, desks(), [agent, Ends("s1"), Ends("s2"), Ends("s3")])
    assert record.seconds == pytest.approx(1.0, abs=1e-6)
    assert agent.cancelled == [2, 3]


def test_another_phase_ends_what_was_thought_of_in_the_one_before(play: Play) -> None:
    class Lead(Slow):
        def wait(self, turn: Turn) -> float:
            return 0.0

        def answer(self, turn: Turn) -> Answer:
            return Report() if "consult" not in turn.allowed_actions or turn.round > 1 else Consult("why?")

    class Expert(Slow):
        seconds = 1e6

    experts = [Expert("e1"), Expert("e2")]
    record, _ = run(play, panel(topics=2), [Lead("lead"), *experts])
    assert [expert.cancelled for expert in experts] == [[1], [2]]
    assert record.seconds == pytest.approx(10.0, abs=1e-6)
    assert len(bodies(record, 0, "timeout")) == 1


# ── agents that fail ────────────────────────────────────────────────────────────────────────────────────


class Raises(Slow):
    """Raises in thread 2 after half a second."""

    error: BaseException = ValueError("no idea")

    def wait(self, turn: Turn) -> float:
        return 0.5 if turn.thread == 2 else 1.0

    def answer(self, turn: Turn) -> Answer:
        if turn.thread == 2:
            raise self.error
        return Pass()


class Odd(BaseException):
    """Neither an `Exception` nor one of Python's own."""


@pytest.mark.parametrize(
    "error",
    [ValueError("no idea"), SystemExit(3), asyncio.CancelledError(), Odd("odd")],
    ids=lambda e: type(e).__name__,
)
def test_an_agent_that_raises_in_one_thread_forfeits_that_turn_alone(error: BaseException, play: Play) -> None:
    agent = Raises("b")
    agent.error = error
    record, _ = run(play, desks(), [agent, *sellers(3)])
    assert threads(record, 0, "forfeit") == [2]
    assert threads(record, 0, "action") == [1, 3]
    assert record.seconds == pytest.approx(1.0, abs=1e-6)
    assert len(record.errors) == 1
    assert type(error).__name__ in record.errors[0]


def test_an_agent_that_exits_at_once_ends_nobodys_process(play: Play) -> None:
    class Exits(Agent):
        async def act(self, turn: Turn) -> Answer:
            sys.exit("enough")

    record, _ = run(play, desks(), [Exits("b"), *sellers(3)])
    assert threads(record, 0, "forfeit") == [1, 2, 3]
    assert record.outcome.status == "resolved"


class Clings(Slow):
    """Swallows its cancellation, and answers all the same."""

    async def act(self, turn: Turn) -> Answer:
        try:
            await asyncio.sleep(1e6)
        except asyncio.CancelledError:
            self.cancelled.append(turn.thread)
        return Pass()


def test_an_agent_that_catches_its_cancellation_and_goes_on_answers_too_late(play: Play) -> None:
    agent = Clings("b")
    record, _ = run(play, desks(rounds=2), [agent, *sellers(2)])
    assert threads(record, 0, "timeout") == [1, 1, 2, 2]
    assert agent.cancelled == [1, 2, 1, 2]
    assert [body["code"] for body in bodies(record, 0, "rejected")] == ["late"] * 4
    assert record.outcome.status == "resolved"


def test_an_agent_that_does_not_let_go_holds_up_no_host(play: Play) -> None:
    class Clutches(Agent):
        async def act(self, turn: Turn) -> Answer:
            while True:
                try:
                    await asyncio.sleep(1e6)
                except asyncio.CancelledError:
                    pass

    async def main() -> tuple[MatchRecord, float]:
        record = await play(desks(), [Clutches("b"), *sellers(2)])
        return record, asyncio.get_running_loop().time()

    record, ended = run_virtual(main())
    assert record.outcome.status == "resolved"
    assert threads(record, 0, "timeout") == [1, 2]
    assert ended < 30


def test_an_agent_that_garbles_one_thread_loses_that_turn_alone(play: Play) -> None:
    class Garbles(Passes):
        def decide(self, turn: Turn) -> Answer:
            return object() if turn.thread == 2 else Pass()  # type: ignore[return-value]

    record, _ = run(play, desks(), [Garbles("b"), *sellers(3)])
    assert threads(record, 0, "forfeit") == [2]
    assert len(bodies(record, 0, "rejected")) == 3


# ── what a turn knows ───────────────────────────────────────────────────────────────────────────────────


def test_messages_and_history_of_a_turn_are_those_of_its_thread(play: Play) -> None:
    class Talks(Passes):
        def __init__(self, agent_id: str) -> None:
            super().__init__(agent_id)
            self.read: dict[tuple[int, int], tuple[list[str], list[str]]] = {}

        def decide(self, turn: Turn) -> Answer:
            history = turn.state["action_history"]
            own = [f"{entry['agent_id']} {entry['action']} {entry['round']}" for entry in history]
            assert len(history) == len(own)
            self.read[turn.thread, turn.round] = [chat.text for chat in turn.messages], own
            return Decision(Pass(), [f"{self.agent_id} in {turn.thread}, round {turn.round}"])

    buyer = Talks("b")
    run(play, desks(rounds=2), [buyer, Talks("s1"), Talks("s2")])
    assert buyer.read[1, 1] == ([], [])
    for thread in (1, 2):
        own = [f"b in {thread}, round 1", f"s{thread} in {thread}, round 1"]
        assert buyer.read[thread, 2] == (own, ["b pass 1", f"s{thread} pass 1"])


def test_a_notice_is_read_as_a_message_of_the_referee(play: Play) -> None:
    class Reads(Passes):
        said: list[tuple[str, str]] = []  # noqa: RUF012

        def decide(self, turn: Turn) -> Answer:
            if turn.thread:
                return Pass()
            self.said += [(chat.agent_id, chat.text) for chat in turn.messages]
            return Consult("why?") if "consult" in turn.allowed_actions and turn.round == 1 else Report()

    class Silent(Slow):
        seconds = 1e6

        async def act(self, turn: Turn) -> Answer:
            Reads.said.extend((chat.agent_id, chat.text) for chat in turn.messages)
            return await super().act(turn)

    class AsksTwice(Reads):
        def decide(self, turn: Turn) -> Answer:
            return Consult("why?")

    run(play, panel(topics=2), [AsksTwice("lead"), Silent("e1"), Silent("e2")])
    assert ("referee", "too late") in Reads.said


def test_a_turn_that_waits_comes_back_to_its_agent(play: Play) -> None:
    class Lead(Agent):
        async def act(self, turn: Turn) -> Answer:
            await asyncio.sleep(1.0)
            if "consult" in turn.allowed_actions:
                return Consult("why?")
            return Report(", ".join(turn.state["heard"].values()))

    class Expert(Slow):
        def answer(self, turn: Turn) -> Answer:
            return Report(f"{self.agent_id} says so")

    for order in ("concurrent", "round_robin"):
        record, _ = run(play, panel(topics=2, turn_order=order), [Lead("lead"), Expert("e1"), Expert("e2")])
        reports = [body["payload"]["text"] for body in bodies(record, 0, "action") if body["action"] == "report"]
        assert reports == ["e1 says so, e2 says so"] * 2
        assert record.seconds == pytest.approx(6.0 if order == "concurrent" else 8.0, abs=1e-6)
        assert record.errors == ()


# ── agents that run free ────────────────────────────────────────────────────────────────────────────────


def test_an_agent_that_streams_is_told_all_that_it_may_see_and_answers_by_number(play: Play) -> None:
    class Streams(Agent):
        def __init__(self, agent_id: str) -> None:
            super().__init__(agent_id)
            self.events: list[Event] = []
            self.verdicts: list[Verdict] = []

        async def play(self, seat: Seat) -> None:
            async for item in seat:
                if isinstance(item, (YourTurn, PhaseOpen)):
                    self.verdicts.append(await seat.submit(Action("pass"), turn=item.turn))
                elif isinstance(item, Event):
                    self.events.append(item)

    buyer, seller = Streams("b"), Streams("s1")
    record, _ = run(play, desks(rounds=2), [buyer, seller, Passes("s2")])
    assert all(verdict.accepted for verdict in buyer.verdicts)
    assert len(buyer.verdicts) == 4
    assert {e.recipients for e in seller.events} <= {None, (0, 1)}
    visible = [e.seq for e in record.events if e.kind not in ("open", "end", "rejected")]
    assert [e.seq for e in buyer.events] == visible[: len(buyer.events)]
    assert record.errors == ()


def test_an_agent_that_runs_through_its_turns_one_by_one_is_woken_when_its_thread_is_closed(play: Play) -> None:
    class OneByOne(Agent):
        woken = 0

        async def play(self, seat: Seat) -> None:
            async for turn in seat.turns():
                try:
                    if turn.thread == 3:
                        await asyncio.get_running_loop().create_future()
                except asyncio.CancelledError:
                    self.woken += 1
                    raise
                seat.answer(turn.number, Pass())

    class Sells(Passes):
        def decide(self, turn: Turn) -> Answer:
            return Accept() if "accept" in turn.allowed_actions else Pass()

    class Bids(Agent):
        async def act(self, turn: Turn) -> Answer:
            await asyncio.sleep(1.0 if turn.thread == 1 else 1e6)
            return Bid(5)

    one = OneByOne("b2")
    record, _ = run(play, desks(buyers=2, rounds=2), [Bids("b1"), one, Sells("s1"), Passes("s2")])
    assert one.woken == 1
    assert threads(record, 1, "action") == [4, 4]
    assert record.seconds == pytest.approx(1.0, abs=1e-6)


# ── a seat by hand ──────────────────────────────────────────────────────────────────────────────────────


class Sent(LocalBus):
    """Keeps what is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.acts: list[Any] = []

    def send(self, sender: Address, to: Address, message: Any) -> None:
        self.acts.append(message)


def ask(turn: int, thread: int) -> Update:
    return Update([], PhaseOpen(turn, "trade", 1, 10.0, 10.0, ("pass",), msgspec.msgpack.encode({}), None, thread))


def happened(seq: int, kind: Any, sender: int, **body: Any) -> Event:
    return Event(seq, 0.0, kind, sender, 0, None, msgspec.json.encode({"agent_id": "b", **body}))


OPENING = Update([], MatchOpen("m", "b", ("b", "s"), "buyer", "", msgspec.msgpack.encode({}), 1, True))
END = Update([], MatchEnd(b"{}"))


def by_hand(agent: Agent, *steps: tuple[Update, ...]) -> list[Any]:
    """Hand updates to a seat, several at a time; returns what it sent."""

    async def main() -> list[Any]:
        bus, here = Sent(), Address(0, 0)
        host = AgentHost(lambda address: agent, bus, Clock())
        for step in ((OPENING,), *steps):
            for update in step:
                host.receive(Address(0, -1), here, update)
            await asyncio.sleep(0.1)
        await host.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return bus.acts

    return run_virtual(main())


def test_a_turn_that_is_over_before_the_agent_looks_is_not_thought_of() -> None:
    over = Update([happened(1, "timeout", 0, turn=1, thread=1)], None)
    notice = Event(2, 0.0, "notice", -1, 0, None, msgspec.json.encode({"text": "", "thread": 2, "closes": True}))
    agent = Slow("b")
    by_hand(agent, (ask(1, 1), over, ask(2, 2), Update([notice], None), ask(3, 3)), (END,))
    assert (agent.begun, agent.cancelled) == (1, [3])


def test_a_turn_that_is_asked_again_is_thought_of_anew() -> None:
    agent = Slow("b")
    sent = by_hand(agent, (ask(1, 1),), (ask(1, 1),), *[()] * 15)
    assert (agent.begun, agent.cancelled) == (2, [1])
    assert [(type(item), item.turn) for item in sent] == [(Act, 1)]


def test_the_next_turn_in_a_thread_ends_the_thought_of_the_one_before_whose_end_was_not_told() -> None:
    agent = Slow("b")
    sent = by_hand(agent, (ask(1, 1), ask(2, 2)), (ask(3, 1),), *[()] * 15)
    assert agent.cancelled == [1]
    assert sorted(item.turn for item in sent) == [2, 3]


def test_nothing_is_thought_of_after_the_end() -> None:
    agent = Slow("b")
    sent = by_hand(agent, (ask(1, 1), END), *[()] * 30)
    assert (agent.begun, sent) == (0, [])
    agent = Slow("b")
    assert by_hand(agent, (ask(1, 1), ask(2, 2)), (END,), *[()] * 30) == []
    assert agent.cancelled == [1, 2]


def test_a_thought_that_is_cancelled_before_it_begins_leaves_nothing() -> None:
    agent = Slow("b")

    class Spawns(Slow):
        async def play(self, seat: Seat) -> None:
            async for turn in seat.turns():
                seat.spawn(turn, self._answer(seat, turn))
                seat.stop_thinking()

    agent = Spawns("b")
    assert by_hand(agent, (ask(1, 1),), (ask(2, 1),)) == []
    assert agent.begun == 0


def test_a_host_that_closes_ends_all_thoughts() -> None:
    agent = Slow("b")
    assert by_hand(agent, (ask(1, 1), ask(2, 2))) == []
    assert sorted(agent.cancelled) == [1, 2]


def test_a_match_that_is_forgotten_is_thought_of_no_more() -> None:
    async def main() -> tuple[list[int], list[Any]]:
        agent, bus = Slow("b"), Sent()
        host = AgentHost(lambda address: agent, bus, Clock())
        for update in (OPENING, ask(1, 1), ask(2, 2)):
            host.receive(Address(0, -1), Address(0, 0), update)
        await asyncio.sleep(0.1)
        host.forget(Address(0, 0))
        await asyncio.sleep(5)
        return agent.cancelled, bus.acts

    assert run_virtual(main()) == ([1, 2], [])


# ── on a bus that is not to be relied on ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "delivery",
    [Delivery(duplicate=1.0), Delivery(delay="uniform:0:6", reorder=True, loss=0.1, duplicate=0.2)],
    ids=["duplicates", "all"],
)
def test_whatever_the_bus_does_threads_are_played_to_the_end(delivery: Delivery, seed: int, play: Play) -> None:
    class Lead(Slow):
        def answer(self, turn: Turn) -> Answer:
            return Consult("why?") if "consult" in turn.allowed_actions else Report()

    class Expert(Passes):
        def decide(self, turn: Turn) -> Answer:
            return Report()

    class SlowExpert(Slow):
        def answer(self, turn: Turn) -> Answer:
            return Report()

    async def one(game: Game, agents: list[Agent]) -> MatchRecord:
        bus = UnreliableBus(LocalBus(), Clock(), delivery, seed)
        return await play(game, agents, bus=bus)

    for game, agents in (
        (desks(rounds=2), [Slow("b"), Slow("s1"), Passes("s2")]),
        (panel(topics=2), [Lead("lead"), SlowExpert("e1"), Expert("e2")]),
    ):
        record = run_virtual(one(game, agents), explore=seed)
        assert record.outcome.status == "resolved"
        rejudge(record, game)
        if delivery.loss == 0:
            assert not [e for e in record.events if e.kind in ("timeout", "forfeit")]


def test_forfeits_are_sent_with_the_number_of_their_turn() -> None:
    agent = Raises("b")
    sent = by_hand(agent, (ask(7, 2), ask(8, 1)), *[()] * 15)
    assert [(type(item), item.turn) for item in sent] == [(Forfeit, 7), (Act, 8)]


# ── private words ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("threads", ["parallel", "sequential"])
def test_private_words_reach_whom_they_are_for_from_a_thread_that_it_has_no_part_in(threads: str, play: Play) -> None:
    heard: dict[str, list[str]] = {"b2": [], "b3": [], "s": []}

    class Ears(Agent):
        def decide(self, turn: Turn) -> Answer:
            heard[turn.agent_id] += [chat.text for chat in turn.messages if chat.private]
            return Action("choose", {"partner": "s"}) if "choose" in turn.allowed_actions else Pass()

    class Whispers(Ears):
        def decide(self, turn: Turn) -> Answer:
            answer = Action("choose", {"partner": "s"}) if "choose" in turn.allowed_actions else Pass()
            return Decision(answer, messages=[Message("Psst.", to=("b2", "s"))] if turn.round == 1 else [])

    game = BargainingGame(
        buyers={name: {"max_price": 16_000} for name in ("b1", "b2", "b3")},  # type: ignore[misc]
        sellers={"s": {"min_price": 12_000, "list_price": 18_000}},  # type: ignore[dict-item]
        threads=threads,  # type: ignore[arg-type]
        chooser="buyers" if threads == "sequential" else None,
        max_rounds=3,
    )
    record = run_virtual(play(game, [Whispers("b1"), Ears("b2"), Ears("b3"), Ears("s")]))
    assert record.errors == ()
    assert "Psst." in heard["b2"] and "Psst." in heard["s"]
    assert heard["b3"] == []
