"""Downloads the files of a model from the Hugging Face hub once, and verifies them whenever they are used again.

What the first download got is recorded beside the files: the revision of the repository and the SHA-256 of each file.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from app.errors import ProviderError

log = logging.getLogger(__name__)

RECORD = "download.json"
MODEL = re.compile(r"[^/]+\.json|\d_Pooling/config\.json|(onnx/)?model\.onnx(_data|\.data)?|onnx/Constant\w+")
"""Files of a model in ONNX format, with the settings that are published beside it."""
PROGRESS_S = 10
"""Seconds between two lines of progress."""
ABANDONED_S = 3_600
"""Seconds after which nobody writes a draft any more."""
# Read when the library is imported. Its protocol for large files uses other addresses than the one in the settings.
os.environ.setdefault("HF_HUB_DISABLE_XET", "1")  # noqa: TID251
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # noqa: TID251


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository: which of its files are used, and the SHA-256 of files for which it is known in advance."""

    name: str
    files: re.Pattern[str] = MODEL
    digests: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hub:
    """Where models come from and where they are kept."""

    address: str
    folder: Path

    def fetch(self, repository: Repository) -> Path:
        """The folder of the files, which are downloaded unless they are there. Raises ProviderError."""
        folder = self.folder / repository.name.replace("/", "--")
        record = folder / RECORD
        if record.is_file():
            _verify(folder)
            return folder
        try:
            got = self._download(repository, folder)
            keep(json.dumps(got, indent=2).encode(), record)
        except Exception as error:  # the library's exceptions have no other common base
            reason = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
            raise ProviderError(
                f"{repository.name} cannot be downloaded from {self.address} to {folder} ({reason}): "
                "allow that or let STEPWELL_MODEL_HUB name a mirror.",
                fault="model",
            ) from error
        log.warning("downloaded %s, revision %s", repository.name, got["revision"])
        return folder

    def _download(self, repository: Repository, folder: Path) -> dict[str, Any]:
        """Download the files and return what is recorded of them."""
        import huggingface_hub  # takes half a second, and is seldom needed

        api = huggingface_hub.HfApi(endpoint=self.address.rstrip("/"), token=False)
        info = api.model_info(repository.name, files_metadata=True)
        wanted = [file for file in info.siblings or () if repository.files.fullmatch(file.rfilename)]
        found = {file.rfilename for file in wanted}
        if missing := repository.digests.keys() - found:
            raise FileNotFoundError(f"the repository has no {', '.join(sorted(missing))}")
        if repository.files is MODEL and not any(name.endswith("model.onnx") for name in found):
            raise FileNotFoundError("the repository has no model.onnx")
        size = sum(file.size or 0 for file in wanted) / 1e6
        log.warning("downloading %s, %.0f MB, from %s to %s, once", repository.name, size, self.address, folder)
        digests = {}
        bar: Any = _Progress
        for file in wanted:
            api.hf_hub_download(repository.name, file.rfilename, revision=info.sha, local_dir=folder, tqdm_class=bar)
            announced = repository.digests.get(file.rfilename, file.lfs.sha256 if file.lfs else None)
            digest = digests[file.rfilename] = _digest(folder / file.rfilename)
            if announced not in (None, digest):
                (folder / file.rfilename).unlink()
                raise OSError(f"{file.rfilename} is not the published file, its SHA-256 is {digest}")
        return {"repository": repository.name, "revision": info.sha, "files": digests}


def _digest(file: Path) -> str:
    """The SHA-256 of a file. Raises OSError."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _verify(folder: Path) -> None:
    """Compare the files with what is recorded of them. Raises ProviderError."""
    try:
        digests = json.loads((folder / RECORD).read_text(encoding="utf-8"))["files"]
        changed = [name for name, digest in digests.items() if not has_digest(folder / name, digest)]
    except (OSError, ValueError, LookupError):
        changed = [RECORD]
    if changed:
        raise ProviderError(
            f"{changed[0]} in {folder} is not what was downloaded: remove the folder, and it is downloaded again.",
            fault="model",
        )


class _Progress:
    """Logs from time to time how far a download is, and ends one that is larger than was said."""

    def __init__(self, *, desc: str = "", total: int | None = None, initial: int = 0, **_: object) -> None:
        self._name, self._total, self._received = desc, total, initial
        self._logged_at = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def update(self, count: int) -> None:
        """Count the bytes of a block. Raises OSError."""
        self._received += count
        if self._total is None:
            return
        if self._received > self._total:
            raise OSError(f"{self._name} is larger than {self._total} bytes")
        if time.monotonic() - self._logged_at >= PROGRESS_S:
            self._logged_at = time.monotonic()
            log.warning("%s: %.0f of %.0f MB", self._name, self._received / 1e6, self._total / 1e6)


def has_digest(file: Path, sha256: str) -> bool:
    """Whether a file can be read and has this SHA-256."""
    try:
        return _digest(file) == sha256
    except OSError:
        return False


def keep(whole: bytes | bytearray, target: Path) -> None:
    """Write the content of a file, whose folder is created. Raises OSError.

    The file appears at once under its name, so processes that start at the same time each read a whole one.
    """
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for draft in target.parent.glob(f"{target.name}.*"):  # of processes that were killed while they wrote
        with suppress(FileNotFoundError):
            if time.time() - draft.stat().st_mtime > ABANDONED_S:
                draft.unlink()
    descriptor, written = tempfile.mkstemp(prefix=f"{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(whole)
            file.flush()
            os.fsync(file.fileno())
        Path(written).replace(target)
    except BaseException:
        Path(written).unlink(missing_ok=True)
        raise
