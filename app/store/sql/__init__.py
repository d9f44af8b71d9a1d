"""Named statements: each file's header says what it answers, its binds with their types, and its columns.

A header line `-- :name type  meaning` declares a bind; wherever the statement uses it, it is cast to that type, so that
Postgres never has to guess. `text::vector` crosses the wire as text and is cast twice.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import sqlalchemy as sa

FOLDER = Path(__file__).parent
_COMMENT = re.compile(r"^\s*--.*$", re.MULTILINE)
_DECLARED = re.compile(r"^-- :(\w+) ([\w\[\]:]+)", re.MULTILINE)
_USED = re.compile(r"(?<![:\w]):(\w+)")


@cache
def statement(name: str) -> sa.TextClause:
    """The statement in `<name>.sql`, every bind cast as its header declares.

    Raises ValueError where the header and the statement do not name the same binds.
    """
    return compiled((FOLDER / f"{name}.sql").read_text(encoding="utf-8"))


def compiled(source: str) -> sa.TextClause:
    """A statement from its source text; see `statement`."""
    declared = dict(_DECLARED.findall(source))
    body = _COMMENT.sub("", source).strip()
    used = set(_USED.findall(body))
    if used != declared.keys():
        raise ValueError(f"declared and used binds differ: {sorted(used ^ declared.keys())}")
    return sa.text(_USED.sub(lambda bind: _cast(bind[1], declared[bind[1]]), body))


def _cast(name: str, types: str) -> str:
    expression = f":{name}"
    for kind in types.split("::"):
        expression = f"CAST({expression} AS {kind})"
    return expression
