"""Traces and metrics of requests reach a collector over HTTP, without a word of the user."""

from __future__ import annotations

from collector import FAILURES, Collector
from over_http import API, PATIENCE_S, Caller

TRACE, CANARY = "0af7651916cd43dd8448eb211c80319c", "quollcanary"


def test_a_request_is_exported_with_the_trace_of_its_client_after_the_collector_has_failed(
    service: Caller, telemetry: Collector
) -> None:
    headers = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
    service.call("POST", f"{API}/search", json={"query": CANARY}, headers=headers)
    service.call("GET", f"{API}/documents?uri={CANARY}")
    span = telemetry.span_of(TRACE, PATIENCE_S)
    values = {attribute.key: attribute.value for attribute in span.attributes}
    assert (span.name, span.parent_span_id.hex()) == (f"POST {API}/search", "b7ad6b7169203331")
    assert values["http.response.status_code"].int_value == 200
    assert values["stepwell.total_ms"].double_value > 0
    assert telemetry.refused == FAILURES
    with telemetry.changed:
        assert telemetry.changed.wait_for(lambda: "http.server.request.duration" in telemetry.metrics, PATIENCE_S)
        assert not [body for body in telemetry.bodies if CANARY.encode() in body]
