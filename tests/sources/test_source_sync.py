"""A source is kept in step with its folder: every file is counted once, and the result is that of a fresh ingest."""

import errno
import os
import random
import string
import unicodedata
from pathlib import Path
from typing import Any

import made_files
import pytest
import source_folder
from harness import Tenant
from source_folder import CountingFake
from watchfiles import Change

from app import errors
from app.database.filter_types import DocumentFilter, Filters
from app.database.transactions import Database
from app.documents import operations as documents
from app.documents import selections
from app.documents.commands import ingest
from app.documents.commands.ingest_report import Summary
from app.documents.storing import document_writes
from app.documents.types import RowCounts, SourcePath
from app.jobs import operations as job_operations
from app.jobs import store as jobs
from app.sources import operations as sources
from app.sources import source_scan, source_watch
from app.sources.types import SourceDraft

FILES = 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "source").mkdir()
    return (tmp_path / "source").resolve()


@pytest.fixture
def counting(database: Database) -> Tenant:
    """A new user whose embedder counts."""
    return Tenant(database, embedder=CountingFake())


async def _assert_as_fresh(tenant: Tenant, folder: Path) -> None:
    """What is stored and found is what another user gets who adds the folder now."""
    fresh = Tenant(tenant.db)
    await source_folder.synced(fresh, await source_folder.add(fresh, folder))
    assert await source_folder.stored(tenant) == await source_folder.stored(fresh)
    for text in ("lime mortar harbour", "number7 version1", "gannet probe signal"):
        answers = [await one.ask(text, limit=20) for one in (tenant, fresh)]
        hits = [[(hit.candidate.uri, round(hit.candidate.score, 4)) for hit in answer.hits] for answer in answers]
        assert sorted(hits[0]) == sorted(hits[1])
    await tenant.assert_sound()


async def test_a_changed_folder_is_synchronised_exactly(counting: Tenant, folder: Path) -> None:
    tenant = counting
    paths = source_folder.fill(folder, FILES)
    added = await source_folder.stored_source(tenant, folder)
    assert source_folder.counts(await job_operations.get(added.job_id, tenant.user_id, db=tenant.db)) == {
        "added": FILES
    }
    assert source_folder.counts(await source_folder.synced(tenant, added)) == {"unchanged": FILES}
    changed = source_folder.disturb(folder, paths, random.Random(7))
    before = await source_folder.ids(tenant)
    state = await source_folder.synced(tenant, added)
    assert source_folder.counts(state) == dict(changed.counts)
    after = await source_folder.ids(tenant)
    for old, new in changed.renamed.items():
        moved = {
            uri.replace((folder / old).as_uri(), (folder / new).as_uri()): document_id
            for uri, document_id in before.items()
            if uri.partition("#")[0] == (folder / old).as_uri()
        }
        assert moved
        assert moved.items() <= after.items()
    await _assert_as_fresh(tenant, folder)
    assert source_folder.counts(await source_folder.synced(tenant, added))["unchanged"] == source_folder.count(folder)


async def test_a_renamed_file_of_any_kind_keeps_its_documents_and_embeds_nothing(counting, folder) -> None:
    tenant, embedder = counting, counting.embedder
    assert isinstance(embedder, CountingFake)
    paths = [*source_folder.fill(folder, 10), "notes.zip"]
    rows = {"a b.md": "# Lime\n\nLime.", "rows.csv": "id,text\n1,Clay\n2,Sand\n", "picture.png": b"\x89PNG"}
    source_folder.write(folder, "notes.zip", made_files.archive(rows))
    added = await source_folder.stored_source(tenant, folder)
    before, passages = await source_folder.ids(tenant), embedder.passages
    assert passages
    for number, path in enumerate(paths):
        (folder / path).rename(folder / f"other {number}{Path(path).suffix}")
    state = await source_folder.synced(tenant, added)
    assert (source_folder.counts(state), state.result["embedded"]) == ({"renamed": len(paths)}, 0)
    assert embedder.passages == passages
    after = await source_folder.ids(tenant)
    assert sorted(before.values()) == sorted(after.values())
    assert before.keys().isdisjoint(after)
    titles = {uri.rpartition("/")[2]: stored[0] for uri, stored in (await source_folder.stored(tenant)).items()}
    assert (titles["other%200.md"], titles["other%201.txt"]) == ("Note 0", "other 1.txt")
    await _assert_as_fresh(tenant, folder)


async def test_the_files_of_a_renamed_folder_are_not_stored_again(tenant: Tenant, folder: Path) -> None:
    paths = source_folder.fill(folder, 12)
    added = await source_folder.stored_source(tenant, folder)
    before = await source_folder.ids(tenant)
    taken = await tenant.add("Sand.", (folder / "new" / Path(paths[1]).name).as_uri())
    (folder / "part-0").rename(folder / "moved")
    (folder / "part-1").rename(folder / "new")
    state = await source_folder.synced(tenant, added)
    assert source_folder.counts(state) == {"renamed": 8, "unchanged": 4}
    assert state.result["chunks"] == 1, "of the document whose uri another one has"
    after = await source_folder.ids(tenant)
    assert {*before.values(), taken.document_id} - {*after.values()} == {before[(folder / paths[1]).as_uri()]}
    await _assert_as_fresh(tenant, folder)


async def test_a_file_that_takes_the_name_of_another_document_becomes_that_document(tenant, folder) -> None:
    source_folder.write(folder, "a.md", b"Lime.")
    added = await source_folder.stored_source(tenant, folder)
    taken = await tenant.add("Sand.", (folder / "b.md").as_uri())
    (folder / "a.md").rename(folder / "b.md")
    assert source_folder.counts(await source_folder.synced(tenant, added)) == {"renamed": 1}
    assert await source_folder.ids(tenant) == {(folder / "b.md").as_uri(): taken.document_id}
    await _assert_as_fresh(tenant, folder)
    assert source_folder.counts(await source_folder.synced(tenant, added)) == {"unchanged": 1}


async def test_a_file_with_another_time_of_change_is_not_stored_again(tenant: Tenant, folder: Path) -> None:
    source_folder.write(folder, "a.md", b"Lime.")
    added = await source_folder.stored_source(tenant, folder)
    os.utime(folder / "a.md", (1_000_000_000, 1_000_000_000))
    state = await source_folder.synced(tenant, added)
    assert source_folder.counts(state) == {"unchanged": 1}
    assert len(await source_folder.ids(tenant)) == 1
    state = await source_folder.synced(tenant, added)
    assert (source_folder.counts(state), state.progress.get("total")) == ({"unchanged": 1}, None)


async def test_a_source_without_changes_does_not_end_the_pages_of_a_search(tenant: Tenant, folder: Path) -> None:
    for path in source_folder.fill(folder, 6, kinds=("md",)):
        os.utime(folder / path, (1_000_000_000, 1_000_000_000))
    added = await source_folder.stored_source(tenant, folder)
    first = await tenant.ask("note number", limit=2)
    state = await source_folder.synced(tenant, added)
    assert source_folder.counts(state) == {"unchanged": 6}
    assert (await tenant.ask("note number", limit=2, cursor=first.next_cursor)).hits


async def test_a_file_that_cannot_be_read_is_listed_and_read_again(tenant: Tenant, folder: Path) -> None:
    source_folder.write(folder, "good.md", b"Lime.")
    source_folder.write(folder, "rows.csv", b"id,text\n1,Lime\n")
    source_folder.write(folder, "bad.pdf", b"%PDF-1.7 damaged")
    source_folder.write(folder, "blank.txt", b" \n")
    added = await source_folder.stored_source(tenant, folder)
    state = await job_operations.get(added.job_id, tenant.user_id, db=tenant.db)
    assert source_folder.counts(state) == {"added": 2, "failed": 2}
    assert [state.progress[name] for name in ("documents", "chunks", "done", "total")] == [2, 2, 4, 4]
    assert [failure["path"] for failure in state.result["failures"]] == ["bad.pdf", "blank.txt"]
    assert all(failure["reason"] for failure in state.result["failures"])
    assert source_folder.counts(await source_folder.synced(tenant, added)) == {"unchanged": 2, "failed": 2}
    source_folder.write(folder, "bad.pdf", source_folder.content("pdf", 1))
    source_folder.write(folder, "good.md", b"\x00\x01\x02 not text any more \xff\xfe\x00")
    (folder / "blank.txt").unlink()
    state = await source_folder.synced(tenant, added)
    assert source_folder.counts(state) == {"added": 1, "unchanged": 1, "failed": 1}
    found = await sources.get(added.source.source_id, tenant.user_id, db=tenant.db)
    assert [failure.path for failure in found.failures or ()] == ["good.md"]
    assert (found.files, found.documents, found.failed) == (3, 3, 1)
    assert (folder / "good.md").as_uri() in await source_folder.ids(tenant), "the version before stays"


async def test_a_document_stays_whose_file_can_be_listed_and_not_looked_at(tenant, folder, monkeypatch) -> None:
    for name in ("a.md", "closed/b.md"):
        source_folder.write(folder, name, b"Lime.")
    added = await source_folder.stored_source(tenant, folder)

    def lstat(path: Path, **_options: Any) -> os.stat_result:
        if path.parent.name == "closed":
            raise PermissionError(errno.EACCES, "Permission denied")
        return os.lstat(path)

    monkeypatch.setattr(Path, "lstat", lstat)
    monkeypatch.setattr(Path, "stat", lstat)
    state = await source_folder.synced(tenant, added)
    assert source_folder.counts(state) == {"unchanged": 1, "failed": 1}
    assert state.result["failures"] == [{"path": "closed/b.md", "reason": "Cannot be read: Permission denied."}]
    assert (folder / "closed/b.md").as_uri() in await source_folder.ids(tenant)


async def test_names_that_are_not_utf8_are_reported_as_text(tenant: Tenant, folder: Path) -> None:
    source_folder.write(folder, "good.md", b"Lime.")
    for name in (b".caf\xe9.md", b"caf\xe9.md"):
        source_folder.write(folder, os.fsdecode(name), b"Lime.")
    (folder / os.fsdecode(b"link\xe9.md")).symlink_to(folder / "nothing.md")
    added = await source_folder.stored_source(tenant, folder)
    state = await job_operations.get(added.job_id, tenant.user_id, db=tenant.db)
    assert source_folder.counts(state) == {"added": 1, "failed": 1}
    assert [failure["path"] for failure in state.result["failures"]] == ["caf\\xe9.md"]
    examples = {reason: one["examples"] for reason, one in state.result["left_out"].items()}
    assert examples == {"hidden": [".caf\\xe9.md"], "link": ["link\\xe9.md"]}


async def test_a_path_that_is_too_long_fails_its_file_only(tenant: Tenant, folder: Path) -> None:
    letters = "".join(random.Random(7).choices(string.ascii_letters + "абвгдежзийклмноп", k=1_700))
    source_folder.write_deep(folder, [letters[start : start + 100] for start in range(0, 1_700, 100)])
    source_folder.write_deep(folder, ["d"] * 1_100)
    source_folder.write(folder, "good.md", b"Lime.")
    added = await source_folder.stored_source(tenant, folder)
    source_folder.remove_deep(folder)
    state = await job_operations.get(added.job_id, tenant.user_id, db=tenant.db)
    assert source_folder.counts(state) == {"added": 1, "failed": 2}


async def test_rows_that_a_file_has_lost_and_documents_that_were_deleted_are_put_right(tenant, folder) -> None:
    source_folder.write(folder, "rows.csv", b"id,text\n1,Lime\n2,Sand\n3,Clay\n")
    source_folder.write(folder, "a.md", b"Stone.")
    added = await source_folder.stored_source(tenant, folder)
    kept = (await source_folder.ids(tenant))[(folder / "rows.csv").as_uri() + "#id=2"]
    source_folder.write(folder, "rows.csv", b"id,text\n2,Sand\n4,Loam\n")
    gone = (await source_folder.ids(tenant))[(folder / "a.md").as_uri()]
    await documents.delete(gone, tenant.user_id, db=tenant.db)
    assert source_folder.counts(await source_folder.synced(tenant, added)) == {"replaced": 2}
    assert (await source_folder.ids(tenant))[(folder / "rows.csv").as_uri() + "#id=2"] == kept
    await _assert_as_fresh(tenant, folder)


async def test_documents_that_a_killed_job_had_stored_and_not_recorded_go_with_their_file(tenant, folder) -> None:
    source_folder.write(folder, "kept.md", b"Mortar.")
    added = await source_folder.add(tenant, folder)
    for name in ("gone.md", "kept.md"):
        path = SourcePath(added.source.source_id, name)
        await tenant.add("Lime.", (folder / name).as_uri(), source=path)
    await source_folder.work(tenant)
    assert list(await source_folder.ids(tenant)) == [(folder / "kept.md").as_uri()]
    counts = source_folder.counts(await job_operations.get(added.job_id, tenant.user_id, db=tenant.db))
    assert counts == {"added": 1, "removed": 1}


async def test_only_files_that_match_and_are_not_ignored_belong_to_a_source(tenant: Tenant, folder: Path) -> None:
    for path in ("a.md", "b.txt", "deep/c.md", "deep/d.txt", "draft/e.md", ".hidden/f.md", "node_modules/g.md"):
        source_folder.write(folder, path, f"Lime in {path}.".encode())
    source_folder.write(folder, ".gitignore", b"draft/\n")
    source_folder.write(folder, "picture.png", b"\x89PNG")
    added = await source_folder.stored_source(tenant, folder, globs=("**/*.md", "b.*"))
    names = {uri.removeprefix(folder.as_uri() + "/") for uri in await source_folder.ids(tenant)}
    assert names == {"a.md", "b.txt", "deep/c.md"}
    source_folder.write(folder, ".gitignore", b"deep/\n")
    assert source_folder.counts(await source_folder.synced(tenant, added)) == {"unchanged": 2, "removed": 1, "added": 1}


def test_a_source_reads_the_files_that_ingest_reads_and_none_of_a_postgres_server(tmp_path: Path) -> None:
    server = [f"data/postgres/{name}" for name in ("data/PG_VERSION", "clients", "lock", "log/d.md")]
    for name in ("a.md", ".b.md", "node_modules/c.md", "data/d.md", *server):
        source_folder.write(tmp_path, name, b"Lime.")
    source_folder.write(tmp_path, "e.png", b"\x89PNG\r\n")
    summary = Summary()
    read = [file.path.relative_to(tmp_path).as_posix() for file in ingest.find([tmp_path], summary)]
    scan = source_scan.scan(SourceDraft(str(tmp_path)), taken={})
    assert (sorted(scan.files), scan.left_out.as_json()) == (read, summary.left_out.as_json())
    assert read == ["a.md", "data/d.md"]
    assert not source_watch.is_relevant(Change.modified, str(tmp_path / "data" / "postgres" / "log" / "d.md"))


async def test_a_file_belongs_to_one_source_only(tenant: Tenant, folder: Path) -> None:
    source_folder.write(folder, "deep/a.md", b"Lime.")
    source_folder.write(folder, "b.md", b"Sand.")
    inner = await source_folder.stored_source(tenant, folder / "deep")
    outer = await source_folder.stored_source(tenant, folder)
    state = await job_operations.get(outer.job_id, tenant.user_id, db=tenant.db)
    assert source_folder.counts(state) == {"added": 1, "failed": 1}
    assert str(inner.source.source_id) in state.result["failures"][0]["reason"]
    removed = await sources.delete(inner.source.source_id, tenant.user_id, tenant.services(), actor="test")
    assert removed.documents == 1
    assert source_folder.counts(await source_folder.synced(tenant, outer)) == {"added": 1, "unchanged": 1}


async def test_a_file_that_is_to_be_read_again_stays_with_its_source(tenant: Tenant, folder: Path) -> None:
    source_folder.write(folder, "deep/a.csv", b"id,text,other\n1,Lime,Sand\n")
    inner = await source_folder.stored_source(tenant, folder / "deep")
    outer = await source_folder.stored_source(tenant, folder)
    changed = await source_folder.add(tenant, folder / "deep", text_field="other")
    await job_operations.cancel(changed.job_id, tenant.user_id, db=tenant.db)
    assert source_folder.counts(await source_folder.synced(tenant, outer)) == {"failed": 1}
    assert source_folder.counts(await source_folder.synced(tenant, inner)) == {"replaced": 1}
    (stored,) = (await source_folder.stored(tenant)).values()
    assert stored[1] == "Sand"


async def test_a_file_that_two_sources_have_stored_is_followed_by_one_of_them(tenant: Tenant, folder: Path) -> None:
    source_folder.write(folder, "deep/a.md", b"Lime.")
    inner = await source_folder.stored_source(tenant, folder / "deep")
    outer = await source_folder.stored_source(tenant, folder)
    # As a job of the outer source does that was taken for dead while it stored the file.
    path = SourcePath(outer.source.source_id, "deep/a.md")
    await tenant.add("Sand.", (folder / "deep/a.md").as_uri(), source=path)
    source_folder.write(folder, "deep/a.md", b"Clay.")
    assert source_folder.counts(await source_folder.synced(tenant, inner)) == {"failed": 1}
    assert source_folder.counts(await source_folder.synced(tenant, outer)) == {"replaced": 1}
    (stored,) = (await source_folder.stored(tenant)).values()
    assert stored[1] == "Clay."
    assert source_folder.counts(await source_folder.synced(tenant, inner)) == {"failed": 1}


async def test_a_missing_or_empty_folder_fails_the_job_and_removes_nothing(tenant: Tenant, folder: Path) -> None:
    added = await source_folder.stored_source(tenant, folder)
    source_folder.write(folder, "a.md", b"Lime.")
    await source_folder.synced(tenant, added)
    away = source_folder.moved_away(folder)
    with pytest.raises(errors.Conflict):
        await source_folder.synced(tenant, added)
    source_folder.make_empty(folder)  # as it is while the disk is not mounted
    with pytest.raises(errors.Conflict):
        await source_folder.synced(tenant, added)
    source_folder.remove_empty(folder)
    assert len(await source_folder.ids(tenant)) == 1
    source_folder.link(folder, away)
    with pytest.raises(errors.Conflict):
        await source_folder.synced(tenant, added)
    source_folder.moved_back(folder)
    assert source_folder.counts(await source_folder.synced(tenant, added)) == {"unchanged": 1}


async def test_documents_that_were_ingested_before_belong_to_the_source_that_is_added(tenant, folder) -> None:
    source_folder.write(folder, "a.md", b"Lime.")
    before = await tenant.add("Lime.", (folder / "a.md").as_uri(), metadata={"filename": "a.md"})
    added = await source_folder.stored_source(tenant, folder)
    assert list((await source_folder.ids(tenant)).values()) == [before.document_id]
    removed = await sources.delete(added.source.source_id, tenant.user_id, tenant.services(), actor="test")
    assert removed.documents == 1
    with pytest.raises(errors.NotFound):
        await sources.get(added.source.source_id, tenant.user_id, db=tenant.db)


async def test_a_synchronisation_that_is_requested_during_a_removal_is_cancelled(tenant, folder, monkeypatch) -> None:
    source_folder.write(folder, "a.md", b"Lime.")
    source_id = (await source_folder.stored_source(tenant, folder)).source.source_id
    real, queued = selections.delete, []

    async def delete(*args: Any, **options: Any) -> RowCounts:
        queued.append(await sources.sync(source_id, tenant.user_id, db=tenant.db))
        return await real(*args, **options)

    monkeypatch.setattr(selections, "delete", delete)
    assert (await sources.delete(source_id, tenant.user_id, tenant.services(), actor="test")).documents == 1
    states = [await job_operations.get(job_id, tenant.user_id, db=tenant.db) for job_id in queued]
    assert [state.status for state in states] == ["cancelled"]


async def test_a_synchronisation_during_which_its_source_is_removed_stops(tenant, folder, monkeypatch) -> None:
    source_folder.write(folder, "a.md", b"Lime.")
    added = await source_folder.add(tenant, folder)
    real, removed = document_writes.find_vectors, []

    async def find(*args: Any) -> document_writes.ChunkVectors:
        removed.append(await sources.delete(added.source.source_id, tenant.user_id, tenant.services(), actor="test"))
        return await real(*args)

    monkeypatch.setattr(document_writes, "find_vectors", find)
    await source_folder.work(tenant)
    state = await job_operations.get(added.job_id, tenant.user_id, db=tenant.db)
    assert (state.status, state.error, len(removed)) == ("cancelled", None, 1)
    assert await source_folder.ids(tenant) == {}


async def test_a_file_is_one_document_in_both_unicode_forms_of_its_path(tenant: Tenant, folder: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "Café/é.txt") for form in ("NFC", "NFD"))
    before = await tenant.add("Lime.", (folder / composed).as_uri())
    source_folder.write(folder, decomposed, b"Lime dries.")
    added = await source_folder.stored_source(tenant, folder / Path(decomposed).parent)
    assert await source_folder.ids(tenant) == {(folder / composed).as_uri(): before.document_id}
    path = folder / composed
    stored = await documents.get(before.document_id, tenant.user_id, db=tenant.db)
    assert stored.metadata["filename"] == path.name
    assert await sources.find([str(path.parent)], tenant.user_id, db=tenant.db) == [added.source.source_id]
    (folder / decomposed).rename(folder / Path(decomposed).parent / path.name)
    assert source_folder.counts(await source_folder.synced(tenant, added)) == {"renamed": 1}
    assert await source_folder.ids(tenant) == {path.as_uri(): before.document_id}
    source_folder.write(folder, decomposed, b"Other.")
    state = await source_folder.synced(tenant, added)
    assert (state.result["failed"], len(await source_folder.ids(tenant))) == (1, 1)


async def test_a_cancelled_job_stops_and_the_next_one_does_the_rest(tenant, folder, monkeypatch) -> None:
    monkeypatch.setattr("app.sources.source_sync.GROUP", 1)
    source_folder.fill(folder, 12, kinds=("md",))
    added = await source_folder.add(tenant, folder)
    real = jobs.advance
    calls = []

    async def cancelling(writing: Any, job: Any, **options: Any) -> bool:
        calls.append(job)
        if len(calls) == 4:
            await jobs.cancel(writing, job.job_id)
        return await real(writing, job, **options)

    with monkeypatch.context() as patch:
        patch.setattr("app.jobs.store.advance", cancelling)
        await source_folder.work(tenant)
    # The transaction in which the job was found cancelled has changed nothing, so the cancellation is repeated.
    await job_operations.cancel(added.job_id, tenant.user_id, db=tenant.db)
    state = await job_operations.get(added.job_id, tenant.user_id, db=tenant.db)
    assert (state.status, state.progress["total"]) == ("cancelled", 12)
    assert len(calls) == 4
    assert sum(source_folder.counts(await source_folder.synced(tenant, added)).values()) == 12


async def test_a_source_that_is_added_again_with_another_text_field_is_read_again(tenant: Tenant, folder: Path) -> None:
    source_folder.write(folder, "rows.csv", b"id,text,other\n1,Lime,Sand\n")
    first = await source_folder.stored_source(tenant, folder)
    again = await source_folder.add(tenant, folder, text_field="other")
    assert (again.status, again.source.source_id) == ("changed", first.source.source_id)
    await source_folder.work(tenant)
    assert source_folder.counts(await job_operations.get(again.job_id, tenant.user_id, db=tenant.db)) == {"replaced": 1}
    (stored,) = (await source_folder.stored(tenant)).values()
    assert stored[1] == "Sand"
    unchanged = await source_folder.add(tenant, folder, text_field="other")
    assert unchanged.status == "unchanged"


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        *(("ΟΔΟΣ", "ΟΔΟΣ"), ("ΟΔΟΣ", "οδος"), ("οδος", "ΟΔΟΣ")),
        ("İzmir", "İzmir"),
        ("straße", "STRAẞE"),
        ("STRASSE", "straße"),
    ],
)
async def test_documents_are_filtered_by_the_name_of_their_source_in_any_case(tenant, folder, name, asked) -> None:
    source_folder.write(folder, "a.md", b"Lime.")
    await source_folder.stored_source(tenant, folder, name=name)
    named = Filters(source_names=(asked,))
    for filters, number in ((named, 1), (Filters(any_of=(named,)), 1), (Filters(negated=named), 0)):
        only = DocumentFilter(filters=filters)
        found = await documents.page(tenant.user_id, db=tenant.db, limit=9, after=None, only=only)
        assert len(found) == number
