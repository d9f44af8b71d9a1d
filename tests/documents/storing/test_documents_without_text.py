"""A document without text is one chunk, its title. The chunk is found, changed, repaired and embedded like others."""

from typing import Any

import pytest
from harness import Tenant, uris

from app import errors
from app.documents import document_patches
from app.documents import operations as documents
from app.documents.types import Chunk, Document, IngestResult, Upload
from app.maintenance import reindex
from benchmarks.fake_embedder import FakeEmbedder

TITLE = "Lime mortar for the west stair of Kestrel House"


async def _stored(tenant: Tenant, document_id: Any) -> tuple[Document, list[Chunk]]:
    document = await documents.get(document_id, tenant.user_id, db=tenant.db)
    return document, await documents.chunks(document_id, tenant.user_id, db=tenant.db, limit=10, offset=0)


async def _change(tenant: Tenant, document_id: Any, **patch: Any) -> IngestResult:
    return await document_patches.apply(document_id, patch, tenant.user_id, tenant.services())


async def test_a_title_alone_is_a_document_of_one_chunk_that_both_legs_find(tenant: Tenant) -> None:
    await tenant.add("Clay pipes drain the yard.", "clay", title="Clay")
    added = await tenant.add(" \n\u200b", "lime", title=TITLE)
    document, (chunk,) = await _stored(tenant, added.document_id)
    assert (document.title, document.content, added.chunk_count, added.embedded) == (TITLE, "", 1, 1)
    assert (chunk.content, chunk.start_offset, chunk.end_offset, chunk.heading_path) == (TITLE, 0, 0, ())
    assert isinstance(tenant.embedder, FakeEmbedder)
    assert TITLE in tenant.embedder.documents, "the title is embedded once, not twice"
    for mode in ("lexical", "semantic", "auto"):
        assert uris(await tenant.ask("lime mortar", mode=mode, limit=1)) == ["lime"], mode
    answer = await tenant.ask('"west stair"', detail="compact", explain=True)
    (hit,) = [hit for hit in answer.hits if hit.candidate.uri == "lime"]
    assert hit.snippet is not None
    assert hit.snippet.text == TITLE
    assert [TITLE[one.start : one.end] for one in hit.snippet.matches] == ["west stair"]
    again = await tenant.add("", "lime", title=TITLE)
    assert (again.status, again.document_id) == ("unchanged", added.document_id)


async def test_without_a_uri_the_title_identifies_it(tenant: Tenant) -> None:
    first, other = await tenant.add("", title="Lime"), await tenant.add("", title="Clay")
    again = await tenant.add("\n", title="Lime")
    assert (again.status, again.document_id) == ("unchanged", first.document_id)
    assert first.document_id != other.document_id
    outcomes = await tenant.many([Upload("", "Lime"), Upload(""), Upload("", "Sand"), Upload("", "\u2800")])
    assert [one.stored.status if one.stored else one.error.code for one in outcomes if one.stored or one.error] == [
        *("unchanged", "blank_content", "added", "blank_content")
    ]


async def test_text_and_title_are_changed_into_each_other(tenant: Tenant) -> None:
    added = await tenant.add("We use lime.", "lime", title="Lime")
    assert (await _change(tenant, added.document_id, content="")).status == "changed"
    assert [chunk.content for chunk in (await _stored(tenant, added.document_id))[1]] == ["Lime"]
    await _change(tenant, added.document_id, title="Clay")
    assert [chunk.content for chunk in (await _stored(tenant, added.document_id))[1]] == ["Clay"]
    for patch in ({"title": None}, {"title": " "}, {"content": " ", "title": ""}):
        with pytest.raises(errors.BadRequest) as refused:
            await _change(tenant, added.document_id, **patch)
        assert refused.value.field == "title"
    await _change(tenant, added.document_id, content="We use cement.", title=None)
    document, (chunk,) = await _stored(tenant, added.document_id)
    assert (document.title, chunk.content, chunk.end_offset) == ("", "We use cement.", 14)
    with pytest.raises(errors.BadRequest, match="visible text"):
        await _change(tenant, added.document_id, content=" ")


async def test_neither_a_check_nor_a_reindex_finds_anything_wrong_with_it(tenant: Tenant) -> None:
    await tenant.add("", "lime", title=TITLE)
    await tenant.add("", "file", title="b.txt", metadata={"filename": "b.txt"})
    await tenant.assert_sound()
    steps = [done async for done in reindex.run(tenant.user_id, tenant.services(), which="every")]
    assert (steps[-1].compared, steps[-1].cut) == (2, 0)
