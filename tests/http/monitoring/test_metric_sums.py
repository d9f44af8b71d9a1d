"""Metrics of several processes are added, gauges by their kind, and counts of processes that have ended are kept."""

from __future__ import annotations

from types import SimpleNamespace

from prometheus_client.parser import text_string_to_metric_families

from app.http.metrics import Metrics
from app.serving import shared_metrics


async def _text(requests: int, lag_s: float) -> str:
    metrics = Metrics()
    scope = {"method": "GET", "route": SimpleNamespace(path='/a b\n"c"'), "state": {}}
    for _ in range(requests):
        metrics.request(scope, 200, 0.02)
    metrics.lagged(lag_s)
    metrics.watch("stepwell_searches_running", "Searches.", lambda: 2)
    metrics.watch("stepwell_jobs_waiting", "Jobs of all processes.", lambda: 5)
    return await metrics.text()


async def test_samples_are_added_by_their_meaning() -> None:
    running, ended = [await _text(1, 0.2), await _text(2, 0.3)], await _text(4, 0.9)
    totals = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(shared_metrics.add_up(running, ended=[ended]))
        for sample in family.samples
    }
    route = '/a b\n"c"'
    assert totals["stepwell_http_requests_total", route, "200", "GET"] == 7
    assert totals["stepwell_http_request_duration_seconds_bucket", route, "0.025", "GET"] == 7
    assert totals["stepwell_http_request_duration_seconds_bucket", route, "0.01", "GET"] == 0
    assert totals["stepwell_http_request_duration_seconds_count", route, "GET"] == 7
    assert totals["stepwell_searches_running",] == 4
    assert totals["stepwell_jobs_waiting",] == 5
    assert totals["stepwell_processes",] == 2
    assert totals["stepwell_event_loop_lag_max_seconds",] == 0.3
    assert totals["stepwell_event_loop_lag_seconds_count",] == 3
