"""The run directory: Parquet parts that are there whole or not at all.

runs/NAME/
    run.yaml                    what was asked for
    matches/part-00000.parquet  a row per match
    events/part-00000.parquet   a row per event
    summary.json                what came out
    policies/AGENT.msgpack      what learning agents have learnt (a grid: point-N/policies/AGENT.msgpack)

A part of matches is written after its part of events, so a match that has a row has its events.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.rows import EVENTS, MATCHES, Batch, decode
from sim.errors import RunError
from sim.record import MatchRecord


class RunDirectory:
    """The files of a run.

    Args:
        path: The directory.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._next = 0

    @property
    def config_file(self) -> Path:
        """Where the run says what was asked for."""
        return self.path / "run.yaml"

    @property
    def summary_file(self) -> Path:
        """Where the run says what came out."""
        return self.path / "summary.json"

    def create(self, config: str) -> None:
        """Make the directory.

        Args:
            config: Text of `run.yaml`.

        Raises:
            RunError: There is a run already, or the directory cannot be written.
        """
        try:
            for name in ("matches", "events"):
                (self.path / name).mkdir(parents=True, exist_ok=True)
            write_whole(self.config_file, config.encode(), replace=False)
        except FileExistsError:
            raise RunError(
                f"out={self.path} holds a run already; `quorum resume {self.path}` goes on with it, "
                "or choose another directory with out=..."
            ) from None
        except ValueError as error:
            raise RunError(f"out={str(self.path)!r} is no name for a directory: {error}") from None
        except OSError as error:
            raise RunError(f"out={self.path} cannot be written: {error.strerror or error}") from None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the run for writing; drops what a stopped run left half done.

        Raises:
            RunError: Another process writes it, or it cannot be written.
        """
        try:
            with (self.path / ".lock").open("wb") as lock:
                _lock(lock, self.path)
                self._drop_leftovers()
                self._next = max(self.parts(), default=-1) + 1
                yield
        except OSError as error:
            raise RunError(f"{self.path} cannot be written: {error.strerror or error}") from None

    def add(self, batch: Batch) -> None:
        """Write a batch as the next part, while `writing`."""
        name = part_name(self._next)
        self._next += 1
        write_whole(self.path / "events" / name, batch.events)
        write_whole(self.path / "matches" / name, batch.matches)

    def finished(self) -> set[int]:
        """Return the numbers of the matches that are there.

        Raises:
            RunError: A part is damaged.
        """
        found: set[int] = set()
        for number in self.parts():
            found.update(self.read("matches", number, ["match_index"])["match_index"].to_pylist())
        return found

    def parts(self) -> list[int]:
        """Return the numbers of the parts, in order."""
        names = [file.stem.partition("-")[2] for file in (self.path / "matches").glob("part-*.parquet")]
        return sorted(int(name) for name in names if name.isdecimal() and name.isascii())

    def files(self, table: str) -> list[Path]:
        """Return the parts of a table ("matches" or "events") as files, in order."""
        return [self.path / table / part_name(number) for number in self.parts()]

    def read(self, table: str, number: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Read a part of a table.

        Raises:
            RunError: It is damaged; the text says how to mend the run.
        """
        schema = MATCHES if table == "matches" else EVENTS
        try:
            found = pq.read_table(self.path / table / part_name(number), columns=columns)
            return found.select(columns or schema.names).cast(pa.schema([schema.field(c) for c in found.column_names]))
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            raise self.damaged(table, number, error) from None

    def damaged(self, table: str, number: int, error: Exception) -> RunError:
        """Return the error that says which part is damaged, and how to mend the run."""
        name = part_name(number)
        why = " ".join(str(error).split())[:120]
        return RunError(
            f"{self.path / table / name} is damaged ({why}); delete matches/{name} and events/{name}, "
            f"and `quorum resume {self.path}` plays its matches again"
        )

    def check(self) -> None:
        """Read every part.

        Raises:
            RunError: One is damaged.
        """
        for number in self.parts():
            for table in ("matches", "events"):
                self.read(table, number)

    def records(self) -> Iterator[MatchRecord]:
        """Read the records back, holding one part at a time.

        Raises:
            RunError: A part is damaged.
        """
        for number in self.parts():
            matches, events = self.read("matches", number), self.read("events", number)
            try:
                yield from decode(matches, events)
            except (LookupError, TypeError, ValueError, msgspec.MsgspecError) as error:
                raise self.damaged("events", number, error) from None

    def _drop_leftovers(self) -> None:
        whole = {part_name(number) for number in self.parts()}
        for file in (self.path / "events").glob("part-*.parquet"):
            if file.name not in whole:
                file.unlink()
        for file in self.path.rglob("*.tmp"):
            file.unlink()


def part_name(number: int) -> str:
    """Return the file name of a part."""
    return f"part-{number:05d}.parquet"


def _lock(stream: BinaryIO, path: Path) -> None:
    """Lock a run until the stream is closed; the system lets go of it when the process dies."""
    try:
        import fcntl
    except ImportError:  # Windows: two writers are not kept apart
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunError(f"{path} is being written by another process") from None


def write_whole(file: Path, data: bytes, *, replace: bool = True) -> None:
    """Write a file so that it is there whole or not at all, whenever the process or the machine stops.

    Args:
        file: The file.
        data: What it is to hold.
        replace: Whether it may be there already.

    Raises:
        FileExistsError: It is there and may not be.
    """
    part = file.with_name(file.name + (".tmp" if replace else f".{os.getpid()}.tmp"))
    try:
        with part.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if replace:
            part.replace(file)
        else:
            os.link(part, file)
            part.unlink()
    except BaseException:  # Ctrl-C too
        part.unlink(missing_ok=True)
        raise
    _sync_folder(file.parent)


def _sync_folder(folder: Path) -> None:
    """Make a new name in a folder last."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
