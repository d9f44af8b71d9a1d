"""Reads, stores and removes the calibration of a user's relevance, in the user's row of `tenants`."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from app import errors
from app.database.calibration_types import RelevanceCalibration, StoredCalibration
from app.database.schema import tables
from app.database.transactions import Database, Reading, retry_read

_t = tables.tenants.c


@retry_read
async def get(user_id: str, *, db: Database) -> StoredCalibration | None:
    """The user's stored calibration; None if the defaults apply."""
    async with db.primary.reading(user_id) as reading:
        return await read(reading)


async def read(db: Reading) -> StoredCalibration | None:
    """Like `get`, in a transaction."""
    query = sa.select(_t.calibration, _t.calibrated).where(_t.user_id == db.user_id, _t.calibration.is_not(None))
    row = (await db.execute(query)).one_or_none()
    if row is None:
        return None
    scales, fitted = RelevanceCalibration.from_millionths(row.calibration), row.calibrated
    return StoredCalibration(scales, fitted["questions"], fitted["hits"], datetime.fromisoformat(fitted["fitted_at"]))


async def put(user_id: str, stored: StoredCalibration | None, *, db: Database) -> None:
    """Store a calibration, or remove it with None. Raises NotFound for a user who has stored nothing."""
    values: dict[str, object] = {"calibration": None, "calibrated": {}}
    if stored is not None:
        values["calibration"] = stored.calibration.millionths
        values["calibrated"] = {
            "questions": stored.questions,
            "hits": stored.hits,
            "fitted_at": stored.fitted_at.isoformat(),
        }
    async with db.preparing(user_id) as writing:
        change = sa.update(tables.tenants).where(_t.user_id == user_id).values(**values)
        if not (await writing.execute(change)).rowcount:
            raise errors.NotFound("The user has stored nothing that relevance could be calibrated for.")
