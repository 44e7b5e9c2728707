"""The parameters of bargaining: what is wrong is said with its key, what it held and what is allowed."""

from __future__ import annotations

import pickle
from typing import Any

import msgspec
import pytest

from experiments.config import game_from, game_params
from experiments.tasks import load_tasks
from sim.errors import ConfigError
from sim.games.bargaining import BargainingGame, Buyer, Product, Seller, Term
from sim.record import MatchSpec
from sim.testing import MatchByHand, play_virtually

ONE = {"products": {"car": {}}, "buyers": {"b": {"max_price": 9}}, "sellers": {"s": {"min_price": 5, "list_price": 12}}}
TWO = {
    "products": {"car": {}, "van": {}},
    "buyers": {"b": {"max_price": 9}, "c": {"max_price": 8}},
    "sellers": {"s": {"min_price": 5, "list_price": 12}},
}
TERMS = {"terms": {"days": {"low": 1, "high": 30}, "color": {"options": ["red", "blue"]}}}


def buyer(**changed: Any) -> dict[str, Any]:
    return {"buyers": {"b": {"max_price": 9} | changed}}


def seller(**changed: Any) -> dict[str, Any]:
    return {"sellers": {"s": {"min_price": 5, "list_price": 12} | changed}}


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"products": {}}, "game.products={}: at least one is needed"),
        ({"buyers": {}}, "game.buyers={}: at least one is needed"),
        ({"sellers": {}}, "game.sellers={}: at least one is needed"),
        ({"terms": {"days": {"low": 5, "high": 1}}}, r"game.terms.days: low=5.0, high=1.0: two finite numbers"),
        ({"products": {"a(b": {}}}, r"products: 'a\(b' cannot stand in a tag"),
        ({"buyers": {"s": {"max_price": 9}}}, "seat ids must be unique; given more than once: s"),
        ({"buyers": {"b": {}}}, r"game.buyers"),
        (buyer(max_prize=4), "max_prize"),
        (buyer(max_price="many"), r"game.buyers.*'many'"),
        (buyer(max_price=0), r"game.buyers.b.max_price=0.*: an amount above 0 and at most 1e\+15 is needed"),
        (buyer(max_price=-3), r"game.buyers.b.max_price=-3"),
        (buyer(max_price=float("nan")), r"game.buyers.b.max_price=nan"),
        (buyer(max_price=float("inf")), r"game.buyers.b.max_price=inf"),
        (buyer(max_price=[9, 8]), r"game.buyers.b.max_price=.*lowest first"),
        (buyer(max_price={}), r"game.buyers.b.max_price={}: an amount for at least one product"),
        (buyer(max_price={"care": 9}), r"game.buyers.b.max_price.care: there is no product 'care'; did you mean car\?"),
        (buyer(max_price={"car": 0}), r"game.buyers.b.max_price.car=0"),
        (seller(min_price=0), r"game.sellers.s.min_price=0"),
        (seller(list_price=0), r"game.sellers.s.list_price=0"),
        (seller(stock=0), r"game.sellers.s.stock=0: a whole number of units, at least 1"),
        (seller(stock={"car": 0}), r"game.sellers.s.stock.car=0"),
        (seller(stock=1.5), r"stock"),
        (seller(stock={"van": 1}), r"game.sellers.s.stock is given for van; needed is one for each .* sells: car"),
        (seller(list_price={"van": 1}), r"game.sellers.s.list_price.van: there is no product 'van'"),
        (buyer(weights={"days": 3}), r"game.buyers.b.weights.days: there is no term 'days' .*none"),
        (TERMS | buyer(weights={"days": {"red": 1}}), r"game.buyers.b.weights.days=.*one amount of currency is needed"),
        (TERMS | buyer(weights={"color": 1}), r"weights.color=1.*: currency for each of red, blue is needed"),
        (TERMS | seller(weights={"color": {"rad": 1}}), r"game.sellers.s.weights.color.rad: .* did you mean red\?"),
        (TERMS | seller(weights={"days": float("nan")}), r"game.sellers.s.weights.days=nan"),
        ({"terms": {"days": {"low": 3, "high": 1}}}, "low=3.0, high=1.0"),
        ({"terms": {"a=b": {"low": 1, "high": 3}}}, "terms: 'a=b' cannot stand in a tag"),
        ({"max_rounds": 0}, "game.max_rounds=0: at least 1 is needed"),
        ({"mediator_after": -1}, "game.mediator_after=-1: at least 0 is needed"),
        ({"window": [1, 0]}, r"game.window=\[1, 0\]: needed are"),
        ({"weights": [-1, 0, 0]}, r"game.weights=\[-1.0, 0.0, 0.0\]"),
        ({"discount": 1.5}, "game.discount=1.5"),
        ({"penalty": -1}, "game.penalty=-1"),
        ({"chooser": "buyers"}, "game.chooser=buyers: only threads=sequential has one, not parallel"),
        ({"deal_rule": "auction"}, "game.deal_rule='auction': allowed is make_deal or crossing"),
        ({"choose": 2}, "game.choose=2: only lot=choose takes it, not lot=each"),
        ({"lot": "choose"}, "choose=null: lot=choose needs from 1 to 1"),
        ({"lot": "choose", "choose": 2}, "game.choose=2: lot=choose needs from 1 to 1"),
        ({"market": "MB1P1S"}, r"game.market=MB1P1S: the parameters make a 1B1P1S \(1 buyers, 1 products, 1 sellers\)"),
        ({"cannot_trade": {"s/b": "?"}}, "game.cannot_trade.s/b: BUYER/SELLER is needed"),
        ({"cannot_trade": {"b/s": "?"}}, "game.cannot_trade: no buyer and seller are left who may trade"),
        ({"max_round": 3}, r"game.max_round=3: there is no such key; did you mean max_rounds\?"),
    ],
)
def test_a_wrong_parameter_is_named(parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        game_from({"game_id": "bargaining", **ONE, **parameters})


@pytest.mark.parametrize("max_price", [4, 5, [3, 5], {"car": 5}])
def test_without_a_zone_it_is_a_configuration_error_before_the_match(max_price: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        game_from({"game_id": "bargaining", **ONE, **buyer(max_price=max_price)})
    said = str(caught.value)
    for word in ("game.buyers.b.max_price=", "sellers.s.min_price=5", "raise the first", "b/s under cannot_trade"):
        assert word in said


def test_a_pair_without_a_zone_may_be_there_on_purpose() -> None:
    game = game_from({"game_id": "bargaining", **TWO, "cannot_trade": {"c/s": "on purpose"}})
    assert game.seat_ids() == ("b", "c", "s")
    poor = {"buyers": {"b": {"max_price": 9}, "c": {"max_price": {"car": 4, "van": 8}}}}
    with pytest.raises(ConfigError, match=r"for car.* list c/s/car under cannot_trade"):
        game_from({"game_id": "bargaining", **TWO, **poor})
    game_from({"game_id": "bargaining", **TWO, **poor, "cannot_trade": {"c/s/car": "too poor for it"}})


def test_drawn_amounts_may_lack_a_zone_unless_they_always_do() -> None:
    game_from({"game_id": "bargaining", **ONE, **buyer(max_price=[1, 6])})
    with pytest.raises(ConfigError, match="not above"):
        game_from({"game_id": "bargaining", **ONE, **buyer(max_price=[1, 4])})


def test_a_bundle_and_a_choice_need_a_zone_as_a_whole_and_a_contract_with_its_best_terms() -> None:
    mixed = {"buyers": {"b": {"max_price": {"car": 20, "van": 4}}}}
    game_from({"game_id": "bargaining", **TWO, **mixed, "lot": "bundle"})
    game_from({"game_id": "bargaining", **TWO, **mixed, "lot": "choose", "choose": 2})
    bad = {"buyers": {"b": {"max_price": {"car": 2, "van": 4}}}}
    for lot in ({"lot": "bundle"}, {"lot": "choose", "choose": 1}):
        with pytest.raises(ConfigError, match=r"buyers\.b\.max_price"):
            game_from({"game_id": "bargaining", **TWO, **bad, **lot})
    game_from({"game_id": "bargaining", **ONE, **TERMS, **buyer(max_price=4, weights={"days": 3})})
    with pytest.raises(ConfigError, match="whatever they agree on"):
        game_from({"game_id": "bargaining", **ONE, **TERMS, **buyer(max_price=4, weights={"days": 0.5})})


def test_a_product_that_nobody_sells_is_named() -> None:
    with pytest.raises(ConfigError, match=r"game.products.van: nobody sells it"):
        game_from({"game_id": "bargaining", **TWO, **seller(min_price={"car": 5}, list_price=9)})


def test_the_seats_are_those_that_the_parameters_name() -> None:
    game = BargainingGame()
    assert game.seat_ids() == ("buyer", "seller")
    game.check_seats(("buyer", "seller"))
    for ids in (("seller", "buyer"), ("buyer",), ("buyer", "seller", "x"), ()):
        with pytest.raises(ConfigError, match="buyer, seller; given: "):
            game.check_seats(ids)


def test_the_game_plays_as_it_stands() -> None:
    record = play_virtually(MatchSpec(0, ("buyer", "seller"), 1), BargainingGame())
    assert (record.outcome.trigger, record.outcome.details) == ("timeout", {"market": "1B1P1S", "rounds": 20})


def test_parts_may_be_plain_dicts_or_structs_and_come_back_from_plain_data() -> None:
    plain = BargainingGame(**ONE, **TERMS)  # type: ignore[arg-type]
    typed = BargainingGame(
        products={"car": Product()},
        buyers={"b": Buyer(9.0)},
        sellers={"s": Seller(5.0, 12.0)},
        terms={"days": Term(1, 30), "color": Term(options=("red", "blue"))},
    )
    assert plain == typed
    assert game_from(game_params(plain)) == plain
    assert pickle.loads(pickle.dumps(plain)) == plain
    assert msgspec.structs.replace(plain, max_rounds=3).layout == plain.layout
    with pytest.raises(ConfigError, match="buyers: Object missing required field `max_price`"):
        BargainingGame(buyers={"b": {}})  # type: ignore[dict-item]
    with pytest.raises(ConfigError, match="buyers: a mapping by name is needed, not list"):
        BargainingGame(buyers=[Buyer(9.0)])  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"buyers.b.max_price=True"):
        BargainingGame(buyers={"b": Buyer(True)})


def test_python_lists_are_bounds_too() -> None:
    game = BargainingGame(buyers={"buyer": Buyer([90, 110])}, sellers={"seller": Seller(50, [120, 130])})  # type: ignore[arg-type]
    assert 90 <= MatchByHand(game, game.seat_ids(), 1).view(0, 1)["my_reservation_price"] <= 110


@pytest.mark.parametrize("task", load_tasks(), ids=lambda task: task.name)
def test_every_task_makes_a_market_of_its_type_and_can_be_played(task: Any) -> None:
    game = game_from(task.parameters)
    ids = game.seat_ids()
    assert ids is not None
    short = msgspec.structs.replace(game, max_rounds=1)
    match = MatchByHand(short, ids, 1).open()
    while match.outcome is None:
        seat, turn = match.open_turns()[0]
        assert match.act(seat, "pass", turn=turn) is None
    assert match.outcome.details == {"market": task.market, "rounds": 1}
