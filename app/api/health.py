"""Is the process alive, and can it serve?"""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from app import __version__
from app.api import auth, problems
from app.pipelines import documents

router = APIRouter(tags=["health"])


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


@router.get("/healthz", operation_id="healthz", summary="Is the process alive?")
async def healthz() -> Health:
    """Depends on nothing, so that a database outage restarts no container."""
    return Health()


@router.get("/readyz", operation_id="readyz", summary="Can it serve?", responses=problems.responses(500, 503, 504))
async def readyz(use: auth.Use) -> Readiness:
    """Reaches the database within a second and compares its schema with this version."""
    model, dimension = use.expected_schema
    await documents.ready(db=use.db, model=model, dimension=dimension)
    return Readiness(providers={breaker.target.role: breaker.state for breaker in use.breakers})
