"""Explains statements in an open transaction, and reads their plans."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import asyncpg
import sqlalchemy as sa

from app.database import pooled_connection
from app.database.transactions import Transaction

Plan = dict[str, Any]


async def explained(reading: Transaction, statement: str, binds: dict[str, Any], how: str = "ANALYZE, ") -> Plan:
    """The plan of a statement; by default it runs. It is generic in a transaction that uses generic plans.

    The plan may not need what Postgres below 17 cannot do with a graph.
    """
    await reading.execute(sa.text("SET LOCAL enable_incremental_sort = off"))
    driver = reading.entered.connection._driver
    text, names = pooled_connection.compile_text(sa.text(statement), reading.entered.connection.engine.dialect)
    values = [binds[name] for name in names]
    if await reading.scalar(sa.text("SHOW plan_cache_mode")) == "force_generic_plan":
        text, values = await _executed(driver, text, values), []
    found = await driver.fetchval(f"EXPLAIN ({how}FORMAT JSON) {text}", *values)
    (plan,) = json.loads(found) if isinstance(found, str) else found
    return plan


async def _executed(driver: asyncpg.Connection, text: str, values: list[Any]) -> str:
    """A command that runs a statement with these values. EXPLAIN of the statement itself would be planned for them."""
    name = f"explained_{uuid4().hex}"
    types = [parameter.name for parameter in (await driver.prepare(text)).get_parameters()]
    literals = [
        await driver.fetchval(f"SELECT quote_nullable(CAST(CAST($1 AS {of_type}) AS text))", value)
        for of_type, value in zip(types, values, strict=True)
    ]
    await driver.execute(f"PREPARE {name} AS {text}")
    return f"EXECUTE {name}({', '.join(literals)})" if literals else f"EXECUTE {name}"


def nodes(node: Plan) -> Iterator[Plan]:
    """A node and those below it; that of a whole plan is its `Plan`."""
    yield node
    for child in node.get("Plans", ()):
        yield from nodes(child)


def ran(plan: Plan) -> list[Plan]:
    """The nodes of a plan that really ran."""
    return [node for node in nodes(plan["Plan"]) if node["Actual Loops"] > 0]
