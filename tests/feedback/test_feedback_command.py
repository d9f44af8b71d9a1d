"""`stepwell feedback`: judgements are given, and exported as a set that `eval` and `calibrate` read."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

from harness import Tenant

from app import errors, samples
from app.documents import operations as documents
from app.documents.types import Document
from app.evaluation import beir
from app.feedback import operations as feedback

QUERIES = [question.text for question in samples.QUESTIONS[:6]]


def test_judgements_are_exported_and_fitted_to(stepwell: Callable[..., Any], tmp_path: Path, user: str) -> None:
    # A few of the sample notes: they are embedded here and, as an exported set, once more.
    assert stepwell("ingest", samples.NOTES / "teams", "--user", user).code == 0
    for text in QUERIES:
        hits = stepwell("search", text, "--user", user, "--json").json["results"]
        for hit, said in ((hits[0], "--helpful"), (hits[-1], "--not-helpful")):
            assert stepwell("feedback", "give", text, hit["chunk_id"], said, "--user", user).code == 0
    exported = stepwell("feedback", "export", tmp_path / "set", "--user", user, "--json").json
    assert exported["questions"] == len(QUERIES)
    judged = (tmp_path / "set" / "qrels.tsv").read_text("utf-8").splitlines()
    assert {line.rpartition("\t")[2] for line in judged} == {"0", "1"}
    assert stepwell("eval", tmp_path / "set", "--user", user, "--json").json["queries"] == len(QUERIES)

    fitted = stepwell("calibrate", tmp_path / "set", "--only-judged", "--user", user, "--json").json
    assert fitted["questions"] == len(QUERIES)
    before, after = (fitted["measured"]["relevance"][when]["brier"] for when in ("before", "after"))
    assert fitted["stored"] == (after < before)
    assert fitted["measured"]["answerable"] is None


async def test_a_passage_is_judged_by_its_id_or_its_document(remote: Any, remote_folder: Path) -> None:
    file = remote_folder / "lime.md"
    file.write_text("We use lime.")
    assert (await remote("ingest", file)).code == 0
    (hit,) = (await remote("search", "lime", "--json")).json["results"]
    for passage in (hit["document_id"], file):
        given = await remote("feedback", "give", "lime", passage, "--helpful", "--json")
        assert given.json == {"document_id": hit["document_id"], "helpful": True}
    assert (await remote("feedback", "give", "lime", passage, "--withdraw")).out == "Withdrawn.\n"
    assert (await remote("feedback", "give", "lime", UUID(int=0), "--helpful")).code == 1


async def test_a_document_that_is_deleted_during_an_export_is_left_out(
    tenant: Tenant, tmp_path: Path, monkeypatch
) -> None:
    await tenant.add("Lime mortar.", "kept")
    gone, page = await tenant.add("Slate roof.", "gone"), documents.page

    async def deleted_after(*args: Any, **options: Any) -> list[Document]:
        found = await page(*args, **options)
        with suppress(errors.NotFound):
            await documents.delete(gone.document_id, tenant.user_id, db=tenant.db)
        return found

    monkeypatch.setattr(documents, "page", deleted_after)
    assert await feedback.export(tenant.user_id, tmp_path, tenant.services()) == (0, 1)
    assert [upload.uri for upload in beir.load(tmp_path).documents] == ["kept"]


def test_an_export_that_cannot_be_written_is_one_sentence(stepwell: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "set" / beir.CORPUS).mkdir(parents=True)
    (tmp_path / "file").touch()
    for folder in ("set", "file"):
        ran = stepwell("feedback", "export", tmp_path / folder, "--json")
        assert (ran.code, ran.json["error"]["field"]) == (2, "FOLDER")
        assert "The folder cannot be written" in ran.json["error"]["detail"]
