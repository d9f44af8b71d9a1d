"""Names and checks the embedded Postgres' folders, and the system user that runs it.

    <data dir>/postgres/       the room: ours, 0700 (as root 0711, for the server's own user must pass)
    ├── data/  log/            the cluster and its rotated logs: the server's user only
    ├── run/                   the socket: the server's user only (a short folder elsewhere if the path is too long)
    ├── engine-<version>/      a copy of the programs, only where the server's user cannot reach the installed ones
    ├── *.conf                 written anew at every start
    ├── sockets                names the socket's folder if another user occupies the usual one
    └── lock  clients  server  locked by whoever starts or stops, by each client, by each server process

Existing folders keep their permissions and owners: one that cannot be used safely is refused, never changed.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from app.errors import EmbeddedServerError

ROOT_ACCOUNT = "stepwell-db"
"""The system user that runs Postgres where Stepwell runs as root (Postgres refuses root)."""
SOCKET_FILE = ".s.PGSQL.5432"
SOCKETS_RECORD = "sockets"
"""The file in the room that names the socket's folder if another user occupies the usual one."""
SOCKET_PATH_BYTES = 103
"""The shortest limit among the systems we run on (macOS; Linux takes 107)."""
ROOT_DATA_DIR = Path("/var/lib/stepwell")


def default_data_dir(env: Mapping[str, str], is_root: bool) -> Path:
    """The folder used when STEPWELL_DATA_DIR is not set: per user, or for root one that others may pass through."""
    if is_root:
        return ROOT_DATA_DIR
    home = Path(env["HOME"]) if env.get("HOME") else Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "stepwell"
    data_home = Path(env.get("XDG_DATA_HOME", ""))
    return (data_home if data_home.is_absolute() else home / ".local" / "share") / "stepwell"


@dataclass(frozen=True, slots=True)
class Account:
    """The system user that runs the server, and the one that runs us (they differ only for root)."""

    name: str
    uid: int
    gid: int
    client: str

    @property
    def switches(self) -> bool:
        """Whether server programs must be started under another user than our own."""
        return self.uid != os.geteuid()


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one embedded server; the same for every client of a data dir."""

    room: Path
    sockets: Path

    @classmethod
    def of(cls, data_dir: Path, socket_root: Path) -> Layout:
        """The paths for `data_dir`; a socket whose path is too long moves to a short folder in `socket_root`.

        That is the one that `usable_sockets` recorded, if it did.
        """
        room = data_dir.expanduser().resolve() / "postgres"
        if not str(room).isprintable():
            raise EmbeddedServerError("STEPWELL_DATA_DIR holds a control character: choose a plain folder name.")
        sockets = room / "run"
        if len(os.fsencode(sockets / SOCKET_FILE)) > SOCKET_PATH_BYTES:
            sockets = socket_root.resolve() / f"stepwell-{hashlib.sha256(os.fsencode(room)).hexdigest()[:16]}"
            with suppress(FileNotFoundError):
                sockets = Path((room / SOCKETS_RECORD).read_text(encoding="utf-8"))
        return cls(room=room, sockets=sockets)

    @property
    def data(self) -> Path:
        """The cluster (PGDATA)."""
        return self.room / "data"

    @property
    def draft(self) -> Path:
        """A cluster in the making."""
        return self.room / "data.draft"

    @property
    def log(self) -> Path:
        """The folder of the server's logs."""
        return self.room / "log"

    @property
    def start_log(self) -> Path:
        """What the server said before its rotated log began, at the last start."""
        return self.log / "start.log"

    @property
    def version_file(self) -> Path:
        """Holds the major version that wrote the cluster."""
        return self.data / "PG_VERSION"

    @property
    def pid_file(self) -> Path:
        """Written by the postmaster; its eighth line says whether it is ready."""
        return self.data / "postmaster.pid"


def server_account() -> Account:
    """Who runs the server: ourselves, or for root a system user of its own, created if missing."""
    if os.geteuid() == 0:
        entry = _root_account()
        return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid, client="root")
    try:
        entry = pwd.getpwuid(os.geteuid())
    except KeyError:
        raise EmbeddedServerError(
            f"Postgres needs a named system user, and user id {os.geteuid()} has no name: "
            "run as a user in /etc/passwd, or set DATABASE_URL."
        ) from None
    return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid, client=entry.pw_name)


def _root_account() -> pwd.struct_passwd:
    """The entry of ROOT_ACCOUNT; another process may be creating it at the same time."""
    command = ["useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    why = "useradd failed"
    for _ in range(20):
        try:
            return pwd.getpwnam(ROOT_ACCOUNT)
        except KeyError:
            try:
                made = subprocess.run([*command, ROOT_ACCOUNT], capture_output=True, text=True, timeout=30)
            except OSError:
                why = "there is no useradd"
                break
            why = made.stderr.strip() or why
        time.sleep(0.1)
    raise EmbeddedServerError(
        f"Postgres does not run as root, and the system user {ROOT_ACCOUNT} could not be created ({why}): "
        "create it, run Stepwell as another user, or set DATABASE_URL."
    )


def prepare(layout: Layout, account: Account) -> None:
    """Make the folders that are missing, and refuse existing ones that the server could not use or others could."""
    mode = 0o711 if account.switches else 0o700
    for folder in reversed([folder for folder in _upwards(layout.room) if not folder.exists()]):
        _make_folder(folder, mode)
    found = layout.room.stat()
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise EmbeddedServerError(
            f"{layout.room} belongs to another user or may be written by others: "
            "run as its owner, or set STEPWELL_DATA_DIR to a folder of your own."
        )
    _refuse_closed_parents(layout.room, account)


def _make_folder(folder: Path, mode: int) -> None:
    try:
        folder.mkdir(mode=mode)
    except FileExistsError:
        return
    folder.chmod(mode)  # the umask may have taken bits away; the folder is ours and new


def _refuse_closed_parents(room: Path, account: Account) -> None:
    closed = next((folder for folder in _upwards(room) if not may_pass(folder, account)), None)
    if closed is not None:
        raise EmbeddedServerError(
            f"Under root, Postgres runs as the system user {account.name}, who may not enter {closed}. Stepwell never "
            "changes the permissions of an existing folder: set STEPWELL_DATA_DIR to one that others may traverse, "
            f"such as {ROOT_DATA_DIR}."
        )


def private_folder(folder: Path, account: Account) -> None:
    """A folder for the server's user alone: made with mode 0700, or refused if it exists and is anything else."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if found.st_uid == os.geteuid() and stat.S_ISDIR(found.st_mode) and account.switches:
        os.chown(folder, account.uid, account.gid, follow_symlinks=False)
        found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != account.uid or found.st_mode & 0o077:
        raise EmbeddedServerError(
            f"{folder} is not a private folder of the user {account.name}: "
            "remove it, or set STEPWELL_DATA_DIR to another folder."
        )


def usable_sockets(layout: Layout, account: Account) -> Layout:
    """The layout with a private folder for the socket.

    In a folder that all users share, another user may have made the usual one first: then it is left alone, and a new
    folder is made and recorded. Raises EmbeddedServerError where the folder inside the room cannot be used.
    """
    try:
        private_folder(layout.sockets, account)
    except EmbeddedServerError:
        if layout.sockets.parent == layout.room:
            raise
    else:
        return layout
    chosen = Path(tempfile.mkdtemp(prefix="stepwell-", dir=layout.sockets.parent))
    private_folder(chosen, account)
    (layout.room / SOCKETS_RECORD).write_text(str(chosen), encoding="utf-8")
    return replace(layout, sockets=chosen)


def may_pass(folder: Path, account: Account) -> bool:
    """Whether `account` may enter `folder` (mode bits; access lists are not looked at)."""
    return bool(permissions(folder, account) & 0o1)


def permissions(path: Path, account: Account) -> int:
    """The read, write and execute bits that apply to `account`."""
    found = path.stat()
    if found.st_uid == account.uid:
        return found.st_mode >> 6
    return found.st_mode >> 3 if found.st_gid == account.gid else found.st_mode


def _upwards(path: Path) -> Iterator[Path]:
    yield path
    yield from path.parents
