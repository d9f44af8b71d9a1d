"""Applies the settings of the service to the query of a command."""

from __future__ import annotations

from dataclasses import replace

from app.pipelines.running.services import Services
from app.shapes import Query


def query(asked: Query, services: Services, *, guided: bool, alpha: float | None = None) -> Query:
    """The query as the API would run it: with the configured candidates, constant of RRF, weights and guidance.

    `guided` turns the effect of entities on; `alpha` replaces the configured weight.
    """
    options = services.guidance
    guidance = replace(options, mode="auto" if guided else "off", alpha=options.alpha if alpha is None else alpha)
    candidates = max(services.candidates, asked.limit)
    return replace(asked, k=services.rrf_k, candidates=candidates, guidance=guidance, reordering=services.reordering)
