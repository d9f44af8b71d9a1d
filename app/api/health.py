"""Answers whether the process is alive and whether it can serve."""

from __future__ import annotations

import time
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from app import __version__, errors
from app.api import auth, bodies, problems
from app.api.enums import BreakerState
from app.api.single_flight import SingleFlight
from app.pipelines import documents
from app.pipelines.services import Services

router = APIRouter(tags=["health"], route_class=bodies.StrictRoute, responses=problems.responses(422))

CACHE_S = 2.0


class Health(BaseModel):
    """The process is alive."""

    status: Literal["ok"] = Field("ok", description="Always `ok`.")
    version: str = Field(__version__, description="Version of the service.")


class Readiness(BaseModel):
    """The database responds and its schema belongs to this version."""

    status: Literal["ready"] = Field("ready", description="Always `ready`; otherwise the response is an error.")
    providers: dict[str, BreakerState] = Field(
        default_factory=dict,
        description="Circuit breaker of each remote model (`embedder`, `llm`, `reranker`). While it is open, "
        "searches skip the model and list that in `degraded`. Readiness does not depend on it.",
        examples=[{"llm": "closed"}],
    )


class ReadinessCheck:
    """Compares the database's schema with this version, at most once in CACHE_S seconds."""

    def __init__(self) -> None:
        self._flight: SingleFlight[None] = SingleFlight()
        self._failure: errors.StepwellError | None = None
        self._checked_at = float("-inf")

    async def __call__(self, use: Services) -> None:
        """Raises DatabaseUnavailable, DeadlineExceeded, SchemaMismatch."""
        if time.monotonic() - self._checked_at > CACHE_S:
            await self._flight.run(None, lambda: self._check(use))
        if self._failure is not None:
            raise self._failure.with_traceback(None)

    async def _check(self, use: Services) -> None:
        model, dimension = use.expected_schema
        self._failure = None
        try:
            await documents.ready(db=use.db, model=model, dimension=dimension, target=use.target_schema)
        except TimeoutError:
            self._failure = errors.DeadlineExceeded("The database did not answer within a second.")
        except errors.StepwellError as failure:
            self._failure = failure
        self._checked_at = time.monotonic()


@router.get("/healthz", operation_id="healthz", summary="Check liveness")
async def healthz() -> Health:
    """Checks nothing else, so that a database outage does not restart containers."""
    return Health()


@router.get("/readyz", operation_id="readyz", summary="Check readiness", responses=problems.responses(504))
async def readyz(request: Request, use: auth.Use) -> Readiness:
    """Queries the database with a timeout of one second and compares its schema; the result is cached for 2 seconds."""
    await request.app.state.readiness(use)
    return Readiness(providers={policy.target.role: policy.breaker.state for policy in use.policies})
