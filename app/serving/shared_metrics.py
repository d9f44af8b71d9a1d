"""Adds up the metrics of the processes of a service. They read each other's metrics over sockets in a shared folder.

When a process reads another's metrics, it keeps them in a file. If that other process is replaced, its successor
continues from the file, so that no count decreases. Counters, histograms and most gauges are added; of the gauges in
`HIGHEST` the highest value counts.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

ANSWER_S = 5.0
END = "# EOF\n"
"""The last line that a process shows. Without it, the process was killed meanwhile, and counts may be missing."""
HIGHEST = {
    *("stepwell_build_info", "stepwell_event_loop_lag_max_seconds", "stepwell_provider_breaker_state"),
    *("stepwell_db_read_only", "stepwell_standby_ready", "stepwell_standby_lag_seconds", "stepwell_jobs_waiting"),
    *("stepwell_jobs_running", "stepwell_jobs_retrying", "stepwell_jobs_oldest_seconds"),
    *("process_start_time_seconds", "process_max_fds"),
}
"""Gauges of which the highest value counts: their sum over the processes would mean nothing."""

_Key = tuple[str, tuple[tuple[str, str], ...]]


class SharedMetrics:
    """Shows the metrics of process `number` to the others, and adds up those of all."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._socket = folder / f"{number}.socket"
        kept = _kept_file(self._socket)
        self._before = kept.read_text() if kept.exists() else ""

    @asynccontextmanager
    async def shown(self, own: Callable[[], Awaitable[str]]) -> AsyncIterator[None]:
        """Show this process's metrics to the others during the block."""

        async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(f"{add_up([await own()], ended=[self._before])}{END}".encode())
            writer.close()

        async with await asyncio.start_unix_server(answer, self._socket):
            yield

    async def total(self) -> str:
        """The metrics of the processes that answer, and the last known counts of the others."""
        sockets = sorted(self._folder.glob("*.socket"))
        read = await asyncio.gather(*map(_read, sockets))
        ended = [_kept_file(one) for one, text in zip(sockets, read, strict=True) if not text]
        return add_up(filter(None, read), ended=[one.read_text() for one in ended if one.exists()])


async def _read(path: Path) -> str:
    """Reads the metrics that a process shows, and keeps them in a file. Empty if it does not answer completely."""
    try:
        async with asyncio.timeout(ANSWER_S):
            reader, writer = await asyncio.open_unix_connection(path)
            text = (await reader.read(-1)).decode()
            writer.close()
    except OSError:  # of which TimeoutError is a subclass
        return ""
    if not text.endswith(END):
        return ""
    new = path.with_suffix(f".{uuid.uuid4().hex}")
    new.write_text(text)
    os.replace(new, _kept_file(path))
    return text


def _kept_file(path: Path) -> Path:
    return path.with_suffix(".metrics")


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
            else:
                values[key] = values.get(key, 0.0) + sample.value

    def collect(self) -> Iterator[Metric]:
        """The metrics with their sums."""
        for name, family in self._families.items():
            made = Metric(name, family.documentation, family.type)
            values = self._values[name].items()
            made.samples = [Sample(sample, dict(labels), value) for (sample, labels), value in values]
            yield made


def add_up(running: Iterable[str], *, ended: Iterable[str] = ()) -> str:
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
