"""The coalition game by its rules, as a match plays them."""

from __future__ import annotations

import json

import pytest
from coalition_players import play_by_hand
from coalitions import IDS, Table

from actors.doc_text import entries
from sim.games.coalition import CoalitionGame
from sim.messages import Lost
from sim.replay import rejudge
from sim.rng import generator
from sim.testing import MatchByHand

# ── 1: initiation ───────────────────────────────────────────────────────────────────────────────────────────


def test_who_discovers_a_task_is_asked_in_a_thread_of_its_own_and_sees_the_task_its_cost_and_its_peers() -> None:
    table = Table(costs={"a": {1: 7}, "b": 1, "c": 1, "d": 1})
    assert [seat for seat, _ in table.open_turns()] == [0]
    view = table.seen("a")
    assert (view["step"], view["my_cost"], view["units"], view["task"]["value"]) == ("C1", 7, 10, 30)
    assert [peer["id"] for peer in view["peers"]] == ["b", "c", "d"]
    assert table.ask(0).allowed == ("initiate", "decline", "message_only")  # type: ignore[union-attr]


def test_initiating_makes_version_1_with_the_initiators_signature_and_asks_the_invited_alone() -> None:
    table = Table()
    table.initiate(invited=["b", "c"])
    assert [seat for seat, _ in table.open_turns()] == [1, 2]
    view = table.seen("b")
    assert (view["step"], view["formation"], view["version"]["number"]) == ("C2", 1, 1)
    assert (view["signed"], view["my_share"], view["initiator"]) == ({"a": False}, 15, "a")
    assert all(e.recipients is None or 3 not in e.recipients for e in table.events if b'"formation"' in e.body[9:])


@pytest.mark.parametrize("silent", [False, True])
def test_not_initiating_ends_in_listening(silent: bool) -> None:
    table = Table()
    table.lapse() if silent else table.do("a", "decline")
    assert table.outcome is not None
    assert (table.outcome.trigger, table.outcome.utilities) == ("none_formed", (0.0,) * 4)
    assert table.rows(step="C1", action="decline", next="listening")


def test_what_an_initiation_leaves_out_is_all_known_peers_even_shares_and_no_commitment() -> None:
    table = Table()
    assert table.do("a", "initiate") is None
    version = table.seen("b")["version"]
    assert version["allocation"] == {"a": 8, "b": 8, "c": 7, "d": 7}
    assert version["commitment"] == {}


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ({"invited": ["nobody"]}, "there is no 'nobody'"),
        ({"invited": []}, "needs 2 signatures"),
        ({"invited": ["b", "b"]}, "b is invited twice"),
        ({"allocation": {"a": 31}}, "more than the task's value"),
        ({"invited": ["b"], "allocation": {"c": 1}}, "c is not invited"),
        ({"commitment": {"a": 11}, "commit": True}, "a does not have 11"),
        ({"task": 2}, "about task 1, not 2"),
    ],
)
def test_an_initiation_that_makes_no_sense_is_refused_in_words_that_name_seats_by_their_ids(
    payload: dict[str, object], why: str
) -> None:
    table = Table()
    refused = table.do("a", "initiate", **payload)
    assert refused is not None
    assert why in refused.reason
    assert table.asked("a")


def test_a_seat_invites_whom_it_knows() -> None:
    table = Table(known_peers=1)
    (known,) = [peer["id"] for peer in table.seen("a")["peers"]]
    stranger = next(agent_id for agent_id in IDS[1:] if agent_id != known)
    refused = table.do("a", "initiate", invited=[stranger])
    assert refused is not None
    assert f"you do not know {stranger}" in refused.reason


# ── 2 to 4: signing, modifying, rejecting ───────────────────────────────────────────────────────────────────


def test_a_signature_of_a_current_digest_with_commit_locks_what_is_owed() -> None:
    table = Table(tasks=[{"quorum": 3}])
    table.initiate(owes=4)
    assert table.do("b", "sign", digest=table.digest(), commit=True) is None
    assert table.world.ledger.available(1, "units") == 6
    assert table.seen("c")["signed"] == {"a": False}  # who thinks is not disturbed by a signature


def test_units_that_are_locked_in_one_formation_are_refused_to_another() -> None:
    table = Table(tasks=[{"quorum": 3}, {}])
    table.initiate(owes=6, thread=1)
    table.initiate(owes=6, thread=2)
    for formation, thread in ((1, 3), (2, 4)):
        refused = table.do("b", "sign", thread, digest=table.digest(formation), commit=True)
        assert (refused is None) == (formation == 1)
    assert refused is not None
    assert "b does not have 6 of 'units'" in refused.reason
    assert table.judge.state.races()["lock_conflicts"] == 1


def test_a_modification_makes_the_next_version_and_all_others_are_asked_again() -> None:
    table = Table(tasks=[{"quorum": 3}])
    table.initiate()
    table.do("b", "sign", digest=table.digest())
    turn = table.ask(2).turn  # type: ignore[union-attr]
    assert table.do("c", "modify", parent=table.digest(), allocation={"a": 10, "b": 10, "c": 10}) is None
    for agent_id in ("a", "b", "d"):
        view = table.seen(agent_id)
        assert (view["version"]["number"], view["version"]["author"], view["signed"]) == (2, "c", {"c": False})
        assert view["deadline"] == 10.0
    assert not table.asked("c")
    assert turn not in [number for _, number in table.open_turns()]


def test_there_are_at_most_max_versions() -> None:
    table = Table(max_versions=2, tasks=[{"quorum": 3}])
    table.initiate()
    table.do("b", "modify", parent=table.digest())
    assert "modify" not in table.ask(2).allowed  # type: ignore[union-attr]
    refused = table.send("c", "modify", parent=table.digest())
    assert refused is not None
    assert "has had its 2 versions" in refused.reason


def test_rejecting_is_for_good() -> None:
    table = Table()
    table.initiate()
    table.do("c", "reject")
    assert not table.asked("c")
    refused = table.send("c", "sign", digest=table.digest())
    assert refused is not None
    assert refused.code == "late"


def test_rejecting_after_signing_withdraws_and_gives_back_what_is_locked() -> None:
    table = Table(tasks=[{"quorum": 3}])
    table.initiate(owes=4)
    table.do("b", "sign", digest=table.digest(), commit=True)
    assert table.send("b", "reject") is None
    assert table.world.ledger.available(1, "units") == 10
    assert table.world.formation(1).rejected == {1: None}


def test_a_version_that_pays_a_seat_that_has_left_asks_all_for_another() -> None:
    table = Table(tasks=[{"quorum": 2}])
    table.initiate()
    table.do("b", "reject")
    assert table.ask(0).allowed == ("modify", "reject", "pass", "message_only")  # type: ignore[union-attr]
    assert table.do("a", "modify", parent=table.digest(), allocation={"a": 15, "c": 15}) is None
    assert table.do("c", "sign", digest=table.digest()) is None
    assert table.status() == "active"


# ── 5: the threshold ────────────────────────────────────────────────────────────────────────────────────────


def test_the_threshold_is_checked_after_each_signature_and_each_check_is_in_the_record_alone() -> None:
    table = Table(tasks=[{"quorum": 3}])
    table.initiate()
    table.do("b", "sign", digest=table.digest())
    table.do("c", "sign", digest=table.digest())
    found = [(check["signers"], check["status"], check["next"]) for check in table.rows(step="threshold")]
    assert found == [
        (["a"], "not_met", "C2"),
        (["a", "b"], "not_met", "C2"),
        (["a", "b", "c"], "met", "C4"),
    ]
    assert all(event.recipients == () for event in table.events if b'"step":"threshold"' in event.body)


def test_it_fails_early_when_those_who_are_left_can_no_longer_agree() -> None:
    table = Table(seats=3)
    table.initiate()
    for agent_id in ("b", "c"):
        table.do(agent_id, "reject")
    assert table.status() == "failed: infeasible"
    assert table.outcome is not None


def test_it_fails_when_its_initiator_leaves() -> None:
    table = Table()
    table.initiate()
    table.send("a", "reject")
    assert table.status() == "failed: withdrawn"
    rejudge(table.record(), table.game)  # what was sent without a turn as well


def test_it_fails_at_its_deadline() -> None:
    table = Table(turn_timeout=4.0)
    table.initiate()
    table.pass_time(10.0)
    assert table.status() == "failed: timeout"
    assert table.rows(step="threshold", status="timeout", next="failed")
    assert table.rows(status="failed", reason="timeout")


def test_capabilities_of_the_signers_have_to_cover_what_the_task_requires() -> None:
    table = Table(tasks=[{"requires": [2, 1]}], capabilities={"a": [1, 0], "b": [1, 0], "c": [0, 1], "d": [0, 0]})
    table.initiate(allocation={"a": 30})
    table.do("b", "sign", digest=table.digest())
    assert table.status() == "open"
    table.do("c", "sign", digest=table.digest())
    assert table.status() == "active"


# ── asking ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_seat_that_does_not_answer_is_asked_again_after_each_turn_until_the_deadline() -> None:
    table = Table(seats=2, turn_timeout=4.0)
    table.initiate()
    deadlines = []
    while table.outcome is None:
        if table.asked("b") and table.ask(1).deadline not in deadlines:  # type: ignore[union-attr]
            deadlines.append(table.ask(1).deadline)  # type: ignore[union-attr]
        table.lapse()
    assert deadlines == [4.0, 8.0, 10.0]
    assert table.status() == "failed: timeout"


def test_a_seat_that_waits_is_asked_again_when_something_has_changed_and_not_before() -> None:
    table = Table(tasks=[{"quorum": 3}], turn_timeout=2.0)
    table.initiate()
    for agent_id in ("b", "c", "d"):
        assert table.do(agent_id, "pass") is None
    assert table.open_turns() == []
    assert table.send("b", "sign", digest=table.digest()) is None
    assert [seat for seat, _ in table.open_turns()] == [2, 3]


def test_a_seat_that_waits_on_what_is_out_of_date_is_asked_again_at_once() -> None:
    table = Table(tasks=[{"quorum": 3}])
    table.initiate()
    table.do("b", "sign", digest=table.digest())
    assert table.do("c", "pass") is None
    assert table.seen("c")["signed"] == {"a": False, "b": False}
    assert table.do("c", "pass") is None
    assert not table.asked("c")


def test_a_pass_that_crosses_a_new_version_is_not_taken_for_one_on_it() -> None:
    table = Table(tasks=[{"quorum": 3}])
    table.initiate()
    asked = table.turn("c", 2)
    table.do("b", "modify", parent=table.digest(), allocation={"a": 10, "b": 10, "c": 10})
    assert table.act(2, "pass", {}, turn=asked) is None  # sent when it had seen version 1 alone
    assert table.turn("c", 2) != asked
    assert table.seen("c")["version"]["number"] == 2
    assert table.do("c", "pass") is None
    assert not table.asked("c")


def test_a_seat_that_is_lost_is_not_asked_in_a_busy_loop() -> None:
    table = Table(seats=2, turn_timeout=1.0)
    table.initiate()
    table.read(-1, Lost(1, "its process died"))
    table.pass_time(10.0)
    assert table.outcome is not None
    assert table.status() == "failed: timeout"
    assert table.record().turns <= 15


# ── 6 and 7: consensus and activation ───────────────────────────────────────────────────────────────────────


def agreed(**parameters: object) -> Table:
    """Return a table at which `a` and `b` agree, and `b` has not locked what it owes."""
    table = Table(**parameters)  # type: ignore[arg-type]
    table.initiate(owes=4, commit=True)
    assert table.do("b", "sign", digest=table.digest()) is None
    return table


def test_a_coalition_whose_members_have_all_committed_is_active_at_once() -> None:
    table = Table()
    table.initiate(owes=4, commit=True)
    table.do("b", "sign", digest=table.digest(), commit=True)
    assert table.outcome is not None
    assert (table.status(), table.outcome.trigger) == ("active", "formed")
    assert table.rows(status="active", auto=True, members=["a", "b"])
    assert table.outcome.figures["units"] == {"supply": 40, "available": 32, "held": 0, "bound": 8}


def test_else_the_initiator_is_asked_and_sees_who_has_not_committed() -> None:
    table = agreed()
    assert [seat for seat, _ in table.open_turns()] == [0]
    view = table.seen("a")
    assert (view["step"], view["members"], view["uncommitted"]) == ("C4", ["a", "b"], {"b": 4})
    assert view["decide_by"] == 5.0
    assert table.do("a", "deploy") is None
    assert table.outcome is not None
    assert table.outcome.utilities == (12.0, 12.0, 0.0, 0.0)


@pytest.mark.parametrize(("silent", "reason"), [(False, "decided"), (True, "timeout")])
def test_aborting_and_silence_give_everything_back(silent: bool, reason: str) -> None:
    table = agreed(turn_timeout=2.0)
    if silent:
        table.pass_time(5.0)
    else:
        table.do("a", "abort")
    assert table.status() == f"aborted: {reason}"
    assert table.outcome is not None
    assert table.outcome.figures["units"]["available"] == 40


def test_after_consensus_nothing_changes_any_more() -> None:
    table = agreed()
    for name, payload in (("sign", {"digest": table.digest()}), ("modify", {"parent": table.digest()}), ("reject", {})):
        for agent_id in ("b", "c"):
            refused = table.send(agent_id, name, **payload)
            assert refused is not None
            assert refused.code == "late", name
    assert table.world.formation(1).members == (0, 1)


def test_deploying_is_all_or_nothing() -> None:
    table = Table(tasks=[{"exclusive": False}, {"quorum": 2, "exclusive": False}])
    table.initiate(owes=6, thread=1)
    table.initiate(owes=6, thread=2)
    table.do("b", "sign", 3, digest=table.digest(1))
    table.do("b", "sign", 4, digest=table.digest(2))
    first, second = (table.turn("a", thread) for thread in (5, 6))
    assert table.act(0, "deploy", turn=first) is None
    refused = table.act(0, "deploy", turn=second)
    assert refused is not None
    assert "a does not have 6 of 'units'" in refused.reason
    assert table.world.ledger.balance(1, "units").bound == 6


# ── 8 and 9: what failing gives back, and exclusive tasks ───────────────────────────────────────────────────


def rivals() -> Table:
    table = Table(discoverers=("a", "c"))
    table.initiate(owes=4)
    allocation, commitment = {"c": 15, "d": 15}, {"c": 5, "d": 5}
    assert table.do("c", "initiate", 2, allocation=allocation, commitment=commitment, commit=True) is None
    return table


def test_of_two_formations_for_an_exclusive_task_the_first_to_agree_wins_and_the_other_is_superseded() -> None:
    table = rivals()
    table.do("b", "sign", 3, digest=table.digest(1))
    assert table.status(2) == "failed: superseded"
    assert table.world.ledger.available(2, "units") == 10
    table.do("a", "deploy")
    assert table.outcome is not None
    assert table.outcome.figures["formations"] == {"initiated": 2, "active": 1, "failed_superseded": 1}


def test_who_discovered_a_task_that_is_taken_is_asked_no_more() -> None:
    table = Table(discoverers=("a", "c"))
    table.initiate()
    turn = table.turn("c", 2)
    table.do("b", "sign", digest=table.digest())
    refused = table.act(2, "initiate", turn=turn)
    assert refused is not None
    assert refused.code == "match_not_running"
    assert table.rows(task=1, status="taken")


# ── 10: decisions ───────────────────────────────────────────────────────────────────────────────────────────

HOW = {"selection": "softmax(0.5)", "probability": 0.25, "policy": "p:3", "context": {"share": 0.5}, "id": "x7"}


def test_a_decision_is_in_the_record_with_step_trigger_context_selection_and_what_comes_next() -> None:
    table = Table()
    table.initiate(decision=HOW)
    (row,) = table.rows(step="C1", decision=1, seat="a")
    assert row["trigger"] == "task_discovered"
    assert (row["action"], row["next"], row["formation"]) == ("initiate", "C2", 1)
    assert HOW.items() <= row.items()


def test_how_a_decision_was_made_is_seen_by_nobody_else() -> None:
    table = Table()
    table.initiate(decision=HOW)
    table.do("b", "sign", digest=table.digest(), decision=HOW)
    assert all("softmax" not in str(table.sent[seat]) for seat in table.seats)
    assert any(b"softmax" in event.body for event in table.events)


def test_each_decision_gets_one_utility_when_its_formation_ends_and_its_maker_alone_is_told() -> None:
    table = Table(costs={"a": 1, "b": 2, "c": 3, "d": 4})
    table.initiate(owes=1, decision=HOW)
    table.do("c", "modify", parent=table.digest(), allocation={"a": 20, "b": 10})
    table.do("d", "reject")
    table.do("b", "sign", digest=table.digest())
    assert table.rows(end="active") == []
    table.do("a", "sign", digest=table.digest())
    table.send("a", "deploy")
    paid = {(row["action"], row["utility"]) for row in table.rows(end="active")}
    assert paid == {("initiate", 19), ("modify", -3), ("sign", 8), ("sign", 19), ("reject", 0), ("deploy", 19)}
    utilities = [e for e in table.events if b'"utility"' in e.body and e.kind == "notice"]
    assert all(e.recipients is not None and len(e.recipients) == 1 for e in utilities)
    (own,) = table.rows(id="x7", end="active")
    assert (own["decision"], own["step"], own["utility"]) == (1, "C1", 19)


def test_declining_is_paid_at_once() -> None:
    table = Table(tasks=[{}, {"at": 5.0}])
    table.do("a", "decline", decision=HOW)
    (row,) = table.rows(end="listening")
    assert (row["utility"], row["decision"], row["id"]) == (0, 1, "x7")


# ── 12: utilities ───────────────────────────────────────────────────────────────────────────────────────────


def test_members_get_their_share_less_their_cost_and_all_others_nothing() -> None:
    table = Table(costs={"a": 1, "b": 2, "c": 3, "d": 4})
    table.initiate(allocation={"a": 20, "b": 10})
    table.do("b", "sign", digest=table.digest())
    assert table.outcome is not None
    assert table.outcome.utilities == (19.0, 8.0, 0.0, 0.0)
    assert table.outcome.figures["welfare"] == 27


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_every_invariant_holds_and_every_decision_is_paid_once(seed: int) -> None:
    game = CoalitionGame(tasks=12, seconds=3.0, turn_timeout=1.0, units=6, discoverers=2, max_versions=4)
    match = MatchByHand(game, tuple(f"s{n}" for n in range(6)), seed).open()
    record = play_by_hand(match, generator(seed, "hand"))
    paid: dict[tuple[int, int], int] = {}
    made = 0
    for event in record.events:
        facts = json.loads(event.body).get("facts", {}) if event.kind == "notice" else {}
        if "utility" in facts:
            assert event.recipients is not None
            key = (event.recipients[0], facts["decision"])
            paid[key] = paid.get(key, 0) + 1
        made += "next" in facts and "decision" in facts
    assert set(paid.values()) == {1}
    assert len(paid) == made == record.outcome.figures["decisions"]


# ── what a seat sees ────────────────────────────────────────────────────────────────────────────────────────


def test_every_key_that_a_seat_sees_at_a_step_is_documented_and_no_other() -> None:
    table = Table(tasks=[{"quorum": 2}])
    seen = set(table.seen("a"))
    table.initiate(owes=1)
    seen |= set(table.seen("b"))
    table.do("b", "sign", digest=table.digest())
    seen |= set(table.seen("a"))
    assert seen - {"action_history"} == entries(CoalitionGame, "turn.state").keys()


def test_nothing_is_asked_in_the_lobby() -> None:
    table = Table()
    state = table.judge.state
    assert (state.legal(0), state.default_action(0)) == ((), None)
