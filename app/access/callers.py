"""Tells who presents a key or a token, and what they may do and see."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache, reduce

from app import errors
from app.access import keys, tokens
from app.access.store.keys import Verified
from app.access.tokens import Claims
from app.database import filters
from app.database.filter_types import Filters, Restriction
from app.database.transactions import Database
from app.requests.filter_models import SearchFilters
from app.text import unstorable_json

MAX_REMEMBERED = 1_000
"""Most restrictions that a process remembers."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated sender of a request; `key_id` is None if no key is needed.

    `restriction` limits what the sender sees; None if the sender sees everything that the user has stored.
    """

    user_id: str
    key_id: str | None
    scopes: frozenset[str]
    restriction: Restriction | None = None


async def identify(presented: str, *, db: Database) -> Caller:
    """Who presents a key, or a token that is signed with one. Raises Unauthorized, Forbidden, DatabaseUnavailable."""
    if tokens.is_token(presented):
        key, claims = await keys.verify_token(presented, db=db)
        # A token may have the scopes of its key that are in tokens.SCOPES. If it names none, it has them all.
        granted = set(tokens.SCOPES) if "admin" in key.scopes else set(tokens.SCOPES) & set(key.scopes)
        if set(claims.scopes) - granted:
            raise errors.Unauthorized("The key of this token lacks one of the token's scopes.")
        return Caller(key.user_id, key.key_id, frozenset(claims.scopes or granted), _restrict(key, claims))
    key = await keys.verify(presented, db=db)
    return Caller(key.user_id, key.key_id, frozenset(key.scopes), _restrict(key, None))


def _restrict(key: Verified, claims: Claims | None) -> Restriction | None:
    """The restriction by the filters of a key and of the token signed with it; None if neither has filters.

    Raises Unauthorized if the token asks for more than the key shows, or has filters that cannot be read. Raises
    Forbidden if the filters of the key cannot be read.
    """
    own, entities = (claims.filters or None, claims.entities) if claims else (None, None)
    if entities and key.filters is not None and not key.shows_entities:
        raise errors.Unauthorized("The key of this token does not show descriptions and facts of entities.")
    both = tuple(json.dumps(each, sort_keys=True) for each in (key.filters, own) if each is not None)
    if not both:
        if entities is False:
            raise errors.Unauthorized("Only a token with filters has the claim `entities`.")
        return None
    try:
        return _restriction(both, bool(entities) if own or entities is not None else key.shows_entities)
    except (ValueError, errors.BadRequest) as error:
        if not own:  # stored by a later version
            raise errors.Forbidden("This version cannot read the filters of this key.") from error
        raise errors.Unauthorized("The `filters` of this token are not filters of a search.") from error


@lru_cache(MAX_REMEMBERED)
def _restriction(given: tuple[str, ...], shows_entities: bool) -> Restriction:
    """The restriction to what passes one or two filters, which are JSON. Raises ValueError, BadRequest."""
    return filters.restriction(reduce(filters.both, map(_read_filters, given)), shows_entities=shows_entities)


def _read_filters(given: str) -> Filters:
    """Filters of a token or a stored key. Raises ValueError for what a search does not take, and for no condition."""
    if any(unstorable_json.find_unusable(json.loads(given))):
        raise ValueError("a value that Postgres cannot store")
    found = SearchFilters.model_validate_json(given).shape()
    if not found:
        raise ValueError("no condition")
    return found
