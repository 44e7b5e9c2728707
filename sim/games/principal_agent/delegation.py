"""One delegation, from the offer to the payment: the state machine that every shape of the game is made of."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Raw, field

from sim.errors import IllegalAction
from sim.game import ActionType, Pass
from sim.games.principal_agent.actions import (
    AcceptContract,
    AnswerClarification,
    AskClarification,
    DelegateTask,
    PostContract,
    RecordOutcomeScore,
    RejectContract,
    SkipClarify,
    SubmitDeliverable,
)
from sim.games.principal_agent.contract import UNREACHED, Contract, checked
from sim.games.principal_agent.parameters import Parameters
from sim.views import encode

PhaseName: TypeAlias = Literal["offer", "clarify", "respond", "execute", "verify"]


class Delegation(msgspec.Struct, kw_only=True):
    """A principal, a worker and an oracle (seat numbers), and how far they have come.

    One seat is to move at any time. The fields from `contract` on, but for the last three, are what the seats see.

    Attributes:
        game: The parameters.
        principal: Who posts the contract, and pays.
        worker: Who delivers.
        oracle: Who scores; the principal itself where the consumer does.
        party: The seats that take part, in order.
        phase: The phase that it is in.
        offers: Turns of the principal that brought no contract.
        contract: What was posted.
        posted: The same as the seats see it.
        packed: The same on its way to them.
        clarifications: Questions, each with its answer or None.
        asked: Whether the last question waits for its answer.
        accepted: Whether the worker accepted; None before it said.
        deliverable: What it delivered.
        outcome_score: What the oracle made of it, from 0 to 100.
        outcome_label: The highest outcome level that the score reaches, or "none".
        payment: What the principal pays the worker, in currency.
        effort_cost: What the deliverable cost the worker, in currency: its private matter.
        reason: How it ended; None while it goes on.
    """

    game: Parameters
    principal: int
    worker: int
    oracle: int
    party: tuple[int, ...] = ()
    phase: PhaseName = "offer"
    offers: int = 0
    contract: Contract | None = None
    posted: dict[str, Any] | None = None
    packed: Raw | None = None
    clarifications: list[dict[str, str | None]] = field(default_factory=list)
    asked: bool = False
    accepted: bool | None = None
    deliverable: str | None = None
    outcome_score: float | None = None
    outcome_label: str | None = None
    payment: float | None = None
    effort_cost: float | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        self.party = tuple(sorted({self.principal, self.worker, self.oracle}))

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.reason is not None

    @property
    def mover(self) -> int:
        """The seat that is to move; an open question is the principal's turn."""
        phase = self.phase
        if phase == "clarify":
            return self.principal if self.asked else self.worker
        if phase == "offer":
            return self.principal
        return self.oracle if phase == "verify" else self.worker

    @property
    def round(self) -> int:
        """The round of the phase, from 1: of offers, or of questions."""
        phase = self.phase
        if phase == "clarify":
            return len(self.clarifications) - self.asked + 1
        return self.offers + 1 if phase == "offer" else 1

    def legal(self, seat: int) -> tuple[str, ...]:
        """Return the actions that the seat may take."""
        if self.reason is not None or seat != self.mover:
            return ()
        if self.phase != "clarify":
            return _LEGAL[self.phase]
        return _LEGAL_ANSWERS if seat == self.principal else _LEGAL_QUESTIONS

    def default_action(self) -> ActionType:
        """Return what a silent seat does: skip in clarify, else nothing, which has its consequences."""
        return SkipClarify() if self.phase == "clarify" else Pass()

    def apply(self, action: Any) -> None:
        """Apply a legal action of the seat that is to move, or its silence.

        Raises:
            IllegalAction: The outcome levels of a contract make no payment schedule.
        """
        match action:
            case PostContract():
                self.post(self.drawn_up(action))
            case AskClarification(question=question):
                self.clarifications.append({"question": question, "answer": None})
                self.asked = True
            case AnswerClarification(answer=answer):
                self.clarifications[-1]["answer"] = answer
                self.asked = False
                if len(self.clarifications) >= self.game.max_clarify_rounds:
                    self.phase = "respond"
            case SkipClarify():
                self.phase = "respond"
            case AcceptContract():
                self.accepted, self.phase = True, "execute"
            case RejectContract():
                self.accepted, self.reason = False, "contract_rejected"
            case SubmitDeliverable(content=content, effort_cost=cost):
                self.deliverable, self.effort_cost, self.phase = content, cost, "verify"
            case RecordOutcomeScore(score=score):
                self._score(score)
            case Pass():
                self._lapse()

    def drawn_up(self, action: PostContract | DelegateTask) -> Contract:
        """Return the contract that an action offers.

        Raises:
            IllegalAction: Its outcome levels make no payment schedule.
        """
        levels = self.game.outcome_levels
        try:
            if action.outcome_levels is not None:
                levels = checked(action.outcome_levels)
            if self.game.shape == "bounty":
                self.game.accepted_from(levels)
        except ValueError as error:
            raise IllegalAction(str(error)) from None
        return Contract(action.task_description, action.success_criteria, levels)

    def post(self, contract: Contract) -> None:
        """Post a contract."""
        self.contract, self.posted = contract, contract.view()
        self.packed = Raw(encode(self.posted))
        self.phase = "clarify" if self.game.max_clarify_rounds else "respond"

    def _score(self, score: float) -> None:
        assert self.contract is not None
        level = self.contract.level_of(score)
        self.outcome_score = score
        self.outcome_label = UNREACHED if level is None else level.label
        self.payment = 0.0 if level is None else level.payment
        self.reason = f"task_resolved_{self.outcome_label}"

    def _lapse(self) -> None:
        if self.phase == "offer":
            self.offers += 1
            if self.offers < self.game.max_rounds_offer:
                return
        self.reason = _SILENCE[self.phase]

    def view(self, *, packed: bool = False) -> dict[str, Any]:
        """Build what those who take part see, with the contract packed or not; `action_history` is added for them."""
        return {
            "contract": self.packed if packed else self.posted,
            "clarifications": self.clarifications,
            "accepted": self.accepted,
            "deliverable": self.deliverable,
            "outcome_score": self.outcome_score,
            "outcome_label": self.outcome_label,
            "payment": self.payment,
        }

    def result(self, reason: str) -> dict[str, Any]:
        """Return how it ended, as outcomes report it; the reason is given for one that was cut off."""
        said: dict[str, Any] = {"reason": self.reason or reason}
        if self.outcome_score is not None:
            for key in ("outcome_score", "outcome_label", "payment"):
                said[key] = getattr(self, key)
        return said

    def pay(self, utilities: list[float]) -> None:
        """Add what it pays to the utilities of all seats: worker = +payment, principal = -payment."""
        if self.payment is not None:
            utilities[self.worker] += self.payment
            utilities[self.principal] -= self.payment

    def check(self) -> None:
        """Check that the steps kept their order, and that what is paid is what the contract says for the score."""
        contract, score = self.contract, self.outcome_score
        offered = contract is not None
        assert offered == (self.phase != "offer"), f"phase {self.phase} with{'' if offered else 'out'} a contract"
        assert len(self.clarifications) <= self.game.max_clarify_rounds, "more questions than there may be"
        answered = [asked["answer"] is not None for asked in self.clarifications]
        assert all(answered[:-1]), "a question was asked before the last one was answered"
        assert self.asked == (not all(answered)), "the last question is answered, or is not, unlike what is held of it"
        assert self.deliverable is None or self.accepted, "delivered without a contract that was accepted"
        assert (self.deliverable is not None) == (self.phase == "verify"), "phase and deliverable do not agree"
        assert (self.accepted is True) == (self.phase in ("execute", "verify")), "phase and answer do not agree"
        assert (score is None) == (self.payment is None), "paid without a score, or scored without a payment"
        assert score is None or (self.over and self.deliverable is not None), "scored before there was a deliverable"
        if contract is None:
            return
        levels = [level.threshold for level in contract.outcome_levels]
        assert levels == sorted(set(levels)), "outcome levels are out of order"
        if score is not None:
            level = contract.level_of(score)
            due = 0.0 if level is None else level.payment
            lost = self.game.shape == "bounty" and self.payment == 0  # to competitors, or below what is accepted
            assert 0 <= score <= 100, f"the score {score:g} is out of bounds"
            assert self.payment == due or lost, f"{self.payment} was paid for a score of {score:g}, not {due:g}"


_LEGAL = {
    "offer": ("post_contract",),
    "respond": ("accept_contract", "reject_contract"),
    "execute": ("submit_deliverable",),
    "verify": ("record_outcome_score",),
}
_LEGAL_QUESTIONS = ("ask_clarification", "accept_contract", "reject_contract", "skip_clarify")
_LEGAL_ANSWERS = ("answer_clarification", "skip_clarify")
_SILENCE = {"offer": "no_contract", "respond": "no_response", "execute": "not_delivered", "verify": "not_scored"}
