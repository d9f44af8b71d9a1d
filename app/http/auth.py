"""Authenticates requests, checks the scopes of their keys, and provides handlers with the services of their caller.

Every operation on a user's data depends on `Scope`, which returns the user's id. With AUTH=none the user is `local`.
With AUTH=local_token the request must send the data folder's token, and the user is `local` too. With AUTH=api_key it
must send a key or a token signed with one, and the user is the key's owner. The header is `Authorization: Bearer` or
`X-API-Key`. `bodies.StrictRoute` authenticates before it reads the body.

A response has the user's version in `X-Stepwell-Version`: the number of changes of the user's data that it includes. If
a client sends that header back, to any process, the response includes at least these changes.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from typing import Annotated

from cachetools import LRUCache
from fastapi import Depends, Header, Request
from fastapi.security import APIKeyHeader, HTTPBearer

from app import errors
from app.access import callers
from app.access.callers import Caller
from app.access.key_uses import KeyUses
from app.access.store.audit import LOCAL
from app.concurrency import offload
from app.concurrency.limiter import Limiter
from app.concurrency.single_flight import SingleFlight
from app.database.pools import ReadRoute
from app.runtime import local_token
from app.services import Services

_DESCRIPTION = "An API key, a token signed with one, or the local token."
BEARER = HTTPBearer(auto_error=False, description=_DESCRIPTION)
API_KEY = APIKeyHeader(name="X-API-Key", auto_error=False, description=_DESCRIPTION)
REQUIREMENT: list[dict[str, list[str]]] = [{BEARER.scheme_name: []}, {API_KEY.scheme_name: []}]
"""The `security` of an operation that needs either. No dependency declares it: FastAPI would resolve it twice."""
VERSION = "X-Stepwell-Version"
_VERSION_FORM = re.compile("^[0-9]{1,18}$")
LOCAL_USER = "local"
MAX_LOOKUPS = 4
MAX_GUESSES = 2
MAX_VALID_KEYS = 10_000
LOOKUP_TIMEOUT_S = 5.0
_GUESSES = b""
_LOCAL = Caller(LOCAL_USER, None, frozenset({"admin"}))


class KeyLookups:
    """Looks up keys in the database with bounded concurrency, so that guessed keys cannot occupy all connections.

    Requests with the same key share a lookup while it runs. All keys that have never been valid share MAX_GUESSES
    lookups, so that guesses do not delay other keys. A revoked key is rejected at once: results are not cached, except
    that a key for metrics alone, which reads no data, stays valid while the database is unavailable.
    """

    def __init__(self) -> None:
        self._flights: SingleFlight[bytes, Caller] = SingleFlight()
        self._valid: LRUCache[bytes, Caller] = LRUCache(MAX_VALID_KEYS)
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
        known = self._valid.get(digest)
        try:
            async with self._lookups.turn(digest if known else _GUESSES):
                self._valid[digest] = caller = await callers.identify(presented, db=services.db)
        except errors.DatabaseUnavailable:
            if known is None or known.scopes != {"metrics"}:
                raise
            return known
        except errors.Unauthorized:
            self._valid.pop(digest, None)
            raise
        return caller


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
            offload.set_user(caller.user_id)
            if (limit := request.app.state.rate_limit) is not None:
                limit.count(request, user=caller.user_id)
        sufficient = self.sufficient(request)
        if not _holds(caller, *sufficient):
            raise errors.Forbidden(f"This key lacks the scope `{sufficient[0]}`.")
        if caller.key_id is not None and not authenticated:
            uses: KeyUses = request.app.state.key_uses
            uses[caller.key_id, sufficient[0]] += 1
        return caller.user_id

    def sufficient(self, request: Request) -> tuple[str, ...]:
        """The scopes that suffice: a request needs one of them. Raises NotFound if its path names nothing."""
        return self._sufficient


class WriteScope(Scope):
    """The scope of operations that write. They accept an Idempotency-Key (see `idempotency`)."""

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
    """The scopes of operations that write and return stored data: they need `search` as well."""

    async def authenticate(self, request: Request) -> str:
        """The caller's user id, from the header fields. Raises what Scope raises."""
        user_id = await super().authenticate(request)
        require_search(request)
        return user_id


def actor(request: Request) -> str:
    """The actor in the audit log: the id of the request's key, or `local` if no key is needed."""
    caller: Caller = request.state.caller
    return caller.key_id or LOCAL


def may_read(request: Request) -> bool:
    """Whether the key of an authenticated request may read what is stored."""
    return _holds(request.state.caller, "search")


def require_search(request: Request) -> None:
    """Raises Forbidden unless the key of an authenticated request may read what is stored."""
    if not may_read(request):
        raise errors.Forbidden("This key lacks the scope `search`: the response shows what is stored.")


def _holds(caller: Caller, *sufficient: str) -> bool:
    """Whether the caller has one of these scopes; `admin` includes the others."""
    return not caller.scopes.isdisjoint((*sufficient, "admin"))


async def _identify(request: Request) -> Caller:
    if request.app.state.settings.auth == "none":
        return _LOCAL
    bearer = await BEARER(request)
    presented = bearer.credentials if bearer else await API_KEY(request)
    if not presented:
        raise errors.Unauthorized("Send a key or the local token as `Authorization: Bearer …` or `X-API-Key`.")
    if request.app.state.settings.auth == "local_token":
        local_token.check(presented, request.app.state.services.local_token)
        return _LOCAL
    lookups: KeyLookups = request.app.state.key_lookups
    return await lookups.caller(presented, request.app.state.services)


def required_version(request: Request) -> int:
    """The version that the client has seen; 0 without the header. Raises BadRequest."""
    sent = request.headers.get(VERSION)
    if sent is None:
        return 0
    if not _VERSION_FORM.fullmatch(sent):
        raise errors.BadRequest("Send the value of an earlier response unchanged: 1 to 18 digits.", field=VERSION)
    return int(sent)


def services(request: Request, *, only_reads: bool) -> Services:
    """The services for an authenticated request, restricted to what its caller sees. Raises BadRequest.

    A request that only reads may use a standby. A request that writes also reads on the primary, because its reads
    decide what it writes.
    """
    opened: Services = request.app.state.services
    route: ReadRoute | None = getattr(request.state, "read_route", None)
    if route is None:
        request.state.read_route = route = opened.db.reads.new(required=required_version(request))
    found = opened.for_request(route, only_reads=only_reads)
    caller: Caller = request.state.caller
    return found if caller.restriction is None else found.restricted(caller.restriction)


async def _writing(request: Request) -> Services:
    """A dependency. It is `async` because a plain function would run in a thread."""
    return services(request, only_reads=False)


async def _reading(request: Request) -> Services:
    return services(request, only_reads=True)


Searcher = Annotated[str, Depends(Scope("search"))]
Writer = Annotated[str, Depends(WriteScope("write"))]
Changer = Annotated[str, Depends(ChangeScope("write"))]
Use = Annotated[Services, Depends(_writing)]
ReadUse = Annotated[Services, Depends(_reading)]
