"""Seed files: a violation with all that is needed to repeat it, as JSON that people can read."""

from __future__ import annotations

import base64
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

import msgspec

from experiments.config import game_from, game_params
from experiments.stress.schedules import run_entries
from experiments.stress.watching import Entry, Violation
from sim.errors import ConfigError
from sim.game import Game
from sim.log import as_json
from sim.messages import REFEREE, Act, ToReferee
from sim.record import MatchSpec

FORMAT = 1
"""Version of the file's form."""

_KINDS: dict[str, type[Any]] = {str(kind.__struct_config__.tag): kind for kind in get_args(ToReferee)}
"""What a referee can read, by name."""


class SeedFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a seed file holds.

    Attributes:
        quorum_stress: Version of the file's form.
        versions: What it was written by.
        violation: What did not hold.
        game: Parameters of the game.
        seats: Seat ids.
        match: Number of the match.
        seed: Seed of the match.
        run: How the whole match was played: settings, faults and the seed of the run.
        items: What the referee reads, in order. None: the inbox alone does not show it, and the match is played again.
        trace: The same in words.
    """

    quorum_stress: int
    versions: dict[str, str]
    violation: Violation
    game: dict[str, Any]
    seats: tuple[str, ...]
    match: int
    seed: int
    run: dict[str, Any]
    items: list[dict[str, Any]] | None
    trace: list[str]

    def spec(self) -> MatchSpec:
        """Return what makes the match."""
        return MatchSpec(self.match, self.seats, self.seed)

    def entries(self) -> list[Entry]:
        """Return the items as they are read.

        Raises:
            ConfigError: One of them is none.
        """
        return [_entry(item, self.seats) for item in self.items or ()]

    def repeat(self) -> Violation | None:
        """Read the items again; return what does not hold.

        Raises:
            ConfigError: The game cannot be made, or an item is none.
        """
        return run_entries(game_from(self.game), self.spec(), self.entries()).violation


def seed_file(
    game: Game,
    spec: MatchSpec,
    violation: Violation,
    entries: Sequence[Entry] | None,
    *,
    run: dict[str, Any],
    trace: Sequence[str],
) -> SeedFile:
    """Return what a seed file is to hold."""
    return SeedFile(
        quorum_stress=FORMAT,
        versions={"quorum-sim": version("quorum-sim"), "python": platform.python_version()},
        violation=violation,
        game=game_params(game),
        seats=spec.agent_ids,
        match=spec.index,
        seed=spec.seed,
        run=run,
        items=None if entries is None else [_item(entry, spec.agent_ids) for entry in entries],
        trace=list(trace),
    )


def save(found: SeedFile, path: Path) -> None:
    """Write a seed file."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")


def load(path: Path) -> SeedFile:
    """Read a seed file.

    Raises:
        ConfigError: It is missing, or is none.
    """
    try:
        found = msgspec.json.decode(path.read_bytes(), type=SeedFile)
    except OSError as error:
        raise ConfigError(f"--replay={path}: it cannot be read: {error.strerror or error}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError(f"--replay={path}: not a seed file of `quorum stress`: {error}") from None
    if found.quorum_stress != FORMAT:
        raise ConfigError(f"--replay={path}: a seed file of form {found.quorum_stress}; this version reads {FORMAT}")
    return found


# ── items ───────────────────────────────────────────────────────────────────────────────────────────────


def _item(entry: Entry, seats: Sequence[str]) -> dict[str, Any]:
    time, sender, item = entry
    kind = type(item).__struct_config__.tag
    fields = {name: getattr(item, name) for name in item.__struct_fields__}
    if isinstance(item, Act):
        plain = as_json(item.payload)
        fields["payload"] = {"base64": base64.b64encode(item.payload).decode()} if plain is None else {"json": plain}
        fields["messages"] = [msgspec.to_builtins(message) for message in item.messages]
    return {"time": time, "from": _name(sender, seats), "item": kind, **fields}


def _name(sender: int, seats: Sequence[str]) -> str | int:
    if sender == REFEREE:
        return "referee"
    return seats[sender] if 0 <= sender < len(seats) and "referee" not in seats else sender


def _entry(item: dict[str, Any], seats: Sequence[str]) -> Entry:
    fields = dict(item)
    try:
        time, sender, kind = fields.pop("time"), fields.pop("from"), _KINDS[fields.pop("item")]
        if isinstance(sender, str):
            sender = REFEREE if sender == "referee" else seats.index(sender)
        if kind is Act:
            payload = fields["payload"]
            plain = "base64" not in payload
            fields["payload"] = (
                msgspec.msgpack.encode(payload["json"]) if plain else base64.b64decode(payload["base64"])
            )
        values = [kind.__struct_config__.tag, *(fields[name] for name in kind.__struct_fields__)]
        made: ToReferee = msgspec.convert(values, kind)
        return float(time), int(sender), made
    except (LookupError, TypeError, ValueError, msgspec.MsgspecError) as error:
        raise ConfigError(f"an item of the seed file cannot be read ({error!r}): {item!r:.200}") from None
