"""Seeds become generators, the same on every machine."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sim.rng import derive, generator

names = st.lists(st.one_of(st.integers(), st.text(max_size=10)), max_size=3)


def test_a_seed_gives_the_draws_that_it_always_gave() -> None:
    assert derive(7, "seat", 2) == 983285717174837193
    assert derive(0) == 7210762507766007076
    assert derive(-5, "game") == 2446129531905122191
    assert generator(7, "game").random() == 0.6053067123201735


def test_another_process_with_another_hash_seed_draws_the_same() -> None:
    code = "from sim.rng import derive, generator; print(derive(7, 'seat', 2), generator(7, 'game').random())"
    said = set()
    for hash_seed in ("0", "1", "4242"):
        env = os.environ | {"PYTHONHASHSEED": hash_seed}
        said.add(
            subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env).stdout
        )
    assert said == {f"{derive(7, 'seat', 2)} {generator(7, 'game').random()}\n"}


@given(st.integers(), names)
def test_a_derived_seed_fits_63_bits_and_depends_on_its_arguments_alone(seed: int, purpose: list[int | str]) -> None:
    derived = derive(seed, *purpose)
    assert 0 <= derived < 2**63
    assert derived == derive(seed, *purpose)


def test_different_purposes_draw_differently() -> None:
    seeds = [
        derive(seed, *name) for seed in range(50) for name in ((), ("game",), ("seat", 0), ("seat", 1), ("seat", "1"))
    ]
    assert len(set(seeds)) == len(seeds)
    assert derive(1, "ab", "c") != derive(1, "a", "bc")


def test_the_order_in_which_generators_are_asked_for_does_not_matter() -> None:
    first = [generator(3, "seat", n).random() for n in range(5)]
    second = [generator(3, "seat", n).random() for n in reversed(range(5))]
    assert first == second[::-1]


def test_generators_of_neighbouring_seeds_are_unrelated() -> None:
    draws = [generator(seed, "game").random() for seed in range(2000)]
    rising = sum(a < b for a, b in pairwise(draws))
    assert 900 < rising < 1100
    assert 0.48 < sum(draws) / len(draws) < 0.52
