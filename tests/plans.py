"""Explains statements in an open transaction, and reads their plans."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from app.database.transactions import Transaction

Plan = dict[str, Any]


async def explained(reading: Transaction, statement: str, binds: dict[str, Any], how: str = "ANALYZE, ") -> Plan:
    """The plan of a statement; by default it runs. It may not need what Postgres below 17 cannot do with a graph."""
    await reading.execute(sa.text("SET LOCAL enable_incremental_sort = off"))
    if "GENERIC_PLAN" in how and int(await reading.scalar(sa.text("SHOW server_version_num"))) < 160_000:
        pytest.skip("needs Postgres 16")
    found = await reading.scalar(sa.text(f"EXPLAIN ({how}FORMAT JSON) {statement}"), binds)
    (plan,) = json.loads(found) if isinstance(found, str) else found
    return plan


def nodes(node: Plan) -> Iterator[Plan]:
    """A node and those below it; that of a whole plan is its `Plan`."""
    yield node
    for child in node.get("Plans", ()):
        yield from nodes(child)


def ran(plan: Plan) -> list[Plan]:
    """The nodes of a plan that really ran."""
    return [node for node in nodes(plan["Plan"]) if node["Actual Loops"] > 0]
