"""Do names lead where they should, with the weights that the statement promises?"""

from __future__ import annotations

from math import log
from typing import Any
from uuid import UUID

import hybrid
import pytest

from app.pipelines import mention_extraction
from app.providers.fake import FakeEmbedder
from app.shapes import Filters, LinkedChunk, LinkRequest, Vector
from app.store import links
from app.store.db import Database
from app.text import names

TEXTS = {
    "Silent Harbour": "a film by Ilse Brandt and the Corvane Studio",
    "Ilse Brandt": "she grew up in Lundby",
    "Lundby": "a port of the north",
    "Corvane": "one more line about the Corvane Studio",
    "Reviews": "ilse brandt is praised here, and Ilse Brandt again",
}


class Shelf:
    """A user's documents of one chunk each, by title."""

    def __init__(self, db: Database, user: str, embedder: FakeEmbedder) -> None:
        self.db, self.user, self.embedder = db, user, embedder
        self.documents: dict[str, UUID] = {}
        self.chunks: dict[str, UUID] = {}

    async def put(self, title: str, text: str, owner: Any) -> None:
        """Store one document with its names."""
        document_id = await hybrid.store(self.db, self.user, hybrid.draft(text, title=title), embedder=self.embedder)
        async with self.db.writing(self.user) as writing:
            await mention_extraction.link(writing, self.user, document_id, keys=())
        self.documents[title] = document_id
        self.chunks[title] = await owner.fetchval(
            "SELECT chunk_id FROM stepwell.chunks WHERE user_id = $1 AND document_id = $2", self.user, document_id
        )

    async def follow(
        self, sources: dict[str, float], question: str = "", vector: Vector | None = None, **given: Any
    ) -> dict[str, LinkedChunk]:
        """Where names lead, by title."""
        request = LinkRequest(
            self.user,
            sources={self.chunks[title]: weight for title, weight in sources.items()},
            keys=names.sequences(question),
            vector=vector,
            **given,
        )
        async with self.db.reading(self.user) as reading:
            led = await links.follow(reading, request)
        titles = {chunk_id: title for title, chunk_id in self.chunks.items()}
        return {titles[chunk.chunk_id]: chunk for chunk in led}


@pytest.fixture
async def shelf(database: Database, user: str, embedder: FakeEmbedder, owner: Any) -> Shelf:
    made = Shelf(database, user, embedder)
    for title, text in TEXTS.items():
        await made.put(title, text, owner)
    return made


async def test_a_mentioned_title_weighs_by_its_source_and_by_how_many_mention_it(shelf: Shelf) -> None:
    led = await shelf.follow({"Silent Harbour": 0.5})
    found = led["Ilse Brandt"]
    assert found.linked_chunks == 2
    assert found.linked == pytest.approx(0.5 * 2 / (1 + log(1 + 2)))
    assert (found.linked_name, found.linked_steps) == ("Ilse Brandt", 1)
    assert found.linked_source == shelf.chunks["Silent Harbour"]


async def test_a_second_link_weighs_half_of_the_first_times_its_own(shelf: Shelf) -> None:
    led = await shelf.follow({"Silent Harbour": 0.5})
    first, second = led["Ilse Brandt"].linked, led["Lundby"]
    assert first is not None
    assert second.linked == pytest.approx(0.5 * first / (1 + log(1 + 1)))
    assert (second.linked_name, second.linked_steps) == ("Lundby", 2)
    assert second.linked_source == shelf.chunks["Ilse Brandt"]


async def test_a_shared_name_weighs_by_its_rarity_and_by_the_likeness_to_the_question(shelf: Shelf) -> None:
    vector = await shelf.embedder.embed_query("one more line about the Corvane Studio")
    led = await shelf.follow({"Silent Harbour": 0.5}, vector=vector)
    found = led["Corvane"]
    assert found.similarity == pytest.approx(1.0, abs=1e-4)
    assert (found.shared_name, found.shared_chunks) == ("Corvane Studio", 2)
    assert found.shared == pytest.approx(0.5 / (1 + log(2)) * 1.0, rel=1e-3)


async def test_a_name_in_the_question_is_not_shared_but_names_documents(shelf: Shelf) -> None:
    led = await shelf.follow({"Silent Harbour": 0.5}, "what did the corvane studio and ILSE BRANDT do?")
    assert "Corvane" not in led or led["Corvane"].shared is None
    assert led["Ilse Brandt"].named_name == "Ilse Brandt"
    assert led["Lundby"].linked_steps == 1, "a document that the question names leads on with weight 1"
    assert led["Lundby"].linked == pytest.approx(2 / (1 + log(1 + 1)))


async def test_filters_and_exclusions_bind_what_is_led_to_and_what_leads_on(shelf: Shelf) -> None:
    assert "Ilse Brandt" not in await shelf.follow(
        {"Silent Harbour": 0.5}, exclude_chunk_ids=[shelf.chunks["Ilse Brandt"]]
    )
    allowed = tuple(document for title, document in shelf.documents.items() if title != "Ilse Brandt")
    led = await shelf.follow({"Silent Harbour": 0.5}, "Ilse Brandt", filters=Filters(document_ids=allowed))
    assert "Ilse Brandt" not in led
    assert "Lundby" not in led


async def test_without_a_vector_names_lead_all_the_same(shelf: Shelf) -> None:
    led = await shelf.follow({"Silent Harbour": 0.5}, vector=None)
    assert led["Ilse Brandt"].similarity is None
    assert led["Corvane"].shared == pytest.approx(0.5 * 0.5 / (1 + log(2)))


async def test_chunks_that_are_only_compared_carry_nothing_but_their_likeness(shelf: Shelf) -> None:
    vector = await shelf.embedder.embed_query("a port of the north")
    led = await shelf.follow({}, vector=vector, compared=[shelf.chunks["Lundby"]])
    assert set(led) == {"Lundby"}
    assert led["Lundby"].similarity == pytest.approx(1.0, abs=1e-4)
    assert (led["Lundby"].linked, led["Lundby"].shared, led["Lundby"].named_name) == (None, None, None)


async def test_nobody_follows_another_users_names(shelf: Shelf, owner: Any) -> None:
    stranger = Shelf(shelf.db, f"{shelf.user}-other", shelf.embedder)
    await stranger.put("Silent Harbour", TEXTS["Silent Harbour"], owner)
    assert await stranger.follow({"Silent Harbour": 1.0}, "Ilse Brandt in Lundby") == {}


async def test_names_are_told_with_the_chunks_that_hold_them(shelf: Shelf) -> None:
    async with shelf.db.reading(shelf.user) as reading:
        found = await links.names(reading, shelf.user, [shelf.chunks["Silent Harbour"]])
    assert {name.name: name.chunks for name in found} == {
        "Silent Harbour": 1,
        "Ilse Brandt": 3,
        "Corvane Studio": 2,
        "Corvane": 2,
    }
