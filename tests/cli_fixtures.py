"""Runs commands in the test process on the data folder of the session's server; each module has its own database."""

import asyncio
import functools
import json
import logging
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import asyncpg
import harness
import pytest
from fastapi import FastAPI

from app import __main__ as root
from app.cli import terminal
from app.database.embedded import postgres
from app.database.transactions import Database
from app.main import create_app
from app.models.local import int8_model, minilm, onnx_model
from app.serving import in_process
from app.settings import Settings

_open_session = onnx_model.open_session
_kept = tempfile.TemporaryDirectory(prefix="stepwell-weights-")
_weights = functools.cache(functools.partial(int8_model._weights, cache=Path(_kept.name)))
_tokenizer = functools.cache(minilm.DESCRIBED.tokenizer)
_opened = functools.cache(_open_session)


def _open_once(graph: Path | bytes, *, threads: int, weights: Any = None) -> Any:
    """The same session for the same files; one of its own for weights in memory."""
    in_files = weights is None or isinstance(weights, Path)
    return (_opened if in_files else _open_session)(graph, threads=threads, weights=weights)


def _with_shared_routes(*given: Any, **options: Any) -> FastAPI:
    app = create_app(*given, **options)
    harness.share_routes(app)
    return app


@dataclass(frozen=True, slots=True)
class Ran:
    """The exit status and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its standard output as JSON."""
        return json.loads(self.out)


@pytest.fixture(scope="module")
async def data_dir(server: postgres.EmbeddedPostgres, data_folder: Path, wide_template: str) -> Path:
    """The data folder of the session's server, whose own database is as the first command leaves it: migrated."""
    owner = await asyncpg.connect(server.dsn(user=postgres.OWNER, database="postgres", driver="postgresql"))
    await owner.execute(f"DROP DATABASE IF EXISTS {postgres.DATABASE} WITH (FORCE)")
    await owner.execute(f"CREATE DATABASE {postgres.DATABASE} TEMPLATE {wide_template} STRATEGY FILE_COPY")
    await owner.close()
    return data_folder


@pytest.fixture(scope="module")
def _built_once() -> Iterator[None]:
    """Commands share the offline model and the routes, which have no state: making them takes longer than a search."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(int8_model, "_weights", lambda described, folder, _cache: _weights(described, folder))
        patch.setattr(minilm, "DESCRIBED", replace(minilm.DESCRIBED, tokenizer=_tokenizer))
        patch.setattr(onnx_model, "open_session", _open_once)
        patch.setattr(in_process, "create_app", _with_shared_routes)
        yield


@pytest.fixture
def _logging_as_before() -> Iterator[None]:
    logger = logging.getLogger()
    handlers, level = logger.handlers[:], logger.level
    yield
    logger.handlers[:] = handlers
    logger.setLevel(level)


@pytest.fixture
def run_command(monkeypatch, capsys, _built_once, _logging_as_before) -> Callable[..., Ran]:
    """Runs a command as `stepwell …` would, in the environment of the test."""
    for name in ("DATABASE_URL", "STEPWELL_DATABASE_URL", "AUTH", "STEPWELL_AUTH", "STEPWELL_URL", "STEPWELL_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "300")

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["stepwell", *map(str, arguments)])
        capsys.readouterr()
        monkeypatch.setattr(terminal.err, "quiet", False)
        with pytest.raises(SystemExit) as left:
            root.run(root.app)
        said = capsys.readouterr()
        return Ran(int(left.value.code or 0), said.out, said.err)

    return run


@pytest.fixture(scope="module")
def remote_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a subfolder for each user, from which sources may be added."""
    return tmp_path_factory.mktemp("root").resolve()


@pytest.fixture(scope="module")
async def address_of_service(database: Database, remote_root: Path) -> AsyncIterator[str]:
    settings, services = Settings(auth="api_key", source_roots=(str(remote_root),)), await harness.services(database)
    async with harness.running(settings, services) as app, harness.listening(app) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def remote_folder(remote_root: Path, user: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of the test whose parent is the working folder."""
    made = remote_root / user / "notes"
    made.mkdir(parents=True)
    monkeypatch.chdir(made.parent)
    return made


@pytest.fixture
async def remote(
    run_command: Callable[..., Ran],
    address_of_service: str,
    database: Database,
    user: str,
    remote_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Awaitable[Ran]]:
    """Runs a command by way of a service, as a user of the test."""
    monkeypatch.setenv("STEPWELL_URL", address_of_service)
    monkeypatch.setenv("STEPWELL_API_KEY", await harness.create_key(database, user))

    async def run(*arguments: object) -> Ran:
        return await asyncio.to_thread(run_command, *arguments)

    return run


@pytest.fixture
def stepwell(
    data_dir: Path, server: postgres.EmbeddedPostgres, run_command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    """Runs a command as `stepwell …` would, on the data folder, or on the server of POSTGRES_PROGRAMS."""
    monkeypatch.setenv("STEPWELL_DATA_DIR", str(data_dir))
    if "POSTGRES_PROGRAMS" in os.environ:
        monkeypatch.setenv("DATABASE_URL", server.service_dsn)
        monkeypatch.setenv("STEPWELL_MIGRATION_URL", server.owner_dsn)
    return run_command


@pytest.fixture
def on_embedded(stepwell: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the commands of a test that is about the embedded server run on it in any case."""
    for name in ("DATABASE_URL", "STEPWELL_MIGRATION_URL"):
        monkeypatch.delenv(name, raising=False)
