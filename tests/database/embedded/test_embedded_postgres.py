"""The embedded Postgres starts, is shared by processes, survives kills, keeps other users out and stops."""

import asyncio
import fcntl
import os
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import asyncpg
import psutil
import pytest
import server_folders
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from app.database.embedded import embedded_files, embedded_programs, postgres
from app.errors import EmbeddedServerError

IS_ROOT = os.geteuid() == 0
CLIENT = """
import asyncio, sys
from pathlib import Path
from app.database.embedded import postgres

async def main():
    async with postgres.EmbeddedPostgres(Path(sys.argv[1]), tuning=postgres.SMALL) as server:
        print(server.postmaster_pid, flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


@pytest.fixture
def empty_dir() -> Iterator[Path]:
    with server_folders.temporary() as folder:
        yield folder / "data"


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    """Shared by tests that each start a server on it, and stop it: making a cluster is what takes long."""
    with server_folders.temporary() as folder:
        yield folder / "data"


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[postgres.EmbeddedPostgres]:
    with server_folders.temporary() as folder:
        async with _served(folder / "data") as started:
            yield started


@contextmanager
def _acting_as(uid: int) -> Iterator[None]:
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


def _served(data_dir: Path) -> postgres.EmbeddedPostgres:
    return postgres.EmbeddedPostgres(data_dir, tuning=postgres.SMALL)


@asynccontextmanager
async def _connected(server: postgres.EmbeddedPostgres, user: str = "postgres") -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(server.dsn(user=user, driver="postgresql"))
    try:
        yield connection
    finally:
        connection.terminate()


@asynccontextmanager
async def _client_process(data_dir: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    root = Path(postgres.__file__).parents[3]
    pipe = asyncio.subprocess.PIPE
    client = await asyncio.create_subprocess_exec(
        sys.executable, "-W", "error", "-c", CLIENT, str(data_dir), cwd=root, stdin=pipe, stdout=pipe, stderr=pipe
    )
    try:
        yield client
    finally:
        if client.returncode is None:
            client.kill()
        await client.communicate()


async def _served_pid(client: asyncio.subprocess.Process) -> int:
    assert client.stdout is not None
    return int(await asyncio.wait_for(client.stdout.readline(), 60))


async def _until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the awaited state was not reached"
        await asyncio.sleep(0.02)


def _runs(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_pg_environment_variables_do_not_change_the_address(server, monkeypatch) -> None:
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("PGHOST", "nowhere.invalid")
    await server.ensure_running()


async def test_the_service_role_has_no_special_rights_and_cannot_regain_them(server) -> None:
    rights = "rolsuper, rolbypassrls, rolcreatedb, rolcreaterole, rolreplication, rolcanlogin"
    async with _connected(server) as owner:
        await owner.execute("ALTER ROLE stepwell_service BYPASSRLS CREATEDB")
        await server.ensure_database_and_role()
        row = await owner.fetchrow(f"SELECT {rights} FROM pg_roles WHERE rolname = 'stepwell_service'")
    assert tuple(row) == (False, False, False, False, False, True)


async def test_the_server_is_durable_local_and_tuned_for_search(server: postgres.EmbeddedPostgres) -> None:
    async with _connected(server) as owner:
        found = {row["name"]: row["setting"] for row in await owner.fetch("SELECT name, setting FROM pg_settings")}
    assert (found["fsync"], found["synchronous_commit"], found["full_page_writes"]) == ("on", "on", "on")
    assert (found["listen_addresses"], found["unix_socket_permissions"]) == ("", "0700")
    assert (found["jit"], found["random_page_cost"], found["wal_compression"]) == ("off", "1.1", "pglz")
    assert int(found["shared_buffers"]) * 8192 == postgres.SMALL.shared_buffers * embedded_programs.MB


@pytest.mark.parametrize(("limits", "limit"), [(("max", "268435456"), 1 << 28), (("max",), None), ((), None)])
def test_the_limit_of_a_container_is_the_memory_that_counts(tmp_path, monkeypatch, limits, limit) -> None:
    files = [tmp_path / str(number) for number in range(2)]
    for file, shown in zip(files, limits, strict=False):
        file.write_text(f"{shown}\n")
    monkeypatch.setattr(embedded_programs, "MEMORY_LIMITS", files)
    assert embedded_programs.usable_memory() == (limit or psutil.virtual_memory().total)


async def test_a_data_dir_that_was_deleted_does_not_prevent_a_process_from_ending(empty_dir: Path, caplog) -> None:
    server = await _served(empty_dir).start()
    server_folders.kill(server)
    os.rename(empty_dir, empty_dir.with_name("gone"))  # whose files may still be written
    await server.stop()
    assert "could not be stopped" in caplog.text
    assert str(empty_dir) in caplog.text


async def test_words_are_separated_from_typographic_quotes_in_any_locale(server) -> None:
    found = await server_folders.fetch(server, "SELECT to_tsvector('simple', 'ÄPFEL “über” l’été')::text")
    assert found == "'l':3 'äpfel':1 'été':4 'über':2"
    assert await server_folders.fetch(server, "SHOW server_encoding") == "UTF8"


async def test_only_the_system_user_of_the_service_can_connect(server: postgres.EmbeddedPostgres) -> None:
    async with _connected(server) as owner:
        rules = await owner.fetch("SELECT type, auth_method FROM pg_hba_file_rules")
        users = await owner.fetch("SELECT sys_name FROM pg_ident_file_mappings")
        data = Path(await owner.fetchval("SHOW data_directory"))
    account = embedded_files.server_account()
    assert [tuple(rule) for rule in rules] == [("local", "peer")]
    assert {user["sys_name"] for user in users} == {"root", account.name, account.client}
    assert {_mode(data), _mode(data.parent / "run"), _mode(data.parent / "log")} == {0o700}


@pytest.mark.skipif(not IS_ROOT, reason="only root can act as another user")
async def test_another_system_user_cannot_open_the_socket(server: postgres.EmbeddedPostgres) -> None:
    folder = str(await server_folders.fetch(server, "SHOW unix_socket_directories"))
    address = str(Path(folder.strip('"')) / embedded_files.SOCKET_FILE)
    with socket.socket(socket.AF_UNIX) as tried, _acting_as(65534), pytest.raises(PermissionError):
        tried.connect(address)


async def test_clients_share_one_server_which_one_of_them_restarts_and_the_last_to_leave_stops(data_dir: Path) -> None:
    first, second = await _served(data_dir).start(), await _served(data_dir).start()
    pid = first.postmaster_pid
    assert pid is not None
    assert second.postmaster_pid == pid
    server_folders.kill(first)
    await _until(lambda: pid not in (first.postmaster_pid, second.postmaster_pid))
    assert first.postmaster_pid == second.postmaster_pid
    await first.stop()
    await first.stop()
    await second.ensure_running()
    pid = second.postmaster_pid
    assert pid is not None
    await second.stop()
    assert not _runs(pid)


async def test_a_server_whose_socket_is_removed_is_restarted(data_dir: Path) -> None:
    async with _served(data_dir) as first, _served(data_dir) as second:
        pid = first.postmaster_pid
        shutil.rmtree(first.layout.sockets)
        await _until(lambda: pid not in (first.postmaster_pid, second.postmaster_pid))
        for server in (first, second):
            await server.ensure_running()
        assert first.postmaster_pid == second.postmaster_pid
        first.layout.socket.unlink()
        async with _served(data_dir) as third, _connected(third) as owner:
            assert await owner.fetchval("SELECT 42") == 42


async def test_a_running_service_begins_no_new_cluster_where_its_data_are_gone(empty_dir: Path, caplog) -> None:
    async with _served(empty_dir) as server:
        away = server.layout.base / "away"
        server.layout.data.rename(away)
        os.kill(server.postmaster_pid, signal.SIGKILL)
        with pytest.raises(EmbeddedServerError, match="are gone"):
            await server.ensure_running()
        assert not server.layout.data.exists()
        away.rename(server.layout.data)
        await _until(server.layout.pid_file.exists)
        await server.ensure_running()


async def test_a_reserve_that_was_left_half_is_written_again(data_dir: Path) -> None:
    reserve = data_dir / "postgres" / "reserve"
    async with _served(data_dir):
        assert reserve.stat().st_size == postgres.RESERVE_BYTES
    reserve.write_bytes(b"\0")
    async with _served(data_dir):
        assert reserve.stat().st_size == postgres.RESERVE_BYTES


@pytest.mark.parametrize("left", [b"", b"\0" * 200, b"\xff\xfe\x80" * 50])
async def test_a_pid_file_that_a_power_failure_has_left_is_replaced(data_dir: Path, left: bytes) -> None:
    async with _served(data_dir):
        pass
    (data_dir / "postgres" / "data" / "postmaster.pid").write_bytes(left)
    async with _served(data_dir) as server:
        assert await server_folders.fetch(server, "SELECT 42") == 42


async def test_data_survive_a_stop_and_new_settings_apply_at_the_next_start_in_spite_of_stale_files(data_dir) -> None:
    async with _served(data_dir) as first, _connected(first) as owner:
        await owner.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        base = data_dir / "postgres"
        written = (base / "data" / "postmaster.pid").read_text()
    stale = written.replace(written.split("\n")[0], str(os.getpid()), 1)
    for path in (base / "data" / "postmaster.pid", base / "run" / ".s.PGSQL.5432.lock"):
        path.write_text(stale)
    other = postgres.Tuning(shared_buffers=24, effective_cache=64, maintenance_work_mem=32)
    async with postgres.EmbeddedPostgres(data_dir, tuning=other) as second, _connected(second) as owner:
        assert second.postmaster_pid not in (None, os.getpid())
        assert await owner.fetchval("SELECT answer FROM kept") == 42
        assert await owner.fetchval("SHOW shared_buffers") == "24MB"


async def test_the_server_of_a_killed_client_serves_the_next_client_and_the_dead_entry_is_removed(data_dir) -> None:
    async with _client_process(data_dir) as client:
        pid = await _served_pid(client)
        client.kill()
        await client.wait()
    assert _runs(pid)
    async with _served(data_dir) as survivor:
        assert survivor.postmaster_pid == pid
    assert not _runs(pid)


async def test_a_killed_session_is_recovered_from_and_a_killed_server_restarts_with_all_commits(data_dir: Path) -> None:
    async with _served(data_dir) as server:
        dsn, pid = server.owner_dsn, server.postmaster_pid
        assert pid is not None
        async with _connected(server) as one, _connected(server) as other:
            os.kill(await one.fetchval("SELECT pg_backend_pid()"), signal.SIGKILL)
            await _until(other.is_closed)
        await server.ensure_running()
        assert server.postmaster_pid == pid
        async with _connected(server) as owner, _connected(server) as busy:
            await owner.execute("CREATE TABLE committed AS SELECT 42 AS answer")
            child = await busy.fetchval("SELECT pg_backend_pid()")
            endless = asyncio.create_task(busy.execute("SELECT count(*) FROM generate_series(1, 100000000000)"))
            await _until(lambda: psutil.Process(child).cpu_times().user > 0.1)
            os.kill(pid, signal.SIGKILL)
            await _until(lambda: server.postmaster_pid != pid)
            with pytest.raises(asyncpg.PostgresConnectionError):
                await endless
        assert not _runs(child)
        await server.ensure_running()
        assert server.owner_dsn == dsn
        assert await server_folders.fetch(server, "SELECT answer FROM committed") == 42


def _prepared(data_dir: Path, folder: str = "") -> embedded_files.Layout:
    """The folders of a server that has not run, with one that another version, or an interrupted start, has left."""
    account = embedded_files.server_account()
    layout = embedded_files.Layout(data_dir, Path(tempfile.gettempdir()))
    embedded_files.prepare(layout, account)
    if folder:
        embedded_files.create_private_folder(layout.base / folder, account)
        (layout.base / folder / "PG_VERSION").write_text("16\n")
    return layout


async def test_no_second_server_starts_beside_one_of_another_container(empty_dir, monkeypatch) -> None:
    monkeypatch.setattr(postgres, "LEFTOVER_WAIT_S", 0.1)
    layout = _prepared(empty_dir)
    with (layout.base / "server").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        with pytest.raises(EmbeddedServerError, match="STEPWELL_DATA_DIR"):
            await _served(empty_dir).start()
    assert not layout.data.exists()


async def test_data_of_another_major_version_are_refused_untouched(empty_dir: Path) -> None:
    layout = _prepared(empty_dir, "data")
    with pytest.raises(EmbeddedServerError, match="Postgres 16"):
        await _served(empty_dir).start()
    assert [path.name for path in layout.data.iterdir()] == ["PG_VERSION"]


async def test_an_initdb_that_fails_tells_why_in_a_line_and_leaves_no_draft(empty_dir: Path, monkeypatch) -> None:
    said = 'creating subdirectories ... ok\n[7] FATAL:  could not write to file "x": No space left on device\ngone'
    monkeypatch.setattr(embedded_programs, "_run", lambda command, *_: said if "initdb" in command[0] else "")
    with pytest.raises(EmbeddedServerError) as raised:
        await _served(empty_dir).start()
    assert str(raised.value).endswith('data folder: [7] FATAL:  could not write to file "x": No space left on device')
    assert not (empty_dir / "postgres" / "data.draft").exists()


async def test_a_start_that_fails_tells_its_own_log_only(empty_dir: Path) -> None:
    async with _served(empty_dir):
        pass
    (empty_dir / "postgres" / "data" / "global" / "pg_control").unlink()
    with pytest.raises(EmbeddedServerError, match="pg_control") as raised:
        await _served(empty_dir).start()
    assert "database system is ready" not in str(raised.value)
    assert "logical replication launcher" not in str(raised.value)


async def test_a_start_that_is_cancelled_leaves_no_server_behind(empty_dir: Path) -> None:
    starting = asyncio.create_task(_served(empty_dir).start())
    await _until(lambda: (empty_dir / "postgres" / "data.draft").exists() or starting.done())
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not (empty_dir / "postgres" / "data" / "postmaster.pid").exists()


async def test_a_data_dir_too_deep_for_a_socket_path_uses_a_short_private_socket_folder(empty_dir: Path) -> None:
    deep = empty_dir / ("deep " * 12) / ('it\'s "$HOME" ' * 6)
    draft = _prepared(deep, "data.draft").draft  # of an interrupted initialisation, which is restarted
    roomy = postgres.EmbeddedPostgres(deep, tuning=postgres.SMALL, socket_root=empty_dir.parent)
    async with roomy as server, _connected(server) as owner:
        folder = Path((await owner.fetchval("SHOW unix_socket_directories")).strip('"'))
        engine = create_async_engine(server.service_dsn)
        async with engine.connect() as connection:
            assert (await connection.execute(text("SELECT current_user"))).scalar_one() == "stepwell_service"
        await engine.dispose()
    assert (folder.parent, _mode(folder), draft.exists()) == (empty_dir.parent, 0o700, False)
