"""Adds up the metrics of several processes, each in Prometheus text format.

Counters, histograms and most gauges are added; of the gauges in `HIGHEST` the highest value counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

HIGHEST = frozenset(
    {
        "stepwell_build_info",
        "stepwell_event_loop_lag_max_seconds",
        "stepwell_provider_breaker_state",
        "stepwell_db_read_only",
        "stepwell_standby_ready",
        "stepwell_standby_lag_seconds",
        "stepwell_standby_lag_bytes",
    }
)
"""Gauges that say the same, or the worst, of all processes."""

_Key = tuple[str, tuple[tuple[str, str], ...]]


class _Summed(Collector):
    """The added metrics, in the order in which they were first read."""

    def __init__(self) -> None:
        self._families: dict[str, Metric] = {}
        self._values: dict[str, dict[_Key, float]] = {}

    def add(self, family: Metric) -> None:
        """Add the samples of one process."""
        self._families.setdefault(family.name, family)
        values = self._values.setdefault(family.name, {})
        for sample in family.samples:
            key = (sample.name, tuple(sample.labels.items()))
            if key in values and family.name in HIGHEST:
                values[key] = max(values[key], sample.value)
            elif sample.name.endswith("_created"):
                values[key] = min(values.get(key, sample.value), sample.value)
            else:
                values[key] = values.get(key, 0.0) + sample.value

    def collect(self) -> Iterator[Metric]:
        """The metrics with their sums."""
        for name, family in self._families.items():
            made = Metric(name, family.documentation, family.type)
            values = self._values[name].items()
            made.samples = [Sample(sample, dict(labels), value) for (sample, labels), value in values]
            yield made


def added(running: Iterable[str], *, ended: Iterable[str] = ()) -> str:
    """The metrics of processes that run, and the counts of those that have ended, in Prometheus text format."""
    summed = _Summed()
    for text in running:
        for family in text_string_to_metric_families(text):
            summed.add(family)
    for text in ended:
        for family in text_string_to_metric_families(text):
            if family.type != "gauge":
                summed.add(family)
    return generate_latest(summed).decode()
