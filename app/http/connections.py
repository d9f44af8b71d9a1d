"""Limits connections in uvicorn's protocol: their number, the size of headers, and the time a client may take.

`Protocol` is uvicorn's httptools protocol with bounds on the head of a request, on waiting, on unread responses and on
the number of connections. A client over a limit gets a problem (431, 408, 400 or 503) where a response is possible;
otherwise the connection is closed. Bodies that the application reads are bounded there, not here.

Addresses are not counted: behind a reverse proxy every client has the same one.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from app import errors
from app.http import problems

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds of one connection; times are in seconds."""

    connections: int = 500
    refused: int = 100
    """Connections beyond `connections` that are answered 503; any more are closed without an answer."""
    head_bytes: int = 32_768
    headers: int = 100
    pipelined: int = 128
    head_s: float = 10.0
    """From the first byte of a request to the end of its headers."""
    idle_s: float = 30.0
    """Between requests, and before the first."""
    stalled_s: float = 30.0
    """In this time a client must read at least `progress_bytes` of a response, or the rest of it."""
    stopping_s: float = 3.0
    """Takes the place of `stalled_s` once the server shuts down."""
    progress_bytes: int = 4096
    linger_s: float = 5.0
    """How long the rest of a body is read and dropped after its response, so that the client can read the response."""
    linger_bytes: int = 16_000_000
    check_s: float = 1.0
    """How often the times are compared with their limits."""


class _RequestRefused(Exception):
    """Stops the parser within a callback."""


class Protocol(HttpToolsProtocol):
    """One connection."""

    limits: ClassVar[ConnectionLimits] = ConnectionLimits()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.running: RequestResponseCycle | None = None
        self._reading_head = False
        self._reading_body = False
        self._unparsed = 0
        """Bytes received since the parser last completed anything: it buffers them without a limit of its own."""
        self._head_bytes = 0
        self._headers = 0
        self._dropped = 0
        self._refusal: errors.StepwellError | None = None
        self._stopping = False
        self.waiting_since = self.loop.time()
        """When it was opened, its last response was complete or its unfinished head began, whichever was last."""
        self._unread = 0
        """Bytes of responses that the client had left to read when it last made progress, at `_progress_at`."""
        self._progress_at = self.waiting_since
        self._next_check: asyncio.TimerHandle | None = None

    # connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._next_check = self.loop.call_later(self.limits.check_s, self._check)
        if len(self.connections) > self.limits.connections:
            self._free_a_connection()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._next_check is not None:
            self._next_check.cancel()
        if self.running is not None and not self.running.response_complete:
            # uvicorn notifies the newest request only, which may still have been queued.
            self.running.disconnected = True
            self.running.message_event.set()

    def shutdown(self) -> None:
        self._stopping = True
        if self._active and self.running is not None:
            self.running.keep_alive = False
        else:
            self.transport.close()

    def _free_a_connection(self) -> None:
        """Close the connection that has waited longest for a request; refuse this one if all are answering requests."""
        own = [one for one in self.connections if isinstance(one, Protocol)]
        accepted = [one for one in own if one._refusal is None and not one.transport.is_closing()]
        if len(accepted) <= self.limits.connections:
            return
        if waiting := [one for one in accepted if one is not self and one.is_waiting]:
            min(waiting, key=lambda one: one.waiting_since).transport.abort()
        elif len(self.connections) > self.limits.connections + self.limits.refused:
            self.transport.abort()
        else:
            self._refuse(
                errors.Unavailable(
                    "The service has no free connection: try again shortly.", code="too_many_connections"
                )
            )

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being answered, so that the connection may be closed."""
        return not self._active and not self.transport.is_closing()

    @property
    def _active(self) -> bool:
        return self.running is not None and not (self.running.response_complete or self.running.disconnected)

    # data

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        if self._refusal is not None:
            self._dropped += len(data)
            if self._dropped > self.limits.linger_bytes:
                self.transport.abort()
            return
        self._unparsed += len(data)
        try:
            self.parser.feed_data(data)
            if self._head_bytes + self._unparsed > self.limits.head_bytes:
                self._refuse(self._head_too_large())
        except httptools.HttpParserUpgrade as paused:
            if self._declines_upgrade:
                self._decline_upgrade(data[paused.args[0] :])
            else:
                self.cycle.keep_alive = False  # CONNECT: the parser reads nothing after it
        except httptools.HttpParserError:
            self._refuse(
                self._refusal or errors.RequestRefused("This is not a valid HTTP request.", code="malformed_request")
            )

    @property
    def _declines_upgrade(self) -> bool:
        return bool(self.parser.should_upgrade()) and self.parser.get_method() != b"CONNECT"

    def _decline_upgrade(self, rest: bytes) -> None:
        """Parse the request again as an ordinary one, because the parser reads no body after `Upgrade: h2c`.

        Java's HttpClient sends that header by default, and expects an answer of HTTP/1.1 (RFC 9110, section 7.8).
        """
        first = b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())
        headers = [b"%s: %s" % pair for pair in self.headers if pair[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.data_received(b"\r\n".join([first, *headers, b"", rest]))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._reading_head, self._reading_body = True, False
        self._unparsed = self._head_bytes = self._headers = 0
        self.waiting_since = self.loop.time()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers += 1
        self._count_head(len(name) + len(value) + 4)
        if self._headers > self.limits.headers:
            self._stop_parser(
                errors.RequestRefused(f"Send at most {self.limits.headers} headers.", code="headers_too_large")
            )
        if self._reading_head:  # a trailer would change the headers of a request that is being answered
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._get_upgrade() == b"websocket":
            self._stop_parser(
                errors.RequestRefused(
                    "There are no WebSockets here: send ordinary HTTP requests.", code="upgrade_refused"
                )
            )
        if self._declines_upgrade:
            return
        if len(self.pipeline) >= self.limits.pipelined:
            message = f"Send at most {self.limits.pipelined} requests before you read a response."
            self._stop_parser(errors.Unavailable(message, code="too_many_connections"))
        super().on_headers_complete()
        self._reading_head, self._reading_body = False, True

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._declines_upgrade:
            return
        self._reading_body = False
        self._unparsed = 0
        super().on_message_complete()

    def _count_head(self, size: int) -> None:
        self._unparsed = 0
        self._head_bytes += size
        if self._head_bytes > self.limits.head_bytes:
            self._stop_parser(self._head_too_large())

    def _head_too_large(self) -> errors.StepwellError:
        return errors.RequestRefused(
            f"Request line and headers may have {self.limits.head_bytes} bytes together.", code="headers_too_large"
        )

    def _stop_parser(self, refusal: errors.StepwellError) -> None:
        self._refusal = refusal
        raise _RequestRefused

    # requests and responses

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self.running = cycle
        send = cycle.send

        async def send_and_announce(message: Any) -> None:
            """Say `close` if the body has not ended: HAProxy may send the next request in place of its rest."""
            closes = message["type"] == "http.response.start" and cycle.more_body and cycle.keep_alive
            if closes:
                message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
            await send(message)
            cycle.keep_alive |= closes  # it lingers all the same, so that the client can read the response

        cycle.send = send_and_announce  # type: ignore[method-assign]
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        self.waiting_since = self.loop.time()
        self._dropped = 0
        super().on_response_complete()
        if self._refusal is not None and self.is_waiting:
            self._answer(self._refusal)

    def send_400_response(self, msg: str) -> None:
        self._refuse(errors.RequestRefused("This is not a valid HTTP request.", code="malformed_request"))

    def _refuse(self, refusal: errors.StepwellError) -> None:
        """Answer with a problem, after the responses that are due, and close."""
        self._refusal = refusal
        if self._reading_body and not self.cycle.response_complete:
            # The rest of the body cannot be read, so its request is disconnected.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.abort()
        if self.is_waiting:
            self._answer(refusal)

    def _answer(self, refusal: errors.StepwellError) -> None:
        _logger.info("connection refused", extra={"action": "connection_refused", "code": refusal.code})
        self.config.app.state.metrics.problems.labels(str(refusal.status), refusal.code).inc()  # type: ignore[union-attr]
        response = problems.of(refusal, {})
        lines = [STATUS_LINE[refusal.status], *(b"%s: %s\r\n" % pair for pair in response.raw_headers)]
        self.transport.write(b"".join([*lines, b"connection: close\r\n\r\n", bytes(response.body)]))
        # If it were closed at once with bytes unread, the system would reset the connection and lose the response.
        self.waiting_since = self.loop.time()
        self._dropped = 0
        self._unset_keepalive_if_required()
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    # time

    def _check(self) -> None:
        now = self.loop.time()
        waited = now - self.waiting_since if self.is_waiting else 0.0
        if self._has_stalled(now):
            self.transport.abort()
            return
        if self._refusal is not None or self._reading_body:
            if waited > self.limits.linger_s:
                self.transport.abort()
        elif self._reading_head:
            if waited > self.limits.head_s:
                message = f"Send a request's headers within {self.limits.head_s:g} seconds."
                self._refuse(errors.RequestRefused(message, code="request_timeout"))
        elif waited > self.limits.idle_s and not self.transport.get_write_buffer_size():
            self.transport.close()
        self._next_check = self.loop.call_later(self.limits.check_s, self._check)

    def _has_stalled(self, now: float) -> bool:
        """Whether the client reads too little of its responses.

        While the application may write more, the buffer's size says something only if writing is paused.
        """
        unread = self.transport.get_write_buffer_size()
        has_read = not self._unread - self.limits.progress_bytes < unread <= self._unread
        if unread == 0 or has_read or (self._active and not self.flow.write_paused):
            self._unread, self._progress_at = unread, now
        allowed_s = self.limits.stopping_s if self._stopping else self.limits.stalled_s
        return now - self._progress_at > allowed_s
