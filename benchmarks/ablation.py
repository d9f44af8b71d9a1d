"""Measures what each signal and each method of finding terms adds to a search over several hops.

A signal is left out by raising it nowhere, and by following no link of its kind. The figures of decision 0003 come from
here: a signal may go if recall@5 and nDCG@10 fall on no set by more than .003 without it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

from app.enums import Extractor
from app.evaluation import beir, runner
from app.evaluation.runner import Strategy, Tenant
from app.multihop import hop_strategies, hop_terms
from app.multihop import store as links
from app.multihop.hop_state import HopChunk
from app.multihop.store import LinkedChunk
from app.query import hop_signal_weights
from app.query.search_request import HopOptions, Ranking
from app.services import Services

COVERAGE = "covers"
METHODS: Mapping[str, Extractor] = {"terms": "none", "terms of names": "statistical"}
STATISTICAL = "statistical terms"
VARIANTS = ("all", *hop_signal_weights.WEIGHTS, COVERAGE, *METHODS, STATISTICAL)
MEASURES = ("recall@5", "ndcg@10")


@dataclass(frozen=True, slots=True)
class Measured:
    """The measures of a set with everything but one part."""

    name: str
    left_out: str
    measures: Mapping[str, float]


async def run(folders: Sequence[Path], left_out: Sequence[str], services: Services) -> AsyncIterator[Measured]:
    """Yields the measures of each set without each part; "all" leaves out nothing."""
    for part in left_out:
        for folder in folders:
            with without(part):
                strategy = Strategy("multihop", Ranking(hops=HopOptions(extractor=METHODS.get(part, "auto"))))
                tenant = Tenant.of(str(folder.resolve()))
                report = await runner.run(beir.load(folder), strategy, tenant, services=services)
            yield Measured(folder.name, part, {name: report.measures[name] for name in MEASURES})


@contextmanager
def without(part: str) -> Iterator[None]:
    """Searches over several hops as if the part did not exist."""
    with ExitStack() as stack:
        if part in hop_signal_weights.WEIGHTS:
            stack.enter_context(mock.patch.object(HopChunk, "raise_signal", _ignoring(part)))
            stack.enter_context(mock.patch.object(links, "follow", _following_all_but(part)))
        elif part == COVERAGE:
            stack.enter_context(mock.patch.object(hop_strategies, "COVERAGE_WEIGHT", 0.0))
        elif part == STATISTICAL:
            names = tuple(one for one in hop_terms.FALLBACK_ORDER if one != "statistical")
            stack.enter_context(mock.patch.object(hop_terms, "FALLBACK_ORDER", names))
        yield


def _ignoring(signal: str) -> object:
    raise_signal = HopChunk.raise_signal

    def raise_others(chunk: HopChunk, name: str, value: float) -> bool:
        return name != signal and raise_signal(chunk, name, value)

    return raise_others


def _following_all_but(signal: str) -> object:
    follow = links.follow

    async def follow_others(*arguments: object) -> list[LinkedChunk]:
        found = await follow(*arguments)  # type: ignore[arg-type]
        is_of = [one.link is not None and one.link.signal == signal for one in found]
        return [replace(one, link=None, weight=0.0) if of else one for one, of in zip(found, is_of, strict=True)]

    return follow_others
