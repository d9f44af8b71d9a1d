"""Lists users, exports one as a ZIP file of JSON lines, and deletes one, as the database's owner.

A user exists once a key, or anything in the name of the user, is stored.
"""

from __future__ import annotations

import asyncio
import errno
import os
import zipfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import sqlalchemy as sa

from app import capability, errors
from app.access.store import audit
from app.access.store.audit import Event
from app.database import sql
from app.database.schema import tables
from app.database.transactions import Database, SharedTransaction

SETTLE_S = 5.0
"""Seconds after a deletion in which requests that were running may still store rows of the user."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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


async def export(user_id: str, file: Path, *, db: Database, actor: str) -> dict[str, int]:
    """Write a user's data to a new ZIP file of JSON lines; returns the number of lines by part.

    Each part is read by one statement, and so is consistent in itself. The file has mode 0600; it is removed if the
    export fails. Raises NotFound, and BadRequest if the file exists already or cannot be written.
    """
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise errors.BadRequest(f"The file cannot be created: {error.strerror}.", field="FILE") from error
    try:
        with os.fdopen(handle, "wb") as raw:
            written = await _write(user_id, raw, db=db)
        async with db.shared() as writing:
            await audit.record(writing, Event(user_id, actor, "user.exported", user_id, written))
    except BaseException as error:
        os.unlink(file)
        if isinstance(error, OSError):  # closing a file writes the rest of it
            raise _cannot_write(error) from error
        raise
    return written


async def _write(user_id: str, raw: BinaryIO, *, db: Database) -> dict[str, int]:
    written = dict.fromkeys(capability.exports(), 0)
    async with db.shared() as reading:
        if not any((await count_rows(reading, user_id)).values()):
            raise errors.NotFound("There is no such user.")
        try:
            with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
                for part in capability.exports():
                    with archive.open(f"{part}.jsonl", "w", force_zip64=True) as lines:
                        async for line in _read_lines(reading, user_id, part):
                            lines.write(f"{line}\n".encode())
                            written[part] += 1
            raw.flush()
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            raise _cannot_write(error) from error
    return written


def _cannot_write(error: OSError) -> errors.BadRequest:
    return errors.BadRequest(f"The file cannot be written: {error.strerror}.", field="FILE")


async def _read_lines(db: SharedTransaction, user_id: str, part: str) -> AsyncIterator[str]:
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


async def delete(user_id: str, *, db: Database, actor: str) -> tuple[dict[str, int], dict[str, int]]:
    """Delete all rows of a user except the audit log's, in one transaction.

    Returns the numbers of rows that were deleted and that were found SETTLE_S afterwards, by table: requests that were
    running may have stored rows meanwhile. Raises NotFound.
    """
    async with db.shared() as writing:
        if not any((await count_rows(writing, user_id)).values()):
            raise errors.NotFound("There is no such user.")
        deleted = await _delete_rows(writing, user_id)
        await audit.record(writing, Event(user_id, actor, "user.deleted", user_id, deleted))
    await asyncio.sleep(SETTLE_S)
    async with db.shared() as reading:
        return deleted, await count_rows(reading, user_id)


async def _delete_rows(db: SharedTransaction, user_id: str) -> dict[str, int]:
    """Delete all rows of a user except the audit log's; returns their number by table."""
    await db.as_user(user_id).lock()
    deleted = {}
    for table in reversed(_tables()):
        deleted[table.name] = (await db.execute(sa.delete(table).where(table.c.user_id == user_id))).rowcount
    return deleted


def _tables() -> list[sa.Table]:
    """Tables with rows of users, referenced tables first."""
    return [t for t in tables.complete().sorted_tables if "user_id" in t.c and t is not tables.audit_log]
