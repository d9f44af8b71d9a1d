"""Changed chunking options are noticed, and reindex gives the chunks of a new upload, a batch at a time."""

import asyncio
from datetime import datetime
from typing import Any

import pytest
from harness import Tenant, new_user

from app.database import transactions
from app.database.transactions import Database
from app.documents import document_patches
from app.documents import operations as documents
from app.documents.storing import document_drafts
from app.documents.types import Upload
from app.entities.linking import mention_refresh
from app.maintenance import reindex
from app.maintenance.reindex import Reindexed
from app.services import ChunkingOptions
from app.text.words import cleaning, tsvector_text

LONG = "# Lime\n\n" + "\n\n".join(
    f"## Part {part}\n\n" + " ".join(f"Ana Silva laid stone {part}.{n} in lime mortar." for n in range(20))
    for part in range(4)
)
SMALL = ChunkingOptions(target=60, overlap=10)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents of three or four batches."""
    monkeypatch.setattr(reindex, "BATCH_CHARACTERS", 6_000)


async def _chunks(tenant: Tenant) -> dict[str | None, list[tuple[str, tuple[str, ...]]]]:
    """The contents and headings of each document's chunks, by uri."""
    page = await documents.page(tenant.user_id, db=tenant.db, limit=100, after=None)
    return {
        document.uri: [
            (chunk.content, chunk.heading_path)
            for chunk in await documents.chunks(document.document_id, tenant.user_id, db=tenant.db, limit=500, offset=0)
        ]
        for document in page
    }


async def _updated(tenant: Tenant) -> dict[str | None, datetime]:
    page = await documents.page(tenant.user_id, db=tenant.db, limit=100, after=None)
    return {document.uri: document.updated_at for document in page}


async def _store(tenant: Tenant) -> None:
    await tenant.add("A short note on lime.", "short")
    for n in range(4):
        await tenant.add(f"{LONG}\n\nThe end of {n}.", f"long-{n}", metadata={"people": ["Ana Silva"]})
    await tenant.add(f"# no heading\n\n{LONG}", "plain.txt", markdown=False)


async def _reindex(tenant: Tenant, which: reindex.Which = "outdated") -> Reindexed:
    progress = [done async for done in reindex.run(tenant.user_id, tenant.services(), which=which)]
    return progress[-1] if progress else Reindexed()


async def test_documents_cut_with_other_options_are_cut_again_as_if_they_were_new(tenant, database) -> None:
    await _store(tenant)
    before = await _updated(tenant)
    tenant.chunking_options = SMALL
    assert await reindex.count(tenant.user_id, SMALL, db=database) == 6
    done = await _reindex(tenant)
    assert (done.compared, done.cut) == (6, 5), "the short document has the same chunk"
    assert done.embedded > 0
    fresh = Tenant(database, user_id=new_user(), chunking_options=SMALL)
    await _store(fresh)
    assert await _chunks(tenant) == await _chunks(fresh)
    assert await reindex.count(tenant.user_id, SMALL, db=database) == 0
    assert await _reindex(tenant) == Reindexed()
    assert await _reindex(tenant, "every") == Reindexed(compared=6)
    await mention_refresh.settle(tenant.user_id, tenant.services())
    await tenant.assert_sound()
    assert await _updated(tenant) == before


async def test_an_interrupted_run_is_continued(tenant: Tenant, database: Database) -> None:
    await _store(tenant)
    tenant.chunking_options = SMALL
    async for _done in reindex.run(tenant.user_id, tenant.services()):
        break
    left = await reindex.count(tenant.user_id, SMALL, db=database)
    assert 0 < left < 6
    assert (await _reindex(tenant)).compared == left


@pytest.mark.parametrize("change", ["replaced", "deleted"])
async def test_a_document_that_changes_during_the_run_keeps_its_change(tenant, monkeypatch, change) -> None:
    stored = await tenant.add(LONG, "long")
    tenant.chunking_options = SMALL
    cut_again = reindex._cut_again

    async def interrupted(*args, **options):
        recut = await cut_again(*args, **options)
        if change == "replaced":
            await tenant.add("Replaced.", "long")
        else:
            await documents.delete(stored.document_id, tenant.user_id, db=tenant.db)
        return recut

    monkeypatch.setattr(reindex, "_cut_again", interrupted)
    assert await _reindex(tenant) == Reindexed(compared=1, embedded=(await _reindex_embedded(tenant)))
    assert await _chunks(tenant) == ({"long": [("Replaced.", ())]} if change == "replaced" else {})


async def test_a_document_whose_metadata_change_during_the_run_is_cut_again(tenant: Tenant, monkeypatch) -> None:
    stored = await tenant.add(LONG, "long")
    tenant.chunking_options = SMALL
    cut_again, changes = reindex._cut_again, iter([{"metadata": {"team": "tide"}}])

    async def interrupted(*args, **options):
        recut = await cut_again(*args, **options)
        for patch in changes:
            await document_patches.apply(stored.document_id, patch, tenant.user_id, tenant.services())
        return recut

    monkeypatch.setattr(reindex, "_cut_again", interrupted)
    assert (await _reindex(tenant)).cut == 1
    assert (await documents.get(stored.document_id, tenant.user_id, db=tenant.db)).metadata == {"team": "tide"}
    assert await reindex.count(tenant.user_id, SMALL, db=tenant.db) == 0
    await tenant.assert_sound()


async def _reindex_embedded(tenant: Tenant) -> int:
    fresh = Tenant(tenant.db, user_id=new_user(), chunking_options=SMALL)
    return (await fresh.add(LONG)).embedded


async def test_readers_find_the_old_chunks_or_the_new_ones(tenant: Tenant) -> None:
    await tenant.add(LONG, "long")
    old = (await _chunks(tenant))["long"]
    tenant.chunking_options = SMALL
    running = asyncio.create_task(_reindex(tenant))
    seen = [old]
    while not running.done():
        seen.append((await _chunks(tenant))["long"])
    await running
    new = (await _chunks(tenant))["long"]
    assert all(chunks in (old, new) for chunks in seen)


async def test_documents_that_other_rules_cleaned_are_cleaned_again_and_only_changed_chunks_are_embedded(
    tenant: Tenant, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new rules remove a word that one document has, in one of its sections."""
    await tenant.add("A short note on lime.", "short")
    await tenant.add(f"{LONG}\n\n## Colophon\n\nSet in Garamond. {'Lime. ' * 60}", "long")
    before = await _chunks(tenant)
    clean = cleaning.clean
    monkeypatch.setattr(cleaning, "VERSION", cleaning.VERSION + 1)
    monkeypatch.setattr(cleaning, "clean", lambda text: clean(text.replace("Garamond", "")))
    assert await reindex.count(tenant.user_id, ChunkingOptions(), db=database) == 2
    done = await _reindex(tenant)
    assert (done.compared, done.cut, done.embedded) == (2, 2, 1)
    after = await _chunks(tenant)
    assert after["short"] == before["short"]
    assert after["long"][:-1] == before["long"][:-1]
    assert after["long"][-1][0] == before["long"][-1][0].replace(" Garamond", " ")
    assert await reindex.count(tenant.user_id, ChunkingOptions(), db=database) == 0
    await tenant.assert_sound()


async def test_the_language_model_is_asked_again_about_a_text_that_is_cleaned_in_another_way(
    tenant: Tenant, owner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tenant.add("A short note on lime.", "short")
    changed = await tenant.add("Set in Garamond.", "long")
    tenant.chunking_options = ChunkingOptions(llm_entities=True)
    clean = cleaning.clean
    monkeypatch.setattr(cleaning, "VERSION", cleaning.VERSION + 1)
    monkeypatch.setattr(cleaning, "clean", lambda text: clean(text.replace("Garamond", "")))
    assert (await _reindex(tenant)).cut == 2
    query = "SELECT payload ->> 'document_id' FROM stepwell.jobs WHERE user_id = $1 AND kind = 'extract_entities'"
    assert [row[0] for row in await owner.fetch(query, tenant.user_id)] == [str(changed.document_id)]


FORMER: dict[str, tuple[Upload, str, Any, str, Any]] = {
    "digits beyond ASCII": (
        Upload("شهریه ۳۵۰ تومان است."),
        *("350", tsvector_text, "_normalise", lambda text, _config: text),
    ),
    "a language without a stemmer": (
        Upload("Latarnie nad morzem są zamknięte, ale latem są czynne i można je zwiedzać.", language="simple"),
        *("latarniami", None, "", None),
    ),
    "the name of a file": (
        Upload("# Lime\n\nWe use lime mortar.", metadata={"filename": "ferry-landing.md"}),
        *("ferry", document_drafts, "indexed_title", lambda title, _filename: title),
    ),
}
"""Documents with a word that a former version indexed otherwise, and what that version did."""


@pytest.mark.parametrize(("upload", "word", "module", "name", "former"), FORMER.values(), ids=FORMER)
async def test_words_are_indexed_again_after_a_change_of_their_rules(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, upload: Upload, word: str, module: Any, name: str, former: Any
) -> None:
    monkeypatch.setattr(cleaning, "VERSION", cleaning.VERSION - 1)
    if module:
        monkeypatch.setattr(module, name, former)
    await tenant.many([upload])
    monkeypatch.undo()
    assert [term.df for term in (await tenant.ask(word)).terms] == [0]
    done = await _reindex(tenant)
    assert (done.compared, done.cut, done.embedded) == (1, 1, 0)
    assert [term.df for term in (await tenant.ask(word)).terms] == [1]
    await tenant.assert_sound()


async def test_an_upgrade_warns_of_documents_of_an_earlier_version(
    tenant: Tenant, address: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await tenant.add("شهریه ۳۵۰ تومان است.", "fee")
    async with transactions.connect(address.owner_dsn, pool_size=1) as owner:
        for version, is_told in ((0, False), (cleaning.VERSION + 1, True)):
            monkeypatch.setattr(cleaning, "VERSION", version)
            await reindex.warn_of_stale(owner, None)
            assert ("stepwell reindex" in caplog.text) is is_told


def test_a_change_of_the_chunk_size_is_noticed_and_applied(stepwell, tmp_path, monkeypatch) -> None:
    (tmp_path / "lime.md").write_text("# Lime\n\n" + "We use lime mortar on every stone. " * 60, encoding="utf-8")
    assert stepwell("ingest", tmp_path, "--json").json["added"] == 1
    before = stepwell("documents", "list", "--json").json[0]["chunk_count"]
    monkeypatch.setenv("STEPWELL_CHUNK_TOKENS", "60")
    done = stepwell("reindex", "--json")
    assert done.code == 0, done.err
    assert done.json["local"]["cut"] == 1
    assert stepwell("documents", "list", "--json").json[0]["chunk_count"] > before
    assert "0 documents compared" in stepwell("reindex").out
    assert "1 document compared" in stepwell("reindex", "--all").out
