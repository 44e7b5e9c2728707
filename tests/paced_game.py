"""Two small games that keep their own order: a market of desks, and a lead who asks experts."""

from __future__ import annotations

from random import Random
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import field

from sim.errors import ConfigError, IllegalAction
from sim.game import ActionType, Game, MessageOnly, Outcome, Pass, Phase, State, Status
from sim.paced import Call, Notice, PacedState

# ── a market of desks ───────────────────────────────────────────────────────────────────────────────────


class Bid(ActionType, frozen=True):
    """Name a price, with a word to it; the limit is between the bidder and the market."""

    name: ClassVar[str] = "bid"
    private_fields: ClassVar[tuple[str, ...]] = ("limit",)

    price: Annotated[float, msgspec.Meta(gt=0)]
    note: str = ""
    limit: Annotated[float, msgspec.Meta(gt=0)] | None = None


class Accept(ActionType, frozen=True):
    """Take the price that was named last."""

    name: ClassVar[str] = "accept"


class Desk(msgspec.Struct):
    """A desk at which one buyer and one seller talk."""

    buyer: int
    seller: int
    mover: int
    round: int = 1
    price: float | None = None
    open: bool = True


class MarketState(PacedState, kw_only=True):
    """Desks by thread, from 1; who trades leaves all other desks."""

    game: Any
    agent_ids: tuple[str, ...]
    worth: list[int]
    desks: list[Desk]
    gains: list[float]

    def private_facts(self, seat: int) -> dict[str, Any]:
        return {"worth": self.worth[seat]}

    def legal(self, seat: int, thread: int = 0) -> tuple[str, ...]:
        desk = self.desks[thread - 1] if thread else None
        if desk is None or not desk.open or desk.mover != seat:
            return ()
        return ("bid", "pass") if desk.price is None else ("bid", "accept", "pass")

    def apply(self, seat: int, action: Any, thread: int = 0) -> None:
        desk = self.desks[thread - 1]
        if type(action) is Accept:
            assert desk.price is not None
            self.gains[desk.buyer] += self.worth[desk.buyer] - desk.price
            self.gains[desk.seller] += desk.price - self.worth[desk.seller]
            for number, other in enumerate(self.desks, 1):
                if other.open and {other.buyer, other.seller} & {desk.buyer, desk.seller}:
                    self.close(number, "sold")
            return
        if type(action) is Bid:
            if action.price > 1000:
                raise IllegalAction("nobody has that much")
            desk.price = action.price
        desk.mover = desk.seller if seat == desk.buyer else desk.buyer
        desk.round += desk.mover == desk.buyer
        if desk.round > self.game.rounds:
            self.close(thread, "no deal")
        else:
            self.calls.append(Call(desk.mover, thread, desk.round))

    def close(self, thread: int, text: str) -> None:
        self.desks[thread - 1].open = False
        self.notices.append(Notice(text, thread, closes=True))

    def default_action(self, seat: int, thread: int = 0) -> ActionType | None:
        return Pass()

    def view(self, seat: int, thread: int = 0) -> dict[str, Any]:
        desk = self.desks[thread - 1] if thread else None
        price = None if desk is None or seat not in (desk.buyer, desk.seller) else desk.price
        return {"thread": thread, "price": price, "worth": self.worth[seat]}

    def party(self, thread: int) -> tuple[int, ...] | None:
        if thread == 0:
            return None
        desk = self.desks[thread - 1]
        return tuple(sorted((desk.buyer, desk.seller)))

    def shown(self, seat: int, action: ActionType) -> ActionType:
        if type(action) is Bid and (heard := self.heard(seat, action.note)) != action.note:
            action = msgspec.structs.replace(action, note=heard)
        return super().shown(seat, action)

    def heard(self, seat: int, text: str) -> str:
        return text.replace(str(self.worth[seat]), "[hidden]")

    def outcome(self) -> Outcome | None:
        return None if any(desk.open for desk in self.desks) else self.stopped("resolved", "closed")

    def stopped(self, status: Status, trigger: str) -> Outcome:
        return Outcome(status, trigger, tuple(self.gains), {"desks": len(self.desks)}, {"worth": list(self.worth)})


class Market(Game, frozen=True, kw_only=True):
    """The first `buyers` seats buy, the others sell; every pair has a desk."""

    game_id: ClassVar[str] = "desks"
    action_types: ClassVar[Any] = {kind.name: kind for kind in (Bid, Accept, Pass, MessageOnly)}
    state_type: ClassVar[type[MarketState]] = MarketState
    buyers: int = 1
    rounds: int = 3

    def check_seats(self, agent_ids: tuple[str, ...]) -> None:
        if len(agent_ids) <= self.buyers:
            raise ConfigError("a seller is needed")

    def role(self, agent_ids: tuple[str, ...], seat: int) -> str:
        return "buyer" if seat < self.buyers else "seller"

    def rules_text(self, role: str) -> str:
        return "Trade at your desks."

    def start(self, agent_ids: tuple[str, ...], rng: Random) -> State:
        count = len(agent_ids)
        pairs = [(buyer, seller) for buyer in range(self.buyers) for seller in range(self.buyers, count)]
        state = self.state_type(
            phase=Phase("trade", tuple(range(count)), self.rounds),
            game=self,
            agent_ids=agent_ids,
            worth=[rng.randint(100, 999) for _ in agent_ids],
            desks=[Desk(buyer, seller, buyer) for buyer, seller in pairs],
            gains=[0.0] * count,
        )
        state.calls += [Call(buyer, thread) for thread, (buyer, _seller) in enumerate(pairs, 1)]
        return state


def market(state: type[MarketState], **parameters: Any) -> Market:
    """Return the market with other rules."""

    class Variant(Market, frozen=True, kw_only=True):
        state_type: ClassVar[type[MarketState]] = state

    return Variant(**parameters)


# ── a lead who asks experts ─────────────────────────────────────────────────────────────────────────────


class Report(ActionType, frozen=True):
    """Report on the topic; by an expert: to the lead."""

    name: ClassVar[str] = "report"

    text: str = ""


class Consult(ActionType, frozen=True):
    """Ask all experts; the turn waits until they have reported."""

    name: ClassVar[str] = "consult"
    advances: ClassVar[bool] = False

    question: str


class Consulted(ActionType, frozen=True):
    """A consultation as the others see it."""

    name: ClassVar[str] = "consult"


class PanelState(PacedState, kw_only=True):
    """The lead (seat 0) reports on each topic in thread 0; expert n is asked in thread n."""

    game: Any
    count: int
    topic: int = 1
    asked: list[int] = field(default_factory=list)
    heard_from: dict[str, str] = field(default_factory=dict)
    silent: int = 0
    consulted: bool = False

    def legal(self, seat: int, thread: int = 0) -> tuple[str, ...]:
        if thread == 0:
            if seat or self.asked:
                return ()
            return ("report",) if self.consulted else ("report", "consult")
        return ("report",) if seat == thread and seat in self.asked else ()

    def apply(self, seat: int, action: Any, thread: int = 0) -> None:
        if type(action) is Consult:
            if not action.question:
                raise IllegalAction("ask something")
            self.consulted = True
            self.asked = list(range(1, self.count))
            self.calls += [Call(n, n, self.topic, "asked", within=(0, 0)) for n in self.asked]
        elif thread:
            self.asked.remove(seat)
            if type(action) is Report:
                self.heard_from[str(seat)] = action.text
            else:
                self.silent += 1
            if not self.asked:
                self.calls.append(Call(0, 0, self.topic))
        else:
            for n in self.asked:
                self.notices.append(Notice("too late", n, closes=True))
            self.asked, self.consulted = [], False
            self.topic += 1
            if self.topic <= self.game.topics:
                self.phase = Phase(f"topic {self.topic}", self.phase.order, 1)
                self.calls.append(Call(0, 0, self.topic))

    def default_action(self, seat: int, thread: int = 0) -> ActionType | None:
        return Pass()

    def view(self, seat: int, thread: int = 0) -> dict[str, Any]:
        return {"topic": self.topic, "heard": dict(self.heard_from) if seat == 0 else {}}

    def party(self, thread: int) -> tuple[int, ...] | None:
        return None if thread == 0 else (0, thread)

    def shown(self, seat: int, action: ActionType) -> ActionType:
        return Consulted() if type(action) is Consult else super().shown(seat, action)

    def outcome(self) -> Outcome | None:
        return None if self.topic <= self.game.topics else self.stopped("resolved", "reported")

    def stopped(self, status: Status, trigger: str) -> Outcome:
        return Outcome(status, trigger, (float(len(self.heard_from)),) * self.count, {"silent": self.silent})


class Panel(Game, frozen=True, kw_only=True):
    """A lead and experts."""

    game_id: ClassVar[str] = "panel"
    action_types: ClassVar[Any] = {kind.name: kind for kind in (Report, Consult, Pass, MessageOnly)}
    topics: int = 2

    def check_seats(self, agent_ids: tuple[str, ...]) -> None:
        if len(agent_ids) < 3:
            raise ConfigError("a lead and two experts are needed")

    def role(self, agent_ids: tuple[str, ...], seat: int) -> str:
        return "expert" if seat else "lead"

    def rules_text(self, role: str) -> str:
        return "Report."

    def start(self, agent_ids: tuple[str, ...], rng: Random) -> State:
        order = tuple(range(len(agent_ids)))
        return PanelState(phase=Phase("topic 1", order, 1), game=self, count=len(order), calls=[Call(0)])
