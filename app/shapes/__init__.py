"""Exports the core types that are passed between the packages.

Reading: HybridRequest → Candidate → Hit → Answer. Writing: ExtractedDocument → Upload → DocumentDraft →
Passage → Chunk. All are frozen dataclasses, each constructed in one package.

The types are imported when the first of them is used: a command by way of a service needs limits and functions of this
package's modules only, and making the types takes a fifth of its time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.shapes.exports import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        """A core type or constant; these begin with a capital letter, and the names of modules do not."""
        if name[:1].isupper():
            exports = importlib.import_module("app.shapes.exports")
            globals().update((one, getattr(exports, one)) for one in exports.__all__)
        if name in globals():
            return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
