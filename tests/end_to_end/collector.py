"""A collector of OpenTelemetry over HTTP: it keeps the spans and the names of metrics, and fails the first exports."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

FAILURES = 2
"""Exports that are answered with 503, which exporters repeat."""


class Collector(ThreadingHTTPServer):
    """What was received so far; `changed` is notified of each export."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.changed = threading.Condition()
        self.answers = threading.Event()
        self.answers.set()
        self.refused = 0
        self.bodies: list[bytes] = []
        self.spans: list[Span] = []
        self.metrics: set[str] = set()

    def receive(self, path: str, body: bytes) -> int:
        """Keep an export; returns the status of the answer."""
        with self.changed:
            if self.refused < FAILURES:
                self.refused += 1
                return 503
            self.bodies.append(body)
            if path == "/v1/traces":
                sent = ExportTraceServiceRequest.FromString(body)
                self.spans += [span for of in sent.resource_spans for scope in of.scope_spans for span in scope.spans]
            elif path == "/v1/metrics":
                measured = ExportMetricsServiceRequest.FromString(body)
                scopes = [scope for of in measured.resource_metrics for scope in of.scope_metrics]
                self.metrics |= {metric.name for scope in scopes for metric in scope.metrics}
            self.changed.notify_all()
            return 200

    def hang(self) -> None:
        """Answer no export from now on."""
        self.answers.clear()

    def handle_error(self, *_: object) -> None:
        """A client that has left is no error."""

    def span_of(self, trace_id: str, within_s: float) -> Span:
        """The span of a request of this trace, which is awaited. Raises AssertionError if it does not come."""

        def found() -> Span | None:
            of_trace = (span for span in self.spans if span.trace_id.hex() == trace_id)
            return next((span for span in of_trace if span.kind == Span.SPAN_KIND_SERVER), None)

        with self.changed:
            span = self.changed.wait_for(found, within_s)
        assert span is not None, "no span was exported"
        return span


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.answers.wait()
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.send_response(self.server.receive(self.path, body))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@contextmanager
def running() -> Iterator[Collector]:
    """A collector in a thread."""
    with Collector() as started:
        serving = threading.Thread(target=started.serve_forever, kwargs={"poll_interval": 0.05})
        serving.start()
        try:
            yield started
        finally:
            started.answers.set()
            started.shutdown()
            serving.join()
