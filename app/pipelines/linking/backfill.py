"""Links again the documents that were linked to entities by the rules of an earlier version."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from uuid import UUID

from app import errors
from app.pipelines.linking import document_links
from app.store.connection.transactions import Database
from app.store.entities import mentions
from app.text.names import names

log = logging.getLogger(__name__)

BATCH = 500
"""Documents that are listed at once."""
RETRY_S = 30.0
"""Pause after a failure."""


async def run(owner: Database, *, keys: Sequence[str], db: Database | None = None) -> int:
    """Link all documents that were not linked by the current rules; returns their number.

    Each document is linked in a transaction of its own, so that it can be interrupted and continued. Documents are
    listed as the database's owner and linked through `db`, by default as the owner too; with `db`, the owner's
    connections are closed in between. Documents that another process replaced, deleted or linked are skipped.
    """
    done = 0
    while True:
        try:
            async with owner.shared() as connection:
                unread = await mentions.unread(connection, version=names.VERSION, limit=BATCH)
        finally:
            if db is not None:
                await owner.close_idle()
        if not unread:
            return done
        for user_id, document_id in unread:
            done += await _link(db or owner, user_id, document_id, keys)
        log.info("documents linked by the backfill: %d", done, extra={"action": "backfill_progress", "documents": done})


async def _link(db: Database, user_id: str, document_id: UUID, keys: Sequence[str]) -> bool:
    """Link a document, or let a job do so; false if it is gone or was linked meanwhile."""
    async with db.writing(user_id) as writing:
        await writing.lock()
        if not await mentions.is_unread(writing, document_id, version=names.VERSION):
            return False
        chunk_count = await mentions.count_chunks(writing, document_id)
        if chunk_count > document_links.MOST_CHUNKS:
            await mentions.mark_read(writing, document_id, version=names.VERSION)
        await document_links.relink(writing, document_id, chunk_count=chunk_count, keys=keys)
        return True


async def run_with_retries(owner: Database, *, keys: Sequence[str], db: Database | None = None) -> None:
    """Do what `run` does until it succeeds, with a pause of RETRY_S after a failure."""
    while True:
        try:
            await run(owner, keys=keys, db=db)
            return
        except errors.StepwellError as error:
            log.warning("backfill of mentions postponed: %s", error.code, extra={"action": "backfill_postponed"})
        except Exception:
            log.exception("backfill of mentions failed", extra={"action": "backfill_failed"})
        await asyncio.sleep(RETRY_S)
