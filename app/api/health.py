"""Answers whether the process is alive and whether it can serve."""

from __future__ import annotations

import time
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from app import __version__, errors
from app.api import auth, problems
from app.api.single_flight import SingleFlight
from app.pipelines import documents
from app.pipelines.services import Services

router = APIRouter(tags=["health"])

KEPT_S = 2.0


class Health(BaseModel):
    """The process is there."""

    status: Literal["ok"] = "ok"
    version: str = __version__


class Readiness(BaseModel):
    """The database answers and is the right one."""

    status: Literal["ready"] = "ready"
    providers: dict[str, Literal["closed", "half_open", "open"]] = Field(
        default_factory=dict,
        description="Circuit breakers of the remote providers (`llm`, `reranker`); while one is open, searches do "
        "without that provider and say so in `degraded`. They do not affect readiness.",
        examples=[{"llm": "closed"}],
    )


class ReadinessCheck:
    """Compares the database's schema with this version, at most once in KEPT_S seconds however many ask."""

    def __init__(self) -> None:
        self._flight: SingleFlight[None] = SingleFlight()
        self._failure: errors.StepwellError | None = None
        self._checked_at = float("-inf")

    async def __call__(self, use: Services) -> None:
        """Raises DatabaseUnavailable, DeadlineExceeded, SchemaMismatch."""
        if time.monotonic() - self._checked_at > KEPT_S:
            await self._flight.run(None, lambda: self._check(use))
        if self._failure is not None:
            raise self._failure.with_traceback(None)

    async def _check(self, use: Services) -> None:
        model, dimension = use.expected_schema
        self._failure = None
        try:
            await documents.ready(db=use.db, model=model, dimension=dimension)
        except TimeoutError:
            self._failure = errors.DeadlineExceeded("The database did not answer within a second.")
        except errors.StepwellError as failure:
            self._failure = failure
        self._checked_at = time.monotonic()


@router.get("/healthz", operation_id="healthz", summary="Is the process alive?")
async def healthz() -> Health:
    """Depends on nothing, so that a database outage restarts no container."""
    return Health()


@router.get("/readyz", operation_id="readyz", summary="Can it serve?", responses=problems.responses(500, 503, 504))
async def readyz(request: Request, use: auth.Use) -> Readiness:
    """Reaches the database within a second and compares its schema with this version; the result is kept for 2 s."""
    await request.app.state.readiness(use)
    return Readiness(providers={breaker.target.role: breaker.state for breaker in use.breakers})
