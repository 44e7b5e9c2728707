"""Models learn the utility of an action in a context, the same on any machine, and are kept without loss."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.learning import (
    Feature,
    Linear,
    LinearModel,
    ModelSpec,
    Tabular,
    TabularModel,
    Update,
    ValueModel,
    load_policies,
    make_model,
    merge,
    model_from_bytes,
    model_spec,
    policy_file,
    save_policies,
    saved_agents,
)
from sim.errors import CodecError, ConfigError, RunError

FIT = Feature("fit")
SIGNED = Feature("signed", 0.0, 4.0, bins=5)
ACTIONS = ("sign", "modify", "reject")
HERE = {"fit": 0.5, "signed": 2.0}

SPECS: list[ModelSpec] = [
    Tabular(features=(FIT, SIGNED), initial=1.0),
    Tabular(features=(FIT, SIGNED), step_size=0.1),
    Linear(features=(FIT, SIGNED), initial=0.5),
    Linear(features=(FIT, SIGNED), ridge=0.01, drift=0.05),
]
every_model = pytest.mark.parametrize("spec", SPECS, ids=["mean", "step", "ridge", "drifting"])


def some_updates(count: int, seed: int = 3) -> list[Update]:
    rng = Random(seed)
    return [
        Update(
            f"d{n:04}",
            {"fit": rng.random(), "signed": float(rng.randrange(5)), "unused": 1.0},
            rng.choice(ACTIONS),
            rng.uniform(-5.0, 5.0),
            n // 10,
        )
        for n in range(count)
    ]


def taught(spec: ModelSpec, count: int = 200) -> ValueModel:
    model = make_model(spec)
    model.learn_batch(some_updates(count))
    return model


def spec_of(model: ValueModel) -> object:
    assert isinstance(model, TabularModel | LinearModel)
    return model.spec


# ── the table ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_cell_is_the_mean_of_its_records_and_others_keep_their_initial_value() -> None:
    model = TabularModel(Tabular(features=(FIT,), initial=7.0))
    for utility in (1.0, 2.0, 6.0):
        model.learn({"fit": 0.3}, "sign", utility)
    assert model.scores({"fit": 0.26}, ["sign", "reject"]) == pytest.approx([3.0, 7.0])
    assert model.scores({"fit": 0.6}, ["sign", "reject"]) == [7.0, 7.0]
    assert model.count({"fit": 0.3}, "sign") == 3
    assert model.count({"fit": 0.3}, "reject") == 0


@given(st.lists(st.floats(-1e15, 1e15), min_size=1, max_size=50))
def test_a_mean_stays_the_mean(utilities: list[float]) -> None:
    model = TabularModel(Tabular())
    for utility in utilities:
        model.learn({}, "sign", utility)
    scale = max(map(abs, utilities))
    assert model.scores({}, ["sign"])[0] == pytest.approx(np.mean(utilities), rel=1e-9, abs=1e-12 * scale)


def test_a_constant_step_size_weighs_recent_records_more() -> None:
    model = TabularModel(Tabular(initial=10.0, step_size=0.25))
    for utility in (0.0, 4.0):
        model.learn({}, "sign", utility)
    assert model.scores({}, ["sign"]) == [0.75 * (0.75 * 10.0) + 0.25 * 4.0]


def test_an_optimistic_table_tries_every_action() -> None:
    model = TabularModel(Tabular(initial=5.0))
    tried = []
    for _ in range(3):
        scores = model.scores({}, ACTIONS)
        tried.append(ACTIONS[scores.index(max(scores))])
        model.learn({}, tried[-1], 1.0)
    assert sorted(tried) == sorted(ACTIONS)


def test_bins_are_equal_and_the_ends_take_what_lies_beyond() -> None:
    model = TabularModel(Tabular(features=(Feature("x", -1.0, 1.0, bins=4),)))
    values = (-float("inf"), -9.0, -1.0, -0.51, -0.5, 0.0, 0.49, 0.5, 1.0, 9.0, float("inf"))
    assert [model.key({"x": x})[0] for x in values] == [0, 0, 0, 0, 1, 2, 2, 3, 3, 3, 3]
    assert [TabularModel(Tabular(features=(SIGNED,))).key({"signed": n}) for n in range(5)] == [
        (0,),
        (1,),
        (2,),
        (3,),
        (4,),
    ]


# ── the linear model ────────────────────────────────────────────────────────────────────────────────────


def context(update: Update) -> list[float]:
    return [1.0, 2 * update.features["fit"] - 1, 2 * update.features["signed"] / 4 - 1]


@pytest.mark.parametrize("ridge", [1e-6, 0.1, 1.0, 50.0])
def test_weights_are_those_of_ridge_regression(ridge: float) -> None:
    model = LinearModel(Linear(features=(FIT, SIGNED), ridge=ridge, initial=2.0))
    updates = some_updates(300)
    model.learn_batch(updates)
    start = np.array([2.0, 0.0, 0.0])
    for action in ACTIONS:
        x = np.array([context(u) for u in updates if u.action == action])
        y = np.array([u.utility for u in updates if u.action == action])
        inverse = np.linalg.inv(x.T @ x + ridge * np.eye(3))
        expected = start + inverse @ x.T @ (y - x @ start)
        assert model.weights(action) == pytest.approx(expected, rel=1e-6, abs=1e-8)
        assert model.covariance(action) == pytest.approx(inverse, rel=1e-4, abs=1e-8)


def test_a_linear_utility_is_learnt_and_carries_over_to_contexts_never_seen() -> None:
    model = LinearModel(Linear(features=(Feature("price", 0.0, 200.0), FIT), ridge=1e-6))
    rng = Random(1)
    for _ in range(50):
        here = {"price": rng.uniform(0.0, 100.0), "fit": rng.random()}
        model.learn(here, "sign", 3.0 * here["price"] - 40.0 * here["fit"] + 7.0)
    assert model.scores({"price": 180.0, "fit": 0.0}, ["sign", "reject"]) == pytest.approx([547.0, 0.0], abs=1e-3)


def test_drift_follows_a_world_that_changes() -> None:
    left = {}
    for drift in (0.0, 0.05):
        model = LinearModel(Linear(features=(FIT,), drift=drift))
        rng = Random(2)
        for n in range(1200):
            here = {"fit": rng.random()}
            model.learn(here, "sign", (1.0 if n < 1000 else -1.0) * here["fit"])
        left[drift] = abs(model.scores({"fit": 1.0}, ["sign"])[0] + 1.0)
    assert left[0.05] < 0.01
    assert left[0.0] > 0.5


@pytest.mark.parametrize("drift", [0.0, 0.01, 0.9])
@pytest.mark.parametrize("ridge", [1e-6, 1.0, 1e6])
def test_nothing_makes_the_linear_model_diverge(drift: float, ridge: float) -> None:
    features = tuple(Feature(f"f{n}") for n in range(4))
    model = LinearModel(Linear(features=features, drift=drift, ridge=ridge))
    rng = Random(4)
    for n in range(3000):
        # Mostly the same context: what is not observed is where a forgetting filter winds up.
        here = {f.name: (1e300 if n % 97 == 0 else 0.5) * (f.name != "f3" or n % 500 == 0) for f in features}
        model.learn(here, "sign", rng.choice((1e15, -1e15, 0.0)))
    found = model.covariance("sign")
    eigenvalues = np.linalg.eigvalsh(found)
    assert (found == found.T).all()
    assert eigenvalues.min() > -1e-12 / ridge
    assert eigenvalues.max() <= (1.0 + 1e-9) / ridge
    assert max(map(abs, model.scores({f.name: 1.0 for f in features}, ["sign"]))) < 1e17


def test_a_variance_that_rounding_made_negative_is_taken_for_none() -> None:
    plain = msgspec.msgpack.decode(make_model(Linear()).to_bytes())
    model = model_from_bytes(msgspec.msgpack.encode(plain | {"version": 1, "arms": [["sign", [0.0], [-1.0]]]}))
    model.learn({}, "sign", 3.0)
    assert abs(model.scores({}, ["sign"])[0]) <= 3.0


def test_what_a_model_shows_of_itself_is_a_copy() -> None:
    model = LinearModel(SPECS[2])  # type: ignore[arg-type]
    model.learn(HERE, "sign", 1.0)
    before = model.to_bytes()
    model.covariance("sign")[:] = 0.0
    model.weights("sign").clear()
    assert model.to_bytes() == before


# ── every model ─────────────────────────────────────────────────────────────────────────────────────────


@every_model
def test_a_model_finds_the_best_action_of_each_context(spec: ModelSpec) -> None:
    model = make_model(spec)
    rng = Random(5)
    for _ in range(2000):
        fit, action = rng.random(), rng.choice(ACTIONS)
        mean = {"sign": 4 * fit - 2, "modify": 0.0, "reject": 2 - 4 * fit}[action]
        model.learn({"fit": fit, "signed": 2.0}, action, mean + rng.gauss(0.0, 0.5))
    assert model.version == 2000
    for fit, best in ((0.1, "reject"), (0.9, "sign")):
        scores = model.scores({"fit": fit, "signed": 2.0}, ACTIONS)
        assert ACTIONS[scores.index(max(scores))] == best


@every_model
def test_a_new_model_gives_its_initial_value_to_all(spec: ModelSpec) -> None:
    assert make_model(spec).scores(HERE, ACTIONS) == [spec.initial] * 3
    assert make_model(spec).scores(HERE, []) == []


@every_model
def test_a_batch_is_its_updates_one_by_one(spec: ModelSpec) -> None:
    one_by_one = make_model(spec)
    for update in some_updates(200):
        one_by_one.learn(update.features, update.action, update.utility)
    assert taught(spec).to_bytes() == one_by_one.to_bytes()
    assert one_by_one.version == 200


@every_model
def test_merged_batches_give_one_model_whichever_came_first(spec: ModelSpec) -> None:
    updates = some_updates(90)
    batches = [updates[0:30], updates[30:60], updates[60:90], updates[10:20]]  # the last was sent twice
    models = []
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)):
        model = make_model(spec)
        model.learn_batch(merge(batches[n] for n in order))
        models.append(model.to_bytes())
    assert models[0] == models[1] == models[2] == taught(spec, 90).to_bytes()


def test_merging_orders_by_version_then_decision() -> None:
    late, early, tie = (Update(d, {}, "sign", 1.0, v) for d, v in (("a", 2), ("c", 1), ("b", 1)))
    assert merge([[late], [early, tie]]) == [tie, early, late]
    with pytest.raises(ValueError, match=r"'a'.*differ"):
        merge([[late], [Update("a", {}, "sign", 2.0, 2)]])


@every_model
@pytest.mark.parametrize(
    "wrong",
    [
        Update("x", HERE, "sign", float("nan")),
        Update("x", HERE, "sign", float("inf")),
        Update("x", HERE, "sign", 2e15),
        Update("x", {"fit": 0.5}, "sign", 1.0),
        Update("x", {"fit": float("nan"), "signed": 1.0}, "sign", 1.0),
        Update("d0003", HERE, "sign", 1.0),
    ],
)
def test_a_wrong_update_leaves_the_model_as_it_was(spec: ModelSpec, wrong: Update) -> None:
    model = taught(spec, 20)
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"utility|feature"):
        model.learn_batch([*some_updates(5), wrong])
    if wrong.decision_id == "x":
        with pytest.raises(ValueError, match=r"utility|feature"):
            model.learn(wrong.features, wrong.action, wrong.utility)
    assert model.to_bytes() == before
    assert model.version == 20


@every_model
def test_a_context_that_cannot_be_scored_is_told(spec: ModelSpec) -> None:
    with pytest.raises(ValueError, match="'signed' is None; the context has fit"):
        make_model(spec).scores({"fit": 0.5}, ACTIONS)
    with pytest.raises(ValueError, match="'fit' is nan"):
        make_model(spec).scores({"fit": float("nan"), "signed": 0.0}, ACTIONS)


# ── bytes ───────────────────────────────────────────────────────────────────────────────────────────────


@every_model
def test_bytes_give_back_the_model_exactly_and_it_learns_on_alike(spec: ModelSpec) -> None:
    model = taught(spec)
    back = model_from_bytes(model.to_bytes())
    assert type(back) is type(model)
    assert back.to_bytes() == model.to_bytes()
    assert (back.version, spec_of(back)) == (200, spec)
    for update in some_updates(50, seed=9):
        assert back.scores(update.features, ACTIONS) == model.scores(update.features, ACTIONS)
        for each in (back, model):
            each.learn(update.features, update.action, update.utility)
    assert back.to_bytes() == model.to_bytes()


def test_whole_numbers_in_settings_come_back_as_the_same_bytes() -> None:
    specs: list[ModelSpec] = [Tabular(features=(Feature("n", 0, 3),), initial=1, step_size=1), Linear(ridge=2, drift=0)]
    for spec in specs:
        data = make_model(spec).to_bytes()
        assert model_from_bytes(data).to_bytes() == data


@every_model
def test_damaged_bytes_are_no_model(spec: ModelSpec) -> None:
    data = taught(spec, 20).to_bytes()
    for damaged in (b"", data[:-1], data + b"\0", b"\xc1" + data, msgspec.msgpack.encode({"kind": "other"})):
        with pytest.raises(CodecError):
            model_from_bytes(damaged)
    plain = msgspec.msgpack.decode(data)
    parts = plain["cells" if "cells" in plain else "arms"]
    for wrong in ({"version": -1}, {"version": 2}, {"cells": parts * 2, "arms": parts * 2}, {"spec": SPECS_WRONG}):
        with pytest.raises(CodecError):
            model_from_bytes(msgspec.msgpack.encode(plain | wrong))
    parts[0][-1] = float("nan") if "cells" in plain else [float("nan")] * 9
    with pytest.raises(CodecError):
        model_from_bytes(msgspec.msgpack.encode(plain))


SPECS_WRONG = {"kind": "neural"}


def test_fewer_features_than_weights_are_no_model() -> None:
    for spec in (SPECS[0], SPECS[2]):
        plain = msgspec.msgpack.decode(taught(spec, 20).to_bytes())
        plain["spec"]["features"] = plain["spec"]["features"][:1]
        with pytest.raises(CodecError):
            model_from_bytes(msgspec.msgpack.encode(plain))


def test_the_same_records_give_the_bytes_that_they_always_gave() -> None:
    assert digests() == KNOWN


def test_another_process_with_another_hash_seed_learns_the_same() -> None:
    code = "from test_models import digests; print(digests())"
    folder = str(Path(__file__).parent)
    for hash_seed in ("0", "4242"):
        env = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": folder}
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
        assert ended.stdout == f"{KNOWN}\n"


def digests() -> list[str]:
    return [blake2b(taught(spec).to_bytes(), digest_size=8).hexdigest() for spec in SPECS]


KNOWN = ["8dbe04d51cf0de17", "d5b9946ec5bdc6ac", "c3903353a8a1279a", "7f4b12c0424505bb"]


# ── settings ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_model_is_set_from_yaml() -> None:
    plain = {"kind": "tabular", "features": [{"name": "fit"}, {"name": "signed", "high": 4, "bins": 5}], "initial": 1}
    assert model_spec(plain) == SPECS[0]
    assert model_spec({"kind": "linear", "ridge": 0.5}) == Linear(ridge=0.5)


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        ({"kind": "neural"}, ["model", "neural"]),
        ({}, ["kind"]),
        ({"kind": "tabular", "ridge": 1.0}, ["ridge"]),
        ({"kind": "tabular", "step_size": 0.0}, ["step_size=0.0", "above 0"]),
        ({"kind": "tabular", "step_size": float("nan")}, ["step_size=nan"]),
        ({"kind": "tabular", "initial": float("inf")}, ["initial=inf"]),
        ({"kind": "linear", "ridge": 0.0}, ["ridge=0.0", "1e-6"]),
        ({"kind": "linear", "drift": 1.0}, ["drift=1.0"]),
        ({"kind": "linear", "features": [{"name": f"f{n}"} for n in range(101)]}, ["101", "at most 100"]),
        ({"kind": "linear", "features": [{"name": "a"}, {"name": "a"}]}, ["'a' is there 2 times"]),
        ({"kind": "tabular", "features": [{"name": "a", "low": 1.0}]}, ["features.a", "low < high"]),
        ({"kind": "tabular", "features": [{"name": "a", "high": float("inf")}]}, ["features.a", "finite"]),
        ({"kind": "tabular", "features": [{"name": "a", "low": -1e308, "high": 1e308}]}, ["features.a"]),
        ({"kind": "tabular", "features": [{"name": "a", "bins": 0}]}, ["features.a.bins=0"]),
    ],
)
def test_a_wrong_setting_is_named(plain: dict[str, object], words: list[str]) -> None:
    with pytest.raises(ConfigError) as raised:
        model_spec(plain)
    for word in words:
        assert word in str(raised.value)


def test_numpy_is_imported_when_a_linear_model_learns_and_not_before() -> None:
    code = (
        "import sys, actors.learning as learning\n"
        "model = learning.LinearModel(learning.Linear())\n"
        "model.scores({}, ['sign'])\n"
        "assert 'numpy' not in sys.modules\n"
        "model.learn({}, 'sign', 1.0)\n"
        "assert 'numpy' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ── on disk ─────────────────────────────────────────────────────────────────────────────────────────────


def test_all_models_of_an_agent_are_saved_and_loaded(tmp_path: Path) -> None:
    models = {f"m{n}": taught(spec) for n, spec in enumerate(SPECS)}
    assert save_policies(tmp_path, "ann", models) == tmp_path / "policies" / "ann.msgpack"
    back = load_policies(tmp_path, "ann")
    assert {name: model.to_bytes() for name, model in back.items()} == {n: m.to_bytes() for n, m in models.items()}
    save_policies(tmp_path, "ann", {})
    assert load_policies(tmp_path, "ann") == {}
    assert [file.name for file in (tmp_path / "policies").iterdir()] == ["ann.msgpack"]


ODD = ["ann", "Ann", "ANN", "a/b", "../ann", ".", "..", "", "%", "%41", "a b", "a\0b", "团", "a.msgpack"]
ODD += ["\u00e4", "a\u0308"]  # the same letter, and another id


def test_odd_agent_ids_have_files_of_their_own_in_the_folder(tmp_path: Path) -> None:
    model = make_model(Tabular())
    for n, agent_id in enumerate(ODD):
        model.learn({}, "sign", float(n))
        file = save_policies(tmp_path, agent_id, {"m": model})
        assert file.parent == tmp_path / "policies"
    assert saved_agents(tmp_path) == sorted(ODD)
    assert [load_policies(tmp_path, agent_id)["m"].version for agent_id in ODD] == list(range(1, len(ODD) + 1))


@given(st.text(max_size=20), st.text(max_size=20))
def test_two_agents_share_no_file_even_where_case_does_not_count(one: str, two: str) -> None:
    names = [policy_file(Path(), agent_id).name.lower() for agent_id in (one, two)]
    assert (names[0] == names[1]) == (one == two)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_%.") for name in names)


def test_an_id_that_makes_no_file_name_is_told(tmp_path: Path) -> None:
    save_policies(tmp_path, "a" * 200, {})
    with pytest.raises(ConfigError, match="201 bytes, and 200 are allowed"):
        save_policies(tmp_path, "a" * 201, {})
    with pytest.raises(ConfigError, match="surrogate"):
        save_policies(tmp_path, "\ud8ff", {})


def test_files_of_other_names_are_no_agents(tmp_path: Path) -> None:
    save_policies(tmp_path, "bob", {})
    for name in ("Bob.msgpack", "%zz.msgpack", "%62.msgpack", "%ff.msgpack", "é.msgpack", "ann.msgpack.1-2.tmp", "x"):
        (tmp_path / "policies" / name).write_bytes(b"")
    assert saved_agents(tmp_path) == ["bob"]
    assert saved_agents(tmp_path / "none") == []


def test_no_byte_of_a_file_can_be_damaged_unnoticed(tmp_path: Path) -> None:
    file = save_policies(tmp_path, "ann", {"m": taught(SPECS[0], 3), "n": taught(SPECS[2], 3)})
    data = file.read_bytes()
    for n in range(len(data)):
        file.write_bytes(data[:n] + bytes([data[n] ^ 1]) + data[n + 1 :])
        with pytest.raises(RunError, match=r"ann\.msgpack: "):
            load_policies(tmp_path, "ann")
    for n in (0, 1, len(data) // 2, len(data) - 1):
        file.write_bytes(data[:n])
        with pytest.raises(RunError, match="damaged"):
            load_policies(tmp_path, "ann")


def test_files_that_are_not_its_own_are_told_apart(tmp_path: Path) -> None:
    file = save_policies(tmp_path, "ann", {})
    plain = msgspec.msgpack.decode(file.read_bytes())
    bad_model = plain | {"models": {"m": b"no model"}}
    bad_model["digest"] = blake2b(msgspec.msgpack.encode(["ann", bad_model["models"]]), digest_size=16).digest()
    for content, words in (
        (plain | {"schema": 2, "models": 3}, "schema 2, and this version reads 1"),
        (plain | {"format": "other"}, "of format 'other'"),
        (bad_model, "not a value model"),
        ({"schema": 1}, "no policy file"),
        (["a list"], "no policy file"),
    ):
        file.write_bytes(msgspec.msgpack.encode(content))
        with pytest.raises(RunError, match=words):
            load_policies(tmp_path, "ann")
    save_policies(tmp_path, "ann", {}).rename(policy_file(tmp_path, "bob"))
    with pytest.raises(RunError, match=r"agent 'ann'; the file was renamed"):
        load_policies(tmp_path, "bob")
    with pytest.raises(RunError, match="no policies of this agent"):
        load_policies(tmp_path, "ann")
    file.mkdir()
    with pytest.raises(RunError, match="cannot be read"):
        load_policies(tmp_path, "ann")


def test_a_save_that_fails_leaves_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_policies(tmp_path, "ann", {"m": taught(SPECS[0], 5)})

    def full(descriptor: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        save_policies(tmp_path, "ann", {"m": taught(SPECS[0], 9)})
    monkeypatch.undo()
    assert load_policies(tmp_path, "ann")["m"].version == 5
    assert [file.name for file in (tmp_path / "policies").iterdir()] == ["ann.msgpack"]
