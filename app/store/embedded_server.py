"""Starts, joins and stops the server process that the clients of a data dir share.

Everything rests on kernel locks (flock), which vanish with the process that held them, however it died:

    lock      held by whoever is starting or stopping the server
    clients   shared by every client; who can have it alone was the last to leave
    server    shared by every process of the server (they inherit it); free means that nothing of it lives

All functions here block: call them from a thread.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from app.errors import EmbeddedServerError
from app.store import embedded_files, embedded_programs, embedded_settings

LOCK_WAIT_S = 180.0
LEFTOVER_GRACE_S = 0.5
LEFTOVER_WAIT_S = 10.0
POLL_S = 0.02
KEPT_LOGS = 5


class Server:
    """One client's hold on the server of a data dir."""

    def __init__(self, data_dir: Path, *, tuning: embedded_settings.Tuning, socket_root: Path) -> None:
        self._roots = data_dir, socket_root
        self.layout = embedded_files.Layout.of(data_dir, socket_root)
        self._tuning = tuning
        self._account: embedded_files.Account | None = None
        self._presence: int | None = None
        self._postmaster: psutil.Process | None = None

    @property
    def joined(self) -> bool:
        """Whether this client counts as one of the server's users."""
        return self._presence is not None

    @property
    def postmaster_pid(self) -> int | None:
        """The process id of the postmaster that this client last saw alive."""
        return None if self._postmaster is None else self._postmaster.pid

    def alive(self) -> bool:
        """Whether the postmaster last seen still runs (a look at the process table, well under a millisecond)."""
        return self._postmaster is not None and _runs(self._postmaster)

    def join(self) -> None:
        """Count as a client, and start the server unless it runs. Raises EmbeddedServerError."""
        with _translated():
            self._account = embedded_files.server_account()
            embedded_files.prepare(self.layout, self._account)
            with self._locked():
                if self._presence is None:
                    self._presence = self._open("clients", fcntl.LOCK_SH)
                try:
                    self._ensure_up(self._account)
                except BaseException:
                    self._drop_presence()
                    raise

    def ensure_up(self) -> None:
        """Start the server again if it died; nothing if it runs or if this client has left."""
        with _translated(), self._locked():
            if self._presence is not None and self._account is not None:
                self._ensure_up(self._account)

    def leave(self) -> None:
        """Count as a client no longer; the last one stops the server. Leaving twice is fine."""
        if self._presence is None:
            return
        with _translated(), self._locked():
            self._drop_presence()
            alone = self._try_alone("clients")
            if alone is not None and self._account is not None:
                os.close(alone)
                self._stop(self._account)

    def _ensure_up(self, account: embedded_files.Account) -> None:
        self.layout = embedded_files.Layout.of(*self._roots)  # another client may have recorded a folder since
        if self._settled():
            return
        self.layout = embedded_files.usable_sockets(self.layout, account)
        self._clear_remains()
        found = embedded_programs.locate(self.layout, account)
        embedded_files.private_folder(self.layout.log, account)
        life = self._open("server", fcntl.LOCK_SH)
        try:
            if not self.layout.version_file.exists():
                embedded_programs.initialise(found, self.layout, account, life)
            self._launch(found, account, life)
        finally:
            os.close(life)

    def _settled(self) -> bool:
        """True once a running postmaster is ready, False as soon as there is none."""
        deadline = time.monotonic() + embedded_programs.START_WAIT_S
        while (found := self._find_postmaster()) is not None:
            self._postmaster = found
            if self._reported_status() in ("ready", "standby"):
                return True
            if time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"Postgres did not become ready in {embedded_programs.START_WAIT_S} s.{self._last_words()}"
                )
            time.sleep(POLL_S)
        return False

    def _find_postmaster(self) -> psutil.Process | None:
        """The live process that the pid file names, if it works in our data folder (pids are used again)."""
        lines = self._pid_file_lines()
        if not lines or not lines[0].strip().isdigit():
            return None
        try:
            process = psutil.Process(int(lines[0]))
            ours = _runs(process) and self._works_here(process)
        except psutil.NoSuchProcess:
            return None
        return process if ours else None

    def _works_here(self, process: psutil.Process) -> bool:
        try:
            return Path(process.cwd()) == self.layout.data
        except psutil.AccessDenied:
            return process.name() == "postgres"

    def _pid_file_lines(self) -> list[str]:
        try:
            return self.layout.pid_file.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []

    def _reported_status(self) -> str:
        lines = self._pid_file_lines()
        return lines[7].strip() if len(lines) > 7 else ""

    def _clear_remains(self) -> None:
        """Make sure that nothing of an earlier server lives: two servers on one folder would destroy it.

        Children outlive a killed postmaster by a moment, or by a query: they may finish, and are then ended.
        """
        if not self._becomes_free(LEFTOVER_GRACE_S):
            for process in self._remains():
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            if not self._becomes_free(LEFTOVER_WAIT_S):
                raise EmbeddedServerError(
                    f"{self.layout.room} is served by processes that cannot be seen or ended from here, as in another "
                    "container: stop them, or set STEPWELL_DATA_DIR to another folder."
                )
        # Their pids may be in use again, and Postgres would then refuse to start.
        socket_file = self.layout.sockets / embedded_files.SOCKET_FILE
        for stale in (self.layout.pid_file, socket_file, socket_file.with_name(f"{socket_file.name}.lock")):
            stale.unlink(missing_ok=True)

    def _remains(self) -> list[psutil.Process]:
        """Server programs still at work in our data folder."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                ours = process.name() in embedded_programs.NAMES
                if ours and Path(process.cwd()) in (self.layout.data, self.layout.draft) and _runs(process):
                    found.append(process)
        return found

    def _becomes_free(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while (alone := self._try_alone("server")) is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_S)
        os.close(alone)
        return True

    def _launch(self, found: Path, account: embedded_files.Account, life: int) -> None:
        embedded_programs.check_version(self.layout)
        embedded_files.private_folder(self.layout.data, account)
        embedded_settings.write(self.layout, account, self._tuning)
        self.layout.start_log.unlink(missing_ok=True)
        self.prune_logs()
        failure = embedded_programs.launch(found, self.layout, account, life)
        if failure or not self._settled():
            raise EmbeddedServerError(f"Postgres did not start: {failure}{self._last_words()}")

    def _stop(self, account: embedded_files.Account) -> None:
        if self._find_postmaster() is not None:
            embedded_programs.halt(embedded_programs.locate(self.layout, account), self.layout, account)
        self._postmaster = None

    def prune_logs(self) -> None:
        """Keep the newest KEPT_LOGS rotated logs."""
        with suppress(FileNotFoundError):
            for old in sorted(self.layout.log.glob("postgres-*.log"))[:-KEPT_LOGS]:
                old.unlink(missing_ok=True)

    def _last_words(self) -> str:
        """The end of the newest logs, for an error message."""
        logs = [self.layout.start_log, *sorted(self.layout.log.glob("postgres-*.log"))[-1:]]
        lines = [line for path in logs if path.exists() for line in path.read_text(errors="replace").splitlines()[-5:]]
        return "".join(f"\n  {line}" for line in lines)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One starter or stopper at a time, among all clients of the data dir."""
        deadline = time.monotonic() + LOCK_WAIT_S
        while (held := self._try_alone("lock")) is None:
            if time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"Another process has been starting or stopping the embedded Postgres for {LOCK_WAIT_S:.0f} s."
                )
            time.sleep(POLL_S)
        try:
            yield
        finally:
            os.close(held)

    def _open(self, name: str, kind: int) -> int:
        """A lock of our own on a file of the room; closing it releases it, dying too."""
        held = os.open(self.layout.room / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(held, kind)
        except BaseException:
            os.close(held)
            raise
        return held

    def _try_alone(self, name: str) -> int | None:
        try:
            return self._open(name, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None

    def _drop_presence(self) -> None:
        if self._presence is not None:
            os.close(self._presence)
            self._presence = None


def _runs(process: psutil.Process) -> bool:
    """Alive and no zombie (in a container nobody may be there to reap one); our own zombies are reaped here."""
    try:
        if not process.is_running():
            return False
        if process.status() != psutil.STATUS_ZOMBIE:
            return True
    except psutil.NoSuchProcess:
        return False
    with suppress(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)
    return False


@contextmanager
def _translated() -> Iterator[None]:
    """The system's refusals (no rights, no space, no program) become ours."""
    try:
        yield
    except (OSError, subprocess.SubprocessError) as error:
        raise EmbeddedServerError(f"The embedded Postgres cannot be run here: {error}") from error
