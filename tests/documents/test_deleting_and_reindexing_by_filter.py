"""Documents are deleted and cut again by filter, in slices."""

import itertools
from datetime import UTC, datetime
from typing import Any

import pytest
from harness import Tenant

from app.database.filter_types import Filters
from app.documents import operations as documents
from app.documents import selections
from app.documents.store import document_rows
from app.documents.storing import large_documents
from app.documents.types import RowCounts, Upload
from app.entities.linking import mention_refresh
from app.jobs import operations as job_operations
from app.jobs import workers
from app.maintenance import reindex
from app.services import ChunkingOptions

RED, BLUE = ({"metadata": {"team": team, "people": ["Ana Silva"]}} for team in ("red", "blue"))
MOMENT = datetime(2024, 5, 6, tzinfo=UTC)
LONG = "# Stair\n\n" + "\n\n".join(f"Ana Silva laid stone {n} in lime mortar." for n in range(90))
TABLES = ("documents", "chunks", "embeddings")


async def _store(tenant: Tenant, **fields: Any) -> None:
    red = {f"red-{n}": f"# Lime {n}\n\nAna Silva mixes lime {n}." for n in range(5)} | {"long": LONG}
    await tenant.add_all(Upload(text, uri=uri, **RED, **fields) for uri, text in red.items())
    await tenant.add("Ana Silva and the blue tide.", "blue", **BLUE)


async def _rows(owner: Any, tenant: Tenant) -> dict[str, int]:
    return {
        table: await owner.fetchval(f"SELECT count(*) FROM stepwell.{table} WHERE user_id = $1", tenant.user_id)
        for table in TABLES
    }


async def _work(tenant: Tenant) -> None:
    """Run the jobs that store large documents and remove postings."""
    while await workers.run_next(tenant.services(), large_documents.KINDS, user_id=tenant.user_id):
        pass


def _by_table(counts: RowCounts) -> dict[str, int]:
    return {"documents": counts.documents, "chunks": counts.chunks, "embeddings": counts.vectors}


@pytest.mark.parametrize("most_unindexed", [2_000, 3])
async def test_the_documents_that_pass_are_deleted_and_their_rows_counted_exactly(
    tenant: Tenant, owner: Any, monkeypatch: pytest.MonkeyPatch, most_unindexed: int
) -> None:
    """Also if a job removes the long document's postings, each document is a slice, and all are of one moment."""
    monkeypatch.setattr(document_rows, "MOST_UNINDEXED", most_unindexed)
    monkeypatch.setattr(selections, "CHUNKS", 2)
    monkeypatch.setattr(selections, "PAGE", 2)
    await _store(tenant, created_at=MOMENT)
    other = Tenant(tenant.db)
    await _store(other)
    before = await _rows(owner, tenant)
    red = Filters(metadata={"team": "red"})
    counted = await selections.count(red, tenant.user_id, db=tenant.db)
    assert await _rows(owner, tenant) == before
    result = await selections.delete(red, tenant.user_id, db=tenant.db, actor="test")
    assert result == counted
    assert counted.documents == 6
    assert await tenant.uris() == ["blue"]
    await _work(tenant)
    after = await _rows(owner, tenant)
    assert after == {table: before[table] - number for table, number in _by_table(counted).items()}
    assert after["documents"] == 1
    assert len(await other.uris()) == 7
    await mention_refresh.settle(tenant.user_id, tenant.services())
    await tenant.assert_sound()
    events = "SELECT count(*) FROM stepwell.audit_log WHERE user_id = $1 AND action = 'document.deleted'"
    assert await owner.fetchval(events, tenant.user_id) == 6


async def test_a_transaction_deletes_few_documents_so_that_other_writes_go_on(tenant: Tenant, owner: Any) -> None:
    await tenant.add_all({f"{n}.md": f"Lime {n}" for n in range(120)})
    await selections.delete(Filters(), tenant.user_id, db=tenant.db, actor="test")
    # The events of a transaction have one time.
    deleted = "SELECT count(*) FROM stepwell.audit_log WHERE user_id = $1 GROUP BY at ORDER BY at"
    assert [row["count"] for row in await owner.fetch(deleted, tenant.user_id)] == [100, 20]


async def test_an_interrupted_deletion_has_deleted_whole_documents_and_may_be_repeated(tenant, monkeypatch) -> None:
    monkeypatch.setattr(selections, "CHUNKS", 2)
    await _store(tenant)
    calls = itertools.count()
    delete_within = documents.delete_within

    async def failing(*args: Any, **options: Any) -> Any:
        if next(calls) == 2:
            raise RuntimeError
        return await delete_within(*args, **options)

    monkeypatch.setattr(documents, "delete_within", failing)
    with pytest.raises(RuntimeError):
        await selections.delete(Filters(), tenant.user_id, db=tenant.db, actor="test")
    assert len(await tenant.uris()) == 7 - 4
    await mention_refresh.settle(tenant.user_id, tenant.services())
    await tenant.assert_sound()
    again = await selections.delete(Filters(), tenant.user_id, db=tenant.db, actor="test")
    assert again.documents == 3
    assert await tenant.uris() == []


async def test_only_the_documents_that_pass_are_cut_again_by_a_job(tenant: Tenant) -> None:
    await _store(tenant)
    tenant.chunking_options = ChunkingOptions(target=60, overlap=10)
    red = Filters(metadata={"team": "red"})
    job_id, total = await reindex.request(red, tenant.user_id, db=tenant.db)
    assert job_id is not None
    assert await workers.run_next(tenant.services(), [reindex.KIND], user_id=tenant.user_id) == (
        "reindex_documents", 6,
    )  # fmt: skip
    state = await job_operations.get(job_id, tenant.user_id, db=tenant.db)
    assert (state.status, total, state.progress["done"], state.progress["total"]) == ("done", 6, 6, 6)
    assert {**state.result, "embedded": 0} == {"documents": 6, "cut": 1, "embedded": 0}
    left = await reindex.count(tenant.user_id, tenant.chunking_options, db=tenant.db)
    assert left == 1, "the blue document is still cut with the old options"
    assert await reindex.request(Filters(metadata={"team": "none"}), tenant.user_id, db=tenant.db) == (None, 0)
