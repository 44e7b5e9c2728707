"""The tables of tasks: what is in them, that every market is playable, and what a wrong table is told."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from experiments.config import game_from
from experiments.tasks import MARKETS, Task, choose_tasks, families, find_task, load_tasks, read_tables, select_tasks
from experiments.tasks.table import FAMILIES
from sim.errors import ConfigError
from sim.games.bargaining import BargainingGame

TASKS = load_tasks()
each_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


# ── a second opinion on what makes a market, written apart from the game ────────────────────────────────


def per_product(amount: Any, products: list[str]) -> dict[str, Any]:
    return dict(amount) if isinstance(amount, Mapping) else dict.fromkeys(products, amount)


def lowest(amount: Any) -> float:
    return float(amount[0] if isinstance(amount, list) else amount)


def highest(amount: Any) -> float:
    return float(amount[1] if isinstance(amount, list) else amount)


def worth(term: Mapping[str, Any], weight: Any, value: Any) -> float:
    """What a value of a term is worth to a side: a share of the way from low to high, or the option's own."""
    if "options" in term:
        return float(weight[value])
    return float(weight) * (value - term["low"]) / (term["high"] - term["low"])


def values_of(term: Mapping[str, Any]) -> list[Any]:
    return list(term.get("options") or [term["low"], (term["low"] + term["high"]) / 2, term["high"]])


def terms_at_best(terms: Mapping[str, Any], buyer: Mapping[str, Any], seller: Mapping[str, Any]) -> float:
    best = 0.0
    for name, term in terms.items():
        best += max(worth(term, buyer[name], value) + worth(term, seller[name], value) for value in values_of(term))
    return best


def zones(game: Mapping[str, Any], buyer: str, seller: str) -> Iterator[tuple[str, float, float, float]]:
    """Yield what a pair can talk about: the lot, its price zone in the worst and in the best draw, and its surplus."""
    products, lot = list(game["products"]), game.get("lot", "each")
    b, s = game["buyers"][buyer], game["sellers"][seller]
    pays, takes = per_product(b["max_price"], products), per_product(s["min_price"], products)
    common = [product for product in takes if product in pays]
    worst = {product: lowest(pays[product]) - highest(takes[product]) for product in common}
    best = {product: highest(pays[product]) - lowest(takes[product]) for product in common}
    if lot == "each":
        lots = [(product,) for product in common]
    elif lot == "bundle":
        lots = [tuple(common)]
    else:
        lots = [max(combinations(common, game["choose"]), key=lambda chosen: sum(worst[p] for p in chosen))]
    terms = game.get("terms", {})
    extra = terms_at_best(terms, b["weights"], s["weights"]) if terms else 0.0
    for chosen in lots:
        low, high = sum(worst[p] for p in chosen), sum(best[p] for p in chosen)
        yield " + ".join(chosen), low, high, low + extra


def problems(game: Mapping[str, Any]) -> list[str]:
    return [*_sizes(game), *_names(game), *_terms(game)] or [*_prices(game), *_lots(game), *_trades(game)]


def _sizes(game: Mapping[str, Any]) -> Iterator[str]:
    number = {key: "1" if len(game[key]) == 1 else "M" for key in ("buyers", "products", "sellers")}
    market = f"{number['buyers']}B{number['products']}P{number['sellers']}S"
    if market != game["market"]:
        yield f"market: it is {market}"
    if len({*game["buyers"], *game["sellers"]}) != len(game["buyers"]) + len(game["sellers"]):
        yield "a seat id is there twice"


def _names(game: Mapping[str, Any]) -> Iterator[str]:
    dealt: Counter[str] = Counter()
    for side, keys in (("buyers", ["max_price"]), ("sellers", ["min_price", "list_price", "stock"])):
        for seat, held in game[side].items():
            named = {key: set(held[key]) for key in keys if isinstance(held.get(key), Mapping)}
            if any(products != named.get(keys[0]) for products in named.values()):
                yield f"{seat}: its keys name different products"
            if unknown := set().union(*named.values()) - set(game["products"]):
                yield f"{seat}: unknown {unknown}"
            dealt.update({(side, product): 1 for product in per_product(held[keys[0]], list(game["products"]))})
    for side in ("buyers", "sellers"):
        for product in game["products"]:
            if (side, product) not in dealt:
                yield f"{product}: nobody among the {side} deals in it"
    if "chooser" in game and game.get("threads") != "sequential":
        yield "chooser: without a use"


def _prices(game: Mapping[str, Any]) -> Iterator[str]:
    products = list(game["products"])
    for seat, held in game["sellers"].items():
        asks = per_product(held["list_price"], products)
        for product, least in per_product(held["min_price"], products).items():
            if not 0 < lowest(least) <= highest(least) <= asks[product]:
                yield f"{seat}: {product} is listed below its floor, or the floor is none"
        for product, units in per_product(held.get("stock", 1), products).items():
            if units < 1:
                yield f"{seat}: no stock of {product}"
    for seat, held in game["buyers"].items():
        for product, most in per_product(held["max_price"], products).items():
            if not 0 < lowest(most) <= highest(most):
                yield f"{seat}: no limit for {product}"


def _lots(game: Mapping[str, Any]) -> Iterator[str]:
    if (game.get("lot") == "choose") != ("choose" in game):
        yield "choose: goes with lot=choose"
    if game.get("lot", "each") == "each":
        return
    for seller, held in game["sellers"].items():
        sold = per_product(held["min_price"], list(game["products"]))
        if len(sold) < 2 or not 1 <= game.get("choose", 1) < len(sold):
            yield f"{seller}: too few products for the lot"
        for buyer, wants in game["buyers"].items():
            if set(sold) - set(per_product(wants["max_price"], list(game["products"]))):
                yield f"{buyer}: does not value all that {seller} sells together"


def _terms(game: Mapping[str, Any]) -> Iterator[str]:
    terms = game.get("terms", {})
    for name, term in terms.items():
        if ("options" in term) == ("low" in term) or ("low" in term and not term["low"] < term["high"]):
            yield f"{name}: neither bounds nor options"
        if "options" in term and len(set(term["options"])) < 2:
            yield f"{name}: nothing to choose between"
    for seat, held in {**game["buyers"], **game["sellers"]}.items():
        weights = held.get("weights", {})
        if set(weights) != set(terms):
            yield f"{seat}: weights name {set(weights)}, terms are {set(terms)}"
            continue
        for name, term in terms.items():
            options = set(term.get("options", ()))
            if options != (set(weights[name]) if isinstance(weights[name], Mapping) else set()):
                yield f"{seat}: weights of {name} do not fit its options"


def _trades(game: Mapping[str, Any]) -> Iterator[str]:
    barred, busy = game.get("cannot_trade", {}), set()
    pairs = {f"{buyer}/{seller}": (buyer, seller) for buyer in game["buyers"] for seller in game["sellers"]}
    for pair in barred:
        if pair not in pairs:
            yield f"cannot_trade: there is no {pair}"
        elif not barred[pair].strip():
            yield f"cannot_trade: {pair} needs a reason"
        elif any(best > 0 for _, _, best, _ in zones(game, *pairs[pair])):
            yield f"cannot_trade: {pair} has a zone"
    for pair, seats in pairs.items():
        if pair in barred:
            continue
        for lot, worst, _, surplus in zones(game, *seats):
            busy.update(seats)
            if worst <= 0 or surplus <= 0:
                yield f"{pair}: no zone for {lot}"
    for seat in [*game["buyers"], *game["sellers"]]:
        if seat not in busy:
            yield f"{seat}: has nobody to trade with"


@each_task
def test_every_pair_has_a_zone_or_a_reason_why_not(task: Task) -> None:
    assert problems(task.parameters) == []


def _market_of_two() -> dict[str, Any]:
    return find_task("hiking_pack_two_shops").parameters


BROKEN: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda game: game.update(market="1B1P1S"), "market: it is 1B1PMS"),
    (lambda game: game["buyers"]["buyer"].update(max_price=121), "buyer/seller_1: no zone for pack"),
    (lambda game: game["buyers"]["buyer"].update(max_price=[125, 200]), "buyer/seller_2: no zone for pack"),
    (lambda game: game["sellers"]["seller_2"].update(list_price=120), "seller_2: pack is listed below its floor"),
    (lambda game: game["sellers"]["seller_2"].update(stock=0), "seller_2: no stock of pack"),
    (lambda game: game["sellers"]["seller_2"].update(min_price={"pan": 3}), "seller_2: unknown {'pan'}"),
    (lambda game: game.update(cannot_trade={"buyer/seller_1": "why"}), "cannot_trade: buyer/seller_1 has a zone"),
    (lambda game: game.update(cannot_trade={"buyer/seller_3": "why"}), "cannot_trade: there is no buyer/seller_3"),
    (lambda game: game.update(terms={"days": {"low": 1, "high": 2}}), "buyer: weights name set(), terms are {'days'}"),
    (lambda game: game.update(lot="bundle"), "seller_1: too few products for the lot"),
    (lambda game: game.update(chooser="buyers"), "chooser: without a use"),
]


@pytest.mark.parametrize(("spoil", "said"), BROKEN, ids=[said for _, said in BROKEN])
def test_the_second_opinion_sees_what_is_wrong(spoil: Callable[[dict[str, Any]], object], said: str) -> None:
    game = _market_of_two()
    assert problems(game) == []
    spoil(game)
    assert any(said in problem for problem in problems(game))


# ── what is in the tables ───────────────────────────────────────────────────────────────────────────────


def test_there_are_enough_tasks_of_every_type_in_eleven_families() -> None:
    assert len(TASKS) >= 120
    types = Counter(task.market for task in TASKS)
    assert set(types) == set(MARKETS) and min(types.values()) >= 8
    assert len(families()) == 11
    for family, about in families():
        assert about
        assert {task.market for task in select_tasks(family=family)} == set(MARKETS), family


def test_the_tasks_vary_in_lots_stock_threads_terms_and_size() -> None:
    games = [task.parameters for task in TASKS]
    assert min(Counter(game.get("lot", "each") for game in games).values()) >= 10
    assert sum(game.get("threads") == "sequential" for game in games) >= 10
    assert sum(bool(game.get("terms")) for game in games) >= 15
    assert len({task.family for task in TASKS if "terms" in task.parameters}) >= 8
    assert sum(any(seller.get("stock", 1) != 1 for seller in game["sellers"].values()) for game in games) >= 15
    sizes = {(len(game["buyers"]), len(game["sellers"])) for game in games}
    assert {(5, 5), (8, 3), (10, 10)} <= sizes


def test_terms_leave_something_to_trade_off() -> None:
    for task in TASKS:
        game = task.parameters
        if terms := game.get("terms"):
            buyers, sellers = (
                [_favourite(terms, seat) for seat in game[side].values()] for side in ("buyers", "sellers")
            )
            assert any(buyer != seller for buyer in buyers for seller in sellers), task.name


def _favourite(terms: Mapping[str, Any], seat: Mapping[str, Any]) -> dict[str, Any]:
    """What a side would write if the price stood."""
    values = {name: term.get("options") or [term["low"], term["high"]] for name, term in terms.items()}
    worths = {
        name: [worth(term, seat["weights"][name], value) for value in values[name]] for name, term in terms.items()
    }
    return {name: values[name][held.index(max(held))] for name, held in worths.items()}


@each_task
def test_texts_are_short_and_no_profile_states_its_own_limit(task: Task) -> None:
    game = task.parameters
    assert 10 <= len(task.title) <= 80 and not task.title.endswith(".")
    for product in game["products"].values():
        assert 5 <= len(product["about"]) <= 90 and len(product["name"]) <= 60
    for side, limit in (("buyers", "max_price"), ("sellers", "min_price")):
        for seat, held in game[side].items():
            assert 8 <= len(held["about"]) <= 130 and held["about"].endswith("."), seat
            numbers = {float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", held["about"])}
            limits = per_product(held[limit], list(game["products"])).values()
            assert not numbers & {bound(amount) for amount in limits for bound in (lowest, highest)}, seat


def test_no_key_is_written_twice_and_no_text_is_used_twice() -> None:
    for file in FAMILIES.glob("*.yaml"):
        _check_keys(yaml.compose(file.read_text("utf-8"), yaml.CSafeLoader), file.name)
    seats = [seat for task in TASKS for side in ("buyers", "sellers") for seat in task.parameters[side].values()]
    texts = [task.title for task in TASKS] + [seat["about"] for seat in seats]
    assert [text for text, count in Counter(texts).items() if count > 1] == []


def _check_keys(node: yaml.Node, where: str) -> None:
    if isinstance(node, yaml.MappingNode):
        keys = [key.value for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"{where}: {keys}"
        for key, value in node.value:
            _check_keys(value, f"{where}.{key.value}")


# ── loading and finding ─────────────────────────────────────────────────────────────────────────────────


def test_tasks_are_loaded_once_and_cannot_be_changed() -> None:
    assert load_tasks() is TASKS
    task = TASKS[0]
    with pytest.raises(AttributeError):
        task.name = "other"  # type: ignore[misc]
    task.parameters["buyers"].clear()
    assert task.parameters["buyers"]
    assert pickle.loads(pickle.dumps(task)) == task and hash(task) == hash(find_task(task.name))


def test_a_task_is_found_by_its_name_and_holds_the_games_parameters() -> None:
    task = find_task("commuter_hatchback")
    assert (task.family, task.market, task.title) == ("vehicles", "1B1P1S", "A five-year-old hatchback, one owner")
    assert task.parameters["game_id"] == "bargaining"
    assert task.parameters["market"] == "1B1P1S" and task.parameters["max_rounds"] == 15
    assert task.parameters["buyers"]["buyer"]["max_price"] == 10400
    assert "title" not in task.parameters


def test_an_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"task=commuter_hatchbak: .*did you mean commuter_hatchback\?.*vehicles"):
        find_task("commuter_hatchbak")


def test_tasks_are_selected_by_family_and_type() -> None:
    assert select_tasks() == TASKS
    assert {task.family for task in select_tasks(family="travel")} == {"travel"}
    assert {task.market for task in select_tasks(market="MBMPMS")} == {"MBMPMS"}
    both = select_tasks(family="travel", market="MBMPMS")
    assert both and all((task.family, task.market) == ("travel", "MBMPMS") for task in both)
    with pytest.raises(ConfigError, match=r"family=vehicle: .*did you mean vehicles\?.*food_delivery"):
        select_tasks(family="vehicle")
    with pytest.raises(ConfigError, match=r"market=2B1P1S: .*did you mean .B1P1S\?.*1BMPMS"):
        select_tasks(market="2B1P1S")


def test_a_word_means_a_task_a_family_a_type_or_all() -> None:
    assert choose_tasks("all") == TASKS
    assert choose_tasks("midnight_pizza_round") == (find_task("midnight_pizza_round"),)
    assert choose_tasks("rentals") == select_tasks(family="rentals")
    assert choose_tasks("MB1PMS") == select_tasks(market="MB1PMS")
    words = ["all", *MARKETS, *(name for name, _ in families()), *(task.name for task in TASKS)]
    assert len(set(words)) == len(words), "a word means one thing"
    with pytest.raises(ConfigError, match=r"task=rental: .*did you mean rentals\?.*all, a task's name, everyday_goods"):
        choose_tasks("rental")


# ── wrong tables ────────────────────────────────────────────────────────────────────────────────────────

GOOD = """\
family: hats
about: Things for heads.
tasks:
  bowler:
    title: A bowler hat
    market: 1B1P1S
    products:
      hat: {name: "Bowler", about: "Black, felt"}
    terms:
      days: {low: 1, high: 9}
    buyers:
      buyer: {max_price: [60, 70], weights: {days: 4}}
    sellers:
      seller: {min_price: {hat: 40}, list_price: 80, stock: 1, weights: {days: -2}}
"""

WRONG: list[tuple[str, str, str]] = [
    ("market: 1B1P1S", "market: 1B1P1T", r"tasks\.bowler\.market='1B1P1T'.*did you mean 1B1P1S\?"),
    ("    market: 1B1P1S\n", "", r"tasks\.bowler\.market: is needed and missing"),
    ("title:", "titel:", r"tasks\.bowler\.title: is needed and missing; did you mean titel\?"),
    ("title: A bowler hat", "title: 7", r"tasks\.bowler\.title=7: allowed is text"),
    ("market: 1B1P1S", "market: 1B1P1S\n    max_round: 3", r"tasks\.bowler\.max_round=3: .*did you mean max_rounds\?"),
    ("market: 1B1P1S", "market: 1B1P1S\n    max_rounds: many", r"tasks\.bowler\.max_rounds='many'.*whole number"),
    ("market: 1B1P1S", "market: 1B1P1S\n    lot: bundel", r"tasks\.bowler\.lot='bundel'.*did you mean bundle\?"),
    ("market: 1B1P1S", "market: 1B1P1S\n    cannot_trade: [x]", r"tasks\.bowler\.cannot_trade=\['x'\].*mapping"),
    ("[60, 70]", "[60, 70, 80]", r"tasks\.bowler\.buyers\.buyer\.max_price=\[60, 70, 80\]"),
    ("[60, 70]", "cheap", r"tasks\.bowler\.buyers\.buyer\.max_price='cheap': allowed is number"),
    ("max_price", "min_price", r"tasks\.bowler\.buyers\.buyer\.max_price: is needed and missing; did you mean min_pr"),
    ("stock: 1", "stok: 1", r"tasks\.bowler\.sellers\.seller\.stok=1: .*did you mean stock\?"),
    ("stock: 1", "stock: 1.5", r"tasks\.bowler\.sellers\.seller\.stock=1\.5: allowed is whole number"),
    ("list_price: 80", "list_price: true", r"tasks\.bowler\.sellers\.seller\.list_price=true: allowed is number"),
    ("{days: 4}", "[4]", r"tasks\.bowler\.buyers\.buyer\.weights=\[4\]: allowed is mapping"),
    ("low: 1, ", "", r"tasks\.bowler\.terms\.days: a term needs low and high"),
    ("low: 1", "lowest: 1", r"tasks\.bowler\.terms\.days\.lowest=1: .*did you mean low\?"),
    ('{name: "Bowler", about: "Black, felt"}', "Bowler", r"tasks\.bowler\.products\.hat='Bowler': a mapping"),
    ("  bowler:", "  Bowler Hat:", r"tasks\.Bowler Hat: a name is made of small letters"),
    ("family: hats", "family: caps", r"family=caps: allowed is the name of the file, hats"),
    ("about: Things for heads.\n", "", r"about: is needed and missing"),
    ("about: Things", "abuot: Things", r"about: is needed and missing; did you mean abuot\?"),
    ("tasks:", "tasks: [", r"the table cannot be read: .*line"),
    (GOOD, "", r"the table=null: a mapping"),
    (GOOD, "family: hats\nabout: x\ntasks: 3\n", r"tasks=3: allowed is mapping"),
    (GOOD, "family: hats\nabout: x\ntasks: {fez: null}\n", r"tasks\.fez=null: a mapping"),
]


@pytest.mark.parametrize(("old", "new", "said"), WRONG, ids=[said for _, _, said in WRONG])
def test_a_wrong_table_is_told_the_file_the_task_and_the_key(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    (tmp_path / "hats.yaml").write_text(GOOD.replace(old, new, 1), "utf-8")
    with pytest.raises(ConfigError, match=rf"^hats\.yaml: {said}") as caught:
        read_tables(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_table_of_ones_own_is_read(tmp_path: Path) -> None:
    (tmp_path / "hats.yaml").write_text(GOOD, "utf-8")
    (task,) = read_tables(tmp_path)
    assert (task.name, task.family, task.title) == ("bowler", "hats", "A bowler hat")
    assert problems(task.parameters) == []


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "hats.yaml").write_bytes(b"family: \xff\xfe")
    with pytest.raises(ConfigError, match=r"^hats\.yaml: the table cannot be read"):
        read_tables(tmp_path)


def test_a_name_stands_in_one_table_only(tmp_path: Path) -> None:
    (tmp_path / "hats.yaml").write_text(GOOD, "utf-8")
    (tmp_path / "heads.yaml").write_text(GOOD.replace("family: hats", "family: heads"), "utf-8")
    with pytest.raises(ConfigError, match=r"^heads\.yaml: tasks\.bowler: hats\.yaml has a task of this name"):
        read_tables(tmp_path)


# ── with the game itself ────────────────────────────────────────────────────────────────────────────────


@each_task
def test_the_game_takes_every_task(task: Task) -> None:
    game = game_from(task.parameters)
    game.check_seats((*task.parameters["buyers"], *task.parameters["sellers"]))


def test_a_task_may_set_every_parameter_of_the_game(tmp_path: Path) -> None:
    defaults = msgspec.to_builtins(BargainingGame())
    keys = {"title": "A used car", **defaults, "market": "1B1P1S"}
    table = {"family": "cars", "about": "Cars.", "tasks": {"car": keys}}
    (tmp_path / "cars.yaml").write_bytes(msgspec.yaml.encode(table))
    (task,) = read_tables(tmp_path)
    assert game_from(task.parameters) == BargainingGame(market="1B1P1S")
