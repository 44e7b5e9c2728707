"""The steps of coalition formation in a match: a row of the protocol's table for each decision and each check.

They are read from the events alone: what triggered a step, what was looked at, what was chosen and how (forward), what
came next, and the utility that came back to who decided (backward).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from experiments.words import clean, fields_text

StepId: TypeAlias = Literal["C1-initiation", "C2-evaluation", "Threshold-check", "C4-activation"]

IDS: Final[Mapping[str, StepId]] = {
    "C1": "C1-initiation",
    "C2": "C2-evaluation",
    "threshold": "Threshold-check",
    "C4": "C4-activation",
}
"""The protocol's ids of steps, by what the record calls them."""

STATES: Final[Mapping[str, str]] = {
    "C2": "C2-evaluation",
    "threshold": "Threshold-check",
    "C4": "C4-activation",
    "listening": "Listening",
    "not_member": "Not Member",
    "failed": "Failed",
    "aborted": "Aborted",
    "active": "Coalition Active",
}
"""What the protocol calls what comes next."""

_LOOKED_AT: Final = ("signers", "quorum", "covered", "paid", "elapsed")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A decision or a check.

    Attributes:
        time: When, in seconds of the match.
        id: Which step of the protocol.
        type: Whether somebody decided, or the rules did.
        trigger: What led to it, such as "proposal_received".
        task: For which task; None for checks, which name the formation alone.
        formation: In which formation; None before there is one.
        version: About which version.
        seat: Who decided; None for the system.
        context: What was looked at.
        action: What was done: an action, "check", or "skip" where binding was automatic.
        selection: The selection function, such as "softmax(0.5)"; empty where none was declared.
        probability: With which probability the action was chosen, where it was declared.
        policy: Which policy chose it, where it was declared.
        next: What came next, as the protocol calls it.
        output: What went forward: the action of a decision, the status that a check found.
        utility: What came back to the decider when it was over, in currency; None for the system, or before the end.
        end: How what it was about ended; None as for the utility.
    """

    time: float
    id: StepId
    type: Literal["decision", "automatic"]
    trigger: str
    task: int | None = None
    formation: int | None = None
    version: int | None = None
    seat: str | None = None
    context: dict[str, Any] = {}
    action: str
    selection: str
    probability: float | None = None
    policy: str = ""
    next: str
    output: str
    utility: float | None = None
    end: str | None = None


def steps(events: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> list[Step]:
    """Return the steps of a match.

    Args:
        events: Its events in order: rows as `Run.events` has them, and their bodies.
    """
    told = [(row, facts) for row, body in events if row["kind"] == "notice" and (facts := body.get("facts"))]
    paid = {(row["recipients"][0], facts["decision"]): facts for row, facts in told if "utility" in facts}
    found = []
    for row, facts in told:
        if facts.get("step") == "threshold":
            found.append(_checked(row["time"], facts))
        elif "seat" in facts and facts.get("step") in IDS:
            found.append(_decided(row["time"], facts, paid.get((facts["seat"], facts["decision"]), {})))
        elif facts.get("status") == "active" and facts.get("auto"):
            found.append(_skipped(row["time"], facts))
    return found


def _decided(time: float, facts: Mapping[str, Any], paid: Mapping[str, Any]) -> Step:
    return Step(
        time=time,
        id=IDS[facts["step"]],
        type="decision",
        trigger=facts["trigger"],
        task=facts["task"],
        formation=facts.get("formation"),
        version=facts.get("version"),
        seat=facts["seat"],
        context=facts.get("context") or {},
        action=facts["action"],
        selection=facts.get("selection", ""),
        probability=facts.get("probability"),
        policy=facts.get("policy", ""),
        next="C2 (new version)" if facts["action"] == "modify" else STATES[facts["next"]],
        output=facts["action"],
        utility=paid.get("utility"),
        end=paid.get("end"),
    )


def _checked(time: float, facts: Mapping[str, Any]) -> Step:
    return Step(
        time=time,
        id="Threshold-check",
        type="automatic",
        trigger=facts["trigger"],
        formation=facts["formation"],
        version=facts["version"],
        context={key: facts[key] for key in _LOOKED_AT},
        action="check",
        selection=facts["selection"],
        next=STATES[facts["next"]],
        output=facts["status"],
    )


def _skipped(time: float, facts: Mapping[str, Any]) -> Step:
    """Return the activation that is skipped, as all members had locked what they owe."""
    return Step(
        time=time,
        id="C4-activation",
        type="automatic",
        trigger="consensus_reached",
        task=facts["task"],
        formation=facts["formation"],
        version=facts["version"],
        context={"members": facts["members"], "commitment": facts["commitment"]},
        action="skip",
        selection="system_rule",
        next=STATES["active"],
        output="skip",
    )


# ── for people ──────────────────────────────────────────────────────────────────────────────────────────────

_COLUMNS: Final = ("time", "step", "on", "who", "forward", "next", "utility")


def steps_table(found: Sequence[Step], width: int) -> RenderableType:
    """Return steps as a table in `width` columns: who did what, and what came of it.

    Below each stands what led to it, how the action was chosen, and what was looked at.
    """
    rows = [_cells(step) for step in found]
    widths = [max(len(row[n]) for row in (_COLUMNS, *rows)) for n in range(len(_COLUMNS))]
    gap = 2 if sum(widths) + 2 * len(widths) <= width else 1
    lines: list[RenderableType] = [Text("\nsteps", style="bold magenta"), _line(_COLUMNS, widths, gap, "bold")]
    for step, row in zip(found, rows, strict=True):
        lines.append(_line(row, widths, gap, ""))
        lines.append(Padding(Text(_reasons(step), style="dim", overflow="fold"), (0, 0, 0, widths[0] + gap)))
    return Group(*lines)


def _cells(step: Step) -> tuple[str, ...]:
    return (
        f"{step.time:.3f}",
        step.id,
        f"f{step.formation} v{step.version}" if step.formation else f"task {step.task}",
        clean(step.seat or "system"),
        clean(step.output),
        step.next,
        "–" if step.utility is None else f"{step.utility:,g}",
    )


def _line(cells: Sequence[str], widths: Sequence[int], gap: int, style: str) -> Text:
    line = Text(style=style, overflow="fold")
    for number, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        right = number in (0, len(cells) - 1)
        line.append(cell.rjust(width) if right else cell.ljust(width), style="cyan" if number == 4 else "")
        line.append(" " * gap)
    line.rstrip()
    return line


def _reasons(step: Step) -> str:
    chosen = clean(step.selection) or "selection not declared"
    if step.probability is not None:
        chosen += f", p = {step.probability:.3g}"
    parts = [f"{step.type} on {step.trigger}", chosen, clean(step.policy), fields_text(step.context)]
    return " · ".join(part for part in parts if part)
