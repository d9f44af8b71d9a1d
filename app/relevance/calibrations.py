"""Stores and removes the calibration of a user's relevance."""

from __future__ import annotations

from app import errors
from app.database.calibrations import StoredCalibration
from app.database.transactions import Database
from app.relevance import store as calibrations


async def get(user_id: str, *, db: Database) -> StoredCalibration | None:
    """The user's calibration with what it was fitted from; None for the defaults."""
    async with db.primary.reading(user_id) as reading:
        return await calibrations.get(reading)


async def put(user_id: str, stored: StoredCalibration | None, *, db: Database) -> None:
    """Store a calibration, or remove it with None. Raises NotFound for a user who has stored nothing."""
    async with db.preparing(user_id) as writing:
        if not await calibrations.put(writing, stored):
            raise errors.NotFound("The user has stored nothing that relevance could be calibrated for.")
