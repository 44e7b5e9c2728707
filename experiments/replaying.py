"""Judging every record of a run again."""

from __future__ import annotations

import pyarrow as pa

from experiments.config import game_from
from experiments.results import Run
from sim.errors import RecordMismatch, RunError
from sim.replay import rejudge
from sim.rng import derive


def replay_run(run: Run, progress: object = None) -> int:
    """Judge every record again; returns how many there were.

    Raises:
        RecordMismatch: A record differs; it names the match.
        RunError: A file is damaged.
    """
    games = [game_from(point["game"]) for point in run.config["points"]]
    matches, seed = run.config["num_matches"], run.config["seed"]
    total, count = len(run), 0
    try:
        for record in run.records():
            spec = record.spec
            number, repetition = divmod(spec.index, matches)
            if spec.point != number or spec.seed != derive(seed, "match", repetition):
                raise RecordMismatch(spec.match_id, 0, "its seed is not that of the run")
            if list(spec.agent_ids) != run.config["points"][number]["seats"]:
                raise RecordMismatch(spec.match_id, 0, "its seats are not those of the run")
            rejudge(record, games[number])
            count += 1
            if callable(progress) and count % 100 == 0:
                progress(count, total)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise RunError(f"{run.path}: a part is damaged: {str(error).splitlines()[0]}") from None
    return count
