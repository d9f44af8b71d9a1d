"""An upload is stored as one whole document or not at all."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from uuid import uuid4

import harness
import pytest
from harness import Tenant, uris

from app import errors
from app.pipelines.documents import batches, documents, ingest
from app.pipelines.running.chunking_options import ChunkingOptions
from app.shapes import Chunk, Document, Upload
from benchmarks.fake_embedder import FakeEmbedder

LONG = "# Well\n\n" + "\n\n".join(
    f"## Step {n}\n\n" + " ".join(f"Stone {n} lies on stone {m} é 🪨." for m in range(40)) for n in range(4)
)


async def _document(tenant: Tenant, document_id: Any) -> Document:
    return await documents.get(document_id, tenant.user_id, db=tenant.db)


async def _chunks(tenant: Tenant, document_id: Any) -> list[Chunk]:
    return await documents.chunks(document_id, tenant.user_id, db=tenant.db, limit=10_000, offset=0)


async def _counts(tenant: Tenant) -> tuple[int, int, int]:
    stats = await documents.stats(tenant.user_id, db=tenant.db)
    return stats.documents, stats.chunks, stats.vectors


def _fake(tenant: Tenant) -> FakeEmbedder:
    assert isinstance(tenant.embedder, FakeEmbedder)
    return tenant.embedder


async def test_added_then_unchanged_then_replaced(tenant: Tenant) -> None:
    first = await tenant.add("Lime mortar.", "note")
    again = await tenant.add("Lime mortar.", "note")
    changed = await tenant.add("Cement.", "note")
    assert [first.status, again.status, changed.status] == ["added", "unchanged", "replaced"]
    assert first.document_id == again.document_id == changed.document_id
    assert [first.embedded, again.embedded, changed.embedded] == [1, 0, 1]
    assert (await _document(tenant, first.document_id)).content == "Cement."
    assert await _counts(tenant) == (1, 1, 1)
    assert _fake(tenant).documents == ["Lime mortar.", "Cement."]


async def test_a_text_without_a_uri_is_its_own_identity(tenant: Tenant) -> None:
    first, again = await tenant.add("Lime mortar."), await tenant.add("Lime mortar.\r\n")
    assert (first.document_id, again.status) == (again.document_id, "unchanged")
    assert (await tenant.add("Other.")).status == "added"


async def test_one_text_under_two_uris_is_two_documents_and_embedded_once(tenant: Tenant) -> None:
    one, two = await tenant.add(LONG, "one"), await tenant.add(LONG, "two")
    assert one.document_id != two.document_id
    assert (one.status, two.status, two.embedded) == ("added", "added", 0)
    assert len(_fake(tenant).documents) == one.chunk_count == len(set(_fake(tenant).documents))
    assert await _counts(tenant) == (2, 2 * one.chunk_count, 2 * one.chunk_count)
    assert set(uris(await tenant.ask("stone", limit=50, collapse="off"))) == {"one", "two"}


async def test_the_same_text_twice_in_one_batch_is_embedded_once(tenant: Tenant) -> None:
    outcomes = await tenant.many([Upload("Lime mortar.", uri=f"note-{n}") for n in range(5)])
    assert [outcome.stored and outcome.stored.status for outcome in outcomes] == ["added"] * 5
    assert _fake(tenant).documents == ["Lime mortar."]


@pytest.mark.parametrize(
    "change",
    [{"title": "Walls"}, {"metadata": {"team": "masonry"}}, {"created_at": datetime(2024, 5, 6, tzinfo=UTC)}],
)
async def test_other_attributes_of_the_same_text_replace_the_document(tenant: Tenant, change: dict[str, Any]) -> None:
    first = await tenant.add("Lime mortar.", "note")
    changed = await tenant.add("Lime mortar.", "note", **change)
    assert (changed.status, changed.document_id) == ("replaced", first.document_id)
    found = await _document(tenant, first.document_id)
    assert {name: getattr(found, name) for name in change} == change
    assert (await tenant.add("Lime mortar.", "note", **change)).status == "unchanged"


async def test_another_language_is_indexed_in_that_language(tenant: Tenant) -> None:
    await tenant.add("Die Häuser am Hafen.", "note")
    assert (await tenant.add("Die Häuser am Hafen.", "note", language="de")).status == "replaced"
    assert uris(await tenant.ask("Haus", mode="lexical")) == ["note"]
    stats = await documents.stats(tenant.user_id, db=tenant.db)
    assert stats.languages == {"german": 1}


async def test_twenty_concurrent_uploads_of_one_uri_make_one_document(tenant: Tenant) -> None:
    stored = await asyncio.gather(*(tenant.add(f"Version {n % 4}. Lime.", "note") for n in range(20)))
    assert len({one.document_id for one in stored}) == 1
    assert sum(one.status == "added" for one in stored) == 1
    assert await _counts(tenant) == (1, 1, 1)
    answer = await tenant.ask("lime", explain=True)
    assert answer.explain is not None
    assert [term["df"] for term in answer.explain["terms"]] == [1]


SPOILT = {
    "one too few": lambda vectors: vectors[:-1],
    "one too many": lambda vectors: [*vectors, vectors[0]],
    "none": lambda vectors: [],
    "wrong size": lambda vectors: [vector[:-1] for vector in vectors],
    "one of a wrong size": lambda vectors: [*vectors[:-1], vectors[-1] + [0.0]],
    "not a number": lambda vectors: [[float("nan")] * len(vector) for vector in vectors],
    "infinite": lambda vectors: [[float("inf")] * len(vector) for vector in vectors],
    "all zeros": lambda vectors: [[0.0] * len(vector) for vector in vectors],
}


@pytest.mark.parametrize("how", SPOILT)
async def test_nothing_is_stored_if_the_provider_returns_invalid_vectors(tenant: Tenant, how: str) -> None:
    tenant.embedder = harness.FaultyEmbedder(SPOILT[how])
    with pytest.raises(errors.BadEmbedding):
        await tenant.add(LONG, "note")
    with pytest.raises(errors.BadEmbedding):
        await tenant.many([Upload(LONG, uri="note"), Upload("Other.", uri="other")])
    assert await _counts(tenant) == (0, 0, 0)


async def test_a_failing_provider_leaves_the_old_version(tenant: Tenant) -> None:
    stored = await tenant.add("Lime.", "note")
    _fake(tenant).failing = True
    with pytest.raises(errors.ProviderError):
        await tenant.add("Cement.", "note")
    assert (await _document(tenant, stored.document_id)).content == "Lime."


async def test_one_bad_document_is_refused_and_the_others_are_stored_in_order(tenant: Tenant) -> None:
    given_ = [
        Upload("One.", uri="1"),
        Upload("\u200b \n", uri="2"),
        Upload("Three.", uri="3"),
        Upload("x", uri="u" * 3000),
    ]
    outcomes = await tenant.many(given_)
    assert [outcome.upload for outcome in outcomes] == given_
    assert [outcome.stored is not None for outcome in outcomes] == [True, False, True, False]
    assert [outcome.error and outcome.error.field for outcome in outcomes] == [None, "content", None, "uri"]
    assert sorted(map(str, await tenant.uris())) == ["1", "3"]


async def test_documents_stored_before_the_caller_stops_reading_are_kept(tenant: Tenant) -> None:
    outcomes = batches.store(
        (Upload(f"Note {n}. " + "Stone. " * 6000, uri=str(n)) for n in range(6)),
        tenant.user_id,
        tenant.services(),
    )
    async for outcome in outcomes:
        assert outcome.stored is not None
        break
    await outcomes.aclose()  # type: ignore[attr-defined]
    assert await tenant.uris() == ["0"]
    again = await tenant.many([Upload(f"Note {n}. " + "Stone. " * 6000, uri=str(n)) for n in range(6)])
    assert [o.stored and o.stored.status for o in again] == ["unchanged", *["added"] * 5]


async def test_an_unknown_language_in_the_frontmatter_is_a_warning(tenant: Tenant) -> None:
    stored = await tenant.add("---\nlanguage: Klingonese\n---\nnuqneH", "note")
    assert stored.warnings == ("frontmatter's language is unknown: indexed without stemming",)
    assert (await documents.stats(tenant.user_id, db=tenant.db)).languages == {"simple": 1}


async def test_frontmatter_becomes_title_metadata_language_and_date(tenant: Tenant) -> None:
    text = "---\ntitle: Der Brunnen\nlang: de\ndate: 2024-05-06\nteam: masonry\n---\n# Kopf\n\nKalk statt Zement."
    stored = await tenant.add(text, "note", metadata={"team": "given"})
    found = await _document(tenant, stored.document_id)
    assert (found.title, found.language) == ("Der Brunnen", "german")
    assert found.created_at == datetime(2024, 5, 6, tzinfo=UTC)
    assert found.metadata["team"] == "given"
    assert found.content is not None
    assert found.content.startswith("# Kopf")
    assert "---" not in found.content


async def test_offsets_map_into_the_stored_text(tenant: Tenant) -> None:
    tenant.chunking_options = ChunkingOptions(40, 8)
    stored = await tenant.add("\ufeff---\na: 1\n---\n" + LONG.replace("\n", "\r\n") + "\x00", "note")
    content = (await _document(tenant, stored.document_id)).content
    chunks = await _chunks(tenant, stored.document_id)
    assert content is not None
    assert "\r" not in content
    assert len(chunks) == stored.chunk_count > 8
    assert [chunk.chunk_index for chunk in chunks] == list(range(len(chunks)))
    for chunk in chunks:
        assert content[chunk.start_offset : chunk.end_offset] == chunk.content
    assert all(first.start_offset < second.start_offset for first, second in pairwise(chunks))
    assert any(chunk.heading_path for chunk in chunks)
    hit = (await tenant.ask("stone", limit=1)).hits[0].candidate
    assert content[hit.start_offset : hit.end_offset] == hit.content


async def test_thousands_of_distinct_words_in_one_paragraph_are_stored_and_found(tenant: Tenant) -> None:
    words = [f"wort{n:016x}" for n in range(12_000)]
    stored = await tenant.add(" ".join(words), "big")
    chunks = await _chunks(tenant, stored.document_id)
    assert len(chunks) == stored.chunk_count > 100
    assert chunks[-1].content.endswith(words[-1])
    for word in (words[0], words[6_000], words[-1]):
        answer = await tenant.ask(word, mode="lexical")
        assert [word in hit.candidate.content.split() for hit in answer.hits[:1]] == [True]
        assert answer.relaxed == ()


@pytest.mark.parametrize("content", ["x" * 3000, "QUJD" * 5000, "var a=1;" * 3000, "!!!", "🐕"])
async def test_texts_that_are_hardly_words_are_stored(tenant: Tenant, content: str) -> None:
    stored = await tenant.add(content, "odd")
    assert stored.chunk_count >= 1
    assert uris(await tenant.ask("anything at all", mode="semantic", collapse="off")) == ["odd"] * min(
        5, stored.chunk_count
    )


async def test_a_reader_during_replacements_sees_one_version_and_never_half(tenant: Tenant) -> None:
    """Every chunk of a version carries its mark; a search that saw two marks, or too few chunks, saw half."""
    tenant.chunking_options = ChunkingOptions(40, 0)
    marks = ("alpha", "beta")
    versions = {mark: "\n\n".join(f"# Part {n}\n\n" + f"{mark} stone {n}. " * 12 for n in range(6)) for mark in marks}
    sizes = {mark: (await tenant.add(versions[mark], "note")).chunk_count for mark in marks}
    done = asyncio.Event()
    seen: list[str] = []

    async def read() -> None:
        while not done.is_set():
            answer = await tenant.ask("stone", limit=50)
            held = {mark for mark in marks for hit in answer.hits if mark in hit.candidate.content}
            assert len(held) == 1
            (mark,) = held
            assert len(answer.hits) == sizes[mark]
            seen.append(mark)

    async def write() -> None:
        try:
            for n in range(8):
                await tenant.add(versions[marks[n % 2]], "note")
        finally:
            done.set()

    await asyncio.gather(write(), *(read() for _ in range(2)))
    assert set(seen) == set(marks)
    assert await _counts(tenant) == (1, sizes["beta"], sizes["beta"])


async def test_replacing_by_id_keeps_the_uri_and_refuses_the_uri_of_another_document(tenant: Tenant) -> None:
    one, _two = await tenant.add("One.", "one"), await tenant.add("Two.", "two")

    async def replace(document_id: Any, upload: Upload) -> Any:
        return await ingest.replace(document_id, upload, tenant.user_id, tenant.services())

    assert (await replace(one.document_id, Upload("One, again."))).status == "replaced"
    assert (await replace(one.document_id, Upload("One, again."))).status == "unchanged"
    found = await _document(tenant, one.document_id)
    assert (found.uri, found.content) == ("one", "One, again.")
    with pytest.raises(errors.Conflict):
        await replace(one.document_id, Upload("Mine.", uri="two"))
    with pytest.raises(errors.NotFound):
        await replace(uuid4(), Upload("Nobody's."))
    assert (await replace(one.document_id, Upload("Moved.", uri="three"))).uri == "three"
    assert (await tenant.add("One.", "one")).status == "added"


async def test_deleting_a_document_deletes_its_derived_rows(tenant: Tenant) -> None:
    stored = await tenant.add(LONG, "note")
    kept = await tenant.add("Lime.", "kept")
    deleted = await documents.delete(stored.document_id, tenant.user_id, db=tenant.db)
    assert (deleted.documents, deleted.chunks) == (1, stored.chunk_count)
    assert deleted.vectors == stored.chunk_count
    assert await _counts(tenant) == (1, 1, 1)
    with pytest.raises(errors.NotFound):
        await documents.delete(stored.document_id, tenant.user_id, db=tenant.db)
    answer = await tenant.ask("stone lime", explain=True)
    assert [hit.candidate.document_id for hit in answer.hits] == [kept.document_id]
    assert answer.explain is not None
    assert {term["lexeme"]: term["df"] for term in answer.explain["terms"]} == {"stone": 0, "lime": 1}
