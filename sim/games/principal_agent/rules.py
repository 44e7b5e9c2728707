"""The rules of the principal-agent game in words, for prompts, people and `quorum games`."""

from __future__ import annotations

from sim.games.principal_agent.parameters import Parameters

_ROLES = {
    "principal": (
        "You are the principal. You lose what you pay, and want good work for it: post a clear contract whose outcome "
        "levels make good work worth its effort, and answer questions."
    ),
    "worker": (
        "You are a worker. You get what the contract pays; what your effort costs is yours to bear (effort_cost of "
        "submit_deliverable, which no other seat sees)."
    ),
    "oracle": "You are the oracle. You get 0 whatever you say: score objectively, by the success criteria alone.",
}

_RULES = """\
A principal delegates a task by a contract. A worker does it, with an effort that nobody else can observe. {Judge} \
scores what is delivered from 0 to 100, and the score says what the principal pays.
1. Offer: the principal posts the contract, with a task description, success criteria and, where the usual ones will \
not do, outcome levels. Without one within {offers} the match ends.
2. Clarify: {clarify}
3. Respond: the worker accepts or rejects the contract. A rejection ends it: nobody is paid.
4. Execute: the worker submits its deliverable.
5. Verify: {judge} scores the deliverable. The highest outcome level whose threshold the score reaches is paid; below \
all thresholds nothing is.
The usual outcome levels: {levels}. The worker gets the payment, the principal loses it{others}. Who does not answer \
in time skips in clarify; in another phase the contract is over then, without a payment."""

_CLARIFY = (
    "the worker may have up to {questions} answered, one at a time. The worker or the principal may skip the rest, "
    "and the worker may accept or reject the contract at once."
)
_NO_CLARIFY = "left out in this match."

_BOUNTY = """
Several workers are offered the contract. They go through the phases 2 to 5 side by side, each on its own, and see \
neither questions nor deliverables of others. The first {winners} to be scored {accepted} paid, by {their} outcome \
level; the rest get nothing. The match ends with the last award, or when nobody is left."""

_CHAIN = """
In its execute phase a worker may post a contract of its own, once, for a part of its task (delegate_task): it is the \
principal of that contract, and pays for it whatever comes of its own. The phases are the same, from the second on. \
{levels}. The worker's own turn waits, and its time \
runs, until the contract inside is over; then it sees what came of it, and submits its deliverable. If its time runs \
out first, the contract inside is withdrawn. What is said and done about a contract is seen by those who take part in \
it alone."""


def text(game: Parameters, role: str) -> str:
    """Say the rules to someone in this role."""
    consumer = game.oracle == "consumer"
    judge = "the principal, who gets the deliverable," if consumer else "an oracle that gains nothing by it"
    questions = _count(game.max_clarify_rounds, "question")
    said = _RULES.format(
        Judge=judge[0].upper() + judge[1:],
        judge="the principal" if consumer else "the oracle",
        offers=_count(game.max_rounds_offer, "turn"),
        clarify=_CLARIFY.format(questions=questions) if game.max_clarify_rounds else _NO_CLARIFY,
        levels=", ".join(f"{v.label} from {v.threshold:g} pays {v.payment:g}" for v in game.outcome_levels),
        others="" if consumer else ", the oracle gets 0",
    )
    return f"{_ROLES[role]}\n{said}{_of_the_shape(game)}"


def _of_the_shape(game: Parameters) -> str:
    if game.shape == "bounty":
        one = game.winners == 1
        return _BOUNTY.format(
            winners="deliverable" if one else _count(game.winners, "deliverable"),
            accepted=f"{_accepted(game)} {'is' if one else 'are'}",
            their="its" if one else "their",
        )
    return _CHAIN.format(levels=_depth(game.depth)) if game.shape == "chain" else ""


def _accepted(game: Parameters) -> str:
    if game.accept_level is None:
        return "at the highest outcome level of the contract"
    label = isinstance(game.accept_level, str)
    return f"at the level {game.accept_level} or above" if label else f"{game.accept_level:g} or above"


def _depth(depth: int) -> str:
    return (
        "There can be one contract inside the outer one"
        if depth == 1
        else f"There can be {depth} contracts inside the outer one, each inside the one before it"
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
