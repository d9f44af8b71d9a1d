"""A backup is one file from which a database is restored whole, and a restore replaces everything or nothing."""

import asyncio
import os
import stat
import sys
from contextlib import asynccontextmanager
from datetime import timedelta

import harness
import pytest

from app import errors
from app.access import keys
from app.access.store import user_data
from app.database import filters, transactions
from app.database.embedded import postgres
from app.database.embedded.embedded_programs import PACKAGE
from app.database.filter_types import Filters
from app.database.schema import migration, tables
from app.documents import operations as documents
from app.entities import operations as entities
from app.entities.types import EntityDraft
from app.maintenance.commands import backup
from app.maintenance.store import backups as storage
from app.maintenance.store.backups import Access
from app.models.local.minilm import MODEL

EMBEDDING = (MODEL.name, MODEL.dimension)


def access(address) -> Access:
    return Access(address.owner_dsn, {"PATH": os.environ["PATH"]})


async def restored(file, address, *, replace: bool = False):
    return await backup.load(file, access=access(address), embedding=EMBEDDING, replace=replace)


async def rows(address) -> dict[str, list[str]]:
    """Every row of every table as text."""
    return {
        table.name: [row[0] for row in await address.fetch(f"SELECT t::text FROM {table.fullname} AS t ORDER BY 1")]
        for table in tables.complete().sorted_tables
    }


@pytest.fixture(scope="module")
async def some_backup(address, tmp_path_factory):
    """A backup of the module's database, for tests to which its contents do not matter."""
    file = tmp_path_factory.mktemp("backup") / "some.dump"
    await backup.create(file, access=access(address))
    return file


@pytest.fixture
async def tenant(address, user):
    """A user's view of a database that no service keeps connections to."""
    async with transactions.connect(address.service_dsn, pool_size=2) as opened:
        yield harness.Tenant(opened, user_id=user)


async def test_a_restored_database_has_the_same_rows_gives_the_same_answers_and_can_be_changed(
    tenant, address, new_database, tmp_path
):
    await tenant.add_all({"a": "# Lime\nLime mortar sets slowly.", "b": "# Cement\nCement sets fast. Lime does not."})
    draft = EntityDraft(type="material", name="Lime", facts=("sets slowly",), description="A binder.")
    await entities.add([draft], tenant.user_id, db=tenant.db, embedder=tenant.embedder)
    await harness.create_key(tenant.db, tenant.user_id)
    before = await tenant.ask("lime mortar")
    file, empty = tmp_path / "a.dump", await new_database()
    archive = await backup.create(file, access=access(address))
    assert (archive.revision, archive.model, archive.dimension) == (migration.head(), *EMBEDDING)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["a.dump"]
    await restored(file, empty)
    assert await rows(empty) == await rows(address)
    async with transactions.connect(empty.service_dsn, pool_size=1) as service:
        await migration.check(service, model=MODEL.name, dimension=MODEL.dimension)
        again = harness.Tenant(service, tenant.embedder, user_id=tenant.user_id)
        assert (await again.ask("lime mortar")).hits == before.hits != []
        changed = await again.add("Gypsum sets at once.", "a")
        assert changed.status == "replaced"
        assert (await documents.delete(changed.document_id, tenant.user_id, db=service)).documents == 1


async def test_a_backup_taken_while_documents_are_written_holds_whole_documents(
    tenant, address, new_database, tmp_path
):
    written = asyncio.Event()

    async def write() -> None:
        for number in range(200):
            await tenant.add(f"# Note {number}\nLime mortar number {number} sets slowly.", f"note-{number}")
            written.set()

    writing = asyncio.create_task(write())
    await written.wait()
    await backup.create(tmp_path / "a.dump", access=access(address))
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    empty = await new_database()
    await restored(tmp_path / "a.dump", empty)
    (found,) = await empty.fetch(WHOLE)
    assert found["documents"] > 0
    assert found["documents"] == found["chunks"] == found["vectors"] == found["counted"] == found["df"]


WHOLE = """
SELECT (SELECT count(*) FROM stepwell.documents WHERE uri LIKE 'note-%') AS documents,
       (SELECT count(*) FROM stepwell.chunks AS c JOIN stepwell.documents AS d USING (user_id, document_id)
        WHERE d.uri LIKE 'note-%') AS chunks,
       (SELECT count(*) FROM stepwell.embeddings AS e JOIN stepwell.documents AS d USING (user_id, document_id)
        WHERE d.uri LIKE 'note-%') AS vectors,
       (SELECT s.chunks FROM stepwell.text_statistics AS s JOIN stepwell.documents AS d USING (user_id)
        WHERE d.uri = 'note-0') AS counted,
       (SELECT l.df FROM stepwell.lexemes AS l JOIN stepwell.documents AS d USING (user_id)
        WHERE d.uri = 'note-0' AND l.lexeme = 'mortar') AS df
"""


async def test_a_restore_replaces_data_only_on_request_and_only_as_a_whole(
    tenant, address, new_database, template, tmp_path
):
    await tenant.add("Lime mortar sets slowly.", "kept")
    good, cut = tmp_path / "good.dump", tmp_path / "cut.dump"
    await backup.create(good, access=access(address))
    cut.write_bytes(good.read_bytes()[:-5_000])
    other = await new_database(template)
    async with transactions.connect(other.service_dsn, pool_size=1) as service:
        await harness.Tenant(service, tenant.embedder, user_id=tenant.user_id).add("Cement sets fast.", "other")
        with pytest.raises(errors.Conflict, match="1 connection to"):
            await restored(good, other, replace=True)
    before = await rows(other)
    with pytest.raises(errors.Conflict, match="--replace"):
        await restored(good, other)
    with pytest.raises(errors.BackupFailed, match=r"its file is damaged: pg_restore: error: .* end of file$"):
        await restored(cut, other, replace=True)
    assert await rows(other) == before
    await restored(good, other, replace=True)
    assert await rows(other) == await rows(address)


async def test_a_restore_revives_no_key_that_was_revoked_or_rotated_or_deleted_with_its_user(
    new_database, template, tmp_path, monkeypatch
):
    monkeypatch.setattr(user_data, "SETTLE_S", 0)
    other, file = await new_database(template), tmp_path / "a.dump"
    async with transactions.connect(other.owner_dsn, pool_size=1) as owner:
        revoked, rotated, live, gone = [await harness.create_key_as(owner, user) for user in ("a", "a", "a", "b")]
        await backup.create(file, access=access(other))
        await keys.revoke(revoked, db=owner, actor="test")
        await keys.rotate(rotated, db=owner, grace=timedelta(), actor="test")
        await user_data.delete("b", db=owner, actor="test")
    await restored(file, other, replace=True)
    async with transactions.connect(other.service_dsn, pool_size=1) as service:
        assert (await keys.verify(live, db=service)).user_id == "a"
        for ended in (revoked, rotated, gone):
            with pytest.raises(errors.Unauthorized):
                await keys.verify(ended, db=service)


@pytest.mark.parametrize("limit", ["statement_timeout", "transaction_timeout"])
async def test_a_restore_may_take_longer_than_statements_of_its_role(some_backup, new_database, template, limit):
    other = await new_database(template)
    if not await other.fetch("SELECT FROM pg_settings WHERE name = $1", limit):
        pytest.skip("Postgres limits the time of transactions from 17 on")
    await other.fetch(f'ALTER DATABASE "{other.name}" SET {limit} = 150')
    for step in (storage.load, lambda access, _file: storage.vacuum(access.dsn)):
        async with waiting_for_a_lock(other, step(access(other), some_backup), for_ms=300) as running:
            pass
        await running


async def test_a_restore_whose_connection_ends_says_so_although_its_file_was_read(some_backup, new_database, template):
    other = await new_database(template)
    async with waiting_for_a_lock(other, storage.load(access(other), some_backup), for_ms=0) as running:
        ended = "datname = current_database() AND application_name = 'psql'"
        await other.fetch(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {ended}")
        with pytest.raises(errors.BackupFailed, match="connection to server was lost"):
            await running


@asynccontextmanager
async def waiting_for_a_lock(address, step, *, for_ms):
    """A task of the step, once it has waited so long for the lock of a table, which is held until the block ends."""
    waits = f"wait_event_type = 'Lock' AND clock_timestamp() - query_start > interval '{for_ms} ms'"
    holder, watcher = [await address.connect() for _ in range(2)]
    try:
        for connection in (holder, watcher):
            await connection.execute(migration.UNLIMITED.format("false"))
        await holder.execute("BEGIN; LOCK TABLE stepwell.documents IN ACCESS EXCLUSIVE MODE")
        running = asyncio.create_task(step)
        waiting = f"SELECT 1 FROM pg_stat_activity WHERE {waits}"
        while not running.done() and not await watcher.fetch(waiting):  # noqa: ASYNC110 - another process waits
            await asyncio.sleep(0.01)
        yield running
    finally:
        await holder.close()
        await watcher.close()


async def test_a_backup_of_an_older_schema_is_upgraded(new_database, tmp_path):
    old, older, empty = await new_database(), tmp_path / "older.dump", await new_database()
    await migration.upgrade(old.owner_dsn, model=MODEL.name, dimension=MODEL.dimension, revision=migration.BASELINE)
    await backup.create(older, access=access(old))
    assert (await restored(older, empty)).archive.revision == migration.BASELINE
    assert await migration.upgrade(empty.owner_dsn, model=MODEL.name, dimension=MODEL.dimension) == migration.head()


@pytest.mark.parametrize(("revision", "named"), [("0039", "0039.*from 0040 on.*commit b8c21b15"), ("9999", "9999")])
async def test_a_backup_of_a_schema_that_this_version_does_not_know_is_refused(
    address, new_database, tmp_path, revision, named
):
    file, other = tmp_path / "other.dump", await new_database(address.name)
    await other.fetch("UPDATE stepwell.alembic_version SET version_num = $1", revision)
    await backup.create(file, access=access(other))
    with pytest.raises(errors.SchemaMismatch, match=named):
        await restored(file, await new_database())


async def test_a_backup_of_another_model_and_a_file_that_is_no_backup_are_refused(some_backup, new_database, tmp_path):
    empty, file = await new_database(), tmp_path / "a.dump"
    with pytest.raises(errors.SchemaMismatch, match="STEPWELL_EMBEDDER"):
        await backup.load(some_backup, access=access(empty), embedding=("another", 384))
    file.write_text("not a dump")
    with pytest.raises(errors.BadRequest, match="not a readable backup"):
        await restored(file, empty)


async def test_pgvector_in_another_schema_than_in_the_backup_is_named_and_the_remedy_helps(some_backup, new_database):
    address = await new_database()
    await address.fetch("CREATE SCHEMA extensions")
    await address.fetch("CREATE EXTENSION vector SCHEMA extensions")
    await address.fetch(f'ALTER DATABASE {address.name} SET search_path = "$user", public, extensions')
    with pytest.raises(errors.BackupFailed, match="ALTER EXTENSION vector SET SCHEMA public;") as refused:
        await restored(some_backup, address)
    await address.fetch(str(refused.value).partition("As a superuser: ")[2])
    await restored(some_backup, address)
    assert await address.fetch("SELECT true FROM stepwell.embedding_identity")


async def test_a_backup_that_fails_leaves_the_file_as_it_was(address, new_database, tmp_path):
    file = tmp_path / "a.dump"
    file.write_text("yesterday's")
    with pytest.raises(errors.SchemaMismatch, match="nothing to back up"):
        await backup.create(file, access=access(await new_database()))
    with pytest.raises(errors.SchemaMismatch, match="STEPWELL_MIGRATION_URL"):
        await backup.create(file, access=Access(address.service_dsn, {}))
    with pytest.raises(errors.BackupFailed, match="pg_dump"):
        await storage.dump(Access(address.service_dsn, {}), file, server_major=18, replace=True)
    assert (os.listdir(tmp_path), file.read_text()) == (["a.dump"], "yesterday's")
    with pytest.raises(errors.BadRequest, match="folder"):
        await backup.create(tmp_path / "missing" / "a.dump", access=access(address))


async def test_a_file_that_appears_during_a_backup_is_kept_unless_it_may_be_replaced(address, tmp_path):
    file = tmp_path / "a.dump"
    for replace in (False, True):
        file.unlink(missing_ok=True)
        holder = await address.connect()
        await holder.execute("BEGIN; LOCK stepwell.documents")
        run = asyncio.create_task(backup.create(file, access=access(address), replace=replace))
        while not (await address.fetch(harness.WAITING))[0]["count"]:
            assert not run.done()
        file.write_text("another backup")
        await holder.close()
        if replace:
            assert (await run).bytes == file.stat().st_size
        else:
            with pytest.raises(errors.BadRequest, match="--replace"):
                await run
            assert file.read_text() == "another backup"
        assert os.listdir(tmp_path) == ["a.dump"]


async def test_a_backup_that_is_stopped_leaves_no_file(address, tmp_path):
    environment = {**os.environ, "DATABASE_URL": address.owner_dsn}
    command = (sys.executable, "-m", "app", "backup", str(tmp_path / "a.dump"))
    holder = await address.connect()
    try:
        await holder.execute("BEGIN; LOCK stepwell.documents")
        run = await asyncio.create_subprocess_exec(*command, env=environment)
        while not (await address.fetch(harness.WAITING))[0]["count"]:
            assert run.returncode is None
        (draft,) = os.listdir(tmp_path)
        assert draft.endswith(".part")
        run.terminate()
        assert await run.wait() == 130
        assert os.listdir(tmp_path) == []
    finally:
        await holder.close()


async def test_a_password_reaches_the_programs_through_the_environment_only(address, tmp_path, monkeypatch):
    commands = []
    begin = asyncio.create_subprocess_exec

    def record(*command, **options):
        commands.append((command, options["env"]))
        return begin(*command, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", record)
    dsn = address.owner_dsn.replace("postgres@", "postgres:hunter2%40canary@")
    await backup.create(tmp_path / "a.dump", access=Access(dsn, {}))
    assert commands[0][1]["PGPASSWORD"] == "hunter2@canary"
    assert not any("hunter2" in argument for command, _env in commands for argument in command)


async def test_the_programs_use_the_user_and_database_that_parameters_of_the_address_name(address, tmp_path):
    path = address.owner_dsn.partition("?")[2]
    dsn = f"postgresql://nobody@/postgres?{path}&user=postgres&password=hunter2&dbname={address.name}"
    archive = await backup.create(tmp_path / "a.dump", access=Access(dsn, {}))
    assert archive.revision == migration.head()
    found = storage._libpq(Access(dsn, {}))
    assert [found[name] for name in ("PGUSER", "PGPASSWORD", "PGDATABASE")] == ["postgres", "hunter2", address.name]


@pytest.fixture
def programs_of(tmp_path, monkeypatch):
    """A function that makes a folder of programs of a major version the only one on the PATH; its environment."""
    monkeypatch.setattr(storage, "DEBIAN", tmp_path / "none")

    def make(major: int) -> dict[str, str]:
        folder = tmp_path / str(major)
        folder.mkdir()
        for name in ("pg_dump", "pg_restore", "psql"):
            (folder / name).write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) {major}.1'\n")
            (folder / name).chmod(0o700)
        return {"PATH": str(folder)}

    return make


@pytest.mark.parametrize(
    ("address", "server", "chosen"),
    [
        ("postgresql:///d?host=/run", 18, "wheel"),
        ("postgresql://h/d", 15, "path"),
        ("postgresql://h/d", 18, "wheel"),
        ("postgresql://h/d?sslmode=require", 16, "path"),
    ],
)
def test_programs_with_tls_are_taken_for_a_server_over_tcp_unless_they_are_too_old(
    programs_of, address, server, chosen
):
    environment = programs_of(17 if chosen == "path" else 16)
    found = storage._program("pg_dump", Access(address, environment), major=server)
    assert ("wheel" if PACKAGE in str(found) else "path") == chosen


def test_a_server_newer_than_every_program_is_named_with_what_to_install(programs_of):
    environment = programs_of(98)
    with pytest.raises(
        errors.BackupFailed, match=r"pg_dump 99 or newer is needed, .* is 98: install the client programs"
    ):
        storage._program("pg_dump", Access("postgresql://h/d", environment), major=99)
    with pytest.raises(errors.BackupFailed, match="pg_dump 99 or newer with TLS is needed"):
        storage._program("pg_dump", Access("postgresql://h/d?sslmode=require", environment), major=99)
    assert storage._newest(environment).parent.name == "98"


@asynccontextmanager
async def ordinary(address, made):
    """Gives a database to an owner who is no superuser, and takes the roles of the service from the server."""
    owner = await address.connect()
    renamed = {role: f"{role}_elsewhere" for role in (postgres.SERVICE_ROLE, postgres.RESTRICTED_ROLE)}
    for role, other in renamed.items():
        await owner.execute(f"ALTER ROLE {role} RENAME TO {other}")
    await owner.execute(f"CREATE ROLE ordinary LOGIN; ALTER DATABASE {made.name} OWNER TO ordinary")
    superuser = await made.connect()
    await superuser.execute("CREATE EXTENSION vector")
    try:
        yield superuser
    finally:
        await superuser.close()
        await owner.execute(f"DROP DATABASE {made.name} WITH (FORCE)")
        for role, other in renamed.items():
            await owner.execute(f"DROP ROLE IF EXISTS {role}")
            await owner.execute(f"ALTER ROLE {other} RENAME TO {role}")
        await owner.execute("DROP ROLE ordinary")
        await owner.close()


async def test_an_owner_restores_keys_with_filters_on_a_server_without_the_roles(
    tenant, address, new_database, tmp_path
):
    await tenant.add("Lime mortar sets slowly.", metadata={"team": "tide"})
    await tenant.add("Lime is burnt in a kiln.", metadata={"team": "coast"})
    file = tmp_path / "a.dump"
    # Databases that are older than the parameter in `db distribute` have it without Citus.
    await address.fetch("ALTER FUNCTION stepwell.vector_tables(boolean) SET citus.enable_ddl_propagation = off")
    await backup.create(file, access=access(address))
    before = await rows(address)
    for creates_roles in (True, False):
        made = await new_database()
        async with ordinary(address, made) as superuser:
            own = Access(made.server.dsn(user="ordinary", database=made.name), {"PATH": os.environ["PATH"]})
            with pytest.raises(errors.SchemaMismatch) as refused:
                await backup.load(file, access=own, embedding=EMBEDDING)
            _, _, missing = refused.value.message.partition("run as a superuser ")
            granted = "GRANT stepwell_restricted TO stepwell_service"
            if superuser.get_server_version() >= (16,):
                granted += " WITH INHERIT FALSE, SET TRUE"
            else:
                granted = f"ALTER ROLE stepwell_service NOINHERIT; {granted}"
            assert missing == f"CREATE ROLE stepwell_service LOGIN; CREATE ROLE stepwell_restricted NOLOGIN; {granted};"
            await superuser.execute("ALTER ROLE ordinary CREATEROLE" if creates_roles else missing)
            assert (await backup.load(file, access=own, embedding=EMBEDDING)).role_created == creates_roles
            assert await rows(made) == before
            async with transactions.connect(made.service_dsn, pool_size=1) as service:
                seen = service.restricted(filters.restriction(Filters(metadata={"team": "tide"})))
                found = await harness.Tenant(seen, tenant.embedder, user_id=tenant.user_id).ask("lime")
            assert [hit.candidate.content for hit in found.hits] == ["Lime mortar sets slowly."]
