"""Stores the calibration of a user's relevance, in the row of the user."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from app.database.calibrations import RelevanceCalibration, StoredCalibration
from app.database.schema import tables
from app.database.transactions import Reading, Writing

_t = tables.tenants.c


async def get(db: Reading) -> StoredCalibration | None:
    """The user's calibration with what it was fitted from; None for the defaults."""
    query = sa.select(_t.calibration, _t.calibrated).where(_t.user_id == db.user_id, _t.calibration.is_not(None))
    row = (await db.execute(query)).one_or_none()
    if row is None:
        return None
    scales, fitted = RelevanceCalibration.from_millionths(row.calibration), row.calibrated
    return StoredCalibration(scales, fitted["questions"], fitted["hits"], datetime.fromisoformat(fitted["fitted_at"]))


async def put(db: Writing, stored: StoredCalibration | None) -> bool:
    """Store a calibration, or remove it; returns whether the user has stored anything that it could be for."""
    values: dict[str, object] = {"calibration": None, "calibrated": {}}
    if stored is not None:
        values["calibration"] = stored.calibration.millionths
        values["calibrated"] = {
            "questions": stored.questions,
            "hits": stored.hits,
            "fitted_at": stored.fitted_at.isoformat(),
        }
    change = sa.update(tables.tenants).where(_t.user_id == db.user_id).values(**values)
    return bool((await db.execute(change)).rowcount)
