"""Holds the opened database, models and options that use cases take as one value."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

from app import errors
from app.database.filter_types import Restriction
from app.database.pools import ReadRoute
from app.database.transactions import Database
from app.fetching.types import AllowedHosts
from app.fetching.web_fetcher import WebFetcher
from app.models import protocols
from app.models.protocols import Embedder, Llm, Reranker
from app.models.remote_calls import RemoteCalls
from app.parsing.process import ParseLimits
from app.text.names import metadata_names

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Budget:
    """Time limits in seconds: of the query embedding, the search, a language model's call, and a re-ranker's call."""

    embed_s: float = 3.0
    whole_s: float = 10.0
    llm_s: float = 4.0
    rerank_s: float = 2.0

    @asynccontextmanager
    async def deadline(self) -> AsyncIterator[None]:
        """Cancel the block after `whole_s`. Raises DeadlineExceeded."""
        try:
            async with asyncio.timeout(self.whole_s):
                yield
        except TimeoutError as error:
            raise errors.DeadlineExceeded("The search did not finish within its time limit.") from error


@dataclass(frozen=True, slots=True)
class ChunkingOptions:
    """The size and the overlap of chunks in tokens, and the metadata keys whose values name entities.

    With `llm_entities` the language model is asked for the entities of a document once it is stored. `language` is used
    for documents that name no language; if it is None, their language is detected.
    """

    target: int = 160
    overlap: int = 24
    entity_keys: tuple[str, ...] = metadata_names.KEYS
    llm_entities: bool = False
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Services:
    """A database, the providers, and the limits they work under.

    `owner` is an embedded database as its owner sees it (all users' rows), for background work that no request asks
    for. `is_local`: the services are those of a command on a database of this machine, whose user owns its files.
    Without `llm` hops are expanded from stored names, and without `reranker` only cosine re-ranking works.
    `expected_schema` and `target_schema` are the present model and the one to which the vectors can be switched.
    `tools` are the optional tools that agents are offered. `local_token` is what requests present under
    AUTH=local_token; empty otherwise. `pages` fetches web pages; requests may name pages of `fetch_hosts` only.
    """

    db: Database
    embedder: Embedder
    owner: Database | None = None
    is_local: bool = False
    chunking_options: ChunkingOptions = field(default_factory=ChunkingOptions)
    parse_limits: ParseLimits = field(default_factory=ParseLimits)
    budget: Budget = field(default_factory=Budget)
    expected_schema: tuple[str, int] = ("", 0)
    target_schema: tuple[str, int] | None = None
    llm: Llm | None = None
    reranker: Reranker | None = None
    pages: WebFetcher | None = None
    fetch_hosts: AllowedHosts = field(default_factory=AllowedHosts)
    tools: frozenset[str] = frozenset()
    local_token: str = ""
    options: Mapping[type, object] = field(default_factory=dict)
    states: dict[type, object] = field(default_factory=dict)

    def for_request(self, route: ReadRoute, *, only_reads: bool) -> Services:
        """The services with a database whose transactions follow the route of a request."""
        return replace(self, db=self.db.for_request(route, only_reads=only_reads))

    def restricted(self, restriction: Restriction) -> Services:
        """The services for a caller who does not see everything of the user."""
        return replace(self, db=self.db.restricted(restriction))

    def option(self, kind: type[T]) -> T:
        """The options of this type that a capability has made from the settings, or else the type's defaults."""
        return cast(T, self.options[kind]) if kind in self.options else kind()

    def opened(self, kind: type[T]) -> T | None:
        """The object of this type that a capability has opened, see `Capability.opens`; None if it has opened none."""
        return cast("T | None", self.states.get(kind))

    def state(self, kind: type[T]) -> T:
        """The object of this type that a capability keeps in this process, such as a cache. It is made on first use."""
        if kind not in self.states:
            self.states[kind] = kind()
        return cast(T, self.states[kind])

    @property
    def whole(self) -> Services:
        """The services without the caller's restriction, for work on all of the user's data."""
        return self if self.db.audience is None else replace(self, db=self.db.whole)

    @property
    def remote_calls(self) -> list[RemoteCalls]:
        """The calls of the remote models."""
        found = map(protocols.calls_of, (self.embedder, self.llm, self.reranker))
        return [calls for calls in found if calls is not None]
