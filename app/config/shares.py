"""Divides the limits of the whole service among its processes."""

from __future__ import annotations

from app import config
from app.config import Settings

MAX_MODEL_THREADS = 4
LEAST_SEARCHES = 2
"""Concurrent searches of a user in a process by default: one uses Python while another waits for Postgres."""
MAX_CONNECTIONS = 80
"""Connections of all processes to Postgres, of the 100 that it allows by default."""


def of_process(settings: Settings, number: int) -> Settings:
    """The settings of one of the service's processes; the first, number 1, alone runs background work.

    What bounds the work on this machine or the calls to a provider is divided. Limits of connections, caches and
    requests per minute are those of each process.
    """
    count, cores = settings.workers, config.usable_cores()
    divided = {
        name: -(-limit // count) if (limit := getattr(settings, name)) else 0
        for name in (
            "max_waiting_searches",
            "provider_concurrency",
            "embedder_rate_limit",
            "llm_rate_limit",
            "reranker_rate_limit",
        )
    }
    return settings.model_copy(
        update={
            **divided,
            "pool_size": min(settings.pool_size, MAX_CONNECTIONS // count),
            "max_concurrent_searches": -(-settings.searches_at_once // count)
            if settings.max_concurrent_searches
            else max(LEAST_SEARCHES, cores // count) + 1,
            "embedder_threads": settings.embedder_threads or max(1, min(cores // count, MAX_MODEL_THREADS)),
            "worker": settings.worker and number == 1,
        }
    )
