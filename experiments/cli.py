"""The `quorum` command."""

from __future__ import annotations

import io
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from sim.errors import ConfigError, QuorumError, RecordMismatch

if TYPE_CHECKING:
    from experiments.results import Run

app = typer.Typer(
    name="quorum",
    help="Simulate negotiations, pooled purchases, contracts and coalitions between agents that act at the same time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

RunPath = Annotated[Path, typer.Argument(help="Run directory.", metavar="RUN")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def run(
    settings: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings, as above.")] = None,
    config_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of your own files: DIR/game/NAME.yaml, DIR/agents/NAME.yaml."),
    ] = None,
) -> None:
    """Play matches, and show what came out.

    \b
    game=FILE         provision_point/full, principal_agent/bounty, bargaining
    agents=FILE       who plays: provision_point/mixed, bargaining/linear
    task=NAME         a bargaining task, a family, a type of market, or all
    runtime=NAME      where: local (this process), ray (an actor each), packed
    num_matches=100   matches for each point of a grid
    seed=0            the same seed gives the same matches
    out=DIR           the run directory; without it runs/GAME-TIME

    \b
    Every key of these files can be set, and several values make a grid:
      quorum run game.threshold=100,150,200 agents.seats.rational.margin=0,0.1
      quorum run agents=provision_point/rational,provision_point/attackers
      quorum run agents.seats.zero.kind=random +agents.seats.x.kind=pass
    `quorum games`, `quorum agents` and `quorum tasks` list what there is.
    """
    from experiments.config import compose
    from experiments.display import print_results, watch
    from experiments.manifest import default_directory
    from experiments.runner import run_config

    config = compose(settings or [], config_dir)
    plan, _ = config.plan()  # what is wrong with it is said before a directory is named
    if config.out is None:
        out = str(default_directory(plan.points[0].game.game_id))
        config = msgspec.structs.replace(config, out=out)
    with _stoppable(Path(str(config.out))), watch("playing") as progress:
        played = run_config(config, progress)
    print_results(played)


@app.command()
def results(
    run_path: RunPath,
    as_json: AsJson = False,
    sql: Annotated[str | None, typer.Option(help="Query over the tables matches and events.")] = None,
) -> None:
    """Show what came out of a run."""
    from experiments.display import print_results, print_results_json

    opened = _open(run_path)
    if sql is not None:
        from experiments.answers import print_query

        print_query(opened, sql, as_json=as_json)
    elif as_json:
        print_results_json(opened)
    else:
        print_results(opened)


@app.command()
def show(
    run_path: RunPath, match: Annotated[str, typer.Argument(help="Name or number of the match.", metavar="MATCH")]
) -> None:
    """Show the transcript of one match; private messages are marked."""
    from experiments.transcript import print_transcript

    print_transcript(_open(run_path), match)


@app.command()
def replay(
    run_path: RunPath,
    history: Annotated[
        bool, typer.Option("--history", help="Coalitions: check each history against the sequential rules instead.")
    ] = False,
) -> None:
    """Judge every record again; exits with 1 at the first that differs."""
    from experiments.display import watch
    from experiments.replaying import replay_run

    opened = _open(run_path)
    if history:
        raise typer.Exit(_check_history(opened))
    try:
        with watch("judging") as progress:
            count = replay_run(opened, progress)
    except RecordMismatch as mismatch:
        typer.echo(f"differs: {mismatch}", err=True)
        raise typer.Exit(1) from None
    missing = f"; {opened.asked - count:,} are missing: quorum resume {run_path}" if count < opened.asked else ""
    typer.echo(f"{count:,} matches judged again; all give the same events and outcomes{missing}")


def _check_history(opened: Run) -> int:
    """Check the histories of a coalition run, and say what is broken; returns the exit code."""
    from experiments.display import watch
    from experiments.history import MOST_SHOWN, check_run

    with watch("checking") as progress:
        count, found = check_run(opened, progress)
    if not found:
        typer.echo(f"{count:,} histories checked; all are those of the sequential rules")
        return 0
    for breach in found[:MOST_SHOWN]:
        typer.echo(f"broken: {breach}", err=True)
    matches = len({breach.match_id for breach in found})
    typer.echo(f"{matches:,} of {count:,} histories are not those of the sequential rules", err=True)
    return 1


@app.command()
def resume(run_path: RunPath) -> None:
    """Play what is missing of a run; nothing is played twice."""
    from experiments.display import print_results, watch
    from experiments.runner import resume_run

    opened = _open(run_path)
    with _stoppable(opened.path), watch("playing") as progress:
        played = resume_run(opened, progress)
    typer.echo(f"{played:,} matches were missing and have been played" if played else "nothing was missing")
    print_results(opened)


@app.command()
def games(
    name: Annotated[
        str | None, typer.Argument(help="One of them: its id, such as bargaining, or its file.", metavar="NAME")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the games and their files; of one, tell the rules by role, parameters, actions and what agents see."""
    from experiments.catalog import print_games

    print_games(name, as_json=as_json)


@app.command()
def agents(as_json: AsJson = False) -> None:
    """List the agents by the game that they play, with their options."""
    from experiments.catalog import print_agents

    print_agents(as_json=as_json)


@app.command()
def tasks(
    family: Annotated[str | None, typer.Option(help="Those of a family, such as vehicles.")] = None,
    market: Annotated[
        str | None,
        typer.Option("--type", help="Those of a type of market (buyers, products, sellers)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the bargaining tasks; `quorum run task=NAME` plays one, task=FAMILY, task=TYPE or task=all several."""
    from experiments.catalog import print_tasks

    print_tasks(family, market, as_json=as_json)


@app.command()
def stress(
    game: Annotated[str | None, typer.Argument(metavar="GAME", help="Its file, or the folder of its files.")] = None,
    settings: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="As in `quorum run`.")] = None,
    matches: Annotated[int, typer.Option(help="Matches for each point of a grid.")] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same matches, schedules and faults.")] = 0,
    delay: Annotated[str | None, typer.Option(help="Of each message: fixed:20ms, uniform:A:B, lognormal:50ms.")] = None,
    loss: Annotated[float | None, typer.Option(help="Probability that a message is lost.")] = None,
    duplicate: Annotated[float | None, typer.Option(help="Probability that a message arrives twice.")] = None,
    reorder: Annotated[bool, typer.Option("--reorder", help="Messages may overtake each other.")] = False,
    crash: Annotated[float | None, typer.Option(help="Probability that the process of a seat dies.")] = None,
    slow: Annotated[
        float | None, typer.Option(help="Probability that an answer comes about its deadline (0.02 in virtual time).")
    ] = None,
    clock: Annotated[str | None, typer.Option(help="virtual, or real: a run whose records are checked.")] = None,
    runtime: Annotated[str, typer.Option(help="local, packed or ray.")] = "local",
    workers: Annotated[int | None, typer.Option(help="Processes (virtual time); one for each core.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where to write; runs/stress-GAME-TIME.")] = None,
    as_json: AsJson = False,
    replay: Annotated[Path | None, typer.Option(metavar="FILE", help="Repeat a violation that was saved.")] = None,
    config_dir: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of your own files.")] = None,
) -> None:
    """Play under seeded schedules and faults, and check every invariant after every item that a referee reads.

    What does not hold is shrunk to the shortest schedule found, shown, and saved as DIR/violation.json; DIR/stress.json
    counts the races that there were. Exit code 1 where something does not hold.

    \b
      quorum stress provision_point --matches 10000 --seed 7
      quorum stress bargaining game.turn_order=concurrent --delay lognormal:50ms --loss 0.02 --crash 0.01
      quorum stress --replay runs/stress-bargaining-TIME/violation.json
    """
    from experiments.stress.asking import ask
    from experiments.stress.command import replay_seed, run_stress

    if replay is not None:
        raise typer.Exit(replay_seed(replay, as_json=as_json))
    if game is None:
        raise ConfigError("GAME is missing: quorum stress provision_point")
    faults = {"delay": delay, "loss": loss, "duplicate": duplicate, "reorder": reorder, "crash": crash, "slow": slow}
    asked = ask(
        game,
        settings or [],
        faults,
        matches=matches,
        seed=seed,
        clock=clock,
        runtime=runtime,
        workers=workers,
        config_dir=config_dir,
    )
    with _stoppable(None):
        code = run_stress(asked, out, as_json=as_json)
    raise typer.Exit(code)


@app.command()
def check(
    game: Annotated[str, typer.Argument(metavar="GAME", help="coalition.")],
    agents: Annotated[int, typer.Option(help="Agents.")] = 3,
    quorum: Annotated[int, typer.Option(help="Signatures that make consensus.")] = 2,
    versions: Annotated[int, typer.Option(help="Versions that a formation may have.")] = 2,
    formations: Annotated[int, typer.Option(help="Formations for the one exclusive task.")] = 1,
    drops: Annotated[int, typer.Option(help="Messages that may be lost, in all.")] = 1,
    duplicates: Annotated[int, typer.Option(help="Messages that may arrive twice, in all.")] = 0,
    commit: Annotated[str, typer.Option(help="Whether agents commit: both, always or never.")] = "both",
    max_states: Annotated[int, typer.Option(help="States after which the search gives up.")] = 2_000_000,
    as_json: AsJson = False,
) -> None:
    """Search every order in which a small world's messages can be read, for one in which an invariant does not hold.

    Prints how many states there are, and the shortest counterexample. Exit code 1 where something does not hold, 3
    where the search gave up.
    """
    from experiments.modelcheck.report import print_check

    code = print_check(
        game,
        as_json=as_json,
        agents=agents,
        quorum=quorum,
        versions=versions,
        formations=formations,
        drops=drops,
        duplicates=duplicates,
        commit=commit,
        max_states=max_states,
    )
    raise typer.Exit(code)


@app.command()
def study(
    name: Annotated[str, typer.Argument(metavar="STUDY", help="timeouts.")],
    formations: Annotated[int, typer.Option(help="Formations in all.")] = 20_000,
    seed: Annotated[
        int, typer.Option(help="The same seed gives the same figures, whatever the number of processes.")
    ] = 0,
    workers: Annotated[int | None, typer.Option(help="Processes; one for each core.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where to write DIR/timeouts.json.")] = None,
    as_json: AsJson = False,
) -> None:
    """Sweep what decides a protocol's success, and say what was found.

    timeouts: the deadline of coalition formation against the delay of messages, in virtual time.
    """
    from experiments.studies.report import run_timeouts

    if name != "timeouts":
        raise ConfigError(f"STUDY={name}: there is no such study (there is: timeouts)")
    with _stoppable(None):
        run_timeouts(formations, seed, workers, out, as_json=as_json)


@app.command()
def bench(
    as_json: AsJson = False,
    quick: Annotated[bool, typer.Option(help="Hardly any work: the shape of the figures, not their values.")] = False,
) -> None:
    """Measure this machine: every runtime against a yardstick of two asyncio queues, in one run."""
    from experiments.bench import print_bench

    print_bench(as_json=as_json, quick=quick)


def _open(path: Path) -> Run:
    from experiments.results import load_run

    return load_run(path)


class _Stopped(Exception):
    """The user has stopped a run."""


@contextmanager
def _stoppable(path: Path | None) -> Iterator[None]:
    """Turn Ctrl-C into the command that goes on with the run; None cannot be gone on with."""
    try:
        yield
    except KeyboardInterrupt:
        there = path is not None and (path / "run.yaml").exists()
        raise _Stopped(f"stopped; go on with: quorum resume {shlex.quote(str(path))}" if there else "stopped") from None


def guarded(command: Callable[[], Any]) -> int:
    """Run a command; returns the exit code.

    A user's mistake is one line on stderr and code 2; Ctrl-C is 130.
    """
    try:
        code = command()
    except QuorumError as error:
        return _said(f"error: {error}", 2)
    except _Stopped as stopped:
        return _said(str(stopped), 130)
    except (KeyboardInterrupt, typer.Abort):
        return _said("stopped", 130)
    except BrokenPipeError:
        # Nobody reads on. The interpreter must not find that out again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except Exception as error:
        # The errors of the command line itself; which package defines them depends on typer's version.
        tell = getattr(error, "format_message", None)
        if tell is None:
            raise
        text = str(tell())
        return _said(text if text.startswith("Usage:") else f"error: {text.rstrip('.')}; see `quorum --help`", 2)
    return code if isinstance(code, int) else 0


def _said(text: str, code: int) -> int:
    typer.echo(text if text.startswith("Usage:") else " ".join(text.split()), err=True)
    return code


def main() -> None:
    """Run the command line."""
    # A user's own agents and games are imported from where the command runs, as `python -m` would.
    sys.path.append(os.getcwd())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(guarded(lambda: app(standalone_mode=False)))


if __name__ == "__main__":
    main()
