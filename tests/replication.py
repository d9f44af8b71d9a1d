"""Starts a primary and a streaming standby of it from the embedded server's programs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from server_folders import fetch

from app.database.embedded import embedded_files, embedded_programs, postgres
from app.database.embedded.postgres import EmbeddedPostgres

TRIES = 400


@dataclass(slots=True)
class Pair:
    """A primary and its standby; either may be stopped, started again, and asked as a superuser."""

    primary: EmbeddedPostgres
    standby: EmbeddedPostgres

    async def replayed(self) -> None:
        """Return when the standby has replayed what the primary has written."""
        written = await fetch(self.primary, "SELECT CAST(pg_current_wal_flush_lsn() AS text)")
        await until(lambda: self._has_replayed(written))

    async def _has_replayed(self, position: object) -> bool:
        return bool(await fetch(self.standby, f"SELECT pg_last_wal_replay_lsn() >= '{position}'"))

    async def start_primary(self) -> None:
        """Start the primary after `primary.stop()`; the standby connects to it again."""
        await self.primary.start()
        await _allow_replication(self.primary)

    async def set_on_standby(self, **settings: str) -> None:
        """Change settings of the standby."""
        for name, value in settings.items():
            await fetch(self.standby, f"ALTER SYSTEM SET {name} = {value}")
        await fetch(self.standby, "SELECT pg_reload_conf()")

    async def pause(self) -> None:
        """Let the standby replay nothing until `resume`."""
        await fetch(self.standby, "SELECT pg_wal_replay_pause()")
        await until(self._is_paused)

    async def _is_paused(self) -> bool:
        return bool(await fetch(self.standby, "SELECT pg_get_wal_replay_pause_state() = 'paused'"))

    async def resume(self) -> None:
        """Let the standby replay again."""
        await fetch(self.standby, "SELECT pg_wal_replay_resume()")


@asynccontextmanager
async def running(
    folder: Path, prepare: Callable[[EmbeddedPostgres], Awaitable[None]], **settings: str
) -> AsyncIterator[Pair]:
    """A primary that `prepare` has filled, and a standby with its data and these settings."""
    primary = EmbeddedPostgres(folder / "primary", tuning=postgres.SMALL)
    standby = EmbeddedPostgres(folder / "standby", tuning=postgres.SMALL)
    try:
        await primary.start()
        settings = {"wal_retrieve_retry_interval": "'100ms'", **settings}
        for setting in ("fsync = off", "wal_keep_size = '512MB'"):
            await fetch(primary, f"ALTER SYSTEM SET {setting}")
        await _allow_replication(primary)
        await prepare(primary)
        await asyncio.to_thread(_copy, primary, standby)
        await standby.start()
        pair = Pair(primary, standby)
        await pair.set_on_standby(**settings)
        yield pair
    finally:
        await standby.stop()
        await primary.stop()


async def _allow_replication(primary: EmbeddedPostgres) -> None:
    """Let the standby connect; each start of the server writes its access rules anew."""
    access = primary.layout.base / "pg_hba.conf"
    access.write_text(access.read_text() + "local replication all peer map=stepwell\n")
    await fetch(primary, "SELECT pg_reload_conf()")


def _copy(primary: EmbeddedPostgres, standby: EmbeddedPostgres) -> None:
    """Copy the primary's data with the address that the standby streams from."""
    account = embedded_files.server_account()
    source, target = primary.layout, standby.layout
    embedded_files.prepare(target, account)
    embedded_files.create_private_folder(target.data, account)
    programs = embedded_programs.locate(source, account)
    command = [str(programs / "pg_basebackup"), "-h", str(source.sockets), "-U", postgres.OWNER, "-D", "."]
    failure = embedded_programs._run([*command, "-R", "-X", "stream", "-c", "fast", "--no-sync"], target.data, account)
    assert not failure, failure


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Return when the condition holds."""
    for _ in range(TRIES):
        if await is_so():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("The condition never held.")
