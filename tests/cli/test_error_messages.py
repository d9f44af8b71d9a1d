"""Mistakes at the command line are reported with their fix."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import stamina
from raw_connections import reserved_port

from app.cli.client import Client

Stepwell = Callable[..., Any]


@pytest.fixture
def dead_port() -> Iterator[int]:
    """A port of 127.0.0.1 that refuses connections."""
    with reserved_port() as port:
        yield port


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port of 127.0.0.1 on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


@pytest.fixture
def without_retries() -> Iterator[None]:
    stamina.set_active(False)
    yield
    stamina.set_active(True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("backup", "FOLDER"), "is a directory"),
        (("restore", "FOLDER"), "is a directory"),
        (("restore", "none.dump"), "does not exist"),
        (("ingest", ""), "A path has a name"),
        (("stats", "--data-dir", ""), "A path has a name"),
        (("users", "export", "a\nb", "out.zip"), "1 to 200 printable characters"),
        (("users", "delete", "", "--yes"), "1 to 200 printable characters"),
        (("keys", "create", "ana", "--scope", "nope"), "Scopes are"),
        (("jobs", "show", "none"), "should be a valid UUID"),
        (("calibrate", "FOLDER"), "qrels.tsv is missing"),
        (("eval", "FOLDER"), "corpus.jsonl is missing"),
        (("calibrate",), "Give a folder, or --reset."),
        (("search", "  "), "blank"),
        (("search", "lime", "--explain"), "add --json"),
        (("search", "\ufdfa" * 112), "at most 2000 characters"),
        (("multihop", "a" * 2_001), "at most 2000 characters"),
        (("search", "lime", "--user", " "), "user"),
        (("search", "lime", "--limit", "51"), "--limit"),
        (("search", "lime", "--mode", "magic"), "magic"),
        (("nonsense",), "nonsense"),
    ],
)
def test_wrong_arguments_end_with_status_2_and_say_what_is_wrong(stepwell, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    ran = stepwell(*(str(tmp_path) if one == "FOLDER" else one for one in arguments))
    assert ran.code == 2
    assert said in _plain(ran.err)
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("keys", "revoke", "none"),
        ("keys", "rotate", "none"),
        ("users", "delete", "nobody", "--yes"),
        ("jobs", "show", str(UUID(int=0))),
    ],
)
def test_what_is_not_found_ends_with_status_1(stepwell: Stepwell, arguments: tuple[str, ...]) -> None:
    ran = stepwell(*arguments, "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "not_found")


def test_ctrl_c_ends_with_status_130_and_with_json_an_error(stepwell: Stepwell, monkeypatch) -> None:
    def interrupt(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Client, "get", interrupt)
    ran = stepwell("stats", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (130, "interrupted")
    ran = stepwell("stats")
    assert (ran.code, ran.out, ran.err.strip()) == (130, "", "Interrupted.")


def test_what_the_database_refuses_ends_with_status_1(stepwell: Stepwell, monkeypatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise asyncpg.UndefinedTableError("a restore has replaced it")

    monkeypatch.setattr(Client, "get", refuse)
    ran = stepwell("stats", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "schema_mismatch")


@pytest.mark.parametrize("command", ["search", "multihop"])
def test_a_query_that_begins_with_a_minus_is_explained(stepwell: Stepwell, command: str) -> None:
    ran = stepwell(command, "-cement")
    assert ran.code == 2
    assert f"stepwell {command} -- '-word'" in _plain(ran.err)
    for meant in ("--limt", "--top-k"):
        said = _plain(stepwell(command, "lime", meant, "3").err)
        assert (f"No such option: {meant}. Did you mean --limit?" in said, "-- '-word'" in said) == (True, False)


def test_a_query_after_two_dashes_may_begin_with_a_minus(stepwell: Stepwell) -> None:
    assert stepwell("search", "--", "-cement lime").code == 0


@pytest.mark.parametrize("command", ["search", "multihop"])
def test_a_wrong_filter_is_an_error_that_names_its_place_and_the_fix(stepwell: Stepwell, command: str) -> None:
    ran = stepwell(command, "lime", "--filters", '{"metadata": {"year": {"$gt": 3}}}')
    assert ran.code == 2
    assert "(filters.metadata.year)" in _plain(ran.err)
    assert "in, ne, exists, gte, gt, lte, lt" in _plain(ran.err)
    assert "is not valid JSON" in _plain(stepwell(command, "lime", "--filters", "team=tide").err)
    for recency in ('{"weight": 7}', "never", "nan"):
        ran = stepwell(command, "lime", "--recency", recency)
        assert (ran.code, "recency" in _plain(ran.err)) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "variable"),
    [
        (("search", "lime"), "DATABASE_URL"),
        (("db", "check"), "DATABASE_URL"),
        (("db", "upgrade"), "STEPWELL_MIGRATION_URL"),
        (("keys", "list"), "STEPWELL_MIGRATION_URL"),
    ],
)
def test_a_database_that_cannot_be_reached_is_named_by_host_and_port(
    stepwell: Stepwell,
    monkeypatch: pytest.MonkeyPatch,
    without_retries: None,
    dead_port: int,
    arguments: tuple[str, ...],
    variable: str,
) -> None:
    url = f"postgresql://service:hush@127.0.0.1:{dead_port}/stepwell"
    monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.setenv("STEPWELL_MIGRATION_URL", url)
    ran = stepwell(*arguments)
    assert ran.code == 1
    assert f"{variable} names the server 127.0.0.1:{dead_port}." in _plain(ran.err)
    assert "hush" not in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("command", ["db upgrade", "keys list"])
def test_an_address_of_the_owner_that_is_refused_is_named_by_its_variable(
    stepwell: Stepwell, monkeypatch: pytest.MonkeyPatch, address: Any, command: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", address.service_dsn)
    for wrong, said in (
        (address.owner_dsn.replace("postgres@", "stranger@", 1), "refuses the role in STEPWELL_MIGRATION_URL, or its"),
        (address.owner_dsn.replace(address.name, "ghost", 1), "no database of this name: check STEPWELL_MIGRATION_URL"),
        ("mysql://a/b", "must start with postgresql:// (STEPWELL_MIGRATION_URL)"),
        (address.service_dsn, ": set it to the owner's address. (STEPWELL_MIGRATION_URL)"),
    ):
        monkeypatch.setenv("STEPWELL_MIGRATION_URL", wrong)
        ran = stepwell(*command.split())
        assert ran.code in (1, 2)
        assert said in _plain(ran.err)
        assert "--set-service-password" not in ran.err


def test_a_port_in_use_is_reported_before_the_database_is_opened(stepwell, monkeypatch, dead_port, taken_port) -> None:
    monkeypatch.setenv("DATABASE_URL", f"postgresql://service@127.0.0.1:{dead_port}/stepwell")
    monkeypatch.setenv("STEPWELL_LOG_JSON", "false")
    ran = stepwell("serve", "--port", taken_port)
    assert ran.code == 1
    assert f"Port {taken_port} of 127.0.0.1 is in use" in _plain(ran.err)
    assert "--port" in ran.err


def test_a_host_that_this_machine_lacks_is_named_before_the_database_is_opened(
    stepwell, monkeypatch, dead_port
) -> None:
    monkeypatch.setenv("DATABASE_URL", f"postgresql://service@127.0.0.1:{dead_port}/stepwell")
    monkeypatch.setenv("STEPWELL_LOG_JSON", "false")
    monkeypatch.setenv("AUTH", "api_key")
    ran = stepwell("serve", "--host", "192.0.2.1")
    assert ran.code == 2
    assert "This machine has no address 192.0.2.1. (STEPWELL_HOST)" in _plain(ran.err)


@pytest.mark.usefixtures("on_embedded")
def test_a_data_folder_that_cannot_be_used_is_named_without_a_number_of_an_error(stepwell, monkeypatch) -> None:
    monkeypatch.setenv("STEPWELL_DATA_DIR", "/dev/null")
    ran = stepwell("stats")
    assert (ran.code, "Errno" in ran.err) == (1, False)
    assert "cannot be run here: Not a directory (/dev/null/postgres)." in _plain(ran.err)


def test_output_that_cannot_be_written_ends_with_one_sentence() -> None:
    with open("/dev/full", "w") as full:
        ran = subprocess.run([sys.executable, "-m", "app", "--help"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert (ran.returncode, b"Traceback" in ran.stderr) == (1, False)
    assert ran.stderr.startswith(b"Error: No space left on device: make room")


def test_characters_that_the_terminal_lacks_are_printed_as_escapes() -> None:
    program = "import app.__main__ as m; m.run = lambda _app: print('Kiln \u203a Lime'); m.main()"
    command = [sys.executable, "-X", "utf8=0", "-c", program]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    assert subprocess.run(command, env=environment, capture_output=True).stdout == b"Kiln \\u203a Lime\n"


def _plain(said: str) -> str:
    """What was printed, without colours, boxes and line breaks."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", "", said).split())
