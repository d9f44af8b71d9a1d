"""Starts, joins and stops the server process that the clients of a data dir share.

Coordination uses kernel locks (flock), which are released when the process that holds them ends for any reason:

    lock      exclusive, while a client starts or stops the server
    clients   shared by every client; a client that gets it exclusively is the last one
    server    shared by every process of the server through inheritance; free if none of them runs

All functions here block: call them from a thread.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from app.database.embedded import embedded_files, embedded_programs
from app.errors import EmbeddedServerError

LOCK_WAIT_S = 180.0
LEFTOVER_GRACE_S = 0.5
LEFTOVER_WAIT_S = 10.0
POLL_S = 0.02
RESERVE_BYTES = 20_000_000
"""Room that a start takes: a segment of the write-ahead log (16 MiB), the pid and the logs."""


class Server:
    """One client of the server of a data dir."""

    def __init__(self, data_dir: Path, *, tuning: embedded_programs.Tuning, socket_root: Path) -> None:
        self.layout = embedded_files.Layout.of(data_dir, socket_root)
        self._tuning = tuning
        self._account: embedded_files.Account | None = None
        self._client_lock: int | None = None
        self._postmaster: psutil.Process | None = None

    @property
    def joined(self) -> bool:
        """Whether this client is registered with the server."""
        return self._client_lock is not None

    @property
    def postmaster_pid(self) -> int | None:
        """The process id of the postmaster at this client's last check."""
        return None if self._postmaster is None else self._postmaster.pid

    def alive(self) -> bool:
        """Whether the postmaster of the last check still runs; takes well under a millisecond."""
        return self._postmaster is not None and _runs(self._postmaster)

    def join(self) -> None:
        """Register as a client, and start the server unless it runs. Raises EmbeddedServerError."""
        with _translate_errors():
            self._account = embedded_files.server_account()
            embedded_files.prepare(self.layout, self._account)
            with self._hold_lock():
                if self._client_lock is None:
                    self._client_lock = self._open("clients", fcntl.LOCK_SH)
                try:
                    self._ensure_up(self._account)
                except BaseException:
                    self._release_client_lock()
                    raise

    def ensure_up(self) -> None:
        """Restart the server if it died; no effect if it runs or if this client has left."""
        with _translate_errors(), self._hold_lock():
            if self._client_lock is not None and self._account is not None:
                self._ensure_up(self._account)

    def leave(self) -> None:
        """Unregister; the last client stops the server. Repeated calls have no effect."""
        if self._client_lock is None:
            return
        with _translate_errors(), self._hold_lock():
            self._release_client_lock()
            exclusive = self._try_exclusive("clients")
            if exclusive is not None and self._account is not None:
                os.close(exclusive)
                self._stop(self._account)

    def _ensure_up(self, account: embedded_files.Account) -> None:
        if self._wait_until_ready():
            return
        embedded_files.private_folder(self.layout.sockets, account)
        self._clear_leftovers()
        programs = embedded_programs.locate(self.layout, account)
        embedded_files.private_folder(self.layout.log, account)
        life = self._open("server", fcntl.LOCK_SH)
        try:
            if not self.layout.version_file.exists():
                embedded_programs.initialise(programs, self.layout, account, life)
            self._launch(programs, account, life)
        finally:
            os.close(life)

    def _wait_until_ready(self) -> bool:
        """Wait until the running postmaster is ready; returns False if no postmaster runs."""
        deadline = time.monotonic() + embedded_programs.START_WAIT_S
        while (postmaster := self._find_postmaster()) is not None:
            self._postmaster = postmaster
            if self._reported_status() in ("ready", "standby"):
                return True
            if time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"Postgres did not become ready in {embedded_programs.START_WAIT_S} s.{self._last_log_lines()}"
                )
            time.sleep(POLL_S)
        return False

    def _find_postmaster(self) -> psutil.Process | None:
        """The process in the pid file if it runs in the data folder; the pid alone may have been reused."""
        lines = self._pid_file_lines()
        if not lines or not lines[0].strip().isdigit():
            return None
        try:
            process = psutil.Process(int(lines[0]))
            is_server = _runs(process) and self._runs_in_data_folder(process)
        except psutil.NoSuchProcess:
            return None
        return process if is_server else None

    def _runs_in_data_folder(self, process: psutil.Process) -> bool:
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

    def _clear_leftovers(self) -> None:
        """End all processes of an earlier server: two servers on one data folder would corrupt it.

        Child processes survive a killed postmaster for a moment, or until their query ends; after a grace period they
        are killed.
        """
        if not self._wait_until_unused(LEFTOVER_GRACE_S):
            for process in self._leftovers():
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            if not self._wait_until_unused(LEFTOVER_WAIT_S):
                raise EmbeddedServerError(
                    f"{self.layout.base} is in use by processes that cannot be seen or ended from here, "
                    "for example in another container: stop them, or set STEPWELL_DATA_DIR to another folder."
                )
        # Postgres does not start if a pid in a stale file is in use again.
        socket_file = self.layout.sockets / embedded_files.SOCKET_FILE
        for stale in (self.layout.pid_file, socket_file, socket_file.with_name(f"{socket_file.name}.lock")):
            stale.unlink(missing_ok=True)

    def _leftovers(self) -> list[psutil.Process]:
        """Processes of the server programs that run in the data folder."""
        leftovers = []
        for process in psutil.process_iter():
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                is_program = process.name() in embedded_programs.NAMES
                if is_program and Path(process.cwd()) in (self.layout.data, self.layout.draft) and _runs(process):
                    leftovers.append(process)
        return leftovers

    def _wait_until_unused(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while (exclusive := self._try_exclusive("server")) is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_S)
        os.close(exclusive)
        return True

    def _launch(self, programs: Path, account: embedded_files.Account, life: int) -> None:
        embedded_programs.check_version(self.layout)
        embedded_files.private_folder(self.layout.data, account)
        _release_reserve(self.layout.base)
        embedded_programs.configure(self.layout, account, self._tuning)
        self.layout.start_log.unlink(missing_ok=True)
        failure = embedded_programs.launch(programs, self.layout, account, life)
        if failure or not self._wait_until_ready():
            raise EmbeddedServerError(f"Postgres did not start: {failure}{self._last_log_lines()}")
        _keep_reserve(self.layout.base)

    def _stop(self, account: embedded_files.Account) -> None:
        if self._find_postmaster() is not None:
            embedded_programs.halt(embedded_programs.locate(self.layout, account), self.layout, account)
        self._postmaster = None

    def _last_log_lines(self) -> str:
        """The last lines of the newest logs, for an error message."""
        rotated = sorted(self.layout.log.glob("postgres-*.log"), key=lambda path: path.stat().st_mtime)
        logs = [path for path in (self.layout.start_log, *rotated[-1:]) if path.exists()]
        lines = [line for path in logs for line in path.read_text(errors="replace").splitlines()[-5:]]
        return "".join(f"\n  {line}" for line in lines)

    @contextmanager
    def _hold_lock(self) -> Iterator[None]:
        """Hold the lock of the data dir under which one client at a time starts or stops the server."""
        deadline = time.monotonic() + LOCK_WAIT_S
        while (lock := self._try_exclusive("lock")) is None:
            if time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"Another process has been starting or stopping the embedded Postgres for {LOCK_WAIT_S:.0f} s."
                )
            time.sleep(POLL_S)
        try:
            yield
        finally:
            os.close(lock)

    def _open(self, name: str, kind: int) -> int:
        """Lock a file of the base folder, until the returned descriptor is closed or the process ends."""
        lock = os.open(self.layout.base / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, kind)
        except BaseException:
            os.close(lock)
            raise
        return lock

    def _try_exclusive(self, name: str) -> int | None:
        try:
            return self._open(name, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None

    def _release_client_lock(self) -> None:
        if self._client_lock is not None:
            os.close(self._client_lock)
            self._client_lock = None


def _runs(process: psutil.Process) -> bool:
    """Whether a process is alive and not a zombie; zombies that are children of this process are reaped."""
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


def _release_reserve(base: Path) -> None:
    """Delete the file if the disk of the base folder has less room than it takes."""
    if shutil.disk_usage(base).free < RESERVE_BYTES:
        (base / "reserve").unlink(missing_ok=True)


def _keep_reserve(base: Path) -> None:
    """Write the file if it is missing and the disk has room for twice as much."""
    file = base / "reserve"
    if file.exists() or shutil.disk_usage(base).free < 2 * RESERVE_BYTES:
        return
    try:
        file.write_bytes(bytes(RESERVE_BYTES))
    except OSError:
        with suppress(OSError):
            file.unlink(missing_ok=True)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Translate operating system errors (permissions, space, missing programs) into EmbeddedServerError."""
    try:
        yield
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        reason = error.strerror or type(error).__name__
        raise EmbeddedServerError(f"The embedded Postgres cannot be run here: {reason}{place}.") from error
    except subprocess.SubprocessError as error:
        raise EmbeddedServerError(f"The embedded Postgres cannot be run here: {error}") from error
