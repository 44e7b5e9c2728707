"""Views leak nothing: twins of a match differ in one seat's private matters, and the others must not notice."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any, TypeAlias

import msgspec

from sim.actions import decode_payload
from sim.game import Game
from sim.messages import (
    Act,
    ToReferee,
    encode,
)
from sim.payloads import random_payload
from sim.rng import generator
from sim.testing.by_hand import MatchByHand
from sim.testing.players import random_match

Alter: TypeAlias = Callable[[Any, int, Random], None]
"""Changes the private facts of a seat in a state: (state, seat, generator)."""


def check_views(game: Game, ids: tuple[str, ...], seed: int, alter: Alter | None) -> None:
    """Check that no seat is sent a byte that depends on what another keeps to itself."""
    base, _record = random_match(game, ids, seed)
    change = alter or _Facts(game, ids, seed).alter
    for seat in base.seats:
        rng = generator(seed, "views", seat)
        _compare_twins(base, _twin(base, seat, rng, change), seat, base.script)
        varied = [(now, who, _vary(game, item, rng) if who == seat else item) for now, who, item in base.script]
        if varied != base.script:
            _compare_twins(base, MatchByHand(game, ids, base.spec.seed), seat, varied)


def _twin(base: MatchByHand, seat: int, rng: Random, alter: Alter) -> MatchByHand:
    """Return a match like another, but for the private facts of one seat."""
    game, ids = base.game, base.spec.agent_ids
    twin = MatchByHand(game, ids, base.spec.seed)
    facts = [copy.deepcopy(twin.judge.state.private_facts(s)) for s in twin.seats]
    alter(twin.judge.state, seat, rng)
    for other in twin.seats:
        if other != seat:
            same = twin.judge.state.private_facts(other) == facts[other]
            assert same, f"to alter the facts of {ids[seat]} altered those of {ids[other]} as well"
    return twin


def _compare_twins(
    base: MatchByHand, twin: MatchByHand, seat: int, script: Sequence[tuple[float, int, ToReferee]]
) -> None:
    """Play the twin like its base, and compare what the others are sent until the seat acts differently."""
    again = MatchByHand(base.game, base.spec.agent_ids, base.spec.seed).open()
    _same_to_others(again, twin.open(), seat, "when the match opens")
    for (now, sender, item), (_now, _sender, other_item) in zip(base.script, script, strict=True):
        again.now = twin.now = now
        start = len(again.events)
        refused, refused_too = again.read(sender, item), twin.read(sender, other_item)
        if sender == seat and (refused is None) != (refused_too is None):
            return  # the twin may not do what its base did
        if _defaults(again, seat, start) != _defaults(twin, seat, start):
            return  # its default action is another
        said = item.action if isinstance(item, Act) else type(item).__name__
        _same_to_others(again, twin, seat, f"after {said} of seat {sender}")


def _defaults(match: MatchByHand, seat: int, start: int) -> list[bytes]:
    return [e.body for e in match.events[start:] if e.sender == seat and e.kind in ("timeout", "forfeit")]


def _same_to_others(one: MatchByHand, two: MatchByHand, seat: int, when: str) -> None:
    ids = one.spec.agent_ids
    for other in one.seats:
        was, now_is = one.sent[other], two.sent[other]
        if other != seat and [encode(update) for update in was] != [encode(update) for update in now_is]:
            raise AssertionError(
                f"{ids[other]} is sent {now_is} instead of {was} {when}, as private matters of {ids[seat]} differ"
            )
        was.clear()
        now_is.clear()


def _vary(game: Game, item: ToReferee, rng: Random) -> ToReferee:
    """Return an act with another private part and the same public one."""
    if not isinstance(item, Act) or item.action not in game.action_types:
        return item
    kind = game.action_types[item.action]
    try:
        action = decode_payload(kind, item.payload)
    except ValueError:
        return item
    public = action.public_part()
    if public is None:
        return item
    for _ in range(20):
        drawn = random_payload(kind, rng)
        hidden = {k: v for k, v in drawn.items() if getattr(action, k) != getattr(public, k, None)}
        payload = msgspec.to_builtins(action) | hidden
        packed = msgspec.msgpack.encode(payload)
        if decode_payload(kind, packed) != action and decode_payload(kind, packed).public_part() == public:
            return msgspec.structs.replace(item, payload=packed)
    return item


class _Facts:
    """Which leaves of a state hold whose private facts: found by changing one leaf at a time."""

    def __init__(self, game: Game, ids: tuple[str, ...], seed: int) -> None:
        state, *others = (game.start(ids, generator(seed + n, "game")) for n in range(4))
        seats = range(len(ids))
        facts = [copy.deepcopy(state.private_facts(seat)) for seat in seats]
        self._owned: list[list[tuple[tuple[Any, ...], Any]]] = [[] for _ in seats]
        for path, value in list(_leaves(state)):
            for candidate in _candidates(path, value, others):
                altered = copy.deepcopy(state)
                try:
                    _put(altered, path, candidate)
                    changed = [s for s in seats if altered.private_facts(s) != facts[s]]
                except Exception:  # not a value that the game can live with, or a leaf that is part of a key
                    continue
                if len(changed) == 1:
                    self._owned[changed[0]].append((path, candidate))
                    break

    def alter(self, state: Any, seat: int, rng: Random) -> None:
        """Change the private facts of a seat."""
        for path, value in self._owned[seat]:
            _put(state, path, value)


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        children: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    elif isinstance(value, Game):
        return  # its parameters are shared by all matches
    elif isinstance(value, msgspec.Struct):
        children = ((name, getattr(value, name)) for name in value.__struct_fields__)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        children = vars(value).items()
    else:
        if value is None or isinstance(value, (bool, int, float, str)):
            yield path, value
        return
    for key, child in children:
        yield from _leaves(child, (*path, key))


def _get(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key] if isinstance(value, (dict, list)) else getattr(value, key)
    return value


def _put(value: Any, path: tuple[Any, ...], leaf: Any) -> None:
    holder, key = _get(value, path[:-1]), path[-1]
    if isinstance(holder, (dict, list)):
        holder[key] = leaf
    elif isinstance(holder, msgspec.Struct):
        msgspec.structs.force_setattr(holder, key, leaf)
    else:
        setattr(holder, key, leaf)


def _candidates(path: tuple[Any, ...], value: Any, others: Sequence[Any]) -> Iterator[Any]:
    for other in others:
        try:
            drawn = _get(other, path)
        except (KeyError, IndexError, AttributeError):
            continue
        if drawn != value:
            yield drawn
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value + 1
