"""Counts the use of API keys and writes the counts once a minute.

A request adds to a dictionary and writes nothing, so that reads stay reads. A process that is killed loses at most the
uses of the last minute; one that is stopped writes them first.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter

from app import errors
from app.access.store import audit
from app.database.transactions import Database

log = logging.getLogger(__name__)

FLUSH_S = 60.0
LAST_FLUSH_S = 2.0


class KeyUses:
    """Uses since the last flush, by key id and scope."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, key_id: str, scope: str, uses: int = 1) -> None:
        """Count uses of a key for an operation of this scope."""
        self._counts[key_id, scope] += uses

    def take(self) -> dict[tuple[str, str], int]:
        """Return the counts and start again from zero."""
        taken, self._counts = self._counts, Counter()
        return dict(taken)


async def flush(uses: KeyUses, *, db: Database) -> None:
    """Write the counts and keep them in memory if that fails. Raises DatabaseUnavailable."""
    taken = uses.take()
    if not taken:
        return
    try:
        async with db.shared() as writing:
            await audit.count_uses(writing, taken)
    except BaseException:
        for (key_id, scope), count in taken.items():
            uses.add(key_id, scope, count)
        raise


async def work(uses: KeyUses, *, db: Database) -> None:
    """Flush once a minute until cancelled, then once more."""
    try:
        while True:
            await asyncio.sleep(FLUSH_S)
            await _flush_or_log(uses, db)
    finally:
        try:
            async with asyncio.timeout(LAST_FLUSH_S):
                await _flush_or_log(uses, db)
        except TimeoutError:
            log.warning("key uses of the last minute are lost", extra={"action": "key_uses_lost"})


async def _flush_or_log(uses: KeyUses, db: Database) -> None:
    try:
        await flush(uses, db=db)
    except errors.ReadOnly:
        log.debug("key uses stay in memory: the database is read-only")
    except errors.StepwellError as error:
        log.warning("writing key uses postponed: %s", error.code, extra={"action": "key_uses_postponed"})
    except Exception:
        log.exception("writing key uses failed", extra={"action": "key_uses_failed"})
