"""Is a document linked, when it is stored, to whom and what it names?"""

from __future__ import annotations

from typing import Any

import linking
from harness import Tenant

from app.pipelines import documents
from app.pipelines.chunking_options import ChunkingOptions


async def test_texts_name_a_users_entities_by_name_and_alias_with_their_count(tenant: Tenant, owner: Any) -> None:
    await linking.add_entity(tenant, "Cliff Clarke", "CC-Boss")
    await tenant.add("cliffclarke met CLIFF CLARKE; the cc boss paid. Cliff alone is not meant.", "a")
    assert await linking.of_name(owner, tenant, "Cliff Clarke") == {("a", 0, "text", 3)}


async def test_the_longest_name_hides_the_shorter_one_and_a_shared_alias_names_both(tenant: Tenant, owner: Any) -> None:
    await linking.add_entity(tenant, "New York", type="place")
    await linking.add_entity(tenant, "York", "the boss", type="place")
    await linking.add_entity(tenant, "Ana", "the boss")
    await tenant.add("New York is not York, says the boss.", "a")
    assert await linking.of_name(owner, tenant, "New York") == {("a", 0, "text", 1)}
    assert await linking.of_name(owner, tenant, "York") == {("a", 0, "text", 2)}
    assert await linking.of_name(owner, tenant, "Ana") == {("a", 0, "text", 1)}


async def test_a_title_counts_for_the_first_chunk_and_names_its_entity(tenant: Tenant, owner: Any) -> None:
    tenant.chunking_options = ChunkingOptions(target=40, overlap=0)
    await linking.add_entity(tenant, "Ilse Brandt", "IB Works")
    text = "\n\n".join(f"Paragraph {n} speaks of stone and of nothing else at all, for a while." for n in range(8))
    await tenant.add(text, "a", title="Ilse Brandt (painter)")
    await tenant.add(text + " More.", "b", title="About ilse brandt")
    await tenant.add(text + " Again.", "c", title="IB works")
    assert await linking.of_name(owner, tenant, "Ilse Brandt") == {
        ("a", 0, "title", 1),
        ("a", 0, "text", 1),
        ("b", 0, "title", 1),
        ("b", 0, "text", 1),
        ("c", 0, "title", 1),
        ("c", 0, "text", 1),
    }


async def test_metadata_names_people_and_things_and_users_entities_of_those_names(tenant: Tenant, owner: Any) -> None:
    await linking.add_entity(tenant, "Benjamin Otto", "Ben Otto")
    metadata = {"attendees": ["Ana Silva", {"name": "BEN OTTO"}], "project": "North stair", "room": "Attic"}
    await tenant.add("We met.", "a", metadata=metadata)
    found = {m[2:] for m in await linking.of_tenant(owner, tenant)}
    assert found == {
        ("person", "Ana Silva", "metadata", "attendee", 1),
        ("person", "BEN OTTO", "metadata", "attendee", 1),
        ("person", "Benjamin Otto", "user", "attendee", 1),
        ("project", "North stair", "metadata", "metadata", 1),
    }


async def test_the_keys_are_a_setting(tenant: Tenant, owner: Any) -> None:
    tenant.chunking_options = ChunkingOptions(entity_keys=("vendor",))
    await tenant.add("We met.", "a", metadata={"attendees": ["Ana Silva"], "Vendor": "Lundby"})
    assert {m[2:6] for m in await linking.of_tenant(owner, tenant)} == {("vendor", "Lundby", "metadata", "metadata")}


async def test_what_metadata_named_before_is_looked_for_in_any_case_in_later_texts(tenant: Tenant, owner: Any) -> None:
    await tenant.add("We met.", "a", metadata={"people": ["Ana Silva"], "tags": ["IT"]})
    await tenant.add("So ana silva said, and it was IT that said it.", "b")
    assert await linking.of_name(owner, tenant, "Ana Silva", "metadata") == {
        ("a", 0, "attendee", 1),
        ("b", 0, "text", 1),
    }
    assert await linking.of_name(owner, tenant, "IT", "metadata") == {
        ("a", 0, "metadata", 1),
        ("b", 0, "text", 1),
    }


async def test_an_origin_rises_with_the_documents_and_falls_with_them(tenant: Tenant, owner: Any) -> None:
    async def origin() -> Any:
        query = "SELECT origin, type FROM stepwell.entities WHERE user_id = $1 AND name = 'Ana Silva'"
        row = await owner.fetchrow(query, tenant.user_id)
        return row and tuple(row)

    text = await tenant.add("Then Ana Silva left.", "text")
    assert await origin() == ("text", "name")
    tagged = await tenant.add("We met.", "tagged", metadata={"author": "Ana Silva"})
    assert await origin() == ("metadata", "person")
    title = await tenant.add("Born in Lisbon.", "title", title="Ana Silva")
    assert await origin() == ("metadata", "person")
    await documents.delete(tagged.document_id, tenant.user_id, db=tenant.db)
    assert await origin() == ("title", "name")
    await documents.delete(title.document_id, tenant.user_id, db=tenant.db)
    assert await origin() == ("text", "name")
    await documents.delete(text.document_id, tenant.user_id, db=tenant.db)
    assert await origin() is None


async def test_a_person_outranks_another_use_of_the_name_whichever_came_first(database: Any, owner: Any) -> None:
    for order in (("tags", "author"), ("author", "tags")):
        tenant = Tenant(database)
        for n, key in enumerate(order):
            await tenant.add(f"Note {n}.", metadata={key: "Ana Silva"})
        assert {m[2] for m in await linking.of_tenant(owner, tenant) if m[3] == "Ana Silva"} == {"person"}


async def test_a_replaced_document_is_linked_to_what_it_names_now(tenant: Tenant, owner: Any) -> None:
    await linking.add_entity(tenant, "Ana")
    await tenant.add("Ana and stone.", "a", metadata={"project": "North stair"})
    await tenant.add("Only stone.", "a", metadata={"project": "South stair"})
    assert {m[3] for m in await linking.of_tenant(owner, tenant)} == {"South stair"}
    names = await owner.fetch("SELECT name FROM stepwell.entities WHERE user_id = $1", tenant.user_id)
    assert {row["name"] for row in names} == {"South stair", "Ana"}


async def test_deleting_documents_leaves_a_users_entities_without_links(tenant: Tenant, owner: Any) -> None:
    await linking.add_entity(tenant, "Ana")
    stored = await tenant.add("Ana.", "a", metadata={"people": ["Ana"]})
    gone = await documents.delete(stored.document_id, tenant.user_id, db=tenant.db)
    assert gone.mentions_deleted == 4, "by the text and as an attendee, of her and of the name"
    assert await linking.of_tenant(owner, tenant) == set()
    rows = await owner.fetch("SELECT name, origin FROM stepwell.entities WHERE user_id = $1", tenant.user_id)
    assert [tuple(row) for row in rows] == [("Ana", "user")]
