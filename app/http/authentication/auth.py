"""Authenticates requests and checks the scopes of their keys.

`Scope` is the one dependency of every operation on a user's data. With AUTH=none it returns the user `local`; with
AUTH=local_token the same, for whoever sends the data folder's token; with AUTH=api_key the owner of the key, or of the
key that a token is signed with, in `Authorization: Bearer` or `X-API-Key`. `bodies.StrictRoute` authenticates before it
reads the body.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from cachetools import LRUCache
from fastapi import Depends, Header, Request

from app import errors
from app.access import keys, tokens
from app.access.audit import KeyUses
from app.access.store.audit import LOCAL
from app.access.store.keys import Verified
from app.access.tokens import SCOPES, Claims
from app.concurrency import offload
from app.concurrency.limiter import Limiter
from app.concurrency.single_flight import SingleFlight
from app.database.filter_types import Filters, Restriction
from app.http.authentication import schemes, versions
from app.requests.filter_models import SearchFilters
from app.runtime import local_token
from app.services import Services
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


LOCAL_USER = "local"
MAX_LOOKUPS = 4
MAX_GUESSES = 2
MAX_VALID_KEYS = 10_000
LOOKUP_TIMEOUT_S = 5.0
_GUESSES = b""


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated sender of a request; `key_id` is None if no key is needed.

    `restriction` is what the sender sees; None if that is everything of the user.
    """

    user_id: str
    key_id: str | None
    scopes: frozenset[str]
    restriction: Restriction | None = None

    def holds(self, *sufficient: str) -> bool:
        """Whether the key has one of these scopes; `admin` includes the others."""
        return not self.scopes.isdisjoint((*sufficient, "admin"))


_LOCAL = Caller(LOCAL_USER, None, frozenset({"admin"}))


async def services(request: Request) -> Services:
    """The opened services of the application. It is `async` because a plain function would run in a thread."""
    opened: Services = request.app.state.services
    return opened


class KeyLookups:
    """Looks up keys in the database with bounded concurrency, so that guessed keys cannot occupy all connections.

    Requests with the same key share a lookup while it runs. Keys that have never been valid count as one user, who has
    MAX_GUESSES lookups at most, so that guesses do not delay other keys. No result is cached: a revoked key is rejected
    at once.
    """

    def __init__(self) -> None:
        self._flights: SingleFlight[bytes, Caller] = SingleFlight()
        self._were_valid: LRUCache[bytes, None] = LRUCache(MAX_VALID_KEYS)
        self._lookups = Limiter(MAX_LOOKUPS, of_user=MAX_GUESSES)

    async def caller(self, presented: str, services: Services) -> Caller:
        """The owner of a key. Raises Unauthorized, DatabaseUnavailable."""
        digest = hashlib.sha256(presented.encode()).digest()
        try:
            async with asyncio.timeout(LOOKUP_TIMEOUT_S):
                return await self._flights.join(digest, lambda: self._look_up(digest, presented, services))
        except TimeoutError as error:
            raise errors.DatabaseUnavailable("The API key could not be looked up in time.") from error

    async def _look_up(self, digest: bytes, presented: str, services: Services) -> Caller:
        async with self._lookups.turn(digest if digest in self._were_valid else _GUESSES):
            caller = await _caller(presented, services)
        self._were_valid[digest] = None
        return caller


async def _caller(presented: str, services: Services) -> Caller:
    """The sender that presents a key, or a token that is signed with one. Raises Unauthorized, DatabaseUnavailable."""
    if not tokens.is_token(presented):
        key = await keys.verify(presented, db=services.db)
        return Caller(key.user_id, key.key_id, frozenset(key.scopes), of_key(key))
    key, claims = await keys.verify_token(presented, db=services.db)
    return Caller(key.user_id, key.key_id, scopes_of_token(key, claims), of_token(key, claims))


class Scope:
    """A dependency that requires a key with one of these scopes; `admin` includes the others."""

    def __init__(self, *sufficient: str) -> None:
        self._sufficient = sufficient

    async def __call__(self, request: Request) -> str:
        """The caller's user id."""
        return await self.authenticate(request)

    async def authenticate(self, request: Request) -> str:
        """The caller's user id, from the header fields. Raises Unauthorized, Forbidden, `rate_limited`."""
        authenticated: Caller | None = getattr(request.state, "caller", None)
        caller = authenticated or await _identify(request)
        if not authenticated:
            request.state.caller = caller
            offload.work_for(caller.user_id)
            if (limit := request.app.state.rate_limit) is not None:
                limit.count(request, user=caller.user_id)
        sufficient = self.sufficient(request)
        if not caller.holds(*sufficient):
            raise errors.Forbidden(f"This key lacks the scope `{sufficient[0]}`.")
        if caller.key_id is not None and not authenticated:
            uses: KeyUses = request.app.state.key_uses
            uses.add(caller.key_id, sufficient[0])
        return caller.user_id

    def sufficient(self, request: Request) -> tuple[str, ...]:
        """The scopes of which a request needs one. Raises NotFound if its path names nothing."""
        return self._sufficient


class WriteScope(Scope):
    """The scope of operations that write, which take an Idempotency-Key (see `idempotency`)."""

    async def __call__(
        self,
        request: Request,
        idempotency_key: Annotated[
            str | None,
            Header(
                description="Key of your choice, new for each write: if the same request is sent again with it within "
                "a day, its first response is returned and nothing is done again.",
                max_length=255,
            ),
        ] = None,
    ) -> str:
        """The caller's user id; the parameter declares the header field in the OpenAPI document."""
        return await self.authenticate(request)


class ChangeScope(WriteScope):
    """The scopes of operations that write and whose response shows what is stored: they need `search` as well."""

    async def authenticate(self, request: Request) -> str:
        """The caller's user id, from the header fields. Raises what Scope raises."""
        user_id = await super().authenticate(request)
        require_search(request)
        return user_id


def actor(request: Request) -> str:
    """Who is named in the audit log: the id of the key of an authenticated request, `local` where none is needed."""
    caller: Caller = request.state.caller
    return caller.key_id or LOCAL


def require_search(request: Request) -> None:
    """Raises Forbidden unless the key of an authenticated request may read what is stored."""
    caller: Caller = request.state.caller
    if not caller.holds("search"):
        raise errors.Forbidden("This key lacks the scope `search`: the response shows what is stored.")


async def _identify(request: Request) -> Caller:
    if request.app.state.settings.auth == "none":
        return _LOCAL
    bearer = await schemes.BEARER(request)
    presented = bearer.credentials if bearer else await schemes.API_KEY(request)
    if not presented:
        raise errors.Unauthorized("Send a key or the local token as `Authorization: Bearer …` or `X-API-Key`.")
    if request.app.state.settings.auth == "local_token":
        local_token.check(presented, request.app.state.services.local_token)
        return _LOCAL
    lookups: KeyLookups = request.app.state.key_lookups
    return await lookups.caller(presented, request.app.state.services)


Searcher = Annotated[str, Depends(Scope("search"))]
Writer = Annotated[str, Depends(WriteScope("write"))]
Changer = Annotated[str, Depends(ChangeScope("write"))]
Use = Annotated[Services, Depends(versions.writing)]
ReadUse = Annotated[Services, Depends(versions.reading)]
Opened = Annotated[Services, Depends(services)]
