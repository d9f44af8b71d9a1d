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


KeyUses = Counter[tuple[str, str]]
"""Uses since the last flush, by key id and scope."""


async def flush(uses: KeyUses, *, db: Database) -> None:
    """Write the counts. If that fails, they stay in memory. Raises DatabaseUnavailable."""
    taken = uses.copy()
    uses.clear()
    if not taken:
        return
    try:
        async with db.shared() as writing:
            await audit.count_uses(writing, taken)
    except BaseException:
        uses.update(taken)
        raise


async def flush_forever(uses: KeyUses, *, db: Database) -> None:
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
