"""Key management, users and the audit log work as the owner, and a running service keeps no owner's session open."""

import io
import json
import resource
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import harness
import pytest
import server_folders

from app import errors
from app.access.store import user_data
from app.database.embedded import postgres
from app.database.embedded.postgres import EmbeddedPostgres
from app.database.schema import tables
from app.main import create_app
from app.settings import Settings

Stepwell = Callable[..., Any]
ROOT = Path(__file__).parents[2]
NOT_EXPORTED = {
    *("user_id", "identity", "config", "content_hash", "attributes_hash", "chunk_count", "names_version", "moments"),
    *("markdown", "chunk_tokens", "chunk_overlap", "page_starts", "cleaning_version", "extracted"),
}
"""Columns of documents that follow from others or say how they are stored; `config` is exported as `language`."""
SESSIONS = """
SELECT array_agg(DISTINCT usename::text) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


def test_commands_of_the_owner_import_neither_the_web_framework_nor_the_models() -> None:
    others = ("database_schema", "doctor", "reembed", "reindex", "repair")
    report = "; ".join(
        [
            "import sys, app.access.commands, app.maintenance.commands.backup",
            "print(*sys.modules)",
            *(f"import app.maintenance.commands.{name}" for name in others),
            "print(*sys.modules)",
        ]
    )
    ran = subprocess.run([sys.executable, "-c", report], cwd=ROOT, capture_output=True, text=True, check=True)
    light, every = (set(line.split()) for line in ran.stdout.splitlines())
    assert not light & {"onnxruntime", "tokenizers", "numpy", "httpx", "app.runtime", "app.models.protocols"}
    assert not every & {"fastapi", "starlette", "mcp", "uvicorn"}


@pytest.mark.parametrize("auth", ["none", "api_key"])
async def test_an_embedded_service_keeps_no_superuser_session_open(data_dir: Path, auth: str) -> None:
    app = create_app(Settings(data_dir=data_dir, auth=auth))
    async with app.router.lifespan_context(app):
        async with harness.client(app) as client:
            assert (await client.get("/readyz")).status_code == 200
        found = await server_folders.fetch(EmbeddedPostgres(data_dir), SESSIONS)
    assert found == [postgres.SERVICE_ROLE]


def test_keys_are_not_managed_through_the_services_address(stepwell, server, monkeypatch) -> None:
    assert stepwell("keys", "list").code == 0
    monkeypatch.setenv("DATABASE_URL", server.service_dsn)
    monkeypatch.delenv("STEPWELL_MIGRATION_URL", raising=False)
    for command in (("keys", "list"), ("keys", "create", "ana"), ("keys", "revoke", "0123456789ab")):
        ran = stepwell(*command)
        assert ran.code == 2
        assert "(STEPWELL_MIGRATION_URL)" in ran.err
    monkeypatch.setenv("STEPWELL_MIGRATION_URL", server.owner_dsn)
    assert stepwell("keys", "create", "ana").out.startswith("sw_")


def _keys(stepwell: Stepwell, user: str) -> dict[str, dict[str, Any]]:
    return {key["key_id"]: key for key in stepwell("keys", "list", "--user", user, "--json").json}


def _actions(stepwell: Stepwell, user: str) -> list[tuple[str, str]]:
    events = stepwell("audit", "--user", user, "--json").json["events"]
    assert all(event["actor"].startswith("cli:") and event["user_id"] == user for event in events)
    return [(event["action"], event["target"]) for event in events]


def test_a_rotated_key_has_the_same_rights_and_the_old_one_works_for_the_grace(stepwell: Stepwell) -> None:
    user = harness.new_user()
    old = stepwell("keys", "create", user, "--scope", "metrics", "--name", "probe", "--days", 30).out.strip()
    new = stepwell("keys", "rotate", old, "--grace", 2).out.strip()
    found = _keys(stepwell, user)
    before, after = found[old.split("_")[1]], found[new.split("_")[1]]
    assert before["key_id"] != after["key_id"]
    assert [after[name] for name in ("scopes", "name", "revoked_at")] == [["metrics"], "probe", None]
    lifetime = _moment(after["expires_at"]) - _moment(after["created_at"])
    left = _moment(before["expires_at"]) - _moment(after["created_at"])
    assert (lifetime.total_seconds(), left.total_seconds()) == (30 * 86_400, 2 * 86_400), "by the database's clock"
    assert stepwell("keys", "rotate", after["key_id"], "--grace", 0).code == 0
    assert stepwell("keys", "rotate", after["key_id"]).code == 1, "it has expired"
    listed = {one["user_id"]: one["keys"] for one in stepwell("users", "list", "--json").json}
    assert (len(_keys(stepwell, user)), listed[user]) == (3, 2), "the expired one is not counted"
    assert stepwell("keys", "rotate", "0123456789ab").code == 1
    assert ("key.rotated", before["key_id"]) in _actions(stepwell, user)
    again = stepwell("keys", "rotate", old)
    assert (again.code, "rotate its successor" in " ".join(again.err.split())) == (1, True)


def test_keys_with_filters_are_checked_listed_rotated_and_audited(stepwell: Stepwell) -> None:
    user = harness.new_user()
    filters = {"metadata": {"acl": {"in": ["ana", "everyone"]}}}
    created = stepwell("keys", "create", user, "--filters", json.dumps(filters), "--entities", "--json").json
    assert (created["filters"], created["entities"]) == (filters, True)
    new = stepwell("keys", "rotate", created["key"]).out.strip()
    for found in _keys(stepwell, user).values():
        assert [found[name] for name in ("filters", "entities", "tokens")] == [filters, True, True]
    assert "everyone" in stepwell("keys", "list", "--user", user).out
    events = stepwell("audit", "--user", user, "--json").json["events"]
    recorded = {event["target"]: event["counts"] for event in events if event["action"] == "key.created"}
    assert recorded[new.split("_")[1]] == {"filters": filters, "entities": True}
    refused = (
        ("--filters", "{}"),
        ("--filters", '{"metadate": {}}'),
        ("--filters", '{"source_names": ["notes"]}'),
        ("--filters", json.dumps(filters), "--scope", "admin"),
        ("--entities",),
    )
    for options in refused:
        assert stepwell("keys", "create", user, *options).code == 2, options


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.fixture
def filled(stepwell: Stepwell, tmp_path: Path) -> str:
    """A user with documents, entities of both kinds and a key."""
    user = harness.new_user()
    text = "---\ntitle: Mortar\n---\nAna Lind mixes lime.\nShe is 'quick'."
    (tmp_path / "lime.md").write_text(text, encoding="utf-8")
    (tmp_path / "tide.md").write_text("The tide turns at noon.", encoding="utf-8")
    assert stepwell("ingest", tmp_path, "--user", user).code == 0
    entities = tmp_path / "people.jsonl"
    entities.write_text(
        json.dumps({"type": "person", "name": "Ana Lind", "aliases": ["Annie"], "facts": ["Mixes lime."]}) + "\n",
        encoding="utf-8",
    )
    assert stepwell("entities", "import", entities, "--user", user).code == 0
    assert stepwell("keys", "create", user).code == 0
    return user


def test_users_are_listed_with_their_counts_and_exported_with_their_data_and_no_hash(stepwell, filled, tmp_path):
    found = {user["user_id"]: user for user in stepwell("users", "list", "--json").json}
    assert found[filled] == {"user_id": filled, "keys": 1, "documents": 2, "chunks": 2, "entities": 1}
    assert filled in stepwell("users", "list").out
    file = tmp_path / "export.zip"
    counts = stepwell("users", "export", filled, file, "--json").json
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with zipfile.ZipFile(file) as archive:
        parts = {name: [json.loads(line) for line in archive.open(name)] for name in archive.namelist()}
        raw = b"".join(archive.read(name) for name in archive.namelist())
    assert {name.removesuffix(".jsonl"): len(lines) for name, lines in parts.items()} == counts
    documents = {document["title"]: document for document in parts["documents.jsonl"]}
    assert documents["Mortar"]["content"].endswith("She is 'quick'.")
    assert documents["Mortar"]["language"] == "english"
    assert {column.name for column in tables.documents.c} == NOT_EXPORTED | documents["Mortar"].keys() - {"language"}
    (ana,) = [entity for entity in parts["entities.jsonl"] if entity["origin"] == "user"]
    assert (ana["name"], ana["aliases"], ana["facts"]) == ("Ana Lind", ["Annie"], ["Mixes lime."])
    assert [key["scopes"] for key in parts["keys.jsonl"]] == [["search", "write"]]
    assert b"hash" not in raw
    assert [event["action"] for event in parts["events.jsonl"]] == ["key.created"]
    refused = stepwell("users", "export", filled, file)
    assert (refused.code, "File exists" in refused.err) == (2, True)
    assert stepwell("users", "export", harness.new_user(), tmp_path / "nobody.zip").code == 1
    assert not (tmp_path / "nobody.zip").exists()
    assert ("user.exported", filled) in _actions(stepwell, filled)


def test_an_export_for_which_there_is_no_room_is_one_sentence_and_leaves_no_file(stepwell, filled, tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        ran = stepwell("users", "export", filled, file := tmp_path / "export.zip")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (ran.code, "The file cannot be written: File too large." in ran.err) == (2, True)
    assert not file.exists()


def test_an_export_that_cannot_be_recorded_leaves_no_file(stepwell, filled, tmp_path, monkeypatch):
    async def refuse(*_given: object) -> None:
        raise errors.ReadOnly("The database is read-only.")

    with monkeypatch.context() as patched:
        patched.setattr(user_data.audit, "record", refuse)
        assert stepwell("users", "export", filled, file := tmp_path / "export.zip").code == 1
    assert not file.exists()
    assert ("user.exported", filled) not in _actions(stepwell, filled)


@pytest.mark.parametrize("user", ["[/]", "[ada]", "ana [bold]"])
def test_names_that_look_like_markup_are_shown_as_they_are(stepwell: Stepwell, user: str) -> None:
    made = stepwell("keys", "create", user)
    assert (made.code, made.out[:3], f"A key for {user} (" in made.err) == (0, "sw_", True)
    for command in (("keys", "list"), ("users", "list"), ("audit", "--user", user)):
        ran = stepwell(*command)
        assert (ran.code, user in ran.out) == (0, True), command
    assert stepwell("users", "delete", user, "--yes").code == 0


def test_a_deleted_user_remains_only_in_the_audit_log_and_other_users_are_kept(stepwell, filled, monkeypatch) -> None:
    other = harness.new_user()
    monkeypatch.setattr(user_data, "SETTLE_S", 0)
    assert stepwell("keys", "create", other).code == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert stepwell("users", "delete", filled).code == 1
    assert _keys(stepwell, filled)
    result = stepwell("users", "delete", filled, "--yes", "--json").json
    assert set(result["left"].values()) == {0}
    assert result["deleted"]["documents"] == 2
    assert result["deleted"]["api_keys"] == 1
    assert all(result["deleted"][name] for name in ("chunks", "embeddings", "entities", "lexemes", "tenants"))
    assert set(result["deleted"]) == {t.name for t in tables.complete().sorted_tables if "user_id" in t.c} - {
        "audit_log"
    }
    assert filled not in {user["user_id"] for user in stepwell("users", "list", "--json").json}
    assert _keys(stepwell, other)
    (event, *_) = stepwell("audit", "--user", filled, "--json").json["events"]
    assert (event["action"], event["counts"]) == ("user.deleted", result["deleted"])
    assert datetime.now(UTC) - datetime.fromisoformat(event["at"]) < timedelta(minutes=10)
    assert stepwell("users", "delete", filled, "--yes").code == 1


def test_the_audit_log_is_shown_as_tables_and_pruned_by_age(stepwell: Stepwell) -> None:
    user = harness.new_user()
    assert stepwell("keys", "create", user).code == 0
    assert "key.created" in stepwell("audit", "--user", user).out
    assert "Deleted 0 events" in stepwell("audit", "--prune", 1).out
    assert [action for action, _target in _actions(stepwell, user)] == ["key.created"]


def test_pruning_the_entries_of_all_users_is_refused_where_one_is_named(stepwell: Stepwell) -> None:
    ran = stepwell("audit", "--user", harness.new_user(), "--prune", 1, "--json")
    assert (ran.code, ran.json["error"]["field"]) == (2, "--prune")


@pytest.mark.parametrize("command", [("keys", "create", "ana", "--days"), ("audit", "--prune")])
@pytest.mark.parametrize("days", [36_501, 10**12])
def test_days_that_no_calendar_has_are_refused(stepwell: Stepwell, command: tuple[str, ...], days: int) -> None:
    ran = stepwell(*command, days)
    assert (ran.code, ran.out) == (2, "")
    assert "36500" in ran.err
