"""What does every story need?

The door and the command line hold one of these and hand its parts to the pipelines.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from app.pipelines.ingest import Cutting
from app.pipelines.remembered import Remembered
from app.pipelines.search import Budget
from app.providers.base import Embedder, Llm, Reranker
from app.shapes import Guidance
from app.store.db import Database


@dataclass(frozen=True, slots=True)
class Services:
    """A database, an embedder and the limits they work under.

    `owner` is an embedded database as its owner sees it: all users' rows, for work that no request asks for.
    `local_token` is what requests present under AUTH=local_token; empty otherwise.
    """

    db: Database
    embedder: Embedder
    owner: Database | None = None
    cutting: Cutting = field(default_factory=Cutting)
    budget: Budget = field(default_factory=Budget)
    candidates: int = 100
    rrf_k: int = 60
    expected_schema: tuple[str, int] = ("", 0)
    llm: Llm | None = None
    reranker: Reranker | None = None
    guidance: Guidance = field(default_factory=Guidance)
    local_token: str = ""
    remembered: Remembered = field(default_factory=Remembered)
