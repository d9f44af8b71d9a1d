"""Loads named SQL statements from the files beside the modules that run them, and casts every bind.

A file begins with comments: what the statement does, its columns, and one declaration a line.

    -- :name type  meaning       a bind; each use becomes CAST(:name AS type), `text::int8range` two casts
    -- :name? type  meaning      a bind, and a part of the same name that uses it
    -- part name  meaning        a part of the statement, left out unless it is asked for
    -- $name  meaning            an argument, in fragments only

The bind `user_id`, a text, is the owner of the rows in every statement and need not be declared.
Lines between `-- if a or b` (or `-- unless a or b`) and `-- end` belong to the statement if one of the parts is (or
none of them is) asked for. `{{name argument, argument}}` includes `name.sql` from a folder `fragments`; its binds and
parts become the statement's. The tests of this module refuse a missing or unused declaration, an unknown part and a
section without end in any statement of the application.

A statement of a few lines is in the module that runs it, as the value of `inline`; it declares a bind at one of its
uses, as `:name::type`.
A long statement is composed: `ctes/name.sql` has the CTEs of one step, separated by commas.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import sqlalchemy as sa

Record = TypeVar("Record")
Kind = Literal["statements", "ctes", "fragments"]
FOLDER = Path(__file__).parents[1]
MOST_KEPT = 1_024
"""Most statements that a process keeps. Filters have thousands of combinations of parts, and each is some 10 kB."""
NAMES: weakref.WeakKeyDictionary[sa.Executable, str] = weakref.WeakKeyDictionary()
"""The names of the statements that are in files."""
_BIND = re.compile(r"-- :(\w+)(\??) ([\w\[\]:]+)(?: |$)")
_TYPED = re.compile(r"(?<![:\w]):(\w+)::((?:\w|\[\]|::)+)")
_PART = re.compile(r"-- part (\w+)(?: |$)")
_ARGUMENT = re.compile(r"-- \$(\w+)(?: |$)")
_USED_BIND = re.compile(r"(?<![:\w]):(\w+)")
_USED_ARGUMENT = re.compile(r"\$([a-z]\w*)")
_INCLUDE = re.compile(r"\{\{(\w+)(?: ([^{}]*))?\}\}")
_DIRECTIVE = re.compile(r"-- (?:(if|unless) (\w+(?: or \w+)*)|end)")


@dataclass(frozen=True, slots=True)
class StatementSource:
    """A statement or fragment as written: its declarations, and its lines with fragments included.

    `ctes` has the lines of the files of CTEs in a composed statement.
    """

    binds: Mapping[str, str]
    parts: frozenset[str]
    arguments: tuple[str, ...]
    lines: tuple[str, ...]
    ctes: tuple[tuple[str, ...], ...] = ()

    def compiled(self, *parts: str) -> sa.TextClause:
        """The statement with these parts. Raises ValueError for a part that it does not declare."""
        unknown = set(parts) - self.parts
        if unknown:
            raise ValueError(f"unknown parts: {sorted(unknown)}")
        *ctes, own = ("\n".join(_select_lines(lines, frozenset(parts))).strip() for lines in (*self.ctes, self.lines))
        kept = ",\n".join(cte for cte in ctes if cte)
        body = f"WITH\n{kept}\n{own}" if kept else own
        return sa.text(_USED_BIND.sub(lambda bind: _cast(bind[0], self.binds[bind[1]]), body))


@cache
def files(kind: Kind = "statements") -> Mapping[str, Path]:
    """The files of one kind by name. Raises ValueError if two files have the same name."""
    found: dict[str, Path] = {}
    for path in sorted(FOLDER.rglob("*.sql")):
        folder = path.parent.name
        is_of_kind = (folder if folder in get_args(Kind) else "statements") == kind
        if not is_of_kind or FOLDER / "database" / "migrations" in path.parents:
            continue
        if path.stem in found:
            raise ValueError(f"two files have the name {path.name}: {found[path.stem]} and {path}")
        found[path.stem] = path
    return found


@lru_cache(MOST_KEPT)
def statement(name: str | tuple[str, ...], *parts: str) -> sa.TextClause:
    """The statement in `<name>.sql` with these parts. Raises ValueError for a part that it does not declare.

    The name of a composed statement comes last in a tuple, after the names of its files of CTEs, in order.
    """
    made = load(name).compiled(*parts)
    NAMES[made] = name if isinstance(name, str) else name[-1]
    return made


@cache
def load(name: str | tuple[str, ...]) -> StatementSource:
    """The source of a statement; see `statement`. Raises ValueError for a bind of two types."""
    *names, last = (name,) if isinstance(name, str) else name
    ctes = [parse(files("ctes")[cte].read_text(encoding="utf-8")) for cte in names]
    own = parse(files()[last].read_text(encoding="utf-8"))
    binds: dict[str, str] = {}
    for source in (*ctes, own):
        _declare(binds, source.binds)
    parts = own.parts.union(*(cte.parts for cte in ctes))
    return replace(own, binds=binds, parts=parts, ctes=tuple(cte.lines for cte in ctes))


def inline(source: str) -> sa.TextClause:
    """A statement of a few lines in the module that runs it."""
    return parse(source).compiled()


def parse(source: str) -> StatementSource:
    """The declarations and lines of the text of a statement or fragment, with its fragments."""
    lines = _TYPED.sub(r":\1", source).splitlines()
    begin = next((place for place, line in enumerate(lines) if _directive(line) or not _is_comment(line)), len(lines))
    header, body = lines[:begin], lines[begin:]
    declarations = [match for line in header if (match := _BIND.match(line))]
    binds = {**dict(_TYPED.findall(source)), **{match[1]: match[3] for match in declarations}}
    parts = {match[1] for match in declarations if match[2]}
    parts |= {match[1] for line in header if (match := _PART.match(line))}
    written = []
    for line in body:
        included = line if _is_comment(line) else _INCLUDE.sub(lambda call: _include(call, binds, parts), line)
        written += included.splitlines()
    arguments = tuple(match[1] for line in header if (match := _ARGUMENT.match(line)))
    if any("user_id" in _USED_BIND.findall(line) for line in written if not _is_comment(line)):
        _declare(binds, {"user_id": "text"})
    return StatementSource(binds, frozenset(parts), arguments, tuple(written))


def among(column: sa.Column[Any], values: Iterable[Any]) -> sa.ColumnElement[bool]:
    """The condition that a column has one of the values. They are one bind, an array."""
    return column == sa.any_(sa.literal(list(values), sa.ARRAY(column.type)))


def columns(records: Sequence[Any], *names: str) -> dict[str, list[Any]]:
    """The values of fields of records, by field, as the binds of a statement that unnests them."""
    return {name: [getattr(one, name) for one in records] for name in names}


def read_records(kind: type[Record], rows: Sequence[sa.Row[Any]]) -> list[Record]:
    """Converts rows to instances of a dataclass. The columns have the names of its fields, in any order.

    The columns are looked up once for all rows. This takes a third of the time of a look-up for each row.
    """
    if not rows:
        return []
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # it is a dataclass
    values = itemgetter(*map(rows[0]._fields.index, names))
    return [kind(*values(row)) for row in rows]


def _select_lines(lines: tuple[str, ...], parts: frozenset[str]) -> Iterator[str]:
    """The lines of the sections that `parts` ask for, without comments."""
    wanted = [True]
    for line in lines:
        directive = _directive(line)
        if directive is None:
            if wanted[-1] and not _is_comment(line):
                yield line
        elif directive[1] is None:
            wanted.pop()
        else:
            named = not parts.isdisjoint(directive[2].split(" or "))
            wanted.append(wanted[-1] and named == (directive[1] == "if"))


def _include(call: re.Match[str], binds: dict[str, str], parts: set[str]) -> str:
    """The text of a fragment with its arguments filled in; its binds and parts are added to `binds` and `parts`."""
    name, given = call[1], [value.strip() for value in (call[2] or "").split(",") if value.strip()]
    fragment = parse(files("fragments")[name].read_text(encoding="utf-8"))
    _declare(binds, fragment.binds)
    parts |= fragment.parts
    values = dict(zip(fragment.arguments, given, strict=True))
    lines = [line for line in fragment.lines if _directive(line) or not _is_comment(line)]
    return _USED_ARGUMENT.sub(lambda argument: values[argument[1]], "\n".join(lines))


def _declare(binds: dict[str, str], more: Mapping[str, str]) -> None:
    """Add `more` to `binds`, both by name. Raises ValueError for a bind that has another type already."""
    for bind, kind in more.items():
        if binds.setdefault(bind, kind) != kind:
            raise ValueError(f"the bind {bind} is declared as {binds[bind]} and as {kind}")


def _directive(line: str) -> re.Match[str] | None:
    """The directive in a line; None for SQL and comments."""
    return _DIRECTIVE.fullmatch(line.strip())


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("--")


def _cast(expression: str, types: str) -> str:
    for kind in types.split("::"):
        expression = f"CAST({expression} AS {kind})"
    return expression
