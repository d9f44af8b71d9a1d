"""Are the stored mentions those of the documents that are stored now, in whatever order they came?"""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from typing import Any
from uuid import UUID

import harness
import pytest
from harness import Tenant, uris

from app import errors
from app.config import Settings
from app.pipelines import documents, mention_extraction
from app.store import db as store_db
from app.store import mentions
from app.text import tags

DOCUMENTS = {
    "a": ("Harbour Light", "The Harbour Light was run by Ilse Brandt, and Ilse Brandt lived there."),
    "b": ("Ilse Brandt (painter)", "She painted the harbour light at dusk. Lundby bought it."),
    "c": ("Lundby", "A town. In Lundby stands a Harbour Light. The lantern quay is there, the Lantern Quay."),
    "d": ("Almanac", "Told of the harbour light.\n\n## Lantern Quay\n\nAt dusk.\n\n## Ilse Brandt\n\nIn Lundby."),
}
_MENTIONS = """
SELECT d.uri, e.name, e.origin, m.kind, m.count
FROM stepwell.mentions AS m
JOIN stepwell.documents AS d USING (user_id, document_id)
JOIN stepwell.entities AS e USING (user_id, entity_id)
WHERE m.user_id = $1
UNION ALL
SELECT d.uri, e.name, e.origin, 'heading', 1
FROM stepwell.headings AS h
JOIN stepwell.documents AS d USING (user_id, document_id)
JOIN stepwell.entities AS e USING (user_id, entity_id)
WHERE h.user_id = $1
"""


async def _mentions(owner: Any, tenant: Tenant) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in await owner.fetch(_MENTIONS, tenant.user_id)}


async def _add(tenant: Tenant, uri: str) -> None:
    title, text = DOCUMENTS[uri]
    await tenant.add(text, uri, title=title)


async def test_titles_and_names_become_mentions_with_their_counts(tenant: Tenant, owner: Any) -> None:
    for uri in "abcd":
        await _add(tenant, uri)
    found = await _mentions(owner, tenant)
    assert ("a", "Harbour Light", "title", "title", 1) in found
    assert ("a", "Ilse Brandt", "title", "text", 2) in found
    assert ("b", "Ilse Brandt", "title", "title", 1) in found
    assert ("b", "Harbour Light", "title", "text", 1) in found, "a title is matched in any case"
    assert ("c", "Harbour Light", "title", "text", 1) in found
    assert ("b", "Lundby", "title", "text", 1) in found


async def test_headings_are_kept_apart_and_of_several_words_are_found_in_any_case(tenant: Tenant, owner: Any) -> None:
    for uri in "cd":
        await _add(tenant, uri)
    found = await _mentions(owner, tenant)
    assert {row[1:] for row in found if row[3] == "heading"} == {
        ("Lantern Quay", "text", "heading", 1),
        ("Ilse Brandt", "text", "heading", 1),
    }
    assert ("c", "Lantern Quay", "text", "text", 2) in found


async def test_a_section_that_is_gone_leaves_no_name_that_nothing_mentions(tenant: Tenant, owner: Any) -> None:
    await _add(tenant, "d")
    await tenant.add("Told of nobody.", "d", title="Almanac")
    assert {row[1] for row in await _mentions(owner, tenant)} == {"Almanac"}
    names = await owner.fetch("SELECT name FROM stepwell.entities WHERE user_id = $1", tenant.user_id)
    assert {row["name"] for row in names} == {"Almanac"}


async def test_a_lone_word_that_headed_a_section_is_looked_for_when_it_becomes_a_title(
    tenant: Tenant, owner: Any
) -> None:
    await tenant.add("They went to lundby.", "trip")
    await tenant.add("# Almanac\n\n## Lundby\n\nA port.", "almanac")
    await tenant.add("A port.", "port", title="Lundby")
    assert ("trip", "Lundby", "title", "text", 1) in await _mentions(owner, tenant)


async def test_the_order_of_arrival_changes_nothing(database: Any, owner: Any) -> None:
    seen = []
    for order in itertools.permutations("abcd"):
        tenant = Tenant(database)
        for uri in order:
            await _add(tenant, uri)
        seen.append(await _mentions(owner, tenant))
    assert any(row[3] == "heading" for row in seen[0])
    assert all(found == seen[0] for found in seen)


async def test_a_replaced_document_mentions_what_it_says_now(tenant: Tenant, owner: Any) -> None:
    await _add(tenant, "a")
    await tenant.add("Otto Falk keeps it.", "a", title="Harbour Light")
    assert {row[1] for row in await _mentions(owner, tenant)} == {"Harbour Light", "Otto Falk"}
    names = await owner.fetch("SELECT name FROM stepwell.entities WHERE user_id = $1", tenant.user_id)
    assert {row["name"] for row in names} == {"Harbour Light", "Otto Falk"}


async def test_deleting_everything_leaves_no_name(tenant: Tenant, owner: Any) -> None:
    for uri in "abcd":
        await _add(tenant, uri)
    before = await _mentions(owner, tenant)
    deleted = 0
    for document in await documents.page(tenant.user_id, db=tenant.db, limit=9, after=None, uri=None):
        gone = await documents.delete(document.document_id, tenant.user_id, db=tenant.db)
        deleted += gone.mentions_deleted
    assert deleted == len([row for row in before if row[3] != "heading"])
    for table in ("entities", "entity_names", "mentions", "headings"):
        assert await owner.fetchval(f"SELECT count(*) FROM stepwell.{table} WHERE user_id = $1", tenant.user_id) == 0


async def test_a_name_whose_document_is_gone_is_a_name_from_a_text_again(tenant: Tenant, owner: Any) -> None:
    stored = {uri: await tenant.add(text, uri, title=title) for uri, (title, text) in DOCUMENTS.items()}
    await documents.delete(stored["b"].document_id, tenant.user_id, db=tenant.db)
    origins = await owner.fetch("SELECT name, origin FROM stepwell.entities WHERE user_id = $1", tenant.user_id)
    assert dict(map(tuple, origins))["Ilse Brandt"] == "text"


async def test_what_was_stored_before_is_read_once_and_alike(tenant: Tenant, owner: Any, address: Any) -> None:
    for uri in "abcd":
        await _add(tenant, uri)
    expected = await _mentions(owner, tenant)
    assert expected
    await owner.execute("DELETE FROM stepwell.entities WHERE user_id = $1", tenant.user_id)
    await owner.execute("UPDATE stepwell.documents SET names_version = 0 WHERE user_id = $1", tenant.user_id)
    as_owner = store_db.connect(address.owner_dsn, pool_size=1)
    try:
        assert await mention_extraction.backfill(as_owner, keys=tags.KEYS) == 4
        assert await mention_extraction.backfill(as_owner, keys=tags.KEYS) == 0
    finally:
        await as_owner.close()
    assert await _mentions(owner, tenant) == expected


async def test_a_document_that_goes_while_it_waits_to_be_read_holds_nobody_up(
    tenant: Tenant, owner: Any, address: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = {uri: await tenant.add(text, uri, title=title) for uri, (title, text) in DOCUMENTS.items()}
    await owner.execute("UPDATE stepwell.documents SET names_version = 0 WHERE user_id = $1", tenant.user_id)
    listed = mentions.unread

    async def then_one_goes(*given: Any, **told: Any) -> list[tuple[str, UUID]]:
        found = await listed(*given, **told)
        if found:
            await documents.delete(stored["b"].document_id, tenant.user_id, db=tenant.db)
        return found

    monkeypatch.setattr(mentions, "unread", then_one_goes)
    as_owner = store_db.connect(address.owner_dsn, pool_size=1)
    try:
        assert await mention_extraction.backfill(as_owner, keys=tags.KEYS) == 3
    finally:
        await as_owner.close()


async def test_reading_beside_the_service_goes_on_after_a_failure(
    tenant: Tenant, owner: Any, address: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for uri in "abcd":
        await _add(tenant, uri)
    expected = await _mentions(owner, tenant)
    await owner.execute("DELETE FROM stepwell.entities WHERE user_id = $1", tenant.user_id)
    await owner.execute("UPDATE stepwell.documents SET names_version = 0 WHERE user_id = $1", tenant.user_id)
    monkeypatch.setattr(mention_extraction, "RETRY_S", 0.0)
    whole, failures = mention_extraction.link, [errors.DatabaseUnavailable("down"), ValueError("odd")]

    async def failing_twice(*given: Any, **told: Any) -> None:
        if failures:
            raise failures.pop()
        await whole(*given, **told)

    monkeypatch.setattr(mention_extraction, "link", failing_twice)
    as_owner = store_db.connect(address.owner_dsn, pool_size=1)
    try:
        await mention_extraction.backfill_with_retries(as_owner, keys=tags.KEYS)
    finally:
        await as_owner.close()
    assert not failures
    assert await _mentions(owner, tenant) == expected


async def test_a_service_answers_while_names_of_older_versions_are_read_beside_it(
    tenant: Tenant, owner: Any, address: Any, database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for uri in "abcd":
        await _add(tenant, uri)
    expected = await _mentions(owner, tenant)
    await owner.execute("DELETE FROM stepwell.entities WHERE user_id = $1", tenant.user_id)
    await owner.execute("UPDATE stepwell.documents SET names_version = 0 WHERE user_id = $1", tenant.user_id)
    going, done = asyncio.Event(), asyncio.Event()
    whole = mention_extraction.backfill

    async def told(*given: Any, **keys: Any) -> int:
        await going.wait()
        read = await whole(*given, **keys)
        done.set()
        return read

    monkeypatch.setattr(mention_extraction, "backfill", told)
    as_owner = store_db.connect(address.owner_dsn, pool_size=1)
    services = replace(await harness.services(database), owner=as_owner)
    try:
        async with harness.running(Settings(auth="none"), services) as app, harness.client(app) as client:
            assert (await client.get("/readyz")).status_code == 200
            assert uris(await tenant.ask("Who ran the harbour light?"))
            assert not done.is_set()
            going.set()
            await asyncio.wait_for(done.wait(), 60)
    finally:
        await as_owner.close()
    assert await _mentions(owner, tenant) == expected


@pytest.mark.parametrize("text", ["ﷺ" * 400 + " Name Here", "Aa" * 3_000, "A. " * 3_000, "x\ty " * 2_000])
async def test_odd_texts_and_titles_are_stored_all_the_same(tenant: Tenant, text: str) -> None:
    assert (await tenant.add(text, "odd", title=text[:400])).status == "added"
