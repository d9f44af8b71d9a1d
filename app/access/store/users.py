"""Lists, exports and deletes users, as the database's owner.

A user exists once a document, entity or key is stored.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import sqlalchemy as sa

from app.database import sql
from app.database.schema import tables
from app.database.transactions import SharedTransaction


@dataclass(frozen=True, slots=True)
class User:
    """A user with the numbers of live keys and of stored rows."""

    user_id: str
    keys: int
    documents: int
    chunks: int
    entities: int


async def list_users(db: SharedTransaction) -> list[User]:
    """All users by name."""
    return [User(**row._mapping) for row in await db.execute(sql.statement("users_list"))]


async def read_lines(db: SharedTransaction, user_id: str, part: str) -> AsyncIterator[str]:
    """A part of an export as JSON lines, read in batches."""
    async with db.stream(sql.statement(f"users_{part}"), {"user_id": user_id}) as rows:
        async for row in rows:
            yield row.line


async def count_rows(db: SharedTransaction, user_id: str) -> dict[str, int]:
    """The number of a user's rows in each table except the audit log."""
    row_counts = {}
    for table in _tables():
        own = sa.select(sa.func.count()).select_from(table).where(table.c.user_id == user_id)
        row_counts[table.name] = int(await db.scalar(own) or 0)
    return row_counts


async def delete(db: SharedTransaction, user_id: str) -> dict[str, int]:
    """Delete all rows of a user, but none of the audit log; returns their number by table."""
    await db.as_user(user_id).lock()
    deleted = {}
    for table in reversed(_tables()):
        deleted[table.name] = (await db.execute(sa.delete(table).where(table.c.user_id == user_id))).rowcount
    return deleted


def _tables() -> list[sa.Table]:
    """Tables with rows of users, referenced tables first."""
    return [t for t in tables.complete().sorted_tables if "user_id" in t.c and t is not tables.audit_log]
