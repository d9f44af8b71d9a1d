"""No command ends in a traceback, whatever the address of the database and the settings say."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from app import capability, runtime

NOBODY = "127.0.0.1:1"
UNREADABLE = (
    "", "x", "postgres", "mysql://a/b", "http://127.0.0.1", "postgresql:", "postgresql//a", f"postgresql:/{NOBODY}/b",
    "postgresql://a:b:c/d", "postgresql://a:99999/d", "postgresql://a:-1/d", "postgresql://a:x/d",
    "postgresql://[::1/d", "postgresql://u:p@ss@h/d", "postgresql://a:5432,b:x/d", "postgresql://a,b:65536/d",
    "postgresql:///d?host=a,b&port=1,2,3", "postgresql:///d?host=a&port=x", "postgresql:///d?port=0",
)  # fmt: skip
PARAMETERS = (
    "sslmode=", "sslmode=maybe", "sslmode=REQUIRE", "sslrootcert=/nowhere", "sslcert=/nowhere", "sslkey=/nowhere",
    "sslcrl=/nowhere", "sslmode=verify-full&sslrootcert=/etc/hostname", "sslmode=verify-full&sslrootcert=/",
    "ssl_min_protocol_version=x", "ssl_min_protocol_version=SSLv3", "ssl_max_protocol_version=", "sslnegotiation=x",
    "sslnegotiation=direct", "sslkey=/etc/hostname", "sslcert=/etc/hostname", "sslcrl=/etc/hostname",
    "channel_binding=", "channel_binding=maybe", "channel_binding=require", "connect_timeout=", "connect_timeout=x",
    "connect_timeout=-1", "connect_timeout=1", "connect_timeout=1e3", "connect_timeout=99999999999999999999",
    "application_name=", "application_name=x", "application_name=%00", "options=", "options=x", "options=-c%20x",
    "options=-c%20statement_timeout%3Dx", "target_session_attrs=", "target_session_attrs=x",
    "target_session_attrs=primary", "gssencmode=require", "gssencmode=prefer", "krbsrvname=x", "gsslib=x",
    "passfile=/nowhere", "passfile=/", "user=", "user=%00", "password=", "password=%00", "dbname=", "dbname=x",
    "dbname=%00", "host=", "host=/nowhere", "host=a,,b", "port=", "port=x", "hostaddr=127.0.0.1", "service=x",
    "pgbouncer=true", "connection_limit=1", "schema=public", "sslmode=disable&sslmode=require", "=", "&", "x", "x=%zz",
    "keepalives=0", "keepalives_idle=x", "tcp_user_timeout=x", "client_encoding=latin1", "sslpassword=x",
    "statement_cache_size=0", "server_settings=x", "timeout=x", "ssl=true", "async_creator_fn=x", "dsn=x", "loop=x",
)  # fmt: skip
ADDRESSES = (
    *UNREADABLE,
    *(f"postgresql://u:p@{NOBODY}/d?{parameters}" for parameters in PARAMETERS),
    f"postgresql://{NOBODY}", f"postgresql://{NOBODY}/%00", f"postgresql://%00@{NOBODY}", f"postgres+x://{NOBODY}/d",
    f"postgresql://u@{NOBODY},127.0.0.1:2/d", "postgresql://u@[::1]:1/d", "postgresql://u@%2Fnowhere/d",
)  # fmt: skip
SETTINGS = (
    ("STEPWELL_POOL_SIZE", "0"), ("STEPWELL_POOL_SIZE", "x"), ("STEPWELL_PREPARED_STATEMENTS", "maybe"),
    ("STEPWELL_PORT", "70000"), ("STEPWELL_EMBEDDER", "x"), ("STEPWELL_EMBEDDER_DIM", "5000"),
    ("STEPWELL_EMBEDDER", "onnx"), ("STEPWELL_LANGUAGE", "x"), ("STEPWELL_AUTH", "x"), ("STEPWELL_LLM", "openai"),
    ("STEPWELL_RERANKER", "tei"), ("STEPWELL_NEXT_EMBEDDER", "{"), ("STEPWELL_WORKERS", "-1"),
    ("DATABASE_READ_URL", f"postgresql://{NOBODY}/d"), ("STEPWELL_SOURCE_ROOTS", "\0"), ("STEPWELL_OCR", "x"),
    ("STEPWELL_SEARCH_TIMEOUT_S", "nan"), ("STEPWELL_ALLOWED_HOSTS", "*"), ("STEPWELL_MIGRATION_URL", "x"),
)  # fmt: skip
COMMANDS = (
    "db upgrade", "db upgrade --set-service-password", "db check", "db distribute", "doctor", "search x",
    "why x y", "multihop x", "ingest pyproject.toml", "backup {}/b.dump", "restore pyproject.toml", "repair",
    "reindex", "reembed", "audit", "keys list", "keys create u", "users list", "users delete u", "stats", "facets",
    "documents list", "sources list", "jobs list", "worker", "entities list", "feedback export {}", "synonyms list",
    "serve --port 0", "demo --no-serve", "mcp", "calibrate --reset",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start tries an address once."""
    monkeypatch.setattr(runtime, "START_RETRY_S", 0.01)
    monkeypatch.delenv("STEPWELL_MIGRATION_URL", raising=False)


@pytest.fixture
def refused(run_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What a command says that fails; it says it in a few lines and raises nothing."""

    def run(command: str, **environment: str) -> str:
        for name, value in environment.items():
            try:
                monkeypatch.setenv(name, value)
            except ValueError:
                return ""  # the environment cannot hold it
        ran = run_command(*command.split())
        said = ran.err + ran.out
        assert ran.code in (1, 2), (command, environment, said)
        assert "Traceback" not in said, (command, environment)
        assert any(word in said for word in ("Error", "error", "did not start")), (command, environment, said)
        return str(said)

    return run


@pytest.mark.parametrize(("command", "step"), [("db upgrade", 1), ("search x", 3)])
def test_a_wrong_address_is_a_sentence(refused, command, step):
    for address in ADDRESSES[1::step]:
        refused(command, DATABASE_URL=address)


def test_every_command_says_that_an_address_is_wrong_or_that_nobody_answers(refused, tmp_path):
    named = {command.split()[0] for command in COMMANDS}
    assert capability.commands().keys() - named == {"eval", "openapi", "serve-process"}, "they open no such address"
    offered = [command for command in COMMANDS if command.split()[0] in capability.commands()]
    for command, address in itertools.product(offered, (UNREADABLE[1], f"postgresql://u:p@{NOBODY}/d")):
        said = refused(command.format(tmp_path), DATABASE_URL=address)
        assert "DATABASE_URL" in said or command == "reembed", (command, address)


def test_a_wrong_setting_is_a_sentence(refused):
    for name, value in SETTINGS:
        said = refused("db check", **{"DATABASE_URL": f"postgresql://u:p@{NOBODY}/d", name: value})
        assert "Value error" not in said, said
        if name in ("STEPWELL_PORT", "STEPWELL_WORKERS"):
            assert f"{name}: Input should be " in said, "it names the variable"


@pytest.mark.parametrize("command", ["serve --port 0", "worker", "db check"])
def test_an_unknown_setting_is_told_of_with_the_nearest_one(refused, command):
    said = refused(command, DATABASE_URL="x", STEPWELL_CHUNK_TOKEN="50")
    assert "Did you mean STEPWELL_CHUNK_TOKENS?" in said
