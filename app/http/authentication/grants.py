"""Reads what a key or a token grants: which documents its sender sees, and the scopes of a token."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from app import errors
from app.access import keys
from app.access.keys import Verified
from app.access.tokens import SCOPES, Claims
from app.database.filter_types import Filters
from app.database.restrictions import Restriction
from app.requests.filter_models import SearchFilters
from app.text import json_values

MAX_REMEMBERED = 1_000


def of_key(key: Verified) -> Restriction | None:
    """What the holder of a key sees; None: everything. Raises Forbidden if the stored filters cannot be read."""
    if key.filters is None:
        return None
    try:
        return _restriction(_text(key.filters), None, key.shows_entities)
    except (ValueError, errors.BadRequest) as error:  # stored by a later version: nothing must be shown by mistake
        raise errors.Forbidden("This version cannot read the filters of this key.") from error


def of_token(key: Verified, claims: Claims) -> Restriction | None:
    """What the holder of a token sees: what its key does, and only what passes the token's own filters.

    Raises Unauthorized if these cannot be read, or if the token asks for more than the key shows.
    """
    inherited = of_key(key)
    if claims.entities and inherited is not None and not inherited.shows_entities:
        raise errors.Unauthorized("The key of this token does not show descriptions and facts of entities.")
    if claims.filters is None:
        if claims.entities is False and inherited is None:
            raise errors.Unauthorized("Only a token with filters has the claim `entities`.")
        if claims.entities is False and key.filters is not None:
            return _restriction(_text(key.filters), None, False)
        return inherited
    try:
        own = None if key.filters is None else _text(key.filters)
        return _restriction(_text(claims.filters), own, bool(claims.entities))
    except (ValueError, errors.BadRequest) as error:
        raise errors.Unauthorized("The `filters` of this token are not filters of a search.") from error


def scopes_of_token(key: Verified, claims: Claims) -> frozenset[str]:
    """The scopes of a token, by default those of its key that a token may have. Raises Unauthorized for others."""
    granted = set(SCOPES) if "admin" in key.scopes else set(SCOPES) & set(key.scopes)
    if claims.scopes is not None and set(claims.scopes) - granted:
        raise errors.Unauthorized("The key of this token lacks one of the token's scopes.")
    return frozenset(granted if claims.scopes is None else claims.scopes)


def _text(given: Mapping[str, Any]) -> str:
    return json.dumps(given, sort_keys=True)


@lru_cache(MAX_REMEMBERED)
def _restriction(given: str, other: str | None, shows_entities: bool) -> Restriction:
    """The restriction to what passes both filters, which are JSON."""
    others = None if other is None else _filters(other)
    return keys.restriction(_filters(given), others, shows_entities=shows_entities)


def _filters(given: str) -> Filters:
    """Filters that a token or a stored key has as JSON. Raises ValueError for what a request may not contain."""
    if any(json_values.find_unusable(json.loads(given))):
        raise ValueError("a value that Postgres cannot store")
    found = SearchFilters.model_validate_json(given).shape()
    if not found:
        raise ValueError("no condition")
    return found
