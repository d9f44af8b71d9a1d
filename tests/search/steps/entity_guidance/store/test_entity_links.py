"""The links of an entity are exact for candidates, and sampled by document if it has more mentions than are read."""

import math
from uuid import NAMESPACE_OID, UUID, uuid4, uuid5

import hybrid
import pytest
import sqlalchemy as sa

from app.database.transactions import Database
from app.entities import operations as entities
from app.entities.store import mentions
from app.entities.store.mentions import Mention
from app.entities.types import EntityDraft
from app.query.search_types import EntityMatch
from app.search.steps.entity_guidance import store
from app.search.steps.entity_guidance.store import EntityLinks
from benchmarks.fake_embedder import FakeEmbedder

CHUNKS = 300


async def _nested_teams(database: Database, user: str, member: UUID, embedder: FakeEmbedder) -> EntityMatch:
    """A team whose only member is a team with the given member."""
    for name in ("Quayside", "Harbour"):
        draft = EntityDraft("team", name, members=(member,))
        (team,) = await entities.add([draft], user, db=database, embedder=embedder)
        member = team.entity_id
    return EntityMatch(member, "Harbour", "team", "user", 1.0, "name", "harbour")


def _document(number: int) -> UUID:
    return uuid5(NAMESPACE_OID, str(number))


async def test_a_frequent_entity_is_sampled_and_its_candidates_are_exact(database, embedder, monkeypatch) -> None:
    user = f"links-{uuid4().hex}"
    stored = await hybrid.store(database, user, hybrid.draft(*(f"note w{n}" for n in range(CHUNKS))), embedder=embedder)
    (ana,) = await entities.add([EntityDraft("person", "Ana Torres")], user, db=database, embedder=embedder)
    team = await _nested_teams(database, user, ana.entity_id, embedder)
    match = EntityMatch(ana.entity_id, ana.name, ana.type, "user", 1.0, "name", "ana torres")
    async with database.writing(user) as writing:
        rows = await writing.execute(sa.text("SELECT chunk_no, chunk_id FROM stepwell.chunks ORDER BY chunk_no"))
        (first, first_id), (_, second_id), *others = [(row.chunk_no, row.chunk_id) for row in rows]
        found = [Mention(ana.entity_id, no, _document(n), "text", 1 + n % 3) for n, (no, _id) in enumerate(others)]
        found += [Mention(ana.entity_id, first, stored, kind, 5) for kind in ("text", "title")]
        await mentions.add(writing, found)

    async def links() -> EntityLinks:
        async with database.searching(user) as reading:
            chunks = dict.fromkeys((first_id, second_id), stored)
            return await store.links(reading, [match, team], chunks, documents=store.MAX_DOCUMENTS)

    whole = await links()
    monkeypatch.setattr(store, "SAMPLE", 100)
    sampled = await links()
    everything, some = whole.strengths[ana.entity_id], sampled.strengths[ana.entity_id]
    assert whole.counts[ana.entity_id] == len(everything) == CHUNKS - 1
    assert len(some) in (100, 101)
    assert sampled.counts[ana.entity_id] == pytest.approx(CHUNKS - 1, rel=0.25)
    assert next(iter(everything)) == next(iter(some)) == stored
    assert all(everything[document] >= strength for document, strength in some.items())
    for found_links in (whole, sampled):
        assert found_links.strengths[ana.entity_id][stored] == pytest.approx(4 + math.log(6))
        decayed = pytest.approx((4 + math.log(6)) * store.MEMBER_DECAY**2)
        assert found_links.strengths[team.entity_id][stored] == decayed
    assert whole.mentions == sampled.mentions
    assert whole.mentions == {first_id: {ana.entity_id: 5}, second_id: {ana.entity_id: 4}}
