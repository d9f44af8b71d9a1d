"""Answers whether the process is alive and whether it can serve."""

from __future__ import annotations

import asyncio
import time
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from app import __version__, errors
from app.concurrency.single_flight import SingleFlight
from app.database.schema import migration
from app.enums import BreakerState, DatabaseState, StandbyStatus
from app.http import bodies, problems
from app.services import Services

router = APIRouter(tags=["health"], route_class=bodies.StrictRoute, responses=problems.responses(422))

CACHE_S = 2.0
READY_WAIT_S = 1.0
NOBODY = "nobody"
"""A user without data, whose search shows that searches work."""


class Health(BaseModel):
    """The process is alive."""

    status: Literal["ok"] = Field("ok", description="Always `ok`.")
    version: str = Field(__version__, description="Version of the service.")


class Readiness(BaseModel):
    """The database responds and its schema belongs to this version."""

    status: Literal["ready"] = Field("ready", description="Always `ready`; otherwise the response is an error.")
    database: DatabaseState = Field(description="Whether the database accepts writes; `ready` means that reads work.")
    standby: StandbyStatus | None = Field(
        None, description="State of the standby; null without one. Readiness does not depend on it."
    )
    providers: dict[str, BreakerState] = Field(
        default_factory=dict,
        description="Circuit breaker of each remote model (`embedder`, `llm`, `reranker`). While it is open, "
        "searches skip the model and list that in `degraded`. It is also open for a reranker in a folder that could "
        "not be loaded. Readiness does not depend on it.",
        examples=[{"llm": "closed"}],
    )


class ReadinessCheck:
    """Compares the database's schema with this version, at most once in CACHE_S seconds."""

    def __init__(self) -> None:
        self.state: DatabaseState = "unavailable"
        self._flight: SingleFlight[None, None] = SingleFlight()
        self._failure: errors.StepwellError | None = None
        self._checked_at = float("-inf")

    async def __call__(self, use: Services) -> None:
        """Set the state. Raises DatabaseUnavailable, SchemaMismatch.

        A database that cannot be reached raises nothing while the standby serves reads.
        """
        if time.monotonic() - self._checked_at > CACHE_S:
            await self._flight.join(None, lambda: self._check(use))
        if self._failure is not None:
            raise self._failure.with_traceback(None)

    async def _check(self, use: Services) -> None:
        model, dimension = use.expected_schema
        self._failure = None
        try:
            async with asyncio.timeout(READY_WAIT_S):
                await migration.check(use.db, model=model, dimension=dimension, target=use.target_schema)
                async with use.db.searching(NOBODY):  # as a search begins, with the statement that it begins with
                    pass
        except TimeoutError:
            self._failure = errors.DatabaseUnavailable("The database does not respond; try again shortly.")
        except errors.StepwellError as failure:
            self._failure = failure
        self.state = "unavailable" if self._failure else "read_only" if use.db.pool.is_read_only else "writable"
        if isinstance(self._failure, errors.DatabaseUnavailable) and _standby(use) == "ready":
            self._failure = None
        self._checked_at = time.monotonic()


def _standby(use: Services) -> StandbyStatus | None:
    report = use.db.reads.standby
    return None if report is None else report.state


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", summary="Check liveness")
async def healthz() -> Health:
    """Checks nothing else, so that a database outage does not restart containers."""
    return Health()


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", summary="Check readiness", responses=problems.responses(504))
async def readyz(request: Request) -> Readiness:
    """Queries the database with a timeout of one second and compares its schema; the result is cached for 2 seconds."""
    use: Services = request.app.state.services
    check: ReadinessCheck = request.app.state.readiness
    await check(use)
    return Readiness(
        database=check.state,
        standby=_standby(use),
        providers={calls.target.role: calls.breaker.state for calls in use.remote_calls},
    )
