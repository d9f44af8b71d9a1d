"""Creates and reads the token of a data folder, which every request must carry under `AUTH=local_token`.

The token is a file that only its owner may read, so other accounts of the machine cannot use the service.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from app import errors

FILE_NAME = "local_token"
_FORM = re.compile(r"swl_[A-Za-z0-9_-]{43}")


def load(folder: Path) -> str:
    """The folder's token; a missing folder or token is created.

    Raises `local_token_unusable` if the file cannot be written, contains anything else, or is open to other accounts.
    """
    path = folder / FILE_NAME
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            _create(path)
        with path.open(encoding="utf-8", errors="replace") as file:
            found = os.fstat(file.fileno())
            token = file.read(100).strip()
    except OSError as error:
        raise errors.StepwellError(f"{path} cannot be used: {error.strerror}.", code="local_token_unusable") from error
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise errors.StepwellError(
            f"{path} can be read by other accounts: delete it, and a new one is made.", code="local_token_unusable"
        )
    if not _FORM.fullmatch(token):
        raise errors.StepwellError(
            f"{path} does not contain a token: delete it, and a new one is made.", code="local_token_unusable"
        )
    return token


def check(presented: str, token: str) -> None:
    """Compare in constant time. Raises Unauthorized."""
    if not hmac.compare_digest(presented.encode(), token.encode()):
        raise errors.Unauthorized("This is not the token of the service's data folder.")


def _create(path: Path) -> None:
    """Write the whole file under another name first: a link appears at once, or fails if another process was faster."""
    draft = path.with_name(f"{FILE_NAME}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"swl_{secrets.token_urlsafe(32)}\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
