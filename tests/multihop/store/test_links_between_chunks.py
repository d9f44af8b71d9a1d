"""Names link chunks to documents with the documented weights."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import log
from typing import Any
from uuid import UUID, uuid4

import hybrid
import pytest

from app.database.filter_types import Filters
from app.database.transactions import Database
from app.entities.linking import mention_extraction
from app.multihop import store as links
from app.multihop.store import LinkedChunk, LinkScope, LinkSource, SourceIdentifier
from app.query.search_types import ChunkLink
from app.text.names import names
from app.text.queries.parsed_query import IndexText
from app.text.words import tsvector_text
from benchmarks.fake_embedder import FakeEmbedder

TEXTS = {
    "Silent Harbour": "a film by Ilse Brandt and the Corvane Studio",
    "Ilse Brandt": "she grew up in Lundby",
    "Lundby": "a port of the north",
    "Corvane": "one more line about the Corvane Studio",
    "Reviews": "ilse brandt is praised here, and Ilse Brandt again",
}


class TitledDocuments:
    """A user's documents of one chunk each, by title."""

    def __init__(self, db: Database, user: str, embedder: FakeEmbedder) -> None:
        self.db, self.user, self.embedder = db, user, embedder
        self.documents: dict[str, UUID] = {}
        self.chunks: dict[str, UUID] = {}

    async def put(self, title: str, text: str, owner: Any) -> None:
        """Stores one document with its names."""
        document_id = await hybrid.store(self.db, self.user, hybrid.draft(text, title=title), embedder=self.embedder)
        async with self.db.writing(self.user) as writing:
            await mention_extraction.relink(writing, document_id, keys=())
        self.documents[title] = document_id
        self.chunks[title] = await owner.fetchval(
            "SELECT chunk_id FROM stepwell.chunks WHERE user_id = $1 AND document_id = $2", self.user, document_id
        )

    async def follow(
        self, sources: dict[str, float], question: str = "", **given: Any
    ) -> dict[str, dict[str | None, LinkedChunk]]:
        """Chunks by title and by the signal of the link."""
        found = [LinkSource(self.chunks[title], weight) for title, weight in sources.items()]
        return await self._found(LinkScope(found, names=names.sequences(question), **given))

    async def by_rare_words(
        self, source: str, words: Mapping[str, float], *, weight: float = 0.5, skipped: str = "", **given: Any
    ) -> dict[str, LinkedChunk]:
        """The chunks that share a rare word with a source, by title."""
        found = LinkSource(self.chunks[source], weight, lead=1.0, identifier_pieces=skipped)
        scope = LinkScope([found], words=words, corpus_chunks=len(self.chunks), **given)
        return {title: by["rare"] for title, by in (await self._found(scope)).items() if "rare" in by}

    async def by_identifier(
        self, source: str, text: str, words: Sequence[str] = ("maker",), *, lead: float = 1.0, **given: Any
    ) -> dict[str, LinkedChunk]:
        """The chunks that contain an identifier of a source, by title."""
        indexed = IndexText(tsvector_text.index_text(text, "english"), tsvector_text.index_text(text, "german"))
        known = [SourceIdentifier(text, indexed)]
        found = LinkSource(self.chunks[source], 0.5, lead=lead, identifiers=known)
        by_title = await self._found(LinkScope([found], words=dict.fromkeys(words, 1.0), **given))
        return {title: by["identifier"] for title, by in by_title.items() if "identifier" in by}

    async def _found(self, scope: LinkScope) -> dict[str, dict[str | None, LinkedChunk]]:
        async with self.db.reading(self.user) as reading:
            found = await links.follow(reading, scope)
        by_title: dict[str, dict[str | None, LinkedChunk]] = {}
        titles = {chunk_id: title for title, chunk_id in self.chunks.items()}
        for one in found:
            by_title.setdefault(titles[one.chunk_id], {})[one.link and one.link.signal] = one
        return by_title


Shelve = Callable[..., Awaitable[TitledDocuments]]


@pytest.fixture(scope="module")
def shelve(database: Database, embedder: FakeEmbedder, owner: Any) -> Shelve:
    """Stores the texts, and others, for a new user; the tests change none of them."""

    async def stored(**others: str) -> TitledDocuments:
        made = TitledDocuments(database, f"linked-{uuid4().hex}", embedder)
        for title, text in {**TEXTS, **others}.items():
            await made.put(title, text, owner)
        async with database.writing(made.user) as writing:
            for title in TEXTS:
                await mention_extraction.relink(writing, made.documents[title], keys=())
        return made

    return stored


@pytest.fixture(scope="module")
async def titled(shelve: Shelve) -> TitledDocuments:
    return await shelve()


async def test_the_weight_of_a_mentioned_title_depends_on_its_source_and_the_number_of_mentions(titled) -> None:
    chunks = await titled.follow({"Silent Harbour": 0.5})
    found = chunks["Ilse Brandt"]["linked"]
    assert found.weight == pytest.approx(0.5 * 2 / (1 + log(1 + 2)))
    assert found.link == ChunkLink("linked", "Ilse Brandt", titled.chunks["Silent Harbour"], chunks=2, steps=1)


async def test_a_second_link_has_half_the_weight_of_the_first_times_its_own(titled: TitledDocuments) -> None:
    chunks = await titled.follow({"Silent Harbour": 0.5})
    first, second = chunks["Ilse Brandt"]["linked"].weight, chunks["Lundby"]["linked"]
    assert second.weight == pytest.approx(0.5 * first / (1 + log(1 + 1)))
    assert second.link == ChunkLink("linked", "Lundby", titled.chunks["Ilse Brandt"], chunks=1, steps=2)


async def test_the_weight_of_a_shared_name_depends_on_its_rarity_and_the_similarity_to_the_question(titled) -> None:
    vector = await titled.embedder.embed_query("one more line about the Corvane Studio")
    chunks = await titled.follow({"Silent Harbour": 0.5}, vector=vector)
    found = chunks["Corvane"]["shared"]
    assert found.similarity == pytest.approx(1.0, abs=1e-4)
    assert found.link == ChunkLink("shared", "Corvane Studio", titled.chunks["Silent Harbour"], chunks=2, steps=1)
    assert found.weight == pytest.approx(0.5 / (1 + log(2)) * 1.0, rel=1e-3)


async def test_a_name_in_the_question_links_documents_by_title_and_not_as_a_shared_name(titled) -> None:
    chunks = await titled.follow({"Silent Harbour": 0.5}, "what did the corvane studio and ILSE BRANDT do?")
    assert "Corvane" not in chunks or "shared" not in chunks["Corvane"]
    assert chunks["Ilse Brandt"]["named"].link == ChunkLink("named", "Ilse Brandt")
    linked = chunks["Lundby"]["linked"]
    assert linked.link.steps == 1, "a document that the question names leads on with weight 1"
    assert linked.weight == pytest.approx(2 / (1 + log(1 + 1)))


async def test_a_name_that_several_documents_have_in_their_titles_leads_to_each_with_less_weight(shelve) -> None:
    titles = ("Ilse Brandt", "ILSE BRANDT", "Ilse BRANDT")
    shelf = await shelve(**{title: f"note {number}" for number, title in enumerate(titles)})
    chunks = await shelf.follow({"Reviews": 0.5}, "what did Ilse Brandt do in Lundby?")
    weights = {title: chunks[title]["named"].weight for title in (*titles, "Lundby")}
    assert weights == pytest.approx({**dict.fromkeys(titles, 1 / (1 + log(3))), "Lundby": 1.0})


async def test_filters_and_exclusions_apply_to_linked_chunks_and_to_the_chunks_that_link_onward(titled) -> None:
    assert "Ilse Brandt" not in await titled.follow(
        {"Silent Harbour": 0.5}, exclude_chunk_ids=[titled.chunks["Ilse Brandt"]]
    )
    allowed = tuple(document for title, document in titled.documents.items() if title != "Ilse Brandt")
    chunks = await titled.follow({"Silent Harbour": 0.5}, "Ilse Brandt", filters=Filters(document_ids=allowed))
    assert "Ilse Brandt" not in chunks
    assert "Lundby" not in chunks


async def test_names_link_chunks_without_a_query_vector(titled: TitledDocuments) -> None:
    chunks = await titled.follow({"Silent Harbour": 0.5}, vector=None)
    assert chunks["Ilse Brandt"]["linked"].similarity is None
    assert chunks["Corvane"]["shared"].weight == pytest.approx(0.5 * 0.5 / (1 + log(2)))


WORDS = {"pump": 4.0, "sell": 9.0, "price": 3.0}
"""Of a query; the note lacks those of weight 12, of which the answer contains 9."""


@pytest.fixture(scope="module")
async def worded(shelve: Shelve) -> TitledDocuments:
    return await shelve(
        note="42 gaskets of the old pump swelled",
        answer="whoever sells gaskets sells 42, it's said",
        offer="42 of them to sell",
    )


async def test_the_weight_of_a_rare_word_depends_on_its_source_its_rarity_and_the_words_that_the_source_lacks(worded):
    found = await worded.by_rare_words("note", WORDS)
    assert set(found) == {"answer"}, "a number links nothing, nor does a word that no other chunk contains"
    link = found["answer"]
    assert link.link == ChunkLink("rare", "gasket", worded.chunks["note"], chunks=2, steps=1)
    assert link.similarity is None
    assert link.weight == pytest.approx(0.5 * log(1 + (8 - 2 + 0.5) / 2.5) / log(8) * 9 / 12)
    assert (await worded.by_rare_words("note", WORDS, weight=1.0))["answer"].weight == pytest.approx(2 * link.weight)
    quoted = await worded.by_rare_words("note", {**WORDS, "it's": 0.5, "a\\b": 0.5})
    assert quoted["answer"].weight == pytest.approx(link.weight * 12 / 13), "words need no quotes"


@pytest.mark.parametrize(
    "restricted",
    [
        {"words": {**WORDS, "gasket": 1.0}},
        {"words": {"pump": 4.0}},
        {"words": {"pump": 4.0, "price": 3.0}},
        {"skipped": "gaskets"},
        {"filters": "note"},
        {"exclude_chunk_ids": "answer"},
    ],
    ids=["in the query", "nothing lacks", "not contained", "in an identifier", "filtered", "excluded"],
)
async def test_a_rare_word_links_nothing_if_it_adds_nothing_or_the_chunk_is_not_wanted(worded, restricted) -> None:
    given = {"words": WORDS, **restricted}
    if "filters" in given:
        given["filters"] = Filters(document_ids=(worded.documents[given["filters"]],))
    if "exclude_chunk_ids" in given:
        given["exclude_chunk_ids"] = [worded.chunks[given["exclude_chunk_ids"]]]
    assert await worded.by_rare_words("note", **given) == {}


@pytest.fixture(scope="module")
async def coded(shelve: Shelve) -> TitledDocuments:
    return await shelve(
        report="it is of the type FB-12, code A-1200, by INC-48213",
        maker="we make the fb-12",
        sheet="FB 12, in another spelling",
        other="12 pieces of FB-13 for 1200 euros",
        page="INC-48213: 12 FB pieces",
    )


async def test_an_identifier_links_the_chunks_that_contain_all_of_it_in_any_case(coded: TitledDocuments) -> None:
    found = await coded.by_identifier("report", "FB-12")
    assert set(found) == {"maker", "sheet"}
    link = found["maker"]
    assert link.link == ChunkLink("identifier", "FB-12", coded.chunks["report"], chunks=3, steps=1)
    assert link.similarity is None
    assert link.weight == pytest.approx(0.5 / 2), "two other documents contain it"
    for lead in (1.0, 0.7):  # an identifier of a less certain source leads less
        page = (await coded.by_identifier("report", "INC-48213", lead=lead))["page"]
        assert page.weight == pytest.approx(0.5 * lead)
    assert await coded.by_identifier("report", "A-1200") == {}, "a number remains without the stop word"
    assert await coded.by_identifier("report", "QX-77") == {}
    assert await coded.by_identifier("report", "FB-12", ["type", "code"]) == {}, "the source lacks no word of the query"


@pytest.mark.parametrize(("bound", "value"), [("MAX_CHUNKS", 2), ("MIN_CHUNKS", 4), ("MAX_COMPARED", 2)])
async def test_an_identifier_of_too_few_or_too_many_chunks_links_nothing(coded, monkeypatch, bound, value) -> None:
    monkeypatch.setattr(links, bound, value)
    assert await coded.by_identifier("report", "FB-12") == {}


async def test_filters_and_exclusions_apply_to_identifiers(coded: TitledDocuments) -> None:
    only = Filters(document_ids=(coded.documents["sheet"],))
    assert set(await coded.by_identifier("report", "FB-12", filters=only)) == {"sheet"}
    assert set(await coded.by_identifier("report", "FB-12", exclude_chunk_ids=[coded.chunks["sheet"]])) == {"maker"}
