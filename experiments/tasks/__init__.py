"""Tasks for buyers and sellers: markets described in tables, one table per family.

`load_tasks` gives all of them, `find_task` one by its name, `select_tasks` those of a family and of a type of market,
`choose_tasks` what one word of a command line means.
"""

from experiments.tasks.shape import MARKETS
from experiments.tasks.table import Task, choose_tasks, families, find_task, load_tasks, read_tables, select_tasks

__all__ = ["MARKETS", "Task", "choose_tasks", "families", "find_task", "load_tasks", "read_tables", "select_tasks"]
