"""The log says which request a line belongs to and never what a user wrote."""

from __future__ import annotations

import json
import logging
import sys

import pytest
import stamina

from app import errors, telemetry

SECRET = "who leads Oak Ridge?"


def _raised(error: Exception, cause: Exception | None = None) -> tuple:
    try:
        raise error from cause
    except Exception:
        return sys.exc_info()


def _line(formatter: logging.Formatter, level: int = logging.INFO, message: str = "searched", exc=None, **extra) -> str:
    record = logging.getLogger("app.test").makeRecord("app.test", level, __file__, 1, message, (), exc, extra=extra)
    return formatter.format(record)


def test_a_json_line_holds_the_request_id_and_the_extra_fields():
    token = telemetry.request_id.set("r-1")
    try:
        fields = json.loads(_line(telemetry.JsonLines(), hits=3))
    finally:
        telemetry.request_id.reset(token)
    assert fields.pop("time").endswith("+00:00")
    assert fields == {"level": "info", "logger": "app.test", "message": "searched", "request_id": "r-1", "hits": 3}


def test_a_query_appears_at_debug_level_only():
    assert SECRET not in _line(telemetry.JsonLines(), query=SECRET)
    assert SECRET not in _line(telemetry.PlainLines(), logging.ERROR, query=SECRET)
    assert SECRET in _line(telemetry.JsonLines(), logging.DEBUG, query=SECRET)


def test_an_exception_shows_types_and_frames_and_only_our_own_words():
    exc = _raised(errors.DatabaseUnavailable("The database is down."), ValueError(SECRET))
    line = _line(telemetry.JsonLines(), logging.ERROR, exc=exc)
    assert "DatabaseUnavailable: The database is down." in line
    assert "builtins.ValueError" in line
    assert "test_telemetry.py" in line
    assert SECRET not in line
    assert SECRET in _line(telemetry.JsonLines(), logging.DEBUG, exc=exc)


@pytest.mark.parametrize("formatter", [telemetry.JsonLines(), telemetry.PlainLines()])
def test_no_value_can_begin_a_line_of_its_own(formatter):
    line = _line(formatter, message="a\nb\rc", path="/x\n2026 ERROR forged")
    assert not {"\n", "\r"} & set(line)


def test_configuring_twice_writes_each_line_once(capsys):
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        telemetry.configure("debug", json=False)
        telemetry.configure("info", json=True)
        logging.getLogger("app.test").debug("not this")
        logging.getLogger("app.test").info("this")
        (line,) = capsys.readouterr().err.splitlines()
    finally:
        root.handlers[:] = before
        root.setLevel(level)
    assert json.loads(line)["message"] == "this"


def test_an_unknown_level_is_refused_and_changes_nothing():
    before = logging.getLogger().level
    with pytest.raises(ValueError, match="LOUD"):
        telemetry.configure("loud")
    assert logging.getLogger().level == before


def test_a_retry_is_one_line_without_what_the_call_was_given(capsys):
    @stamina.retry(on=ValueError, attempts=2, wait_initial=0, wait_jitter=0)
    def store(content: str, *, title: str) -> None:
        raise ValueError(content)

    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        telemetry.configure("info")
        with pytest.raises(ValueError, match="Oak"):
            store(SECRET, title=SECRET)
    finally:
        root.handlers[:] = before
        root.setLevel(level)
    written = capsys.readouterr()
    (line,) = (written.err + written.out).splitlines()
    assert (json.loads(line)["message"], json.loads(line)["cause"]) == ("trying again", "ValueError")
    assert SECRET not in line
