"""The log says which request a line belongs to and never what a user wrote."""

import asyncio
import gc
import json
import logging
import subprocess
import sys
from datetime import datetime, timedelta

import pytest
import stamina
from structlog.contextvars import bound_contextvars

from app import errors, logging_setup

SECRET = "who leads Oak Ridge?"
JSON, PLAIN = logging_setup.formatter(json=True), logging_setup.formatter(json=False)


@pytest.fixture
def handlers():
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)


def _raised(error: Exception, cause: Exception | None = None) -> tuple:
    try:
        raise error from cause
    except Exception:
        return sys.exc_info()


def _logged(written: str, message: str) -> str:
    """The only line with a message. Connections of other tests may log theirs at any time."""
    (line,) = (line for line in written.splitlines() if json.loads(line)["message"] == message)
    return line


def _line(formatter: logging.Formatter, level: int = logging.INFO, message: str = "searched", exc=None, **extra) -> str:
    record = logging.getLogger("app.test").makeRecord("app.test", level, __file__, 1, message, (), exc, extra=extra)
    return formatter.format(record)


def test_a_json_line_holds_the_request_id_and_the_extra_fields():
    with bound_contextvars(request_id="r-1"):
        fields = json.loads(_line(JSON, hits=3, color_message="\x1b[1msearched"))
    assert datetime.fromisoformat(fields.pop("time")).utcoffset() == timedelta(0)
    assert fields == {"level": "info", "logger": "app.test", "message": "searched", "request_id": "r-1", "hits": 3}


def test_a_query_appears_at_debug_level_only():
    assert SECRET not in _line(JSON, query=SECRET)
    assert SECRET not in _line(PLAIN, logging.ERROR, query=SECRET)
    assert SECRET in _line(JSON, logging.DEBUG, query=SECRET)


def test_an_exception_is_logged_with_types_and_frames_and_only_messages_of_our_own_errors():
    exc = _raised(errors.DatabaseUnavailable("The database is down."), ValueError(SECRET))
    line = _line(JSON, logging.ERROR, exc=exc)
    assert "DatabaseUnavailable: The database is down." in line
    assert "builtins.ValueError" in line
    assert "test_logging_setup.py" in line
    assert SECRET not in line
    assert SECRET in _line(JSON, logging.DEBUG, exc=exc)


async def test_an_exception_that_no_task_awaited_is_one_line_without_its_message(capsys, handlers):
    async def fail() -> None:
        raise ValueError(SECRET)

    logging_setup.configure("info", json=True)
    task = asyncio.create_task(fail())
    await asyncio.wait([task])
    del task
    gc.collect()
    line = _logged(capsys.readouterr().err, "Task exception was never retrieved")
    assert "builtins.ValueError" in line
    assert SECRET not in line


def test_warnings_and_uncaught_exceptions_are_json_lines_in_a_process_of_their_own():
    script = (
        "import threading, warnings\n"
        "from app import logging_setup\n"
        "logging_setup.configure('info', json=True)\n"
        "logging_setup.log_uncaught()\n"
        "warnings.warn('old')\n"
        "thread = threading.Thread(target=lambda: 1 / 0)\n"
        "thread.start(); thread.join()\n"
        "raise ValueError('quoted')"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in ran.stderr.splitlines()]
    assert [line["level"] for line in lines] == ["warning", "critical", "critical"]
    assert "quoted" not in ran.stderr
    assert ran.returncode == 1


@pytest.mark.parametrize("formatter", [JSON, PLAIN])
def test_no_value_can_start_a_new_line_or_contain_terminal_escapes(formatter):
    line = _line(formatter, message="a\nb\rc\x1b[2J", path="/x\n2026 ERROR forged\x1b[2J")
    assert line.isprintable()


def test_a_retry_is_one_line_without_the_arguments_of_the_call(capsys, handlers):
    @stamina.retry(on=ValueError, attempts=2, wait_initial=0, wait_jitter=0)
    def store(content: str, *, title: str) -> None:
        raise ValueError(content)

    logging_setup.configure("info")
    with pytest.raises(ValueError, match="Oak"):
        store(SECRET, title=SECRET)
    written = capsys.readouterr()
    line = _logged(written.err + written.out, "trying again")
    assert json.loads(line)["cause"] == "ValueError"
    assert SECRET not in line
