"""Records the statements that read users' data, and counts with EXPLAIN the shards that each touches."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from app.database.schema import tables
from app.database.transactions import Database
from benchmarks import statements

_READS = re.compile(r"\s*(SELECT|WITH)\b", re.IGNORECASE)
_WRITES = re.compile(r"\b(INSERT INTO|UPDATE stepwell|DELETE FROM|FOR UPDATE)\b")
_TABLE = re.compile(r"\bstepwell\.(\w+)")
DISTRIBUTED = {table.name for table in tables.of_users() if table is not tables.audit_log}


@dataclass(slots=True)
class Statements:
    """The statements that read users' tables, each with the parameters of one run."""

    reads: dict[str, Any] = field(default_factory=dict)

    def add(self, text: str, parameters: Any) -> None:
        """Records a statement, unless it writes or touches no distributed table."""
        is_read = _READS.match(text) and not _WRITES.search(text)
        if is_read and not DISTRIBUTED.isdisjoint(_TABLE.findall(text)):
            self.reads.setdefault(text, parameters)


@dataclass(frozen=True, slots=True)
class Routed:
    """The number of statements, and those that do not touch one shard, with the number of shards."""

    total: int
    others: tuple[str, ...]


@contextmanager
def recorded(database: Database) -> Iterator[Statements]:
    """Records the statements that a database runs."""
    found = Statements()
    with statements.recorded(database, found.add):
        yield found


async def routed(database: Database, user_id: str, ran: Statements) -> Routed:
    """Explains each statement that reads."""
    others = []
    for text, parameters in ran.reads.items():
        shards = await _shards(database, user_id, text, parameters)
        if shards != [1]:
            others.append(f"{shards}: {' '.join(text.split())[:200]}")
    return Routed(len(ran.reads), tuple(others))


async def _shards(database: Database, user_id: str, text: str, parameters: Any) -> list[int]:
    """The number of shards of each distributed query in the plan of a statement."""
    async with database.reading(user_id) as reading:
        explain = f"EXPLAIN (FORMAT JSON) {text}"
        found = await reading.run_sync(lambda one: one.exec_driver_sql(explain, tuple(parameters)).scalar_one())
    return list(_task_counts(json.loads(found) if isinstance(found, str) else found))


def _task_counts(plan: Any) -> Iterator[int]:
    if isinstance(plan, list):
        for one in plan:
            yield from _task_counts(one)
    elif isinstance(plan, dict):
        if "Task Count" in plan:
            yield int(plan["Task Count"])
        for name, one in plan.items():
            if name != "Tasks":
                yield from _task_counts(one)
