"""Is a document linked, when it is stored, to whom and what it names?"""

from __future__ import annotations

from typing import Any

import gazette
from given import World

from app.pipelines import documents, ingest


async def test_texts_name_a_users_entities_by_name_and_alias_with_their_count(world: World, owner: Any) -> None:
    await gazette.name(world, "Cliff Clarke", "CC-Boss")
    await world.add("cliffclarke met CLIFF CLARKE; the cc boss paid. Cliff alone is not meant.", "a")
    assert await gazette.links(owner, world, "Cliff Clarke") == {("a", 0, "text", 3)}


async def test_the_longest_name_hides_the_shorter_one_and_a_shared_alias_names_both(world: World, owner: Any) -> None:
    await gazette.name(world, "New York", type="place")
    await gazette.name(world, "York", "the boss", type="place")
    await gazette.name(world, "Ana", "the boss")
    await world.add("New York is not York, says the boss.", "a")
    assert await gazette.links(owner, world, "New York") == {("a", 0, "text", 1)}
    assert await gazette.links(owner, world, "York") == {("a", 0, "text", 2)}
    assert await gazette.links(owner, world, "Ana") == {("a", 0, "text", 1)}


async def test_a_title_counts_for_the_first_chunk_and_names_its_entity(world: World, owner: Any) -> None:
    world.chunking_options = ingest.ChunkingOptions(target=40, overlap=0)
    await gazette.name(world, "Ilse Brandt", "IB Works")
    text = "\n\n".join(f"Paragraph {n} speaks of stone and of nothing else at all, for a while." for n in range(8))
    await world.add(text, "a", title="Ilse Brandt (painter)")
    await world.add(text + " More.", "b", title="About ilse brandt")
    await world.add(text + " Again.", "c", title="IB works")
    assert await gazette.links(owner, world, "Ilse Brandt") == {
        ("a", 0, "title", 1),
        ("a", 0, "text", 1),
        ("b", 0, "title", 1),
        ("b", 0, "text", 1),
        ("c", 0, "title", 1),
        ("c", 0, "text", 1),
    }


async def test_metadata_names_people_and_things_and_users_entities_of_those_names(world: World, owner: Any) -> None:
    await gazette.name(world, "Benjamin Otto", "Ben Otto")
    metadata = {"attendees": ["Ana Silva", {"name": "BEN OTTO"}], "project": "North stair", "room": "Attic"}
    await world.add("We met.", "a", metadata=metadata)
    found = {m[2:] for m in await gazette.mentioned(owner, world)}
    assert found == {
        ("person", "Ana Silva", "metadata", "attendee", 1),
        ("person", "BEN OTTO", "metadata", "attendee", 1),
        ("person", "Benjamin Otto", "user", "attendee", 1),
        ("project", "North stair", "metadata", "metadata", 1),
    }


async def test_the_keys_are_a_setting(world: World, owner: Any) -> None:
    world.chunking_options = ingest.ChunkingOptions(entity_keys=("vendor",))
    await world.add("We met.", "a", metadata={"attendees": ["Ana Silva"], "Vendor": "Lundby"})
    assert {m[2:6] for m in await gazette.mentioned(owner, world)} == {("vendor", "Lundby", "metadata", "metadata")}


async def test_what_metadata_named_before_is_looked_for_in_any_case_in_later_texts(world: World, owner: Any) -> None:
    await world.add("We met.", "a", metadata={"people": ["Ana Silva"], "tags": ["IT"]})
    await world.add("So ana silva said, and it was IT that said it.", "b")
    assert await gazette.links(owner, world, "Ana Silva", "metadata") == {("a", 0, "attendee", 1), ("b", 0, "text", 1)}
    assert await gazette.links(owner, world, "IT", "metadata") == {("a", 0, "metadata", 1), ("b", 0, "text", 1)}


async def test_an_origin_rises_with_the_documents_and_falls_with_them(world: World, owner: Any) -> None:
    async def origin() -> Any:
        query = "SELECT origin, type FROM stepwell.entities WHERE user_id = $1 AND name = 'Ana Silva'"
        row = await owner.fetchrow(query, world.user_id)
        return row and tuple(row)

    text = await world.add("Then Ana Silva left.", "text")
    assert await origin() == ("text", "name")
    tagged = await world.add("We met.", "tagged", metadata={"author": "Ana Silva"})
    assert await origin() == ("metadata", "person")
    title = await world.add("Born in Lisbon.", "title", title="Ana Silva")
    assert await origin() == ("metadata", "person")
    await documents.delete(tagged.document_id, world.user_id, db=world.db)
    assert await origin() == ("title", "name")
    await documents.delete(title.document_id, world.user_id, db=world.db)
    assert await origin() == ("text", "name")
    await documents.delete(text.document_id, world.user_id, db=world.db)
    assert await origin() is None


async def test_a_person_outranks_another_use_of_the_name_whichever_came_first(database: Any, owner: Any) -> None:
    for order in (("tags", "author"), ("author", "tags")):
        world = World(database)
        for n, key in enumerate(order):
            await world.add(f"Note {n}.", metadata={key: "Ana Silva"})
        assert {m[2] for m in await gazette.mentioned(owner, world) if m[3] == "Ana Silva"} == {"person"}


async def test_a_replaced_document_is_linked_to_what_it_names_now(world: World, owner: Any) -> None:
    await gazette.name(world, "Ana")
    await world.add("Ana and stone.", "a", metadata={"project": "North stair"})
    await world.add("Only stone.", "a", metadata={"project": "South stair"})
    assert {m[3] for m in await gazette.mentioned(owner, world)} == {"South stair"}
    names = await owner.fetch("SELECT name FROM stepwell.entities WHERE user_id = $1", world.user_id)
    assert {row["name"] for row in names} == {"South stair", "Ana"}


async def test_deleting_documents_leaves_a_users_entities_without_links(world: World, owner: Any) -> None:
    await gazette.name(world, "Ana")
    stored = await world.add("Ana.", "a", metadata={"people": ["Ana"]})
    gone = await documents.delete(stored.document_id, world.user_id, db=world.db)
    assert gone.mentions_deleted == 4, "by the text and as an attendee, of her and of the name"
    assert await gazette.mentioned(owner, world) == set()
    rows = await owner.fetch("SELECT name, origin FROM stepwell.entities WHERE user_id = $1", world.user_id)
    assert [tuple(row) for row in rows] == [("Ana", "user")]
