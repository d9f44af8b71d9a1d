"""Opens and closes the database and the services of every entry point, and migrates the schema."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from app import capability, errors
from app.database import addresses, retries, transactions
from app.database.embedded import postgres
from app.database.pools import ServerHooks
from app.database.schema import inspection, migration, roles
from app.database.standby import Standby
from app.database.transactions import Database
from app.fetching.types import AllowedHosts
from app.fetching.web_fetcher import WebFetcher
from app.models.remote_calls import BULK_PATIENCE_S
from app.runtime import configured_models, local_token
from app.services import Budget, ChunkingOptions, Services
from app.settings import Settings, plain
from app.text.words import languages

PROVIDER_GRACE_S = 0.25
"""Seconds by which a pipeline's timeout exceeds the provider's, so that the circuit breaker counts the failure."""
START_RETRY_S = 20.0
"""Seconds for which a start retries an unavailable database."""
OVERLAP_SHARE = 0.15
"""Overlap of neighbouring chunks of a section, as a share of the target size of a chunk."""


@asynccontextmanager
async def open_services(
    settings: Settings, *, pool_size: int | None = None, runs_jobs: bool = False, patience_s: float = BULK_PATIENCE_S
) -> AsyncIterator[Services]:
    """Opens a checked database, the embedder and the configured providers, and closes them in reverse.

    An embedded database is started and migrated first. Texts that older versions linked there are linked again, unless
    the caller runs the jobs that do so. `patience_s` is for how long passages are sent again while a remote embedder
    fails. Raises SchemaMismatch, DatabaseUnavailable, EmbeddedServerError, ProviderError, `local_token_unusable`.
    """
    async with AsyncExitStack() as stack:
        database, owner = await stack.enter_async_context(_open_databases(settings, pool_size))
        with inspection.naming_server(plain(settings.database_url), "DATABASE_URL"):
            await retries.while_unavailable(START_RETRY_S, check_database, database, settings)
        await open_reads(settings, database, pool_size, stack)
        embedder = await stack.enter_async_context(
            configured_models.open_stored(settings, database, patience_s=patience_s)
        )
        llm = await stack.enter_async_context(configured_models.open_llm(settings))
        reranker = await stack.enter_async_context(configured_models.open_reranker(settings))
        opened = [await stack.enter_async_context(open_one(settings)) for open_one in capability.declared("opens")]
        model_s = settings.model_timeout_s + PROVIDER_GRACE_S
        services = Services(
            db=database,
            owner=owner,
            embedder=embedder,
            chunking_options=chunking_options(settings),
            budget=Budget(model_s, settings.search_timeout_s, model_s, model_s),
            expected_schema=configured_models.embedding(settings),
            target_schema=configured_models.target(settings),
            llm=llm,
            reranker=reranker,
            pages=WebFetcher(),
            fetch_hosts=AllowedHosts(settings.fetch_hosts),
            states={type(one): one for one in opened if one is not None},
            local_token=local_token.load(settings.folder) if settings.auth == "local_token" else "",
            options={type(made): made for make in capability.declared("options") for made in (make(settings),)},
            tools=settings.optional_tools,
        )
        if owner is not None:
            await _finish_upgrade(owner, None if runs_jobs else services)
            await owner.pool.close_idle()
        yield services


async def _finish_upgrade(owner: Database, services: Services | None) -> None:
    """Lets capabilities adapt stored documents to a new version. Without services they queue this work."""
    for finish in capability.declared("upgraded"):
        with suppress(errors.DiskFull):  # the next start does it; searches need no room
            await finish(owner, services)


@asynccontextmanager
async def open_database(settings: Settings, *, pool_size: int | None = None) -> AsyncIterator[Database]:
    """Opens the database as the service's role; the embedded server is started, migrated and supervised."""
    async with _open_databases(settings, pool_size) as (database, _owner):
        with inspection.naming_server(plain(settings.database_url), "DATABASE_URL"):
            yield database


@asynccontextmanager
async def _open_databases(settings: Settings, pool_size: int | None) -> AsyncIterator[tuple[Database, Database | None]]:
    """Opens the database as the service's role, and as the owner where the server is embedded."""
    async with AsyncExitStack() as stack:
        hooks = ServerHooks()
        owner: Database | None = None
        if settings.database_url is not None:
            dsn = settings.database_url.get_secret_value()
        else:
            server = await stack.enter_async_context(postgres.EmbeddedPostgres(settings.folder))
            await upgrade(settings, server.owner_dsn)
            dsn = server.service_dsn
            hooks = ServerHooks(server.ensure_running, functools.partial(inspection.is_full, settings.folder))
            restart_only = ServerHooks(server.ensure_running)
            owner = transactions.connect(server.owner_dsn, pool_size=1, hooks=restart_only)
            stack.push_async_callback(owner.close)
        database = _connect(settings, dsn, pool_size, hooks=hooks)
        stack.push_async_callback(database.close)
        yield database, owner


async def open_reads(settings: Settings, database: Database, pool_size: int | None, stack: AsyncExitStack) -> None:
    """Routes reads of requests to the standby in DATABASE_READ_URL, if it is set, once a probe has admitted it."""
    if settings.database_read_url is not None:
        dsn = settings.database_read_url.get_secret_value()
        addresses.check(dsn, "DATABASE_READ_URL")
        standby = _connect(settings, dsn, pool_size)
        stack.push_async_callback(standby.close)
        Standby(standby, database, functools.partial(check_database, settings=settings))


def _connect(settings: Settings, dsn: str, pool_size: int | None, *, hooks: ServerHooks | None = None) -> Database:
    prepares = {"on": True, "off": False}.get(settings.prepared_statements)
    size = pool_size or settings.pool_size
    return transactions.connect(dsn, pool_size=size, hooks=hooks, prepares=prepares, revision=migration.head())


async def migrate(settings: Settings, owner_dsn: str, *, report: migration.Report | None = None) -> str:
    """Upgrades the schema, queues jobs that link texts again, and returns the revision."""
    revision = await upgrade(settings, owner_dsn, report=report)
    await finish_upgrade(owner_dsn)
    return revision


async def finish_upgrade(owner_dsn: str) -> None:
    """Queues what a new version does to stored documents."""
    async with transactions.connect(owner_dsn, pool_size=1) as owner:
        await _finish_upgrade(owner, None)


async def upgrade(settings: Settings, owner_dsn: str, *, report: migration.Report | None = None) -> str:
    """Upgrades the schema and returns the revision. Raises what `migration.upgrade` raises, and ConnectionLost."""
    model, dimension = configured_models.embedding(settings)
    try:
        return await migration.upgrade(owner_dsn, model=model, dimension=dimension, report=report)
    except OSError as error:
        raise errors.ConnectionLost("The database cannot be reached; try again shortly.") from error


def chunking_options(settings: Settings) -> ChunkingOptions:
    """Returns the options by which documents are cut, indexed and linked. Raises BadRequest for an unknown language."""
    language = None if settings.language == "auto" else settings.language  # None: it is detected for each document
    if language is not None and languages.look_up_config(language) is None:
        raise errors.BadRequest(f"The language is unknown. {languages.accepted()}", field="STEPWELL_LANGUAGE")
    return ChunkingOptions(
        settings.chunk_tokens,
        round(OVERLAP_SHARE * settings.chunk_tokens),
        settings.entity_keys,
        llm_entities=settings.llm_entities,
        language=language,
    )


def reads_pictures(settings: Settings) -> bool:
    """Returns whether text in pictures is read."""
    return any(is_wanted(settings) for is_wanted in capability.declared("reads_pictures"))


async def check_database(database: Database, settings: Settings) -> None:
    """Refuses a database of another schema, or with a role that is not restricted. Raises SchemaMismatch."""
    model, dimension = configured_models.embedding(settings)
    await migration.check(database, model=model, dimension=dimension, target=configured_models.target(settings))
    await roles.check_role(database, strict=settings.auth == "api_key")
