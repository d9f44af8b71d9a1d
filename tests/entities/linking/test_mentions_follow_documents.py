"""Stored mentions depend only on the documents that are stored now, however extreme their names are."""

import os
from dataclasses import replace
from typing import Any

import linking
import pytest
from harness import Tenant

from app import errors
from app.database import transactions
from app.documents import document_patches
from app.documents import operations as documents
from app.documents.types import Upload
from app.entities import operations as entities
from app.entities.linking import mention_refresh
from app.entities.store import mentions
from app.entities.types import EntityDraft
from app.services import ChunkingOptions

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


async def test_titles_and_names_become_mentions_and_headings_are_stored_separately(tenant: Tenant, owner: Any) -> None:
    for uri in "abcd":
        await _add(tenant, uri)
    await linking.refresh(tenant)
    found = await _mentions(owner, tenant)
    assert ("a", "Harbour Light", "title", "title", 1) in found
    assert ("a", "Ilse Brandt", "title", "text", 2) in found
    assert ("b", "Ilse Brandt", "title", "title", 1) in found
    assert ("b", "Harbour Light", "title", "text", 1) not in found, "it is no name in lower case"
    assert ("c", "Harbour Light", "title", "text", 1) in found
    assert ("b", "Lundby", "title", "text", 1) in found
    assert {row[:2] for row in found if row[3] == "heading"} == {("d", "Lantern Quay"), ("d", "Ilse Brandt")}
    assert ("c", "Lantern Quay", "text", "text", 1) in found, "headings match where texts write them as names"


USES_OF_TITLES = {
    "Lundby": "They went to Lundby.",
    "Ravnholt": "They went to ravnholt.",
    "Harbour Light": "It is the old Harbour Light Tower.",
    "Getting started": "Getting started is easy.",
    "Appendix": "See the Appendix of it.",
    "COPY.7.txt": "See COPY.7.txt for more.",
    "Tests": "They passed the Tests.",
}
"""Titles, and the text of another document about each; only those of Lundby and Harbour Light use it as a name."""


@pytest.mark.parametrize("titles_first", [True, False])
async def test_a_title_is_an_entity_while_the_text_of_another_document_uses_it_as_a_name(
    tenant: Tenant, titles_first: bool
) -> None:
    titled = [Upload(f"All about {title}.", uri=title, title=title) for title in USES_OF_TITLES]
    others = [Upload(said, uri=f"on {title}", title="An aside") for title, said in USES_OF_TITLES.items()]
    for uploads in (titled, others) if titles_first else (others, titled):
        await tenant.add_all(uploads)
    await linking.refresh(tenant)
    found = await entities.page(tenant.user_id, db=tenant.db, limit=9)
    assert {one.name for one in found} == {"Lundby", "Harbour Light"}
    await tenant.add_all(replace(one, content=f"Nothing is left {place}.") for place, one in enumerate(others))
    await linking.refresh(tenant)
    assert await entities.page(tenant.user_id, db=tenant.db, limit=9) == []


async def test_documents_of_an_older_version_are_linked_once_by_a_job(tenant: Tenant, owner: Any, address: Any) -> None:
    for uri in "abcd":
        await _add(tenant, uri)
    await linking.refresh(tenant)
    expected = await _mentions(owner, tenant)
    assert expected
    await owner.execute("DELETE FROM stepwell.entities WHERE user_id = $1", tenant.user_id)
    await owner.execute("UPDATE stepwell.documents SET names_version = 1 WHERE user_id = $1", tenant.user_id)
    async with transactions.connect(address.owner_dsn, pool_size=1) as as_owner:
        assert await mention_refresh.enqueue_all(as_owner) == [tenant.user_id]
    assert await linking.refresh(tenant) >= 4
    assert await _mentions(owner, tenant) == expected
    assert await linking.refresh(tenant) == 0


async def test_a_document_deleted_after_a_job_has_listed_it_is_skipped(tenant, owner, address, monkeypatch) -> None:
    for uri in "ab":
        await _add(tenant, uri)
    await linking.refresh(tenant)
    await owner.execute("UPDATE stepwell.documents SET names_version = 1 WHERE user_id = $1", tenant.user_id)
    list_unlinked = mentions.list_unlinked

    async def then_delete_one(*given: Any, **options: Any) -> list[Any]:
        found = await list_unlinked(*given, **options)
        if len(found) > 1:
            await documents.delete(found[-1], tenant.user_id, db=tenant.db)
        return found

    monkeypatch.setattr(mentions, "list_unlinked", then_delete_one)
    async with transactions.connect(address.owner_dsn, pool_size=1) as as_owner:
        await mention_refresh.enqueue_all(as_owner)
    assert await linking.refresh(tenant) >= 1
    assert {mention[0] for mention in await _mentions(owner, tenant)} <= {"a", "b"}
    assert await owner.fetchval("SELECT count(*) FROM stepwell.jobs WHERE user_id = $1", tenant.user_id) == 0


async def test_a_title_is_a_mention_of_its_own_and_none_of_the_text(tenant: Tenant, owner: Any) -> None:
    tenant.chunking_options = ChunkingOptions(target=40, overlap=0)
    await linking.add_entity(tenant, "Ilse Brandt", "IB Works")
    text = "\n\n".join(f"Paragraph {n} speaks of stone and of nothing else at all, for a while." for n in range(8))
    await tenant.add(text, "a", title="Ilse Brandt (painter)")
    await tenant.add(text + " More.", "b", title="About ilse brandt")
    await tenant.add(text + " Again.", "c", title="IB works")
    assert await linking.of_name(owner, tenant, "Ilse Brandt") == {
        ("a", 0, "title", 1),
        ("b", 0, "title", 1),
        ("c", 0, "title", 1),
    }


async def test_a_title_that_metadata_names_is_no_mention_of_the_text(tenant: Tenant, owner: Any) -> None:
    await tenant.add("A note on lime.", "a", title="Ana Silva")
    await tenant.add("We met.", "b", metadata={"author": "Ana Silva"})
    await linking.refresh(tenant)
    assert await linking.of_name(owner, tenant, "Ana Silva", "metadata") == {
        ("a", 0, "title", 1),
        ("b", 0, "attendee", 1),
    }
    await tenant.add("We met again.", "c", title="Met by Ana Silva")
    assert ("c", 0, "text", 1) in await linking.of_name(owner, tenant, "Ana Silva", "metadata"), "it is not the title"


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


async def test_the_origin_of_an_entity_follows_the_stored_documents(tenant: Tenant, owner: Any) -> None:
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


@pytest.mark.parametrize("patched", [False, True])
async def test_the_type_of_an_entity_follows_metadata_that_is_corrected(tenant: Tenant, owner: Any, patched) -> None:
    stored = await tenant.add("We met Stonehand.", "a", metadata={"people": ["Stonehand"]})
    for before, after, kind in (("people", "team", "team"), ("team", "tags", "tag"), ("tags", "company", "company")):
        if patched:
            patch = {"metadata": {before: None, after: "Stonehand"}}
            await document_patches.apply(stored.document_id, patch, tenant.user_id, tenant.services())
        else:
            await tenant.add("We met Stonehand.", "a", metadata={after: "Stonehand"})
        assert {m[2] for m in await linking.of_tenant(owner, tenant) if m[3] == "Stonehand"} == {kind}


NAMES = 100_000 if os.environ.get("STEPWELL_FAULTS") == "full" else 1_000
LONG_WORD, LONG_PHRASE = "Q" + "x" * 4_999, " ".join(["Quarrymaster"] * 400)
BLANK = ["", " ", "\u200b", "!!", "--", "..", "\u00a0"]
MENTIONED = "SELECT count(DISTINCT entity_id) FROM stepwell.mentions WHERE user_id = $1"


def _numbered(number: int) -> str:
    """A name of letters alone, different for each number."""
    return "Ana Mason" + "".join(chr(ord("a") + int(digit)) for digit in str(number))


async def test_names_of_thousands_of_characters_and_blank_ones_are_stored_or_dropped(tenant: Tenant) -> None:
    people = [*BLANK, LONG_WORD, LONG_PHRASE, "Ana Silva"]
    text = f"Yesterday {LONG_WORD} met Ana Silva. Then {LONG_PHRASE} left."
    await tenant.add(f"# {LONG_PHRASE}\n\n{text}", "phrase", metadata={"people": people, "tags": people})
    await tenant.add(text, "word", title=LONG_WORD)
    answer = await tenant.ask("Where was Ana Silva yesterday?")
    assert {hit.candidate.uri for hit in answer.hits} == {"phrase", "word"}
    await tenant.assert_sound()


async def test_an_entity_of_the_longest_words_is_found_and_deleted(tenant: Tenant) -> None:
    draft = EntityDraft(type="person", name="Q" + "x" * 199, aliases=("y" * 200,))
    (stored,) = await entities.add([draft], tenant.user_id, db=tenant.db, embedder=tenant.embedder)
    await tenant.add(f"We met {'y' * 200} there.", "note")
    await tenant.assert_sound()
    await entities.remove(stored.entity_id, tenant.user_id, db=tenant.db)
    await tenant.assert_sound()


async def test_a_document_of_very_many_names_is_linked_to_each(tenant: Tenant, owner: Any) -> None:
    text = "\n\n".join(f"We met {_numbered(number)}." for number in range(NAMES))
    await tenant.add(text, "names")
    assert await owner.fetchval(MENTIONED, tenant.user_id) == NAMES
    await tenant.assert_sound()


async def test_a_member_stays_one_while_no_document_names_it(tenant: Tenant) -> None:
    people = {"people": ["Ana Silva"]}
    note = await tenant.add("Of lime.", "note", metadata=people)
    draft = EntityDraft(type="team", name="Masons", members=("Ana Silva",))
    (team,) = await entities.add([draft], tenant.user_id, db=tenant.db, embedder=tenant.embedder)
    await documents.delete(note.document_id, tenant.user_id, db=tenant.db)
    with pytest.raises(errors.NotFound):
        await entities.get(team.member_ids[0], tenant.user_id, db=tenant.db)
    await tenant.add("Of lime.", "note", metadata=people)
    assert (await entities.get(team.entity_id, tenant.user_id, db=tenant.db)).member_ids == team.member_ids
    assert (await entities.get(team.member_ids[0], tenant.user_id, db=tenant.db)).type == "person"
    await tenant.assert_sound()


async def test_a_title_does_not_take_the_name_that_was_its_alias(tenant: Tenant, owner: Any) -> None:
    note = await tenant.add("Of lime.", "note", title="Lihua", metadata={"aliases": ["Kestrel"]})
    await tenant.add("Of sand.", "bird", title="Kestrel")
    await tenant.add("Yesterday we met Lihua there.", "text")
    await linking.refresh(tenant)
    patch = {"metadata": {"aliases": None}}
    await document_patches.apply(note.document_id, patch, tenant.user_id, tenant.services())
    await linking.refresh(tenant)
    listed = await entities.page(tenant.user_id, db=tenant.db, limit=100)
    assert [(one.name, one.origin) for one in listed] == [("Lihua", "title")]


@pytest.mark.parametrize("end", ["remove", "change", "merge"])
async def test_a_name_that_only_a_team_has_kept_goes_with_the_membership(tenant: Tenant, owner, end: str) -> None:
    note = await tenant.add("Of lime.", "note", metadata={"people": ["Ana Silva"]})
    drafts = [EntityDraft(type="team", name="Masons", members=("Ana Silva",)), EntityDraft(type="team", name="Crew")]
    team, other = await entities.add(drafts, tenant.user_id, db=tenant.db, embedder=tenant.embedder)
    await documents.delete(note.document_id, tenant.user_id, db=tenant.db)
    names = "SELECT count(*) FROM stepwell.entity_names WHERE user_id = $1 AND name = 'Ana Silva'"
    assert await owner.fetchval(names, tenant.user_id) == 1
    of_user: Any = {"user_id": tenant.user_id, "db": tenant.db}
    if end == "merge":
        ids, services = [team.entity_id], tenant.services()
        merged = await entities.merge(other.entity_id, ids, tenant.user_id, services, actor="test")
        assert merged.members == team.members
        team = merged
    if end == "change":
        await entities.change(team.entity_id, {"members": ()}, **of_user, embedder=tenant.embedder)
    else:
        await entities.remove(team.entity_id, **of_user)
    assert await owner.fetchval(names, tenant.user_id) == 0
