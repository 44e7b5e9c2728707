"""The `quorum` command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sim.errors import QuorumError, RecordMismatch

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


@app.command(context_settings={"ignore_unknown_options": False})
def run(
    settings: Annotated[
        list[str] | None,
        typer.Argument(help="Settings such as game=provision_point/full game.threshold=100,150 num_matches=1000"),
    ] = None,
) -> None:
    """Play matches: game=..., agents=..., runtime=..., num_matches=..., seed=..., out=...; commas make a grid."""
    from experiments.config import compose
    from experiments.display import print_results, watch
    from experiments.runner import run_config

    config = compose(settings or [])
    with watch("playing") as progress:
        played = run_config(config, progress)
    print_results(played)


@app.command()
def results(
    run_path: RunPath,
    as_json: AsJson = False,
    sql: Annotated[str | None, typer.Option(help="Query over the tables matches and events.")] = None,
) -> None:
    """Show what came out of a run."""
    from experiments.display import print_query, print_results, print_results_json

    opened = _open(run_path)
    if sql is not None:
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
    from experiments.display import print_transcript

    print_transcript(_open(run_path), match)


@app.command()
def replay(run_path: RunPath) -> None:
    """Judge every record again; exits with 1 at the first that differs."""
    from experiments.display import watch
    from experiments.replaying import replay_run

    opened = _open(run_path)
    try:
        with watch("judging") as progress:
            count = replay_run(opened, progress)
    except RecordMismatch as mismatch:
        typer.echo(f"differs: {mismatch}", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"{count:,} matches judged again; all give the same events and outcomes")


@app.command()
def resume(run_path: RunPath) -> None:
    """Play what is missing of a run; nothing is played twice."""
    from experiments.display import print_results, watch
    from experiments.runner import resume_run

    opened = _open(run_path)
    with watch("playing") as progress:
        played = resume_run(opened, progress)
    typer.echo(f"{played:,} matches were missing and have been played" if played else "nothing was missing")
    print_results(opened)


@app.command()
def games(as_json: AsJson = False) -> None:
    """List the games, with their parameters and actions."""
    from experiments.catalog import print_games

    print_games(as_json=as_json)


@app.command()
def agents(as_json: AsJson = False) -> None:
    """List the agents, with their parameters."""
    from experiments.catalog import print_agents

    print_agents(as_json=as_json)


@app.command()
def bench(
    as_json: AsJson = False,
    quick: Annotated[
        bool, typer.Option(help="A tenth of the work: the shape of the figures, not their values.")
    ] = False,
) -> None:
    """Measure this machine: every runtime against a yardstick of two asyncio queues, in one run."""
    from experiments.bench import print_bench

    print_bench(as_json=as_json, quick=quick)


def _open(path: Path) -> Run:
    from experiments.results import load_run

    return load_run(path)


def guarded(command: Callable[[], Any]) -> int:
    """Run a command; a user's mistake is one line and exit code 2, Ctrl-C is 130."""
    try:
        command()
    except QuorumError as error:
        typer.echo(f"error: {error}", err=True)
        return 2
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


def main() -> None:
    """Run the command line."""
    sys.exit(guarded(app))


if __name__ == "__main__":
    main()
