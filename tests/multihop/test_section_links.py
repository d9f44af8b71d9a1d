"""A section's name links chunks to the section, within the rules for common and ambiguous headings."""

from math import log
from typing import Any

import linking
import pytest
from harness import Tenant
from requests_of import search_request

from app.entities import operations as entities
from app.multihop import multihop
from app.multihop import store as links
from app.multihop.store import LinkedChunk, LinkScope, LinkSource
from app.query.search_types import Answer
from app.services import ChunkingOptions
from app.text.names import names

QUESTION = "Where was the director of Silent Harbour born?"
FILM = "Silent Harbour is a film whose director is Ilse Brandt."
ALMANAC = """
# Almanac

## Otto Falk

Kept bees on the roof of a mill, and sold their wax to chandlers upriver.

## Ilse Brandt

Trained as a painter, her youth went by in Lundby.

## Lundby

A port with a tall lighthouse, ferries, and herring each spring.
"""
NOISE = (
    "Where was the director of the bank born?", "The director was born where the river ends.",
    "A harbour where a silent crowd was waiting.", "Where the director of the choir was standing.",
    "Silent films were born in a harbour shed.", "The harbour director was silent.",
    "Nobody knows where the silent director went.", "Born of the harbour was the idea of a market.",
)  # fmt: skip
WHOLE = 2 / (1 + log(2))
"""The weight of a link through a name that occurs in one chunk."""
_CHUNKS = """
SELECT c.chunk_id, d.uri || coalesce('/' || c.heading_path[cardinality(c.heading_path)], '') AS place
FROM stepwell.chunks AS c JOIN stepwell.documents AS d USING (user_id, document_id) WHERE c.user_id = $1
"""


class Shelf(Tenant):
    """A user whose sections are a chunk each."""

    async def led(self, owner: Any, source: str, question: str = "", **given: Any) -> dict[str, dict[str, LinkedChunk]]:
        """Where titles and headings in the chunk at `source` lead ("uri/heading"), by such places and by signal."""
        places = {row["chunk_id"]: row["place"] for row in await owner.fetch(_CHUNKS, self.user_id)}
        async with self.db.reading(self.user_id) as reading:
            scope = LinkScope(
                sources=[LinkSource(chunk_id, 1.0) for chunk_id, place in places.items() if place == source],
                names=names.sequences(question),
                headings={key for key in names.sequences(question) if " " in key},
                **given,
            )
            found = await links.follow(reading, scope)
        by_place: dict[str, dict[str, LinkedChunk]] = {}
        for led in found:
            if led.link and led.link.signal in ("linked", "named"):
                by_place.setdefault(places[led.chunk_id], {})[led.link.signal] = led
        return by_place


@pytest.fixture
def shelf(database: Any) -> Shelf:
    return Shelf(database, chunking_options=ChunkingOptions(target=16, overlap=0))


async def _ask(tenant: Tenant, text: str = QUESTION, **given: Any) -> Answer:
    return await multihop.run(search_request(text, explain=True, **given), tenant.user_id, tenant.services())


async def test_a_chunk_that_names_a_section_links_to_it(shelf: Shelf) -> None:
    for place, text in enumerate(NOISE):
        await shelf.add(text, f"noise{place}", title=f"note {place}")
    film = await shelf.add(FILM, "film", title="Silent Harbour")
    await shelf.add(ALMANAC, "almanac")
    answer = await _ask(shelf)
    source = next(hit for hit in answer.hits if hit.candidate.document_id == film.document_id)
    led = {hit.candidate.heading_path[-1]: hit for hit in answer.hits if hit.candidate.uri == "almanac"}
    assert "Otto Falk" not in led, "a heading is not the name of the whole document"
    found = led["Ilse Brandt"]
    assert (found.hop, found.via.name, found.via.signal, found.via.steps) == (2, "Ilse Brandt", "linked", 1)
    assert (found.via.heading, found.via.source_chunk_id) == (True, source.candidate.chunk_id)
    assert found.explain["heading"] == "Ilse Brandt"


async def test_a_section_links_to_others_of_its_document_but_not_to_itself(shelf: Shelf, owner: Any) -> None:
    await shelf.add(ALMANAC.replace("her youth", "the youth of Ilse Brandt"), "almanac")
    led = await shelf.led(owner, "almanac/Ilse Brandt")
    assert set(led) == {"almanac/Lundby"}
    link = led["almanac/Lundby"]["linked"].link
    assert (link.heading, link.steps) == (True, 1)
    await shelf.add(FILM, "film")
    led = await shelf.led(owner, "film")
    assert led["almanac/Ilse Brandt"]["linked"].weight == pytest.approx(2 / (1 + log(1 + 2)))
    town = led["almanac/Lundby"]["linked"].link
    assert (town.name, town.heading, town.steps) == ("Lundby", True, 2)


async def test_a_section_named_in_the_question_is_a_source_of_links(shelf: Shelf, owner: Any) -> None:
    await shelf.add(ALMANAC, "almanac")
    led = await shelf.led(owner, "", "what became of ilse brandt?")
    assert led["almanac/Ilse Brandt"]["named"].link.name == "Ilse Brandt"
    assert led["almanac/Lundby"]["linked"].weight == pytest.approx(WHOLE)
    assert "almanac/Lundby" not in await shelf.led(owner, "", "what became of lundby?"), "a lone word has to be large"
    await shelf.add(ALMANAC, "copy")
    assert await shelf.led(owner, "", "what became of ilse brandt?") == {}, "a name in a question means one section"


@pytest.mark.parametrize(
    ("heading", "said", "leads"),
    [
        ("Refund policy", "the refund policy of the fund", False),
        ("4.1 Refund Policy", "a Refund policy", True),
        ("Members", "its members", False),
        ("Members", "the Members of it", True),
    ],
)
async def test_a_heading_matches_where_a_text_writes_it_as_a_name(shelf, owner, heading, said, leads) -> None:
    for order in (("film", "almanac"), ("almanac", "film")):
        texts = {"film": f"It tells {said}.", "almanac": ALMANAC.replace("Ilse Brandt", heading)}
        tenant = Shelf(shelf.db, chunking_options=shelf.chunking_options)
        for uri in order:
            await tenant.add(texts[uri], uri)
        await linking.refresh(tenant)
        assert (f"almanac/{heading}" in await tenant.led(owner, "film")) == leads


async def test_a_heading_of_a_few_sections_shares_its_weight_and_one_of_many_is_ignored(shelf, owner) -> None:
    await shelf.add("See the Next Steps of it.", "film")
    for count in range(1, 5):
        await shelf.add(f"# Plan {count}\n\n## Next Steps\n\nGo on in spring.", f"plan{count}")
        led = await shelf.led(owner, "film")
        few = count <= links.MAX_SECTIONS
        assert set(led) == ({f"plan{n}/Next Steps" for n in range(1, count + 1)} if few else set())
        assert [found["linked"].weight for found in led.values()] == pytest.approx([WHOLE / count] * len(led))


async def test_headings_that_every_document_has_are_ignored(shelf: Shelf, owner: Any) -> None:
    note = "# Note {n}\n\n## Members\n\nIn {n} it was told of Members who wait.\n\n## Follow-up\n\nTo be told again."
    for number in range(4):
        await shelf.add(note.format(n=number), f"note{number}")
    await shelf.add("The Members wait for a follow-up, and the Follow-up waits.", "other")
    question = "Who are the Members, and what is the follow-up?"
    for source in ("other", "note0/Members", "note0/Follow-up"):
        assert await shelf.led(owner, source, question) == {}


async def test_one_long_document_whose_chapters_all_end_alike_is_no_exception(shelf: Shelf, owner: Any) -> None:
    chapters = "".join(
        f"\n\n## Chapter of {c}{c}\n\nIt is told.\n\n### Further Reading\n\nBooks of {c}." for c in "bcdf"
    )
    await shelf.add(f"# Course{chapters}", "course")
    await shelf.add("See Further Reading and the Chapter of bb.", "note")
    assert set(await shelf.led(owner, "note")) == {"course/Chapter of bb"}


async def test_headings_are_not_entities_and_do_not_guide(shelf: Shelf) -> None:
    await shelf.add(FILM, "film", title="Silent Harbour")
    await shelf.add(ALMANAC, "almanac")
    listed = await entities.page(shelf.user_id, db=shelf.db, limit=99)
    assert listed == []
    assert await entities.find("Ilse Brandt", shelf.user_id, db=shelf.db, limit=9) == []
    answer = await shelf.ask("Ilse Brandt")
    assert (answer.entities, answer.search_mode) == ((), "flat")
