"""Reads the tables of tasks, and finds tasks by name, family and type of market."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from experiments.mistakes import explain, shown
from experiments.tasks.shape import ENTRY, MARKETS, PARTS, Table
from sim.errors import ConfigError, nearest
from sim.games.bargaining import BargainingGame

FAMILIES = Path(__file__).parent / "families"


class Task(msgspec.Struct, frozen=True):
    """A market to bargain in.

    Attributes:
        name: Its name, unique over all families.
        family: The family that it belongs to.
        title: The task in one line.
        market: Its type, such as "1B1PMS".
        encoded: The game's parameters as JSON; `parameters` reads them.
    """

    name: str
    family: str
    title: str
    market: str
    encoded: bytes

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the game, `game_id` and `market` among them: a copy to keep and to change."""
        parameters: dict[str, Any] = msgspec.json.decode(self.encoded)
        return parameters


@cache
def load_tasks() -> tuple[Task, ...]:
    """Return every task that comes with the product, by family and then as the table has them.

    Raises:
        ConfigError: A table is damaged or wrong; the text names the file, the task and the key.
    """
    return read_tables(FAMILIES)


@cache
def families() -> tuple[tuple[str, str], ...]:
    """Return the families, each with what it is about."""
    tables = (_read_table(file) for file in sorted(FAMILIES.glob("*.yaml")))
    return tuple((table.family, table.about) for table in tables)


def find_task(name: str) -> Task:
    """Return the task of this name.

    Raises:
        ConfigError: There is none; the text names the nearest.
    """
    tasks = {task.name: task for task in load_tasks()}
    if name not in tasks:
        hint = nearest(name, tasks)
        known = ", ".join(_family_names())
        raise ConfigError(f"task={name}: there is no such task{hint} ({len(tasks)} tasks; families: {known})")
    return tasks[name]


def _family_names() -> tuple[str, ...]:
    return tuple(dict.fromkeys(task.family for task in load_tasks()))


def select_tasks(
    family: str | None = None, market: str | None = None, *, keys: tuple[str, str] = ("family", "market")
) -> tuple[Task, ...]:
    """Return the tasks of a family, of a type of market, or of both; None stands for any.

    Args:
        family: The family.
        market: The type of market.
        keys: What errors call the two.

    Raises:
        ConfigError: There is no such family or type, or no task that is both; the text names what there is.
    """
    tasks = load_tasks()
    wanted = (("family", family, _family_names()), ("type of market", market, MARKETS))
    for key, (what, value, known) in zip(keys, wanted, strict=True):
        if value is not None and value not in known:
            hint = nearest(value, known)
            raise ConfigError(f"{key}={value}: there is no such {what}{hint} (there is: {', '.join(known)})")
    found = tuple(task for task in tasks if family in (None, task.family) and market in (None, task.market))
    if not found:
        held = ", ".join(sorted({task.market for task in tasks if task.family == family}))
        asked = f"{keys[0]}={family}, {keys[1]}={market}"
        raise ConfigError(f"{asked}: there is no such task (the family has: {held})")
    return found


def choose_tasks(word: str) -> tuple[Task, ...]:
    """Return the tasks that a word means: a task's name, a family, a type of market, or `all`.

    Raises:
        ConfigError: It is none of these; the text names the nearest.
    """
    tasks = load_tasks()
    found = tuple(task for task in tasks if word in ("all", task.name, task.family, task.market))
    if not found:
        hint = nearest(word, [*(task.name for task in tasks), *_family_names(), *MARKETS])
        groups = ", ".join((*_family_names(), *MARKETS))
        raise ConfigError(f"task={word}: there is no such task{hint} (there is: all, a task's name, {groups})")
    return found


def read_tables(folder: Path) -> tuple[Task, ...]:
    """Read the tables of a folder, one `FAMILY.yaml` each.

    Raises:
        ConfigError: A table is damaged or wrong, or two tasks share a name.
    """
    tasks: dict[str, Task] = {}
    for file in sorted(folder.glob("*.yaml")):
        for task in _tasks_of(file):
            if task.name in tasks:
                other = tasks[task.name].family
                raise ConfigError(f"{file.name}: tasks.{task.name}: {other}.yaml has a task of this name; rename one")
            tasks[task.name] = task
    return tuple(tasks.values())


def _tasks_of(file: Path) -> list[Task]:
    table = _read_table(file)
    return [_task(file, table.family, str(name), held) for name, held in table.tasks.items()]


def _read_table(file: Path) -> Table:
    try:
        held = msgspec.yaml.decode(file.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(f"{file.name}: the table cannot be read: {' '.join(str(error).split())}") from None
    table: Table = _fit(held, Table, file)
    if table.family != file.stem:
        raise ConfigError(f"{file.name}: family={table.family}: allowed is the name of the file, {file.stem}")
    return table


def _task(file: Path, family: str, name: str, held: Any) -> Task:
    key = f"tasks.{name}"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ConfigError(f"{file.name}: {key}: a name is made of small letters, digits and _, a letter first")
    entry = _fit(held, ENTRY, file, key)
    for part, kind in PARTS.items():
        for inner, value in (getattr(entry, part) or {}).items():
            _fit(value, kind, file, f"{key}.{part}.{inner}")
    parameters = {"game_id": BargainingGame.game_id, **{name: value for name, value in held.items() if name != "title"}}
    return Task(name, family, entry.title, entry.market, msgspec.json.encode(parameters))


def _fit(value: Any, kind: type[Any], file: Path, key: str = "") -> Any:
    """Convert a part of a table to its shape; without a key it is the table itself."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"{file.name}: {key or 'the table'}={shown(value)}: a mapping of keys to values is needed")
    for field in msgspec.structs.fields(kind):
        if field.required and field.name not in value:
            others = [str(other) for other in value if other not in kind.__struct_fields__]
            hint = nearest(field.name, others)
            raise ConfigError(f"{file.name}: {f'{key}.{field.name}'.removeprefix('.')}: is needed and missing{hint}")
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{file.name}: {explain(error, value, kind, key).removeprefix('.')}") from None
    except ConfigError as error:  # a term checks itself
        raise ConfigError(f"{file.name}: {key}: {error}") from None
