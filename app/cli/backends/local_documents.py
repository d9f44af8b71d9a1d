"""Reads and deletes documents, and lists jobs, with the database that a command has opened."""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID

from app import errors
from app.api.documents.document_models import DocumentDeletion, StorageStats, StoredDocument
from app.api.documents.selection_models import DocumentsDeletion, DocumentSelection
from app.api.jobs.job_models import StoredJob
from app.cli import options, owning
from app.cli.backends import requests
from app.cli.backends.backend import Answer, Body
from app.pipelines.documents import documents, selections
from app.pipelines.jobs import followed_jobs
from app.pipelines.requests.filter_models import SearchFilters
from app.pipelines.running.services import Services
from app.shapes import Document, DocumentFilter
from app.store.connection.transactions import Database


async def stats(user_id: str, db: Database) -> Answer:
    """Numbers of what is stored."""
    return StorageStats.of(await documents.stats(user_id, db=db)).model_dump(mode="json")


async def listed(parameters: Body, limit: int, user_id: str, db: Database) -> list[Answer]:
    """Documents without their text, newest first."""
    filters = requests.read(SearchFilters, parameters.get("filters") or {}, field="filters").shape()
    only = DocumentFilter(None, tuple((parameters.get("query") or "").split()), filters)
    found = await documents.page(user_id, db=db, limit=limit, after=None, only=only)
    return [StoredDocument.of(document).model_dump(mode="json") for document in found]


async def get(id_or_uri: str, user_id: str, db: Database) -> Answer:
    """The document with this id, or else with this URI or path, also one that is relative. Raises NotFound."""
    try:
        document_id = UUID(id_or_uri)
    except ValueError:
        document_id = (await _named(id_or_uri, user_id, db)).document_id
    return StoredDocument.of(await documents.get(document_id, user_id, db=db)).model_dump(mode="json")


async def _named(uri: str, user_id: str, db: Database) -> Document:
    for named in (uri, options.absolute_path(uri)):
        with suppress(errors.NotFound):
            return await documents.with_uri(named, user_id, db=db)
    raise errors.NotFound("There is no document with this id or uri.")


async def delete(document_id: str, user_id: str, db: Database) -> Answer:
    """The numbers of deleted rows."""
    deleted = await documents.delete(UUID(document_id), user_id, db=db, actor=owning.actor())
    return DocumentDeletion.of(deleted).model_dump(mode="json")


async def count_selected(request: Body, user_id: str, db: Database) -> Answer:
    """The numbers of selected rows."""
    selected = requests.read(DocumentSelection, request).shape()
    return DocumentsDeletion.counted(await selections.count(selected, user_id, db=db)).model_dump(mode="json")


async def delete_selected(request: Body, user_id: str, services: Services) -> Answer:
    """The numbers of deleted rows."""
    selected = requests.read(DocumentSelection, request).shape()
    done = await selections.delete(selected, user_id, db=services.db, actor=owning.actor())
    return DocumentsDeletion.done(done).model_dump(mode="json")


async def jobs(limit: int, user_id: str, db: Database) -> list[Answer]:
    """Background jobs, newest first."""
    found = await followed_jobs.page(user_id, db=db, limit=limit)
    return [StoredJob.of(job).model_dump(mode="json") for job in found]


async def job(job_id: str, user_id: str, db: Database) -> Answer:
    """A background job."""
    found = await _job_id(job_id, user_id, db)
    return StoredJob.of(await followed_jobs.get(found, user_id, db=db)).model_dump(mode="json")


async def cancel_job(job_id: str, user_id: str, db: Database) -> Answer:
    """The cancelled job."""
    found = await _job_id(job_id, user_id, db)
    return StoredJob.of(await followed_jobs.cancel(found, user_id, db=db)).model_dump(mode="json")


async def _job_id(key: str, user_id: str, db: Database) -> UUID:
    return await followed_jobs.find("newest" if key == "newest" else UUID(key), user_id, db=db)
