"""An upload is stored as one whole document or not at all."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import harness
import pytest
from harness import Tenant, uris

from app import errors
from app.database.transactions import Database, Writing
from app.documents import operations as documents
from app.documents.storing import ingest
from app.documents.types import Chunk, Document, Upload
from app.services import ChunkingOptions
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


async def test_one_text_under_two_uris_is_two_documents_and_embedded_once(tenant: Tenant) -> None:
    one, two = await tenant.add(LONG, "one"), await tenant.add(LONG, "two")
    assert one.document_id != two.document_id
    assert (one.status, two.status, two.embedded) == ("added", "added", 0)
    assert len(_fake(tenant).documents) == one.chunk_count == len(set(_fake(tenant).documents))
    assert await _counts(tenant) == (2, 2 * one.chunk_count, 2 * one.chunk_count)
    assert set(uris(await tenant.ask("stone", limit=50, collapse="off"))) == {"one", "two"}


async def test_a_rule_is_stored_as_it_is_and_embedded_with_three_dashes(tenant: Tenant) -> None:
    table = f"| Stone | Kind |\n|{'-' * 80}|---|\n| 4 | lime |"
    stored = await tenant.add(table)
    assert [chunk.content for chunk in await _chunks(tenant, stored.document_id)] == [table]
    assert _fake(tenant).documents == [table.replace("-" * 80, "---")]


@pytest.mark.parametrize(
    "change", [{"title": "Walls"}, {"metadata": {"team": "masonry"}}, {"created_at": datetime(2024, 5, 6, tzinfo=UTC)}]
)
async def test_other_attributes_of_the_same_text_replace_the_document(tenant: Tenant, change: dict[str, Any]) -> None:
    first = await tenant.add("Lime mortar.", "note")
    changed = await tenant.add("Lime mortar.", "note", **change)
    assert (changed.status, changed.document_id) == ("replaced", first.document_id)
    found = await _document(tenant, first.document_id)
    assert {name: getattr(found, name) for name in change} == change
    assert (await tenant.add("Lime mortar.", "note", **change)).status == "unchanged"


async def test_a_text_is_source_code_by_its_uri_or_first_line_but_not_by_the_address_of_a_page(tenant: Tenant) -> None:
    code = "# A licence\n\n\ndef area(side):\n    return side * side\n"
    file, page = await tenant.add(code, "src/area.py"), await tenant.add(code, "https://area.example/area.py")
    stored = [await _document(tenant, one.document_id) for one in (file, page)]
    assert [(one.title, one.markdown) for one in stored] == [("", False), ("A licence", True)]
    body = "\n".join(f"  echo the stone {number} of the wall" for number in range(60))
    script = await tenant.add(f"#!/bin/sh\n# A licence\n\nwall () {{\n{body}\n}}\n", "bin/wall")
    for one, name in ((file, "area"), (script, "wall")):
        assert [chunk.heading_path for chunk in await _chunks(tenant, one.document_id)][-1:] == [(name,)]


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


async def test_documents_stored_before_the_caller_stops_reading_are_kept(tenant: Tenant) -> None:
    outcomes = ingest.store(
        (Upload(f"Note {n}. " + "Stone. " * 1500, uri=str(n)) for n in range(6)), tenant.user_id, tenant.services()
    )
    async for outcome in outcomes:
        assert outcome.stored is not None
        break
    await outcomes.aclose()  # type: ignore[attr-defined]
    assert await tenant.uris() == ["0"]
    again = await tenant.many([Upload(f"Note {n}. " + "Stone. " * 1500, uri=str(n)) for n in range(6)])
    assert [o.stored and o.stored.status for o in again] == ["unchanged", *["added"] * 5]


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


@pytest.mark.parametrize("stored", [False, True])
async def test_times_of_changes_have_the_order_in_which_changes_become_visible(
    tenant: Tenant, elsewhere: Database, monkeypatch: pytest.MonkeyPatch, stored: bool
) -> None:
    """A reader who goes on after the last change that it saw misses none of a writer who began earlier."""
    if stored:
        await tenant.add_all({"slow": "Old lime.", "quick": "Old clay."})
    began, goes_on, lock = asyncio.Event(), asyncio.Event(), Writing.lock

    async def late(writing: Writing, **options: int) -> int:
        if not began.is_set():
            began.set()
            await goes_on.wait()
        return await lock(writing, **options)

    monkeypatch.setattr(Writing, "lock", late)
    slow = asyncio.create_task(tenant.add("Lime.", "slow"))
    await began.wait()
    quick = await replace(tenant, db=elsewhere).add("Clay.", "quick")
    goes_on.set()
    first, second = [await _document(tenant, one.document_id) for one in (quick, await slow)]
    assert first.updated_at < second.updated_at
