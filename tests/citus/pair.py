"""Sends each request to a single node and to a cluster, and compares the answers."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

VOLATILE = frozenset({
    "took_ms", "timings", "request_id", "updated_at", "synced_at", "job_id", "source_id", "sync_ms", "next_cursor",
    "created_at",
})  # fmt: skip
"""Fields that differ between two runs on one database too; cursors contain the version of the user's data."""
TOLERANCE = 1e-5
"""Numbers within it are identical: BM25 adds up 32-bit numbers, and their sum depends on their order."""


@dataclass(slots=True)
class Pair:
    """The clients of one user on the single node and on the cluster, and what their answers came to."""

    single: httpx.AsyncClient
    cluster: httpx.AsyncClient
    asked: int = 0
    different: list[str] = field(default_factory=list)

    async def send(self, kind: str, method: str, path: str, **request: Any) -> Any:
        """Sends a request to both and counts whether the answers are identical; returns the single node's."""
        first = await self.single.request(method, path, **request)
        assert first.is_success, f"{method} {path} {request}: {first.text}"
        second = await self.cluster.request(method, path, **request)
        self.compare(kind, f"{method} {path} {request}", _comparable(first), _comparable(second))
        return first.json() if first.content else None

    def compare(self, kind: str, request: str, first: Any, second: Any) -> None:
        """Counts whether two answers to a request are identical."""
        self.asked += 1
        if difference := _difference(_stable(first), _stable(second)):
            self.different.append(f"{kind}: {request[:300]}\n  {difference}")


def _comparable(response: httpx.Response) -> Any:
    return {"status": response.status_code, "body": response.json() if response.content else None}


def _difference(first: Any, second: Any, at: str = "") -> str | None:
    """The first place at which two answers differ; None if they are identical."""
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        return _first(_difference(first[name], second[name], f"{at}.{name}") for name in first)
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        both = enumerate(zip(first, second, strict=True))
        return _first(_difference(*one, f"{at}[{place}]") for place, one in both)
    if isinstance(first, float) and isinstance(second, float) and math.isclose(first, second, rel_tol=TOLERANCE):
        return None
    return None if first == second else f"{at}: single {str(first)[:200]}, cluster {str(second)[:200]}"


def _first(found: Iterator[str | None]) -> str | None:
    return next((one for one in found if one is not None), None)


def _stable(value: Any) -> Any:
    """The value without fields that differ between two runs."""
    if isinstance(value, dict):
        return {name: _stable(one) for name, one in value.items() if name not in VOLATILE}
    if isinstance(value, list):
        return [_stable(one) for one in value]
    return value
