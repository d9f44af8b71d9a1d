"""Writes the configuration files of the embedded Postgres: tuning, logs and access.

The files are rewritten at every start and passed to the server by path, so a change here applies to existing data at
the next start. Settings made with ALTER SYSTEM take precedence.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from app.database.embedded import embedded_files

MB = 1 << 20
SHARED_MEMORY = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class Tuning:
    """Memory and disk sizes in megabytes (MiB); `max_connections` counts sessions."""

    shared_buffers: int
    effective_cache: int
    maintenance_work_mem: int
    max_wal: int = 1024
    max_connections: int = 100


SMALL = Tuning(shared_buffers=16, effective_cache=64, maintenance_work_mem=32, max_wal=128, max_connections=40)
"""The tuning for tests, which start many servers."""


def for_memory(total_bytes: int) -> Tuning:
    """The tuning for a machine with other programs: 1/8 of its memory as buffers (128 MB to 1 GB), 1/2 as cache."""
    total = total_bytes // MB
    return Tuning(
        shared_buffers=min(max(total // 8, 128), 1024),
        effective_cache=max(total // 2, 256),
        maintenance_work_mem=min(max(total // 32, 64), 512),
    )


def tune(tuning: Tuning) -> dict[str, str]:
    """The settings that any server should have, also one that is not embedded; compose.yaml has them too.

    Statements and error details are not logged, since they contain user data and queries.
    """
    return {
        "max_connections": str(tuning.max_connections),
        "shared_buffers": f"{tuning.shared_buffers}MB",
        "effective_cache_size": f"{tuning.effective_cache}MB",
        "maintenance_work_mem": f"{tuning.maintenance_work_mem}MB",
        "work_mem": "16MB",
        "max_wal_size": f"{tuning.max_wal}MB",
        "wal_compression": "on",
        "random_page_cost": "1.1",
        "jit": "off",
        "log_min_error_statement": "panic",
        "log_error_verbosity": "terse",
    }


def write(layout: embedded_files.Layout, account: embedded_files.Account, tuning: Tuning) -> None:
    """Write postgresql.conf, pg_hba.conf and pg_ident.conf to the base folder."""
    users = sorted({account.name, account.client, "root"})
    for name, text in (
        ("postgresql.conf", _conf(_server_settings(layout, tuning))),
        ("pg_hba.conf", "local all all peer map=stepwell\n"),
        ("pg_ident.conf", "".join(f'stepwell "{user}" all\n' for user in users)),
    ):
        file = layout.base / name
        file.write_text(text, encoding="utf-8")
        file.chmod(0o644)  # readable by the server's user


def _server_settings(layout: embedded_files.Layout, tuning: Tuning) -> dict[str, str]:
    return {
        "hba_file": str(layout.base / "pg_hba.conf"),
        "ident_file": str(layout.base / "pg_ident.conf"),
        "listen_addresses": "",
        "unix_socket_directories": '"' + str(layout.sockets).replace('"', '""') + '"',
        "unix_socket_permissions": "0700",
        "port": "5432",
        "cluster_name": "stepwell",
        "dynamic_shared_memory_type": _shared_memory_kind(tuning),
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "timezone": "UTC",
        "log_timezone": "UTC",
        **tune(tuning),
        # One file a day of the week, which is written anew a week later.
        "logging_collector": "on",
        "log_directory": str(layout.log),
        "log_filename": "postgres-%a.log",
        "log_truncate_on_rotation": "on",
        "log_rotation_age": "1d",
        "log_rotation_size": "0",
        "log_file_mode": "0600",
        "log_line_prefix": "%m [%p] %q%u@%d ",
    }


def _shared_memory_kind(tuning: Tuning) -> str:
    """Use System V if /dev/shm is too small for parallel index builds; the default size in containers is 64 MB."""
    if not SHARED_MEMORY.is_dir():
        return "posix"
    return "posix" if shutil.disk_usage(SHARED_MEMORY).total >= 2 * tuning.maintenance_work_mem * MB else "sysv"


def _conf(settings: dict[str, str]) -> str:
    quoted = {name: value.replace("\\", "\\\\").replace("'", "''") for name, value in settings.items()}
    return "".join(f"{name} = '{value}'\n" for name, value in quoted.items())
