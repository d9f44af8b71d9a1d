"""The commands that search apply the settings of the service to their query."""

from __future__ import annotations

from app.cli.search import configured
from app.pipelines.running.services import Services
from app.shapes import Guidance, Query
from app.store.connection import transactions
from benchmarks.fake_embedder import FakeEmbedder

AWAY = transactions.connect("postgresql://stepwell@/stepwell?host=/nonexistent")
SERVICES = Services(AWAY, FakeEmbedder(), candidates=40, rrf_k=7, guidance=Guidance(alpha=0.2, threshold=0.9))


def test_a_query_gets_the_configured_candidates_constant_of_rrf_and_guidance() -> None:
    asked = configured.query(Query("ana", "lime"), SERVICES, guided=True)
    assert (asked.candidates, asked.k, asked.guidance) == (40, 7, Guidance(alpha=0.2, threshold=0.9))


def test_candidates_are_at_least_as_many_as_the_limit_and_options_of_the_command_win() -> None:
    asked = configured.query(Query("ana", "lime", limit=50), SERVICES, guided=False, alpha=0.7)
    assert (asked.candidates, asked.guidance.mode, asked.guidance.alpha) == (50, "off", 0.7)
