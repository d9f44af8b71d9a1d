"""An answer contains one version of each document, whenever the document is replaced during the search."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import linking
import pytest
from harness import Tenant
from requests_of import search_request

from app import errors
from app.database import transactions
from app.database.filter_types import DocumentFilter
from app.database.pooled_connection import Connection
from app.documents import operations as documents
from app.multihop import multihop
from app.query.search_request import SearchRequest
from app.query.search_types import Answer
from app.relevance import calibration_store
from app.search import replaced_chunks, search
from app.search.steps.synonyms import synonyms
from app.services import Budget, ChunkingOptions

Change = Callable[[], Awaitable[object]]
QUESTION = "what did Ana Torres renew on the pilot boat"
NOTES = {
    "ropes": "Ropes of the pilot boat were renewed after the storm.",
    "lamps": "Ben Okafor renewed the lamps of the pilot boat.",
    "storm": "The storm took the old ropes, says Ana Torres.",
}


def log_of(version: int) -> str:
    """The document that is replaced; every section is a chunk, and each version has another number of them."""
    section = "# Entry {n}\n\nAna Torres renewed part {n} of the pilot boat in version {v} of this log.\n\n"
    return "".join(section.format(n=number, v=version) for number in range(1, 4 + version))


@dataclass(slots=True)
class Fleet:
    """A user's notes, and the same user on other connections."""

    tenant: Tenant
    other: Tenant

    version: int = 1

    async def replace(self) -> None:
        """Store the other version of the log."""
        self.version = 3 - self.version
        await self.other.add(log_of(self.version), "log")

    async def delete(self) -> None:
        """Delete the log, if it is stored."""
        only = DocumentFilter("log")
        for document in await documents.page(self.other.user_id, db=self.other.db, limit=1, after=None, only=only):
            await documents.delete(document.document_id, self.other.user_id, db=self.other.db)

    def query(self, **fields: Any) -> SearchRequest:
        """The question about the log."""
        return search_request(QUESTION, limit=fields.pop("limit", 12), collapse="off", **fields)

    async def search(self, **fields: Any) -> Answer:
        """Ask the question."""
        return await search.run(self.query(**fields), self.tenant.user_id, self.tenant.services())

    async def multihop(self, **hops: Any) -> Answer:
        """Ask the question over several hops."""
        return await multihop.run(self.query(**hops), self.tenant.user_id, self.tenant.services())


@pytest.fixture
async def fleet(database: transactions.Database, address: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fleet]:
    # A change that an Interruption runs counts towards the time limit of the statement.
    monkeypatch.setattr(Connection, "limit_s", 60.0)
    options = ChunkingOptions(target=24, overlap=0)
    tenant = Tenant(database, chunking_options=options)
    await tenant.add_all({"log": log_of(1), **NOTES})
    await linking.add_entities(tenant, linking.person("Ana Torres"))
    writer = transactions.connect(address.service_dsn, pool_size=1, pool_wait_s=30.0)
    yield Fleet(tenant, Tenant(writer, user_id=tenant.user_id, chunking_options=options))
    await writer.close()


@dataclass(slots=True)
class Interruption:
    """Runs a change before one of the statements of a connection pool, counted from 1."""

    change: Change
    before: int
    count: int = 0

    async def count_one(self) -> None:
        """Count a statement; run the change before the chosen one."""
        self.count += 1
        if self.count == self.before:
            await self.change()

    @contextmanager
    def of(self, database: transactions.Database) -> Iterator[Self]:
        """Count the statements of a database."""
        execute = Connection.execute

        async def interrupted(connection: Connection, *call: Any) -> Any:
            if connection.engine is database.pool.engine:
                await self.count_one()
            return await execute(connection, *call)

        with pytest.MonkeyPatch.context() as patching:
            patching.setattr(Connection, "execute", interrupted)
            yield self


async def interrupted(fleet: Fleet, ask: Callable[[], Awaitable[Answer]]) -> AsyncIterator[Answer]:
    """The answers to searches in which the log is replaced before the first statement, before the second one, …"""
    before, last = 0, 1
    while before < last:
        before += 1
        with Interruption(fleet.replace, before).of(fleet.tenant.db) as interruption:
            yield await ask()
        last = interruption.count


def log_versions(answer: Answer) -> set[str]:
    """The versions of the log in the hits."""
    contents = [hit.candidate.content for hit in answer.hits if hit.candidate.uri == "log"]
    return {found for content in contents for found in re.findall(r"in version (\d)", content)}


@pytest.mark.parametrize("options", [{}, {"rerank": "cosine", "mmr": True}, {"mode": "lexical"}])
async def test_an_answer_contains_one_version_whichever_statement_the_replacement_precedes(fleet, options) -> None:
    async for answer in interrupted(fleet, lambda: fleet.search(**options)):
        assert len(log_versions(answer)) == 1


async def test_whichever_statement_loses_the_connection_the_read_is_repeated(fleet: Fleet) -> None:
    async def lose() -> None:
        raise errors.ConnectionLost("The connection was lost.")

    user_id, database = fleet.tenant.user_id, fleet.tenant.db
    reads: list[Callable[[], Awaitable[object]]] = [
        lambda: fleet.tenant.ask("ropes of the pilot -boat", rerank="cosine", detail="compact"),
        lambda: synonyms.get(user_id, db=database),
        lambda: calibration_store.get(user_id, db=database),
    ]
    for read in reads:
        before, last = 0, 1
        while before < last:
            before += 1
            with Interruption(lose, before).of(database) as interruption:
                await read()
            last = interruption.count


@pytest.mark.parametrize("merge", ["linked", "classic"])
async def test_a_multi_hop_answer_contains_one_version(fleet: Fleet, merge: Any) -> None:
    async for answer in interrupted(fleet, lambda: fleet.multihop(max_hops=3, merge=merge)):
        assert len(log_versions(answer)) <= 1
        assert _sources(answer) <= {hit.candidate.chunk_id for hit in answer.hits}


def _sources(answer: Answer) -> set[Any]:
    return {hit.via.source_chunk_id for hit in answer.hits if hit.via is not None} - {None}


@dataclass(slots=True)
class ChangingReranker:
    """A re-ranker that changes the stored documents before it responds."""

    change: Change

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """Scores in the order given."""
        await self.change()
        return [1.0 - place / 100 for place in range(len(passages))]


async def reranked(fleet: Fleet, change: Change) -> Answer:
    """The answer for which the re-ranker takes as long as the change."""
    services = fleet.tenant.services(reranker=ChangingReranker(change), budget=Budget(whole_s=60.0, rerank_s=60.0))
    return await search.run(fleet.query(rerank="provider"), fleet.tenant.user_id, services)


async def test_chunks_of_a_document_that_is_replaced_or_deleted_during_reranking_are_dropped(fleet: Fleet) -> None:
    for change in (fleet.replace, fleet.delete):
        answer = await reranked(fleet, change)
        assert {hit.candidate.uri for hit in answer.hits} == set(NOTES)


async def test_chunks_that_a_replacement_keeps_stay_in_the_answer(fleet: Fleet) -> None:
    async def append() -> None:
        await fleet.other.add(log_of(1) + "# Entry 9\n\nNothing was renewed here.\n", "log")

    answer = await reranked(fleet, append)
    assert log_versions(answer) == {"1"}


async def test_a_chunk_that_is_gone_stays_out_if_the_connection_is_lost_after_that_was_found(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    find, found = replaced_chunks.find, []

    async def then_lose(*given: Any) -> frozenset[Any]:
        found.append(await find(*given))
        if len(found) == 1:
            raise errors.ConnectionLost("The connection was lost.")
        return found[-1]

    monkeypatch.setattr(replaced_chunks, "find", then_lose)
    answer = await reranked(fleet, fleet.delete)
    assert {hit.candidate.uri for hit in answer.hits} == set(NOTES)
    assert found[0] == found[1] != frozenset()
