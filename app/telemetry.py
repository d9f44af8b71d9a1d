"""What does the service say about itself, and to which request does a line belong?

One line an event on stderr, as JSON or as plain text. Above debug level a line never holds what a user wrote:
fields named in PRIVATE are left out, and a foreign exception is shown by its type and its frames, without its message.
At no level does it hold an API key's secret or the password of an address.
"""

from __future__ import annotations

import json as jsonlib
import logging
import re
import sys
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import stamina
from stamina.instrumentation import RetryDetails

from app.errors import StepwellError

log = logging.getLogger(__name__)

PRIVATE = frozenset({"query", "content", "text", "title", "terms", "body"})
_SECRETS = re.compile(r"(\bsw_[0-9a-f]{12}_)[A-Za-z0-9_-]{43}|(://[^\s:/@\"]*:)[^\s@\"]+(?=@)")
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)


def configure(level: str = "info", json: bool = True) -> None:
    """Send every logger's lines to stderr. Calling it again replaces the earlier choice.

    `level` is debug, info, warning or error; another name raises ValueError.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if json else PlainLines())
    root = logging.getLogger()
    root.setLevel(level.upper())
    for old in root.handlers[:]:
        if isinstance(old.formatter, JsonLines | PlainLines):
            root.removeHandler(old)
    root.addHandler(handler)
    stamina.instrumentation.set_on_retry_hooks([_retrying])
    # It tells every call to a provider, with its address.
    logging.getLogger("httpx").setLevel(logging.DEBUG if root.level <= logging.DEBUG else logging.WARNING)


def _retrying(details: RetryDetails) -> None:
    # stamina's own line quotes all that the call was given: whole documents.
    cause = type(details.caused_by).__qualname__
    told = {"call": details.name, "cause": cause, "attempt": details.retry_num, "wait_s": round(details.wait_for, 2)}
    log.warning("trying again", extra={"action": "retry", **told})


class JsonLines(logging.Formatter):
    """One JSON object a line, ASCII only."""

    def format(self, record: logging.LogRecord) -> str:
        return masked(jsonlib.dumps(_fields(record), default=str))


class PlainLines(logging.Formatter):
    """`time LEVEL logger message key=value …`; values are quoted, so no input can begin a line of its own."""

    def format(self, record: logging.LogRecord) -> str:
        fields = _fields(record)
        head = [fields.pop("time"), fields.pop("level").upper(), fields.pop("logger"), _one_line(fields.pop("message"))]
        rest = [f"{name}={jsonlib.dumps(value, default=str)}" for name, value in fields.items()]
        return masked(" ".join(head + rest))


def masked(line: str) -> str:
    """The line with *** for every API key's secret and every password in an address."""
    return _SECRETS.sub(lambda found: f"{found[1] or found[2]}***", line)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": record.getMessage(),
    }
    if (current := request_id.get()) is not None:
        fields["request_id"] = current
    private = PRIVATE if record.levelno > logging.DEBUG else frozenset()
    fields.update((name, value) for name, value in vars(record).items() if name not in _STANDARD | private)
    if record.exc_info and record.exc_info[1] is not None:
        fields["exception"] = described(record.exc_info[1], in_full=record.levelno <= logging.DEBUG)
    return fields


def described(error: BaseException, *, in_full: bool = False) -> list[str]:
    """The exception and its causes, innermost last, a line each: its type, then its frames.

    The message stands there only if it is ours, since a foreign one may quote a user's words or a password;
    `in_full` shows the ordinary traceback.
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


def _one_line(message: str) -> str:
    return message.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")
