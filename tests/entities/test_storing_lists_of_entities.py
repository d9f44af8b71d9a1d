"""Storing a list of entities has the same result as storing them one by one."""

import re
from collections import Counter
from typing import Any

import linking
import pytest
from harness import Tenant
from hypothesis import given, settings
from hypothesis import strategies as st

from app.documents import operations as documents
from app.entities import bulk_upsert
from app.entities import operations as entities
from app.entities.bulk_upsert import Line
from app.entities.types import Entity, EntityDraft, EntityFilter

TEXTS = (
    "Ana Torres calibrated the buoy batteries.",
    "# Batteries\n\nBen Okafor bought them.\n\n# Ropes\n\nThe ropes were renewed by Ana Torres.",
    "The winter log lists batteries, ropes and Ben Okafor.",
)
NAMES = ("Ana Torres", "Ben Okafor", "Batteries")
LINES = st.lists(
    st.tuples(
        st.sampled_from([None, *NAMES]),
        st.builds(
            EntityDraft,
            type=st.sampled_from(["person", "team"]),
            name=st.sampled_from(NAMES),
            aliases=st.sampled_from([(), ("Ropes",)]),
            role=st.sampled_from([None, "diver"]),
            facts=st.sampled_from([(), ("Renews ropes.",)]),
            description=st.sampled_from([None, "Repairs buoys."]),
        ),
    ),
    min_size=1,
    max_size=5,
)
"""Entities, each with the present name of the stored entity that it replaces by id, if any."""


@settings(max_examples=5, deadline=None)
@given(first=LINES, second=LINES)
async def test_a_list_of_entities_equals_its_entities_one_by_one(database, owner, first, second) -> None:
    listed, single = Tenant(database), Tenant(database)
    for tenant in (listed, single):
        await tenant.add_all(dict(zip("abc", TEXTS, strict=True)))
    for lines in (first, second):
        results = await _upsert(listed, await _numbered(listed, lines))
        repeated = {number for number, _status, message in results if message == _REPEATED}
        one_by_one = [line for line in await _numbered(single, lines) if line.number not in repeated]
        expected = [result for line in one_by_one for result in await _upsert(single, [line])]
        assert [result for result in results if result[0] not in repeated] == expected
    assert await _stored_entities(listed, owner) == await _stored_entities(single, owner)


_REPEATED = f"The request has this entity already. {bulk_upsert.NAMESAKES}"


async def _numbered(tenant: Tenant, lines: Any) -> list[Line]:
    known = await _own_entities(tenant)
    count = Counter(entity.name for entity in known)
    ids = {entity.name: entity.entity_id for entity in known if count[entity.name] == 1}
    return [Line.of(number, draft, ids.get(replaced)) for number, (replaced, draft) in enumerate(lines)]


async def _own_entities(tenant: Tenant) -> list[Entity]:
    only = EntityFilter(origin="user")
    found = await entities.page(tenant.user_id, db=tenant.db, limit=50, only=only)
    return sorted(found, key=lambda e: (e.name, e.type, e.aliases, e.role or "", e.facts, e.description or ""))


async def _upsert(tenant: Tenant, lines: list[Line]) -> list[tuple[int, str, str | None]]:
    """The results as (line, status, message without ids)."""
    results = await bulk_upsert.run(lines, tenant.user_id, db=tenant.db, embedder=tenant.embedder)
    return [(r.number, r.status, re.sub(r"[0-9a-f-]{36}", "…", r.error.message) if r.error else None) for r in results]


async def _stored_entities(tenant: Tenant, owner: Any) -> Any:
    """The user's own entities, the numbers of their derived rows, and the mentions of all entities."""
    await linking.refresh(tenant)
    found = [(e.type, e.name, e.aliases, e.role, e.facts, e.description) for e in await _own_entities(tenant)]
    query = "SELECT count(*) FROM stepwell.{} WHERE user_id = $1"
    tables = ("entity_names", "entity_words", "entity_vectors")
    counts = [await owner.fetchval(query.format(table), tenant.user_id) for table in tables]
    return found, counts, await linking.of_tenant(owner, tenant)


async def test_members_are_the_entities_that_have_the_names_after_the_earlier_lines(tenant: Tenant) -> None:
    ana = await linking.add_entity(tenant, "Ana Torres")
    renamed = Line.of(1, EntityDraft("person", "Ana Ruiz"), ana.entity_id)
    choir = Line.of(2, EntityDraft("team", "Choir", members=("Ana Torres",)))
    assert [status for _number, status, _message in await _upsert(tenant, [renamed, choir])] == ["updated", "refused"]
    successor = Line.of(2, EntityDraft("person", "Ana Torres"))
    choir = Line.of(1, EntityDraft("team", "Choir", members=("Ana Ruiz", "Ana Torres")))
    assert [status for _number, status, _message in await _upsert(tenant, [choir, successor])] == ["added", "added"]
    again = [
        Line.of(1, EntityDraft("person", "Ana Torres"), ana.entity_id),
        Line.of(2, EntityDraft("person", "Ana Ruiz")),
    ]
    assert [status for _number, status, _message in await _upsert(tenant, again)] == ["updated", "added"]


@pytest.mark.parametrize("team_first", [False, True])
async def test_a_member_is_the_entity_of_another_line_rather_than_one_in_metadata(tenant, team_first) -> None:
    await tenant.add("The landing.", "note", metadata={"author": "Ana Torres"})
    ana = Line.of(int(team_first), EntityDraft("person", "Ana Torres"))
    choir = Line.of(int(not team_first), EntityDraft("team", "Choir", members=("Ana Torres",)))
    outcomes = await _upsert(tenant, [choir, ana] if team_first else [ana, choir])
    assert [status for _number, status, _message in outcomes] == ["added", "added"]
    listed = await entities.page(tenant.user_id, db=tenant.db, limit=10, only=EntityFilter(origin="user"))
    stored = {entity.name: entity for entity in listed}
    assert stored["Choir"].members == (stored["Ana Torres"].entity_id,)


async def test_a_team_keeps_a_member_that_only_texts_still_name(tenant: Tenant) -> None:
    note = await tenant.add("The landing.", "note", metadata={"author": "Ana Torres"})
    await tenant.add("Ana Torres sang.", "song")
    choir = await linking.add_entity(tenant, "Choir", type="team", members=("Ana Torres",))
    await documents.delete(note.document_id, tenant.user_id, db=tenant.db)
    context = {"db": tenant.db, "embedder": tenant.embedder}
    changed = await entities.change(choir.entity_id, {"role": "alto"}, tenant.user_id, **context)
    assert (changed.role, changed.members) == ("alto", choir.members)
