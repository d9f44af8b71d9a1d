"""Configures logging: one line per record on stderr, as JSON or plain text, without secrets or user input.

Modules log through the standard library; structlog formats the records. Above debug level a line holds nothing that a
user wrote: fields named in PRIVATE are dropped, and a foreign exception appears as its type and frames, without its
message. At no level does a line hold an API key's secret or the password of an address.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
import traceback
from types import TracebackType
from typing import Any

import stamina
import structlog
from stamina.instrumentation import RetryDetails
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, Processor, WrappedLogger

from app.errors import StepwellError

log = logging.getLogger(__name__)

PRIVATE = frozenset({"query", "content", "text", "title", "terms", "body"})
_HANDLER = "stepwell"
_KEY = re.compile(r"(\bsw_[0-9a-f]{12}_|\bswl_)[A-Za-z0-9_-]{43}")
_PASSWORD = re.compile(r"(://[^\s:/@\"]*:)[^\s@\"]+(@)?")
"""A password if @ follows; otherwise it is passed over as a whole, so that a line takes linear time."""


def configure(level: str = "info", json: bool | None = None) -> None:
    """Send the records of every logger to stderr.

    `level` is debug, info, warning or error; another name raises ValueError. `json` unset means JSON unless stderr is
    a terminal. A later call replaces the earlier choice.
    """
    root = logging.getLogger()
    root.setLevel(level.upper())
    handler = logging.StreamHandler(sys.stderr)
    handler.name = _HANDLER
    handler.setFormatter(formatter(json=writes_json(json)))
    root.handlers = [*(other for other in root.handlers if other.name != _HANDLER), handler]
    stamina.instrumentation.set_on_retry_hooks([_retrying])
    # httpx logs the address of every call to a provider at info, Alembic each of its plugins.
    for library in ("httpx", "httpx2", "mcp", "alembic.runtime.plugins"):
        logging.getLogger(library).setLevel(logging.DEBUG if root.level <= logging.DEBUG else logging.WARNING)


def log_uncaught() -> None:
    """Log warnings and uncaught exceptions, which Python prints to stderr as they are."""
    logging.captureWarnings(True)
    sys.excepthook = _uncaught
    threading.excepthook = lambda failed: _uncaught(failed.exc_type, failed.exc_value, failed.exc_traceback)


def writes_json(json: bool | None) -> bool:
    """Whether lines are JSON, given the setting (None: unset)."""
    return not sys.stderr.isatty() if json is None else json


def formatter(*, json: bool) -> logging.Formatter:
    """The formatter of a line: one JSON object, or `time LEVEL logger message key=value …`."""
    render: Processor = structlog.processors.JSONRenderer(default=str) if json else _plain
    return ProcessorFormatter(
        foreign_pre_chain=[
            structlog.processors.TimeStamper(fmt="iso", key="time"),
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.EventRenamer("message"),
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.ExtraAdder(),
        ],
        processors=[
            _without_private,
            ProcessorFormatter.remove_processors_meta,
            lambda logger, name, event: mask(str(render(logger, name, event))),
        ],
    )


def mask(line: str) -> str:
    """The line with *** for every API key's secret and every password in an address."""
    return _PASSWORD.sub(lambda found: f"{found[1]}***@" if found[2] else found[0], _KEY.sub(r"\1***", line))


def describe(error: BaseException, *, in_full: bool = False) -> list[str]:
    """The lines of an exception and its causes, innermost last: each with its type and frames.

    Only our own messages are included, since a foreign one may quote a user or a password; `in_full` returns the
    ordinary traceback.
    """
    if in_full:
        return "".join(traceback.format_exception(error)).splitlines()
    lines = []
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        message = f": {cause.message}" if isinstance(cause, StepwellError) else ""
        lines.append(f"{type(cause).__module__}.{type(cause).__qualname__}{message}")
        lines += [f"  {f.filename}:{f.lineno} {f.name}" for f in traceback.extract_tb(cause.__traceback__)]
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return lines


def _without_private(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    record: logging.LogRecord = event["_record"]
    debug = record.levelno <= logging.DEBUG
    event.pop("color_message", None)  # uvicorn's, a second form of its message
    if exc_info := event.pop("exc_info", None):
        event["exception"] = describe(exc_info[1], in_full=debug)
    if debug:
        return event
    if record.name == "asyncio":
        # The first line says what happened; the others print objects, with the messages of their exceptions.
        event["message"] = event["message"].partition("\n")[0]
    return {name: value for name, value in event.items() if name not in PRIVATE}


def _plain(_: WrappedLogger, __: str, event: EventDict) -> str:
    """Values are printed by repr and the message is escaped, so that no input starts a line or drives the terminal."""
    message = event.pop("message").encode("unicode_escape").decode()
    head = f"{event.pop('time')} {event.pop('level').upper()} {event.pop('logger')} {message}"
    return " ".join([head, *(f"{name}={value!r}" for name, value in event.items())])


def _uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    log.critical("uncaught exception", exc_info=error)


def _retrying(details: RetryDetails) -> None:
    # stamina's own line quotes the arguments of the call: whole documents.
    fields: dict[str, Any] = {"cause": type(details.caused_by).__qualname__, "wait_s": round(details.wait_for, 2)}
    log.warning("trying again", extra={"action": "retry", "attempt": details.retry_num, **fields})
