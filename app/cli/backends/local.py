"""Carries out commands on a database that it opens when the first operation needs it, with or without the model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import typer

from app import runtime
from app.cli import options
from app.cli.backends import embedded, local_documents, local_entities, local_search, local_sources
from app.cli.backends.backend import Answer, Body, Progress
from app.cli.backends.ingesting import Files, Summary
from app.config import Settings
from app.pipelines.running.services import Services
from app.runtime import models
from app.store.connection.transactions import Database

Result = TypeVar("Result")
SEARCH_CONNECTIONS, WRITE_CONNECTIONS = 2, 4


class LocalBackend:
    """Runs the operations of a user in this process; a context manager that closes what it has opened."""

    def __init__(self, user: str | None, data_dir: Path | None) -> None:
        self._user = options.checked_user(options.LOCAL if user is None else user)
        self._settings: Settings = options.settings(data_dir)
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self._services: Services | None = None
        self._db: Database | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._runner.run(self._stack.aclose())
        finally:
            self._runner.close()

    @property
    def reads_pictures(self) -> bool:
        return runtime.reads_pictures(self._settings)

    def search(self, request: Body) -> Answer:
        options.check_rerank(request.get("rerank"), self._settings)
        return self._serving(lambda services: local_search.search(request, self._user, services))

    def search_multihop(self, request: Body) -> Answer:
        options.check_rerank(request.get("rerank"), self._settings)
        return self._serving(lambda services: local_search.search_multihop(request, self._user, services))

    def why(self, request: Body) -> Answer:
        options.check_rerank(request.get("rerank"), self._settings)
        return self._serving(lambda services: local_search.why(request, self._user, services))

    def give_feedback(self, request: Body) -> Answer:
        return self._serving(lambda services: local_search.give_feedback(request, self._user, services))

    def synonyms(self) -> Answer:
        return self._reading(lambda db: local_search.synonyms(self._user, db))

    def set_synonyms(self, request: Body) -> Answer:
        return self._reading(lambda db: local_search.set_synonyms(request, self._user, db))

    def stats(self) -> Answer:
        return self._reading(lambda db: local_documents.stats(self._user, db))

    def facets(self, parameters: Body) -> Answer:
        return self._serving(lambda services: local_search.facets(parameters, self._user, services))

    def documents(self, parameters: Body, limit: int) -> list[Answer]:
        return self._reading(lambda db: local_documents.listed(parameters, limit, self._user, db))

    def document(self, id_or_uri: str) -> Answer:
        return self._reading(lambda db: local_documents.get(id_or_uri, self._user, db))

    def delete_document(self, document_id: str) -> Answer:
        return self._reading(lambda db: local_documents.delete(document_id, self._user, db))

    def delete_documents(self, request: Body) -> Answer:
        if request.get("dry_run"):
            return self._reading(lambda db: local_documents.count_selected(request, self._user, db))
        return self._serving(lambda services: local_documents.delete_selected(request, self._user, services))

    def ingest(self, files: Files, summary: Summary) -> None:
        from app.cli.backends import local_ingest

        self._serving(lambda services: local_ingest.run(files, summary, self._user, services), connections=None)

    def seconds_per_chunk(self, texts: Sequence[str]) -> float | None:
        """Measures with a local model only: those of a provider cost money."""
        from app.cli.backends import local_ingest

        return self._run(lambda: local_ingest.seconds_per_chunk(texts, self._settings))

    def jobs(self, limit: int) -> list[Answer]:
        return self._reading(lambda db: local_documents.jobs(limit, self._user, db))

    def job(self, job_id: str) -> Answer:
        return self._reading(lambda db: local_documents.job(job_id, self._user, db))

    def cancel_job(self, job_id: str) -> Answer:
        return self._reading(lambda db: local_documents.cancel_job(job_id, self._user, db))

    def sources(self) -> list[Answer]:
        return self._reading(lambda db: local_sources.listed(self._user, db))

    def source(self, key: str) -> Answer:
        return self._reading(lambda db: local_sources.get(key, self._user, db))

    def path_of(self, path: Path) -> str:
        embedded.note_left_out(path, self._settings)
        return str(path.expanduser().resolve())

    def add_source(self, request: Body, progress: Progress) -> Answer:
        """Adds any folder to an embedded database; to another one only folders that HTTP may add, too."""
        confined = self._settings.database_url is not None

        async def add(services: Services) -> Answer:
            return await local_sources.add(request, self._user, services, confined=confined, progress=progress)

        return self._serving(add, connections=WRITE_CONNECTIONS)

    def sync_source(self, key: str, progress: Progress) -> Answer:
        return self._serving(
            lambda services: local_sources.sync(key, self._user, services, progress), connections=WRITE_CONNECTIONS
        )

    def delete_source(self, key: str) -> Answer:
        return self._serving(
            lambda services: local_sources.remove(key, self._user, services), connections=WRITE_CONNECTIONS
        )

    def entities(self, parameters: Body, limit: int) -> list[Answer]:
        return self._reading(lambda db: local_entities.listed(parameters, limit, self._user, db))

    def entity(self, entity_id: str) -> Answer:
        return self._reading(lambda db: local_entities.get(entity_id, self._user, db))

    def entity_documents(self, entity_id: str, limit: int) -> list[Answer]:
        return self._reading(lambda db: local_entities.documents(entity_id, limit, self._user, db))

    def search_entities(self, request: Body) -> Answer:
        return self._serving(lambda services: local_search.search_entities(request, self._user, services))

    def import_entities(self, lines: bytes) -> Answer:
        return self._serving(
            lambda services: local_entities.store(lines, self._user, services), connections=WRITE_CONNECTIONS
        )

    def _reading(self, work: Callable[[Database], Awaitable[Result]]) -> Result:
        """Run work with the database, which needs no model."""

        async def opened() -> Result:
            if self._db is None:
                connection = runtime.open_database(self._settings, pool_size=1)
                self._db = await self._stack.enter_async_context(connection)
            return await work(self._db)

        return self._run(opened)

    def _serving(
        self, work: Callable[[Services], Awaitable[Result]], *, connections: int | None = SEARCH_CONNECTIONS
    ) -> Result:
        """Run work with the services of the API, with so many connections to the database."""

        async def opened() -> Result:
            if self._services is None:
                await self._stack.aclose()
                services = runtime.open_services(
                    self._settings, pool_size=connections, patience_s=models.COMMAND_PATIENCE_S
                )
                self._services = await self._stack.enter_async_context(services)
                self._db = self._services.db
            return await work(self._services)

        return self._run(opened)

    def _run(self, work: Callable[[], Awaitable[Result]]) -> Result:
        async def running() -> Result:
            return await work()

        try:
            return self._runner.run(running())
        except KeyboardInterrupt:
            options.err.print("Interrupted.")
            raise typer.Exit(130) from None
