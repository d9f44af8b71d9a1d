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


_CONDITION = re.compile(r"-- (if|unless) (\w+(?: or \w+)*)")


@cache
def statement(name: str, *parts: str) -> sa.TextClause:
    """The statement in `<name>.sql` with the sections that `parts` ask for, every bind cast as its header declares.

    Raises ValueError where the header and the sections together do not name the same binds.
    """
    return compiled((FOLDER / f"{name}.sql").read_text(encoding="utf-8"), *parts)


def compiled(source: str, *parts: str) -> sa.TextClause:
    """A statement from its source text; see `statement`."""
    declared = dict(_DECLARED.findall(source))
    used = set(_USED.findall(_COMMENT.sub("", source)))
    if used != declared.keys():
        raise ValueError(f"declared and used binds differ: {sorted(used ^ declared.keys())}")
    body = _COMMENT.sub("", _pruned(source, frozenset(parts))).strip()
    return sa.text(_USED.sub(lambda bind: _cast(bind[1], declared[bind[1]]), body))


def _pruned(source: str, parts: frozenset[str]) -> str:
    """The source without the sections (`-- if a or b`, `-- unless a or b`, to `-- end`) that `parts` do not ask for."""
    kept: list[str] = []
    wanted = [True]
    for line in source.splitlines():
        condition = _CONDITION.fullmatch(line.strip())
        if condition:
            named = not parts.isdisjoint(condition[2].split(" or "))
            wanted.append(wanted[-1] and named == (condition[1] == "if"))
        elif line.strip() == "-- end":
            wanted.pop()
        elif wanted[-1]:
            kept.append(line)
    return "\n".join(kept)


def _cast(name: str, types: str) -> str:
    expression = f":{name}"
    for kind in types.split("::"):
        expression = f"CAST({expression} AS {kind})"
    return expression
