"""Starts servers from Debian's packages: Postgres that requires TLS, and PgBouncer in front of any server."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import certificates
import server_folders
from raw_connections import reserved_port

from app.database.embedded import embedded_files

SUPERUSER, PASSWORD = "postgres", "secret"
STARTS_WITHIN_S = 30
PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
NO_PGBOUNCER = "needs Debian's package pgbouncer"


def programs(major: int, *, vectors: bool = True) -> Path | None:
    """The folder of the server's programs of a major version; None if it, or pgvector for it, is not installed."""
    folder = Path(f"/usr/lib/postgresql/{major}/bin")
    needed = [folder / "postgres", *([folder.parent / "lib" / "vector.so"] if vectors else [])]
    return folder if all(path.is_file() for path in needed) else None


@dataclass(frozen=True, slots=True)
class Server:
    """A server that asks for passwords, and for TLS if it has it, on TCP, and for nothing on its socket.

    The superuser is SUPERUSER.
    """

    folder: Path
    port: int
    certificate: Path

    def dsn(self, user: str, database: str, *, tls: str = "sslmode=require") -> str:
        """The address of a database for a role, all of which have PASSWORD."""
        return f"postgresql://{user}:{PASSWORD}@127.0.0.1:{self.port}/{database}?{tls}"


def _as_account() -> dict[str, Any]:
    """Options of `subprocess` that start a program as the account of servers; `runuser` takes two seconds to end."""
    account = embedded_files.server_account()
    return {"user": account.uid, "group": account.gid, "extra_groups": []} if account.switches else {}


def _own(*paths: Path) -> None:
    account = embedded_files.server_account()
    for path in paths:
        os.chown(path, account.uid, account.gid)


@contextmanager
def postgres(bin_folder: Path, *, tls: bool = True, **settings: str) -> Iterator[Server]:
    """A new cluster of other programs of Postgres on a port of 127.0.0.1. Those of a wheel are built without TLS."""
    with server_folders.temporary() as folder, reserved_port() as port:
        certificate, key = certificates.write(folder)
        key.chmod(0o600)
        (folder / "password").write_text(PASSWORD)
        _own(folder, certificate, key)
        data = folder / "data"
        initdb = [bin_folder / "initdb", "-D", data, "-U", SUPERUSER, "-E", "UTF8", "--locale=C.UTF-8", "--auth=trust"]
        initdb += [f"--pwfile={folder / 'password'}", "--no-sync"]
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder, **_as_account())
        access = f"local all all trust\n{'hostssl' if tls else 'host'} all all 127.0.0.1/32 scram-sha-256\n"
        (data / "pg_hba.conf").write_text(access)
        given = {
            "listen_addresses": "127.0.0.1",
            "port": str(port),
            "unix_socket_directories": str(folder),
            **({"ssl": "on", "ssl_cert_file": str(certificate), "ssl_key_file": str(key)} if tls else {}),
            "fsync": "off",
            **settings,
        }
        with (data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in given.items())
        with _running([bin_folder / "postgres", "-D", data], folder / "log", port, signal.SIGINT):
            while subprocess.run([bin_folder / "pg_isready", "-q", "-h", folder, "-p", str(port)]).returncode:
                time.sleep(0.02)
            yield Server(folder, port, certificate)


@contextmanager
def pgbouncer(*, host: str, port: int, mode: str, passwords: dict[str, str], tls: bool = False) -> Iterator[int]:
    """The port of a PgBouncer with its default settings; by transaction, it has fewer connections than clients."""
    assert PGBOUNCER is not None
    with server_folders.temporary() as folder, reserved_port() as own:
        lines = [
            "[databases]",
            f"* = host={host} port={port}",
            "[pgbouncer]",
            f"listen_addr = 127.0.0.1\nlisten_port = {own}\nunix_socket_dir =",
            f"auth_type = {'scram-sha-256' if tls else 'trust'}\nauth_file = {folder / 'users'}",
            f"pool_mode = {mode}\ndefault_pool_size = {4 if mode == 'transaction' else 20}\nmax_client_conn = 200",
        ]
        if tls:
            certificate, key = certificates.write(folder)
            _own(certificate, key)
            lines.append(f"client_tls_sslmode = require\nclient_tls_cert_file = {certificate}")
            lines.append(f"client_tls_key_file = {key}\nserver_tls_sslmode = require")
        (folder / "pgbouncer.ini").write_text("\n".join(lines) + "\n")
        (folder / "users").write_text("".join(f'"{user}" "{word}"\n' for user, word in passwords.items()))
        with _running([PGBOUNCER, folder / "pgbouncer.ini"], folder / "log", own, signal.SIGTERM):
            yield own


@contextmanager
def _running(command: list[str | Path], log: Path, port: int, stop: signal.Signals) -> Iterator[None]:
    """A program that answers on a port of 127.0.0.1 and ends with the block."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, cwd=log.parent, **_as_account()
        )
    try:
        until = time.monotonic() + STARTS_WITHIN_S
        while not _answers(port):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.02)
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, stop)
        process.wait(timeout=STARTS_WITHIN_S)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
