"""The tree of errors, and the public names of the world."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

import sim
from sim import errors

SAMPLES = [
    errors.QuorumError("text"),
    errors.ConfigError("text"),
    errors.CodecError("text"),
    errors.TooLarge(300_000, 262_144),
    errors.IllegalAction("text", code="late"),
    errors.InboxFull(4096),
    errors.DeadlockError("text"),
    errors.RecordMismatch("m000007", 3, "text"),
    errors.RunError("text"),
]

PUBLIC = """
ActionType Address BargainingGame Call Clock CoalitionGame CodecError ConfigError DeadlockError Delivery Game
IllegalAction Inbox InboxFull LocalBus MatchRecord MatchSpec Message MessageOnly Notice Outcome PacedState Pass Phase
PrincipalAgentGame ProvisionPointGame QuorumError RecordMismatch Referee RunError State TooLarge UnreliableBus
VirtualLoop rejudge run_virtual
"""


def subclasses(kind: type[Exception]) -> set[type[Exception]]:
    return {kind}.union(*(subclasses(sub) for sub in kind.__subclasses__()))


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_comes_back_whole_from_another_process(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_every_error_of_the_tree_has_a_sample_here() -> None:
    tree = {kind for kind in subclasses(errors.QuorumError) if kind.__module__ == "sim.errors"}
    assert tree == {type(error) for error in SAMPLES}


def test_the_docstring_draws_every_error_below_its_base() -> None:
    drawn: dict[str, int] = {}
    for line in (errors.__doc__ or "").splitlines():
        name = line.lstrip("│├└─ ").split(" ")[0]
        if hasattr(errors, name):
            drawn[name] = len(line) - len(line.lstrip("│├└─ "))
    assert set(drawn) == {type(error).__name__ for error in SAMPLES}
    for error in SAMPLES:
        assert drawn[type(error).__name__] == 4 * (len(type(error).__mro__) - 4)


def test_errors_carry_their_data() -> None:
    too_large = errors.TooLarge(300_000, 262_144)
    assert (too_large.size, too_large.limit) == (300_000, 262_144)
    assert "300,000" in str(too_large)
    mismatch = errors.RecordMismatch("m000007", 3, "differs")
    assert (mismatch.match_id, mismatch.seq, mismatch.detail) == ("m000007", 3, "differs")
    assert "m000007" in str(mismatch)


def test_the_public_names_of_the_world_are_these() -> None:
    assert sorted(sim.__all__) == sorted(PUBLIC.split())
    for name in sim.__all__:
        assert getattr(sim, name) is not None


def test_the_world_is_imported_without_any_heavy_library() -> None:
    heavy = "ray numpy pandas polars pyarrow openai aiohttp hydra typer rich uvloop actors experiments"
    code = f"import sys, sim, sim.testing; print([m for m in {heavy.split()!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
