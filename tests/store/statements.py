"""All SQL statements of the store."""

from __future__ import annotations

import re
from collections.abc import Mapping

from app.store.connection import sql
from app.store.search import passages, recall

COMPOSED = (recall.HYBRID, passages.RANKS_OF_CHUNK)
"""The names of the files of each statement that is composed of CTEs; the last is that of the statement."""

SOURCES: Mapping[str, sql.StatementSource] = {
    **{name: sql.load(name) for name in sql.files()},
    **{names[-1]: sql.load(names) for names in COMPOSED},
}
"""The sources of all statements by name."""


def text(source: sql.StatementSource) -> str:
    """The statement with its fragments, its CTEs and all of its parts, without comments."""
    lines = (line for lines in (*source.ctes, source.lines) for line in lines)
    return re.sub(r"--.*$", "", "\n".join(lines), flags=re.MULTILINE).strip()
