"""Refuses operators of other systems in filters, which would be read as keys that no document has."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice

from app import errors
from app.database import foreign_operators, sql
from app.database.filter_types import Filters
from app.database.filters import filters
from app.database.foreign_operators import ForeignOperator
from app.database.transactions import Reading
from app.text import field_paths

MAX_CHECKED = 20
"""Keys of one request that are looked up; the others are taken as they are."""


async def check(db: Reading, given: Filters) -> None:
    """Raises BadRequest for a key such as `eq` in an object, unless a document that the caller sees has that key.

    Raises Forbidden if it is in the filters of the caller's key or token. Filters without such keys read nothing.
    """
    if (unknown := await _first_unknown(db, foreign_operators.find(given))) is not None:
        path = field_paths.path_of(("filters", *unknown.path))
        raise errors.BadRequest(f"This is no operator, and no document has such a key: {unknown.advice}.", field=path)
    if db.restriction is None:
        return
    if (unknown := await _first_unknown(db, foreign_operators.find(db.restriction.filters))) is not None:
        path = field_paths.path_of(unknown.path)
        raise errors.Forbidden(f"The filters of this key or token have no such operator ({path}): {unknown.advice}.")


async def _first_unknown(db: Reading, found: Iterable[ForeignOperator]) -> ForeignOperator | None:
    """The first of the keys that no document has which the caller sees."""
    by_path = {_json_path(one): one for one in islice(found, MAX_CHECKED)}
    if not by_path:
        return None
    visible = filters.binds(filters.visible(db, Filters()))
    binds = {"user_id": db.user_id, "paths": list(by_path), **visible}
    absent = set(await db.scalars(sql.statement("nested_keys", *visible), binds))
    return next((one for path, one in by_path.items() if path in absent), None)


def _json_path(one: ForeignOperator) -> str:
    return "strict $" + "".join(f".{json.dumps(key)}" for key in one.keys)
