"""What a study prints and leaves: its curves in characters, its findings in words, and a JSON file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from rich.text import Text

from experiments.display import console, print_json, print_line, print_page, table, watch
from experiments.studies.timeouts import DELAYS, NETWORKS, SITUATIONS, Curve, TimeoutStudy, study_timeouts
from sim.errors import RunError

FILE = "timeouts.json"
"""The file that holds what came out."""

_BAR = 14
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def run_timeouts(formations: int, seed: int, workers: int | None, out: Path | None, *, as_json: bool) -> None:
    """Play the study of timeouts, print what came out, and write it down where that is asked for."""
    if out is not None and (out / FILE).exists():
        raise RunError(f"--out={out} holds a study already; choose another directory")
    started = time.perf_counter()
    with watch("playing") as progress:
        study = study_timeouts(formations, seed, workers, progress)
    seconds = time.perf_counter() - started
    if out is not None:
        _write(study, out)
    if as_json:
        print_json(study)
        return
    _print(study)
    console.print()
    print_line(f"{study.formations / seconds:,.0f} formations/s" + (f" · written to {out / FILE}" if out else ""))


def _write(study: TimeoutStudy, out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(study), indent=2) + b"\n")
    except OSError as error:
        raise RunError(f"--out={out} cannot be written: {error.strerror or error}") from None


def _print(study: TimeoutStudy) -> None:
    print_line(f"timeouts of coalition formation · {study.formations:,} formations · seed {study.seed}", "bold")
    print_line("share of formations that became active, by deadline in message delays")
    for situation in SITUATIONS:
        console.print()
        print_line(situation.name, "bold")
        curves = [curve for curve in study.curves if curve.situation == situation.name]
        print_line("deadline  " + "  ".join(network.ljust(_BAR + 5) for network in NETWORKS).rstrip(), "bold")
        for number, ratio in enumerate(study.ratios):
            cells = [f"{bar(curve.rates[number])}{curve.rates[number]:5.0%}" for curve in curves]
            console.print(Text(f"{ratio:6.1f}    " + "  ".join(cells)))
    console.print()
    _print_thresholds(study)
    console.print()
    for finding in findings(study):
        print_page(finding)


def bar(share: float) -> str:
    """Return a share as a bar of fixed width."""
    whole, eighths = divmod(round(share * _BAR * 8), 8)
    return ("█" * whole + (_EIGHTHS[eighths] if eighths else "")).ljust(_BAR)


def _print_thresholds(study: TimeoutStudy) -> None:
    columns = ("half at", "95 % at")
    made = table("deadline in message delays", "network", *columns, right=columns)
    for curve in study.curves:
        last = curve.network == [*NETWORKS][-1]
        name = curve.situation if curve.network == next(iter(NETWORKS)) else ""
        made.add_row(name, curve.network, f"{curve.collapse:.2f}", f"{curve.safe:.2f}", end_section=last)
    console.print(made)


def findings(study: TimeoutStudy) -> Iterator[str]:
    """Yield what was found, a sentence each."""
    fixed = [curve for curve in study.curves if curve.network == "fixed"]
    edges = {curve.delays: f"{_below(study, curve):g} and {_above(study, curve):g}" for curve in fixed}
    yield (
        "Where every message takes as long, none or all formations succeed. The threshold is the number of delays "
        "between proposal and consensus, however many members there are: "
        + "; ".join(f"{delays} (found between {edge})" for delays, edge in edges.items())
        + ". Each version more costs a round trip."
    )
    random = [curve for curve in study.curves if curve.network != "fixed"]
    worst = max(random, key=lambda curve: curve.safe / curve.delays)
    yield (
        f"Where delays vary the rate collapses gradually: half is lost at {_range(c.collapse for c in random)} delays, "
        f"and 95 % form only from {_range(c.safe for c in random)} on ({worst.situation}, {worst.network}: "
        f"{worst.safe / worst.delays:.1f} times what fixed delays need)."
    )
    slow, fast = max(DELAYS), min(DELAYS)
    alone = "only the ratio of deadline to delay counts" if study.spread < 4 else "the ratio alone does not tell all"
    yield (
        f"Delays of {fast * 1e3:g} and {slow * 1e3:g} ms differ by at most {study.spread:.1f} standard errors at the "
        f"same ratio: {alone}."
    )


def _below(study: TimeoutStudy, curve: Curve) -> float:
    return max((r for r, rate in zip(study.ratios, curve.rates, strict=True) if rate < 0.5), default=0.0)


def _above(study: TimeoutStudy, curve: Curve) -> float:
    return min((r for r, rate in zip(study.ratios, curve.rates, strict=True) if rate >= 0.5), default=study.ratios[-1])


def _range(values: Iterator[float]) -> str:
    found = sorted(values)
    return f"{found[0]:.1f} to {found[-1]:.1f}"
