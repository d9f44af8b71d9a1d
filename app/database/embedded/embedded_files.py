"""Defines and checks the folders of the embedded Postgres, and the system user that runs it.

    <data dir>/postgres/       base folder, mode 0700 (0711 as root, since the server's user must be able to enter it)
    ├── data/  log/            the cluster and its rotated logs, private to the server's user
    ├── run/                   the socket, private to the server's user (in a short folder if the path is too long)
    ├── engine-<version>/      a copy of the programs, only if the server's user cannot read the installed ones
    ├── *.conf                 rewritten at every start
    ├── reserve                20 MB that are given back to start the server on a full disk
    └── lock  clients  server  locked while starting or stopping, by each client, by each server process

Permissions and owners of existing folders are never changed: a folder that cannot be used safely is rejected.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import pwd
import stat
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.errors import EmbeddedServerError

ROOT_ACCOUNT = "stepwell-db"
"""The system user that runs Postgres if Stepwell runs as root (Postgres does not run as root)."""
SOCKET_FILE = ".s.PGSQL.5432"
SOCKET_PATH_BYTES = 103
"""The shortest limit of the supported systems (macOS; 107 on Linux)."""
ROOT_DATA_DIR = Path("/var/lib/stepwell")


def default_data_dir(env: Mapping[str, str], is_root: bool) -> Path:
    """The data dir if STEPWELL_DATA_DIR is not set: one per user; for root, a folder that other users can traverse."""
    if is_root:
        return ROOT_DATA_DIR
    home = Path(env["HOME"]) if env.get("HOME") else Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "stepwell"
    data_home = Path(env.get("XDG_DATA_HOME", ""))
    return (data_home if data_home.is_absolute() else home / ".local" / "share") / "stepwell"


@dataclass(frozen=True, slots=True)
class Account:
    """The system user that runs the server, and the user of this process (`client`); they differ only for root."""

    name: str
    uid: int
    gid: int
    client: str

    @property
    def switches(self) -> bool:
        """Whether server programs must run as another user than this process."""
        return self.uid != os.geteuid()


class Layout:
    """The paths of one embedded server, the same for every client of a data dir.

    All paths are in `base`, except that `sockets` is a short folder in `socket_root` if its path would be too long
    for a socket. `data` is the cluster (PGDATA), and `draft` the cluster until initdb has completed. `version_file`
    contains the major version that wrote the cluster; the eighth line of `pid_file` is the postmaster's status. `log`
    has the logs of the server, and `start_log` its output at the last start, before its rotated log began.
    """

    def __init__(self, data_dir: Path, socket_root: Path) -> None:
        self.base = base = data_dir.expanduser().resolve() / "postgres"
        if not str(base).isprintable():
            raise EmbeddedServerError("STEPWELL_DATA_DIR contains a control character: choose another folder name.")
        self.sockets = base / "run"
        if len(os.fsencode(self.sockets / SOCKET_FILE)) > SOCKET_PATH_BYTES:
            self.sockets = socket_root.resolve() / f"stepwell-{hashlib.sha256(os.fsencode(base)).hexdigest()[:16]}"
        self.socket = self.sockets / SOCKET_FILE
        self.data, self.draft, self.log = base / "data", base / "data.draft", base / "log"
        self.version_file, self.pid_file = self.data / "PG_VERSION", self.data / "postmaster.pid"
        self.start_log = self.log / "start.log"


def server_account() -> Account:
    """The account that runs the server: the current user, or for root a system user. Creates it if it is missing."""
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
    """The entry of ROOT_ACCOUNT, which is created if it is missing."""
    with suppress(KeyError):
        return pwd.getpwnam(ROOT_ACCOUNT)
    reason = _create_root_account()
    with suppress(KeyError):
        return pwd.getpwnam(ROOT_ACCOUNT)
    raise EmbeddedServerError(
        f"Postgres does not run as root, and the system user {ROOT_ACCOUNT} could not be created ({reason}): "
        "create it, run Stepwell as another user, or set DATABASE_URL."
    )


def _create_root_account() -> str:
    """Run useradd; returns why it failed, also if another process has created ROOT_ACCOUNT meanwhile.

    One process at a time runs it: newer releases do not lock the list of users, and the last to write it wins.
    """
    command = ["useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent", ROOT_ACCOUNT]
    folder = os.open("/etc", os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        return subprocess.run(command, capture_output=True, text=True, timeout=30).stderr.strip() or "useradd failed"
    except OSError:
        return "useradd is not installed, or may not run"
    finally:
        os.close(folder)


def prepare(layout: Layout, account: Account) -> None:
    """Create missing folders. Reject existing folders that the server cannot use or that others can write."""
    mode = 0o711 if account.switches else 0o700
    way = (layout.base, *layout.base.parents)
    for folder in reversed([folder for folder in way if not folder.exists()]):
        with suppress(FileExistsError):
            folder.mkdir(mode=mode)
            folder.chmod(mode)  # the umask may have cleared bits of this new folder
    status = layout.base.stat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise EmbeddedServerError(
            f"{layout.base} belongs to another user or is writable by others: "
            "run as its owner, or set STEPWELL_DATA_DIR to a folder of your own."
        )
    closed = next((folder for folder in way if not _may_pass(folder, account)), None)
    if closed is not None:
        raise EmbeddedServerError(
            f"Under root, Postgres runs as the system user {account.name}, who cannot enter {closed}. Stepwell never "
            "changes the permissions of an existing folder: set STEPWELL_DATA_DIR to one that others can traverse, "
            f"such as {ROOT_DATA_DIR}."
        )


def create_private_folder(folder: Path, account: Account) -> None:
    """Create a folder with mode 0700 for the server's user. Reject an existing folder with another owner or mode.

    An empty folder of this process is given to the server's user; the files of another would keep their owner.
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    is_folder = stat.S_ISDIR(status.st_mode)
    if is_folder and account.switches and status.st_uid == os.geteuid() and not any(folder.iterdir()):
        os.chown(folder, account.uid, account.gid, follow_symlinks=False)
        status = folder.lstat()
    if not is_folder or status.st_uid != account.uid or status.st_mode & 0o077:
        raise EmbeddedServerError(
            f"{folder} is not a private folder of the user {account.name}: run chown -R {account.name} '{folder}' and "
            f"chmod 700 '{folder}', or set STEPWELL_DATA_DIR to another folder."
        )


def _may_pass(folder: Path, account: Account) -> bool:
    """Whether `account` may enter `folder` by its mode bits; access control lists are not considered."""
    status = folder.stat()
    if status.st_uid == account.uid:
        return bool(status.st_mode & 0o100)
    return bool(status.st_mode & (0o010 if status.st_gid == account.gid else 0o001))
