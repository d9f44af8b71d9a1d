"""Entities are found by any of their names; those of one name are told apart by the query, and by ids in metadata."""

from typing import Any
from uuid import UUID, uuid4

import linking
import pytest
from harness import Tenant, uris
from linking import asked

from app.database.filter_types import DocumentFilter
from app.database.transactions import Database
from app.documents import operations as documents
from app.documents.types import Upload
from app.entities import operations as entities
from app.entities.linking import mention_extraction, mention_refresh
from app.entities.types import EntityDraft
from app.search.steps.entity_guidance import entity_search
from app.search.steps.entity_guidance.entity_search import EntitySearchRequest
from app.text.names import metadata_names

MASON = EntityDraft("person", "John Smith", role="mason", facts=("He repaired the third landing.",))
CLERK = EntityDraft("person", "John Smith", role="accountant", description="Checks invoices of the harbour.")
NOTES = {
    "wall": "John Smith talked about the plan for spring and what it needs.",
    "books": "John Smith talked about the plan for autumn and what it needs.",
    "both": "John Smith met John Smith and they talked about the weather.",
    "other": "Lime mortar cures slowly, the plan for spring says.",
}


async def add_johns(tenant: Tenant) -> tuple[UUID, UUID]:
    """A mason and an accountant of one name, each with a document whose metadata gives the id, and other notes."""
    ids = (uuid4(), uuid4())
    for uri, person in (("wall", ids[0]), ("books", ids[1])):
        attendee = {"name": "John Smith", "entity_id": str(person)}
        await tenant.add(NOTES[uri], uri, metadata={"attendees": [attendee, "Ana"]})
    await tenant.add_all({uri: NOTES[uri] for uri in ("both", "other")})
    drafts = [MASON, CLERK, EntityDraft("team", "Stair crew", members=(ids[0],))]
    await entities.add(drafts, tenant.user_id, db=tenant.db, embedder=tenant.embedder, ids=[*ids, None])
    await linking.refresh(tenant)
    return ids


@pytest.fixture(scope="module")
async def johns(database: Database) -> tuple[Tenant, tuple[UUID, UUID]]:
    """A user whom no test changes, and the ids of the mason and the accountant."""
    tenant = Tenant(database)
    return tenant, await add_johns(tenant)


_LINKS = """
SELECT d.uri, m.entity_id, m.kind FROM stepwell.mentions AS m JOIN stepwell.documents AS d USING (user_id, document_id)
JOIN stepwell.entities AS e ON e.user_id = m.user_id AND e.entity_id = m.entity_id
WHERE m.user_id = $1 AND e.origin = 'user' AND e.type = 'person'
"""


async def links(owner: Any, tenant: Tenant) -> set[tuple[str, UUID, str]]:
    """The documents that mention a person of the user, with the kind of mention."""
    return {tuple(row) for row in await owner.fetch(_LINKS, tenant.user_id)}


async def test_a_name_means_all_namesakes_unless_the_metadata_gives_an_id(tenant: Tenant, owner: Any) -> None:
    mason, clerk = await add_johns(tenant)
    expected = {(uri, who, kind) for uri, who in (("wall", mason), ("books", clerk)) for kind in ("text", "attendee")}
    expected |= {("both", mason, "text"), ("both", clerk, "text")}
    assert await links(owner, tenant) == expected, "linked by the job"
    for uri in ("wall", "books"):
        who = {"wall": mason, "books": clerk}[uri]
        metadata = {"attendees": [{"name": "John Smith", "entity_id": str(who)}, "Ana"]}
        await tenant.add(NOTES[uri] + " Again.", uri, metadata=metadata)
    assert await links(owner, tenant) == expected, "linked when stored"
    (wall,) = await documents.page(tenant.user_id, db=tenant.db, limit=1, after=None, only=DocumentFilter("wall"))
    async with tenant.db.reading(tenant.user_id) as reading:
        checked = await mention_extraction.compute_expected(reading, wall.document_id, keys=metadata_names.KEYS)
    assert {mention.entity_id for mention in checked[0]} & {mason, clerk} == {mason}, "by the check of stored mentions"
    await entities.remove(mason, tenant.user_id, db=tenant.db)
    await mention_refresh.drain(tenant.user_id, tenant.services())
    assert {row for row in await links(owner, tenant) if row[0] == "wall"} == {
        ("wall", clerk, "text"),
        ("wall", clerk, "attendee"),
    }, "an id that does not exist says nothing"


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("what did John Smith the mason plan?", 0),
        ("what did John Smith the accountant plan?", 1),
        ("John Smith's plan for the landing", 0),
        ("John Smith's plan for the harbour invoices", 1),
        ("John Smith of the stair crew: what is the plan?", 0),
    ],
    ids=["role", "the other role", "fact", "description", "team"],
)
async def test_words_about_one_namesake_prefer_that_one_and_its_documents(johns, query, first) -> None:
    tenant, ids = johns
    answer = await asked(tenant, query)
    people = [match for match in answer.entities if match.type == "person"]
    assert [match.entity_id for match in people] == [ids[first], ids[1 - first]]
    assert people[0].score == 1.0
    assert 0.5 <= people[1].score < 0.9
    assert {match.role: match.teams for match in people} == {"mason": ("Stair crew",), "accountant": ()}
    assert answer.search_mode == "two_pass"
    ordered = [uri for uri in uris(answer) if uri in ("wall", "books")]
    assert ordered == (["wall", "books"] if first == 0 else ["books", "wall"])


async def test_namesakes_that_nothing_tells_apart_share_and_are_boosted_once(johns) -> None:
    answer = await asked(johns[0], "what did John Smith plan?")
    people = [match for match in answer.entities if match.type == "person"]
    assert [match.score for match in people] == [1.0, 1.0]
    (both,) = [hit for hit in answer.hits if hit.candidate.uri == "both"]
    assert both.boost.mentions == 2, "the text has the name twice, whomever it means"


@pytest.fixture(scope="module")
async def people(database: Database) -> Tenant:
    tenant = Tenant(database)
    await tenant.add_all(
        [
            Upload("They met on Monday.", metadata={"attendees": ["Cliff Clarke", "Ines Brandauer"]}),
            Upload("She plays the viola.", title="Ines Brandauer", metadata={"aliases": ["Nessie", "ibrand"]}),
            Upload("Cliff and Clark went home.", title="An aside", metadata={"Aliases": "Tall Tale"}),
        ]
    )
    await linking.refresh(tenant)
    return tenant


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Cliff Clark", "Cliff Clarke"),
        ("Clif Clarke", "Cliff Clarke"),
        ("Clarke", "Cliff Clarke"),
        ("Brandauer", "Ines Brandauer"),
        ("ines", "Ines Brandauer"),
        ("ibrand", "Ines Brandauer"),
        ("what does nessie play", "Ines Brandauer"),
        ("Tall Tale", "An aside"),
    ],
)
async def test_an_entity_is_found_by_any_of_its_names(people: Tenant, query: str, name: str) -> None:
    answer = await entity_search.run(EntitySearchRequest(query=query), people.user_id, people.services())
    assert [one.name for one in answer.entities][:1] == [name]


async def test_a_name_inside_a_longer_name_is_no_name_of_the_query(tenant: Tenant) -> None:
    await tenant.add_all(
        {"a": "# Ships\n\nShips sail to Porto Alegre.", "b": "# Wine\n\nPorto sells wine, as Porto does."}
    )
    places = [EntityDraft("place", name) for name in ("Porto Alegre", "Porto")]
    await linking.add_entities(tenant, *places)
    listed = await entity_search.run(EntitySearchRequest(query="Porto Alegre"), tenant.user_id, tenant.services())
    answer = await asked(tenant, "which wine does Porto Alegre sell?")
    assert [one.name for one in listed.entities] == [one.name for one in answer.entities] == ["Porto Alegre"]


async def test_a_misspelt_name_is_found_where_each_of_its_words_is_another_name(tenant: Tenant) -> None:
    await tenant.add("# Ships\n\nShips sail to Santa Cruz.", "a")
    await linking.add_entities(tenant, *(EntityDraft("place", name) for name in ("Santa Cruz", "Sant", "Cruz")))
    answer = await asked(tenant, "which ships sail to Sant Cruz?")
    assert {one.name for one in answer.entities} == {"Santa Cruz", "Sant", "Cruz"}
