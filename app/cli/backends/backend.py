"""Declares what commands ask of a backend: requests and answers are those of the REST API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # their modules take longer to import than a command by way of a service
    from app.cli.backends.ingesting import Files, Summary

Body = Mapping[str, Any]
Answer = dict[str, Any]
Progress = Callable[[Answer], object]
"""Called with the states of a job."""


class Backend(Protocol):
    """Runs the operations of one user. Methods raise StepwellError."""

    @property
    def reads_pictures(self) -> bool:
        """Whether pictures of a folder are read."""
        ...

    def search(self, request: Body) -> Answer:
        """The answer of a search."""
        ...

    def search_multihop(self, request: Body) -> Answer:
        """The answer of a search over several hops."""
        ...

    def why(self, request: Body) -> Answer:
        """Where a passage stands in a search."""
        ...

    def give_feedback(self, request: Body) -> Answer:
        """What is stored of a judgement."""
        ...

    def synonyms(self) -> Answer:
        """The groups of synonyms."""
        ...

    def set_synonyms(self, request: Body) -> Answer:
        """The numbers of stored groups and terms."""
        ...

    def stats(self) -> Answer:
        """Numbers of what is stored."""
        ...

    def facets(self, parameters: Body) -> Answer:
        """The keys of metadata."""
        ...

    def documents(self, parameters: Body, limit: int) -> list[Answer]:
        """Documents without their text, newest first."""
        ...

    def document(self, id_or_uri: str) -> Answer:
        """A document by its id, its URI, or its path. Raises NotFound."""
        ...

    def delete_document(self, document_id: str) -> Answer:
        """The numbers of deleted rows."""
        ...

    def delete_documents(self, request: Body) -> Answer:
        """The numbers of selected or deleted rows."""
        ...

    def ingest(self, files: Files, summary: Summary) -> None:
        """Stores files, shows the progress, and counts what becomes of each."""
        ...

    def seconds_per_chunk(self, texts: Sequence[str]) -> float | None:
        """Seconds that the embedding model needs for such a text; None if that cannot be measured here."""
        ...

    def jobs(self, limit: int) -> list[Answer]:
        """Background jobs, newest first."""
        ...

    def job(self, job_id: str) -> Answer:
        """A background job."""
        ...

    def cancel_job(self, job_id: str) -> Answer:
        """The cancelled job."""
        ...

    def sources(self) -> list[Answer]:
        """Sources, newest first."""
        ...

    def source(self, key: str) -> Answer:
        """A source by its id, name or folder."""
        ...

    def path_of(self, path: Path) -> str:
        """A folder or file as a source names it; the backend may say what it leaves out of it."""
        ...

    def add_source(self, request: Body, progress: Progress) -> Answer:
        """The source, and its `job` once that has ended."""
        ...

    def sync_source(self, key: str, progress: Progress) -> Answer:
        """The job that has synchronised a source."""
        ...

    def delete_source(self, key: str) -> Answer:
        """The numbers of deleted rows."""
        ...

    def entities(self, parameters: Body, limit: int) -> list[Answer]:
        """Entities, by name."""
        ...

    def entity(self, entity_id: str) -> Answer:
        """An entity."""
        ...

    def entity_documents(self, entity_id: str, limit: int) -> list[Answer]:
        """The documents that an entity is linked to, strongest link first."""
        ...

    def search_entities(self, request: Body) -> Answer:
        """Entities that a text names or describes."""
        ...

    def import_entities(self, lines: bytes) -> Answer:
        """The outcome of each line."""
        ...
