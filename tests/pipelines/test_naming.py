"""Are the stored mentions those of the documents that are stored now, in whatever order they came?"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from given import World

from app.pipelines import documents, naming
from app.store import db as store_db
from app.text import tags

DOCUMENTS = {
    "a": ("Harbour Light", "The Harbour Light was run by Ilse Brandt, and Ilse Brandt lived there."),
    "b": ("Ilse Brandt (painter)", "She painted the harbour light at dusk. Lundby bought it."),
    "c": ("Lundby", "A town. In Lundby stands a Harbour Light."),
}
_MENTIONS = """
SELECT d.uri, e.name, e.origin, m.kind, m.count
FROM stepwell.mentions AS m
JOIN stepwell.documents AS d USING (user_id, document_id)
JOIN stepwell.entities AS e USING (user_id, entity_id)
WHERE m.user_id = $1
"""


async def _mentions(owner: Any, world: World) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in await owner.fetch(_MENTIONS, world.user_id)}


async def _add(world: World, uri: str) -> None:
    title, text = DOCUMENTS[uri]
    await world.add(text, uri, title=title)


async def test_titles_and_names_become_mentions_with_their_counts(world: World, owner: Any) -> None:
    for uri in "abc":
        await _add(world, uri)
    found = await _mentions(owner, world)
    assert ("a", "Harbour Light", "title", "title", 1) in found
    assert ("a", "Ilse Brandt", "title", "text", 2) in found
    assert ("b", "Ilse Brandt", "title", "title", 1) in found
    assert ("b", "Harbour Light", "title", "text", 1) in found, "a title is matched in any case"
    assert ("c", "Harbour Light", "title", "text", 1) in found
    assert ("b", "Lundby", "title", "text", 1) in found


async def test_the_order_of_arrival_changes_nothing(database: Any, owner: Any) -> None:
    seen = []
    for order in itertools.permutations("abc"):
        world = World(database)
        for uri in order:
            await _add(world, uri)
        seen.append(await _mentions(owner, world))
    assert all(found == seen[0] for found in seen)


async def test_a_replaced_document_mentions_what_it_says_now(world: World, owner: Any) -> None:
    await _add(world, "a")
    await world.add("Otto Falk keeps it.", "a", title="Harbour Light")
    assert {row[1] for row in await _mentions(owner, world)} == {"Harbour Light", "Otto Falk"}
    names = await owner.fetch("SELECT name FROM stepwell.entities WHERE user_id = $1", world.user_id)
    assert {row["name"] for row in names} == {"Harbour Light", "Otto Falk"}


async def test_deleting_everything_leaves_no_name(world: World, owner: Any) -> None:
    for uri in "abc":
        await _add(world, uri)
    before = await _mentions(owner, world)
    deleted = 0
    for document in await documents.page(world.user_id, db=world.db, limit=9, after=None, uri=None):
        gone = await documents.delete(document.document_id, world.user_id, db=world.db)
        deleted += gone.mentions_deleted
    assert deleted == len(before)
    for table in ("entities", "entity_names", "mentions"):
        assert await owner.fetchval(f"SELECT count(*) FROM stepwell.{table} WHERE user_id = $1", world.user_id) == 0


async def test_a_name_whose_document_is_gone_is_a_name_from_a_text_again(world: World, owner: Any) -> None:
    stored = {uri: await world.add(text, uri, title=title) for uri, (title, text) in DOCUMENTS.items()}
    await documents.delete(stored["b"].document_id, world.user_id, db=world.db)
    origins = await owner.fetch("SELECT name, origin FROM stepwell.entities WHERE user_id = $1", world.user_id)
    assert dict(map(tuple, origins))["Ilse Brandt"] == "text"


async def test_what_was_stored_before_is_read_once_and_alike(world: World, owner: Any, place: Any) -> None:
    for uri in "abc":
        await _add(world, uri)
    expected = await _mentions(owner, world)
    assert expected
    await owner.execute("DELETE FROM stepwell.entities WHERE user_id = $1", world.user_id)
    await owner.execute("UPDATE stepwell.documents SET names_version = 0 WHERE user_id = $1", world.user_id)
    as_owner = store_db.connect(place.owner_dsn, pool_size=1)
    try:
        assert await naming.backfill(as_owner, keys=tags.KEYS) == 3
        assert await naming.backfill(as_owner, keys=tags.KEYS) == 0
    finally:
        await as_owner.close()
    assert await _mentions(owner, world) == expected


@pytest.mark.parametrize("text", ["ﷺ" * 400 + " Name Here", "Aa" * 3_000, "A. " * 3_000, "x\ty " * 2_000])
async def test_odd_texts_and_titles_are_stored_all_the_same(world: World, text: str) -> None:
    assert (await world.add(text, "odd", title=text[:400])).status == "added"
