"""Seats and the agents at them: whatever an agent does, its match ends in a typed outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from actors.agent import Action, Agent, Answer, Decision
from actors.answers import make_act
from actors.runtime.host import AgentHost
from actors.seat import Seat
from actors.turn import Turn
from sim.bus import Address, LocalBus
from sim.clock import Clock, run_virtual
from sim.errors import describe
from sim.game import Pass
from sim.games.provision_point import ProvisionPointGame, SubmitAmount
from sim.messages import REFEREE, MatchOpen, Message, Update, Verdict, YourTurn
from sim.record import MatchRecord, MatchSpec
from sim.replay import rejudge
from sim.testing import encode_events, play_on_bus

Play = Callable[..., Awaitable[MatchRecord]]


def simple(**parameters: Any) -> ProvisionPointGame:
    return ProvisionPointGame(mode="simple", turn_timeout=10.0, **({"max_rounds_commit": 3} | parameters))


def kinds(record: MatchRecord, seat: int) -> list[str]:
    return [event.kind for event in record.events if event.sender == seat]


def bodies(record: MatchRecord, kind: str) -> list[dict[str, Any]]:
    return [msgspec.json.decode(event.body) for event in record.events if event.kind == kind]


class Passes(Agent):
    def decide(self, turn: Turn) -> Answer:
        return Action("pass")


# ── agents that fail ────────────────────────────────────────────────────────────────────────────────────


class Blocked(Agent):
    """Thinks for ever, and notes when it is interrupted."""

    interrupted = 0

    async def act(self, turn: Turn) -> Answer:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.interrupted += 1
            raise
        raise AssertionError("nobody wakes it")


class Stubborn(Agent):
    """Swallows its interruption and answers all the same."""

    async def act(self, turn: Turn) -> Answer:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            return Action("submit_commitment", {"amount": 5})
        return Action("pass")


class Raises(Agent):
    def decide(self, turn: Turn) -> Answer:
        raise ValueError("my private plan failed")


class RaisesLater(Agent):
    async def act(self, turn: Turn) -> Answer:
        await asyncio.sleep(1)
        raise LookupError("too late to think")


class RaisesWithoutWords(Agent):
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("not even this")

    def decide(self, turn: Turn) -> Answer:
        raise self.Mute


class RaisesSurrogates(Agent):
    def decide(self, turn: Turn) -> Answer:
        raise ValueError("\ud800")


class HasNoMethod(Agent):
    """Defines none of the three."""


class PlayRaises(Agent):
    async def play(self, seat: Seat) -> None:
        raise OSError("no model")


class PlayRaisesOnATurn(Agent):
    async def play(self, seat: Seat) -> None:
        async for turn in seat.turns():
            raise OSError(f"turn {turn.number}")


class PlayReturns(Agent):
    async def play(self, seat: Seat) -> None:
        return


class PlayNeverReads(Agent):
    async def play(self, seat: Seat) -> None:
        await asyncio.get_running_loop().create_future()


class Garbles(Agent):
    def decide(self, turn: Turn) -> Answer:
        return object()  # type: ignore[return-value]


class Babbles(Agent):
    """Answers every question with messages alone."""

    def decide(self, turn: Turn) -> Answer:
        return Decision(Action("message_only"), ["blah"])


FAULTY: dict[type[Agent], tuple[str, str]] = {
    Blocked: ("timeout", ""),
    Stubborn: ("timeout", ""),
    Raises: ("forfeit", "ValueError: my private plan failed"),
    RaisesLater: ("forfeit", "LookupError: too late to think"),
    RaisesWithoutWords: ("forfeit", "Mute"),
    RaisesSurrogates: ("forfeit", r"ValueError: \ud800"),
    HasNoMethod: ("forfeit", "NotImplementedError: HasNoMethod defines none of"),
    PlayRaises: ("forfeit", "OSError: no model"),
    PlayRaisesOnATurn: ("forfeit", "OSError: turn"),
    PlayReturns: ("forfeit", "left the match before its end"),
    PlayNeverReads: ("timeout", ""),
    Garbles: ("forfeit", ""),
    Babbles: ("forfeit", ""),
}


@pytest.mark.parametrize("turn_order", ["round_robin", "concurrent"])
@pytest.mark.parametrize("faulty", FAULTY, ids=lambda kind: kind.__name__)
def test_an_agent_that_fails_forfeits_its_turns_and_the_match_ends_by_its_rules(
    faulty: type[Agent], turn_order: Any, play: Play
) -> None:
    game = simple(turn_order=turn_order, max_rounds_commit=2)
    record = run_virtual(play(game, [faulty("faulty"), Passes("sound")]))
    kind, error = FAULTY[faulty]
    assert record.outcome.status == "resolved"
    assert record.outcome.details["total_committed"] == 0
    assert kind in kinds(record, 0)
    assert set(kinds(record, 1)) == {"action"}
    if error:
        assert any(error in said for said in record.errors)
    assert all(not said.startswith("sound") for said in record.errors)
    rejudge(record, game)


def test_what_an_agent_raised_reaches_no_other_seat(play: Play) -> None:
    class Watches(Passes):
        seen = b""

        async def play(self, seat: Seat) -> None:
            async for item in seat:
                self.seen += msgspec.msgpack.encode(item)
                if isinstance(item, YourTurn):
                    await seat.submit(Action("pass"), turn=item.turn)

    watcher = Watches("watcher")
    record = run_virtual(play(simple(), [Raises("faulty"), watcher]))
    assert any("private plan" in said for said in record.errors)
    assert b"forfeit" in watcher.seen
    assert b"private plan" not in watcher.seen


def test_an_agent_that_is_still_thinking_when_its_turn_lapses_is_interrupted_and_asked_again(play: Play) -> None:
    blocked = Blocked("blocked")
    record = run_virtual(play(simple(), [blocked, Passes("b")]))
    assert kinds(record, 0) == ["timeout"] * 3
    assert blocked.interrupted == 3


def test_an_agent_is_interrupted_when_the_match_ends_without_it(play: Play) -> None:
    class Funds(Agent):
        def decide(self, turn: Turn) -> Answer:
            return Action("submit_commitment", {"amount": 500})

    blocked = Blocked("blocked")

    async def main() -> MatchRecord:
        record: MatchRecord = await play(simple(turn_order="concurrent"), [blocked, Funds("b")])
        return record

    assert run_virtual(main()).outcome.trigger == "threshold_met"
    assert blocked.interrupted == 1


def test_an_answer_to_a_turn_that_has_lapsed_is_late(play: Play) -> None:
    record = run_virtual(play(simple(), [Stubborn("a"), Passes("b")]))
    assert [body["code"] for body in bodies(record, "rejected")] == ["late"] * len(bodies(record, "rejected"))
    assert bodies(record, "rejected")
    assert record.outcome.details["total_committed"] == 0


def test_an_agent_that_raises_once_goes_on_with_the_next_turn(play: Play) -> None:
    class Recovers(Agent):
        async def act(self, turn: Turn) -> Answer:
            if turn.round == 1:
                raise ValueError("once")
            return Action("submit_commitment", {"amount": 7})

    record = run_virtual(play(simple(), [Recovers("a"), Passes("b")]))
    assert kinds(record, 0) == ["forfeit", "action"]
    assert record.outcome.details["total_committed"] == 7


def test_an_agent_whose_play_raises_on_a_turn_is_started_again_for_the_next(play: Play) -> None:
    class RaisesOnce(Agent):
        async def play(self, seat: Seat) -> None:
            async for turn in seat.turns():
                if turn.round == 1:
                    raise OSError("once")
                await seat.submit(Action("submit_commitment", {"amount": 7}), turn=turn.number)

    record = run_virtual(play(simple(), [RaisesOnce("a"), Passes("b")]))
    assert kinds(record, 0) == ["forfeit", "action"]


@pytest.mark.parametrize("seat", [0, 1])
def test_an_agent_whose_play_raises_at_once_again_has_left_the_match(seat: int, play: Play) -> None:
    class RaisesAtOnce(Agent):
        starts = 0

        async def play(self, seat: Seat) -> None:
            self.starts += 1
            if self.starts > 5:
                await asyncio.sleep(1000)
            raise OSError("no model")

    faulty = RaisesAtOnce("faulty")
    agents = [faulty, Passes("sound")]
    record = run_virtual(play(simple(), agents if seat == 0 else agents[::-1]))
    assert faulty.starts <= 2
    assert "lost" in kinds(record, seat)
    assert "timeout" not in kinds(record, seat)


def test_cancelling_the_host_ends_all_agents() -> None:
    async def main() -> tuple[int, int]:
        bus, clock = LocalBus(), Clock()
        agents = [Blocked("a"), PlayNeverReads("b")]
        host = AgentHost(lambda address: agents[address.seat], bus, clock)

        def players(*_: Any) -> Any:
            return host.receive

        match = asyncio.create_task(play_on_bus(MatchSpec(0, ("a", "b"), 1), simple(), players, bus=bus))
        await asyncio.sleep(1)
        open_seats = host.open_seats
        await host.close()
        match.cancel()
        return open_seats, len(asyncio.all_tasks()) - 2

    assert run_virtual(main()) == (2, 0)


# ── many matches at once ────────────────────────────────────────────────────────────────────────────────


class Remembers(Agent):
    """Counts its turns of each match on the seat, and those of all matches on itself."""

    def __init__(self, agent_id: str) -> None:
        super().__init__(agent_id)
        self.turns = 0
        self.memories: dict[str, dict[str, Any]] = {}

    def note(self, turn: Turn) -> Answer:
        self.turns += 1
        self.memories[turn.seat.match_id] = turn.memory
        turn.memory["turns"] = turn.memory.get("turns", 0) + 1
        turn.memory.setdefault("facts", set()).add(turn.private["my_reservation_value"])
        turn.memory.setdefault("draws", []).append(turn.rng.random())
        return Action("pass")


class RemembersAtOnce(Remembers):
    def decide(self, turn: Turn) -> Answer:
        return self.note(turn)


class RemembersWhileWaiting(Remembers):
    async def act(self, turn: Turn) -> Answer:
        await asyncio.sleep(turn.rng.random())
        return self.note(turn)


@pytest.mark.parametrize("kind", [RemembersAtOnce, RemembersWhileWaiting])
def test_one_agent_object_plays_many_matches_at_once_and_what_it_remembers_is_each_matchs_own(
    kind: type[Remembers], play: Play
) -> None:
    shared, game = kind("shared"), simple()

    async def main() -> list[MatchRecord]:
        bus = LocalBus()
        host = AgentHost(lambda address: shared, bus, Clock())
        matches = [
            play_on_bus(MatchSpec(n, ("shared", "other"), n), game, lambda *_: host.receive, bus=bus) for n in range(50)
        ]
        return await asyncio.gather(*matches)

    records = run_virtual(main())
    assert shared.turns == 50 * 2 * 3
    assert len(shared.memories) == 50
    draws = set()
    for memory in shared.memories.values():
        assert memory["turns"] == 3
        assert len(memory["facts"]) == 1
        draws.update(memory["draws"])
    assert len(draws) == 150
    assert len({encode_events(record) for record in records}) > 1


def test_an_agent_that_plays_alone_or_among_many_plays_the_same(play: Play) -> None:
    class Draws(Agent):
        def decide(self, turn: Turn) -> Answer:
            return Action("submit_commitment", {"amount": round(turn.rng.uniform(0, 40), 2)})

    one, other = Draws("a"), Draws("b")

    async def many() -> list[MatchRecord]:
        return await asyncio.gather(*(play(simple(), [one, other], seed=n, index=n) for n in range(20)))

    together = run_virtual(many())
    alone = [run_virtual(play(simple(), [one, other], seed=n, index=n)) for n in range(20)]
    assert [r.outcome for r in together] == [r.outcome for r in alone]
    assert len({r.outcome.details["total_committed"] for r in alone}) > 15


# ── turns ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_turn_shows_the_phase_the_role_the_state_and_what_is_legal(play: Play) -> None:
    seen: list[dict[str, Any]] = []

    class Looks(Agent):
        def decide(self, turn: Turn) -> Answer:
            seen.append({"phase": turn.phase, "role": turn.role, "round": turn.round, "state": dict(turn.state)})
            assert turn.allowed_actions == ("submit_commitment", "pass", "message_only")
            assert turn.agent_id == "a"
            assert turn.private == {"my_reservation_value": 70}
            assert not turn.concurrent
            assert turn.rejection is None
            assert turn.deadline == pytest.approx(turn.remaining)
            turn.state["commitments"]["a"] = 10**6  # a copy: this changes nothing
            return Action("pass")

    game = simple(valuations={"a": 70, "b": 90}, max_rounds_commit=2)
    record = run_virtual(play(game, [Looks("a"), Passes("b")]))
    assert [look["round"] for look in seen] == [1, 2]
    assert {look["phase"] for look in seen} == {"commit"}
    assert {look["role"] for look in seen} == {"contributor"}
    assert seen[1]["state"]["my_reservation_value"] == 70
    assert len(seen[0]["state"]["action_history"]) == 0
    assert record.outcome.details["total_committed"] == 0


def test_the_action_history_holds_the_public_actions_in_order_and_no_more(play: Play) -> None:
    histories: list[list[dict[str, Any]]] = []

    class Looks(Agent):
        def decide(self, turn: Turn) -> Answer:
            histories.append(list(turn.state["action_history"]))
            return Action("pass")

    class Commits(Agent):
        def decide(self, turn: Turn) -> Answer:
            return SubmitAmount(12.5)

    run_virtual(play(simple(max_rounds_commit=2), [Looks("a"), Commits("b")]))
    first, second = histories
    assert first == []
    assert [(entry["agent_id"], entry["action"], entry["payload"]) for entry in second] == [
        ("a", "pass", {}),
        ("b", "submit_commitment", {"amount": 12.5}),
    ]


def test_a_turn_holds_what_was_said_since_the_last_one_and_private_words_reach_their_recipients_alone(
    play: Play,
) -> None:
    heard: dict[str, list[tuple[int, list[tuple[str, str, bool]]]]] = {}

    class Talks(Agent):
        def decide(self, turn: Turn) -> Answer:
            said = [(chat.agent_id, chat.text, chat.private) for chat in turn.messages]
            heard.setdefault(self.agent_id, []).append((turn.round, said))
            if self.agent_id == "a":
                return Decision(Action("pass"), [f"aloud {turn.round}", Message("psst", ("c",))])
            return Action("pass")

    run_virtual(play(simple(max_rounds_commit=2), [Talks("a"), Talks("b"), Talks("c")]))
    assert heard["b"] == [(1, [("a", "aloud 1", False)]), (2, [("a", "aloud 2", False)])]
    assert [sorted(text for _, text, _ in said) for _, said in heard["c"]] == [["aloud 1", "psst"], ["aloud 2", "psst"]]
    assert {private for _, said in heard["c"] for _, text, private in said if text == "psst"} == {True}


def test_a_rejected_answer_is_asked_for_again_with_the_reason(play: Play) -> None:
    class Learns(Agent):
        def decide(self, turn: Turn) -> Answer:
            if turn.rejection is None:
                return Action("submit_commitment", {"amount": -1})
            assert turn.rejection.code == "invalid_payload"
            return Action("submit_commitment", {"amount": 1})

    record = run_virtual(play(simple(), [Learns("a"), Passes("b")]))
    assert kinds(record, 0) == ["rejected", "action"]


def test_draws_of_a_seat_follow_from_the_seed_of_the_match(play: Play) -> None:
    def draws(seed: int, explore: int | None) -> list[float]:
        drawn: list[float] = []

        class Draws(Agent):
            def decide(self, turn: Turn) -> Answer:
                drawn.append(turn.rng.random())
                return Action("pass")

        run_virtual(play(simple(), [Draws("a"), Passes("b")], seed=seed), explore=explore)
        return drawn

    assert draws(1, None) == draws(1, 5) == draws(1, 6)
    assert draws(1, None) != draws(2, None)


# ── submitting ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_free_running_agent_gets_everything_in_order_and_a_verdict_for_each_submission(play: Play) -> None:
    class Free(Agent):
        async def play(self, seat: Seat) -> None:
            self.items: list[str] = []
            self.verdicts: list[Verdict] = []
            async for item in seat:
                self.items.append(type(item).__name__)
                if isinstance(item, YourTurn) and item.rejection is None:
                    self.verdicts.append(await seat.submit(Action("bribe"), turn=item.turn))
                    self.verdicts.append(await seat.submit(Action("pass"), turn=item.turn, messages=["done"]))
            self.end = seat.end

    free = Free("a")
    record = run_virtual(play(simple(max_rounds_commit=2), [free, Passes("b")]))
    codes = [verdict.rejection.code if verdict.rejection else "accepted" for verdict in free.verdicts]
    assert codes == ["invalid_action_type", "accepted"] * 2
    assert free.items[0] == "Event"  # the phase
    assert free.items.count("Verdict") == 2
    assert record.messages == 2


def test_a_submission_after_the_end_is_told_so(play: Play) -> None:
    class Late(Agent):
        async def play(self, seat: Seat) -> None:
            async for item in seat:
                if isinstance(item, YourTurn):
                    await seat.submit(Action("submit_commitment", {"amount": 500}), turn=item.turn)
            assert seat.over
            assert seat.end is not None
            self.verdict = await seat.submit(Action("pass"))
            self.utility = seat.end["utility"]

    async def main() -> None:
        late = Late("a")
        bus, agents = LocalBus(), [late, Passes("b")]
        host = AgentHost(lambda address: agents[address.seat], bus, Clock())
        game = simple(valuations={"a": 70, "b": 90})
        await play_on_bus(MatchSpec(0, ("a", "b"), 1), game, lambda *_: host.receive, bus=bus, reactive=[0])
        await asyncio.sleep(0)
        assert late.verdict.rejection is not None
        assert late.verdict.rejection.code == "match_not_running"
        assert late.utility == 70
        assert host.open_seats == 0

    run_virtual(main())


def test_a_seat_that_does_not_read_fills_up_and_leaves_the_match() -> None:
    async def main() -> list[Any]:
        sent: list[Any] = []
        bus = LocalBus()
        bus.attach(Address(0, REFEREE), lambda sender, to, message: sent.append(message))
        agent = PlayNeverReads("a")
        seat = Seat(Address(0, 0), agent, bus, capacity=3)
        opening = MatchOpen("m000000", "a", ("a", "b"), "contributor", "", b"\x80", 1)
        seat.receive(Update([], opening))
        ask = YourTurn(1, "commit", 1, 9.0, 9.0, ("pass",), b"\x80", None)
        for _ in range(3):
            seat.put(ask)
        with pytest.raises(Exception, match="3 unread items"):
            seat.put(ask)
        return sent

    assert run_virtual(main()) == []


def test_news_that_come_twice_are_taken_once() -> None:
    from sim.messages import Event

    async def main() -> None:
        seat = Seat(Address(0, 0), Passes("a"), LocalBus())
        events = [Event(n, 0.0, "action", 1, n + 1, None, b'{"agent_id":"b"}') for n in range(3)]
        for batch in (events[:2], events[:2], events[1:], events):
            seat.receive(Update(batch, None))
        assert [event.seq for event in seat.events] == [0, 1, 2]

    run_virtual(main())


# ── what an agent may answer ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("answer", "action", "payload"),
    [
        (Action("pass"), "pass", {}),
        (Action("submit_commitment", {"amount": 5}), "submit_commitment", {"amount": 5}),
        (SubmitAmount(5.0), "submit_commitment", {"amount": 5.0}),
        (Pass(), "pass", {}),
        (Decision(Pass(), ["hi"]), "pass", {}),
    ],
)
def test_an_answer_by_name_typed_or_with_messages_becomes_a_submission(
    answer: Answer, action: str, payload: dict[str, Any]
) -> None:
    act = make_act(1, 2, 3, answer)
    assert (act.seat, act.turn, act.cause, act.action, act.problem) == (1, 2, 3, action, "")
    assert msgspec.msgpack.decode(act.payload) == payload


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (["hi", Message("psst", ("b",))], (Message("hi"), Message("psst", ("b",)))),
        ("hello", (Message("hello"),)),
        (Message("hello"), (Message("hello"),)),
        ([Message("psst", ["b"])], (Message("psst", ("b",)),)),  # type: ignore[arg-type]
        ([Message("psst", "b")], (Message("psst", ("b",)),)),  # type: ignore[arg-type]
        ((), ()),
    ],
)
def test_messages_may_be_text_or_messages_or_one_of_them(messages: Any, said: tuple[Message, ...]) -> None:
    act = make_act(0, 1, 1, Decision(Action("pass"), messages))
    assert (act.messages, act.problem) == (said, "")


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "pass",
        Action(5),  # type: ignore[arg-type]
        Action("submit_commitment", {"amount": object()}),
        Action("submit_commitment", {"amount": 10**40}),
        Action("submit_commitment", {"amount": "\ud800"}),
        Decision(Action("pass"), [5]),  # type: ignore[list-item]
        Decision(Action("pass"), [Message("hi", (1,))]),  # type: ignore[arg-type]
        Decision(Action("pass"), [Message(5)]),  # type: ignore[arg-type]
        Decision(Action("pass"), 5),  # type: ignore[arg-type]
        Decision("pass"),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_an_answer_that_cannot_be_sent_becomes_a_submission_that_says_why(answer: Any) -> None:
    act = make_act(0, 1, 1, answer)
    assert act.action == ""
    assert len(act.problem) > 8


def test_an_exception_is_described_in_one_line_of_bounded_length() -> None:
    assert describe(ValueError("two\nlines")) == "ValueError: two lines"
    assert describe(KeyError()) == "KeyError"
    assert len(describe(ValueError("x" * 10**6))) == 500
    assert describe(ValueError("\ud800")) == r"ValueError: \ud800"
    assert describe(RaisesWithoutWords.Mute()) == "Mute"


def test_an_agent_says_whether_it_decides_at_once_and_whether_it_wants_all_news() -> None:
    assert (Passes("a").decides, Passes("a").reactive) == (True, False)
    assert (Blocked("a").decides, Blocked("a").reactive) == (False, False)
    assert (PlayReturns("a").decides, PlayReturns("a").reactive) == (False, True)
