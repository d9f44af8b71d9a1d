"""Entities are found by their names, parts of them, other spellings, and the aliases that metadata gives."""

from __future__ import annotations

import linking
import pytest
from harness import Tenant

from app.database.transactions import Database
from app.documents.types import Upload
from app.search.steps.guidance import entity_search
from app.search.steps.guidance.entity_search import EntitySearchRequest


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
