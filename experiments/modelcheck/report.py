"""What `quorum check` prints."""

from __future__ import annotations

from experiments.config import convert
from experiments.display import print_json, print_line
from experiments.modelcheck.config import Config
from experiments.modelcheck.search import check
from sim.errors import ConfigError, nearest

GAMES = ("coalition",)
"""Games whose rules can be searched."""

BROKEN, STOPPED = 1, 3
"""Exit codes: an invariant does not hold; the search gave up before it had seen every state."""


def print_check(game: str, *, as_json: bool, **options: object) -> int:
    """Search a small world and print what was found; returns the exit code.

    Args:
        game: Whose rules.
        as_json: Whether to print JSON.
        options: Fields of `Config`.

    Raises:
        ConfigError: There is no such game to search, or an option is out of range.
    """
    if game not in GAMES:
        raise ConfigError(f"{game}: cannot be searched{nearest(game, GAMES)} (there is: {', '.join(GAMES)})")
    report = check(convert(options, Config, "check"))
    if as_json:
        print_json(report)
    else:
        print_line(str(report))
    return BROKEN if report.broken is not None else 0 if report.complete else STOPPED
