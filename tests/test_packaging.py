"""Tests of the wheel, the image, compose.yaml, and the service run from an installed wheel."""

from __future__ import annotations

import asyncio
import fnmatch
import importlib.machinery
import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import asyncpg
import httpx
import pytest
import yaml
from typer.testing import CliRunner

from app.cli.root import app as cli
from app.config import Settings

ROOT = Path(__file__).parents[1]
COMPOSE_TEXT = (ROOT / "compose.yaml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_TEXT)
DOCKERFILE = (ROOT / "Dockerfile").read_text()
PASSWORD = "s3rvice-p@ss"
PATIENCE_S = 60.0


# the wheel


def test_the_wheel_holds_the_migrations_the_statements_the_model_the_samples_and_the_pages(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    for path in (ROOT / "app").rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            assert path.relative_to(ROOT).as_posix() in packed
    for path in (ROOT / "migrations").rglob("*.py"):
        assert f"app/store/{path.relative_to(ROOT).as_posix()}" in packed
    for suffix in (".sql", ".onnx", ".md", ".html", ".js"):
        assert [name for name in packed if name.endswith(suffix)], f"the list above must hold some {suffix}"
    assert not [
        name for name in packed if name.startswith(("tests/", "docs/", "benchmarks/", ".")) or name.endswith(".env")
    ]


# the image


def _instructions() -> list[list[str]]:
    joined = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*$", "", DOCKERFILE, flags=re.MULTILINE))
    return [line.split(maxsplit=1) for line in joined.splitlines() if line.strip()]


def test_the_image_copies_only_files_that_exist_and_that_reach_the_builder():
    ignored = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    allowed = [line[1:] for line in ignored if line[0] == "!"]
    assert ignored[0] == "*"
    sources = [
        word for name, rest in _instructions() if name == "COPY" and "--from" not in rest for word in rest.split()[:-1]
    ]
    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert any(fnmatch.fnmatch(source.removeprefix("./"), pattern) for pattern in allowed), source


def test_uv_is_installed_by_hash_and_is_the_locked_version():
    pinned = (ROOT / "requirements-uv.lock").read_text()
    (version,) = re.findall(r"^uv==(\S+)", pinned, flags=re.MULTILINE)
    assert f"uv=={version} " in (ROOT / "requirements.lock").read_text()
    assert pinned.count("--hash=sha256:") > 10
    for recipe in (DOCKERFILE, (ROOT / "Makefile").read_text()):
        assert re.search(r"pip install .*--require-hashes --requirement requirements-uv\.lock", recipe)
        assert not re.search(r"pip install .*[\"' ]uv[>=\"']", recipe)


@pytest.fixture
def pin_images() -> ModuleType:
    module = ModuleType("pin_images")
    module.__file__ = str(ROOT / ".ci" / "pin-images")
    exec(compile(Path(module.__file__).read_text(), module.__file__, "exec"), vars(module))
    return module


def test_every_image_is_named_with_a_full_version(pin_images):
    named = [image for text in (DOCKERFILE, COMPOSE_TEXT) for image in pin_images.images(text)]
    assert [name for name, _ in named] == ["python", "pgvector/pgvector"]
    assert all(re.match(r"\d+\.\d+\.\d+-", tag) for _, tag in named)


def test_digests_are_put_after_the_tags_and_replaced(pin_images):
    old, new = (f"sha256:{digit * 64}" for digit in "ab")
    for text in (DOCKERFILE, COMPOSE_TEXT):
        once = pin_images.pinned(text, dict.fromkeys(pin_images.images(text), old))
        assert once.count(old) == len(pin_images.IMAGE.findall(text)) >= 1
        assert re.sub(f"@{old}", "", once) == text
        assert pin_images.images(once) == pin_images.images(text)
        assert pin_images.pinned(once, dict.fromkeys(pin_images.images(once), new)) == once.replace(old, new)


def test_a_digest_is_requested_with_token_and_accept_header(pin_images):
    digest, asked = f"sha256:{'c' * 64}", []

    class Registry(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            body = b'{"token": "t"}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_HEAD(self):
            asked.append((self.path, self.headers["Authorization"], "image.index" in self.headers["Accept"]))
            self.send_response(200)
            if "nothing" not in self.path:
                self.send_header("Docker-Content-Digest", digest)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{server.server_port}"
        assert pin_images.digest("python", "3.12.12-slim", auth=place, registry=place) == digest
        with pytest.raises(ValueError, match="no digest"):
            pin_images.digest("a/nothing", "1", auth=place, registry=place)
        server.shutdown()
    assert asked[0] == "/token?service=registry.docker.io&scope=repository:library/python:pull"
    assert asked[1] == ("/v2/library/python/manifests/3.12.12-slim", "Bearer t", True)


def test_the_proof_of_the_image_uses_the_commands_the_user_and_the_base_of_the_dockerfile(monkeypatch):
    loader = importlib.machinery.SourceFileLoader("image_proof", str(ROOT / ".ci" / "image-proof"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    proof = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, loader.name, proof)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(proof)
    assert (proof.COMMAND, proof.HEALTH_CHECK[:2]) == (["stepwell", "serve"], ["python", "-c"])
    assert proof.base_name() in {
        f"docker.io/library/{rest.split()[0].partition('@')[0]}" for name, rest in _instructions() if name == "FROM"
    }
    assert f"USER {proof.USER}\n" in DOCKERFILE


def test_the_image_runs_as_an_unprivileged_user_and_receives_signals():
    final = DOCKERFILE.rpartition("\nFROM ")[2]
    last = {name: rest for name, rest in _instructions()}
    assert json.loads(last["CMD"]) == ["stepwell", "serve"], "exec form: a shell would keep SIGTERM to itself"
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", last["USER"])
    assert "COPY --from=builder /opt/stepwell /opt/stepwell" in final
    assert "COPY . " not in DOCKERFILE
    assert "--require-hashes" in DOCKERFILE


def _health_command() -> list[str]:
    (check,) = [rest for name, rest in _instructions() if name == "HEALTHCHECK"]
    command: list[str] = json.loads(check.partition("CMD ")[2])
    return [sys.executable, *command[1:]]


# compose


def test_compose_pins_its_database_and_keeps_the_data_where_postgres_18_puts_it():
    db = COMPOSE["services"]["db"]
    assert re.fullmatch(r"pgvector/pgvector:0\.8\.\d+-pg18(@sha256:[0-9a-f]{64})?", db["image"])
    assert db["volumes"] == ["pgdata:/var/lib/postgresql"]
    assert set(COMPOSE["volumes"]) == {"pgdata"}
    assert "-h 127.0.0.1" in " ".join(db["healthcheck"]["test"])
    assert "ports" not in db


def test_every_container_has_limits_on_memory_processes_and_logs():
    for service in COMPOSE["services"].values():
        assert re.fullmatch(r"\$\{STEPWELL_\w+:-\dg\}", service["mem_limit"])
        assert service["pids_limit"] == 512
        assert set(service["logging"]["options"]) == {"max-size", "max-file"}


def test_compose_migrates_as_the_owner_and_serves_as_the_service_role():
    migrate, api = COMPOSE["services"]["migrate"], COMPOSE["services"]["api"]
    assert migrate["environment"]["DATABASE_URL"] == api["environment"]["DATABASE_URL"]
    assert api["environment"]["DATABASE_URL"].startswith("postgresql://stepwell_service:${STEPWELL_SERVICE_PASSWORD")
    assert "OWNER" not in json.dumps(api), "the service never learns the owner's password"
    assert migrate["depends_on"] == {"db": {"condition": "service_healthy"}}
    assert api["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert api["ports"] == ["127.0.0.1:${STEPWELL_PUBLISHED_PORT:-8000}:8000"]
    assert (api["read_only"], api["tmpfs"], api["init"]) == (True, ["/tmp"], True)


def test_every_setting_in_compose_is_one_and_together_they_are_accepted(monkeypatch):
    for name in ("api", "migrate"):
        environment = COMPOSE["services"][name]["environment"]
        variables = {row[0] for row in Settings().described()}
        assert set(environment) - {"TMPDIR"} <= variables
    for name, value in COMPOSE["services"]["api"]["environment"].items():
        monkeypatch.setenv(name, re.sub(r"\$\{\w+(?::-(\w*)|:\?[^}]*)?\}", r"\1", str(value)))
    settings = Settings()
    assert (settings.auth, settings.host, settings.port, settings.metrics) == ("api_key", "0.0.0.0", 8000, "keyed")


def test_secrets_come_from_a_file_that_git_ignores_and_none_is_committed():
    asked = set(re.findall(r"\$\{(STEPWELL_\w*PASSWORD)", (ROOT / "compose.yaml").read_text()))
    example = (ROOT / ".env.example").read_text()
    assert asked == set(re.findall(r"^(STEPWELL_\w*PASSWORD)=$", example, flags=re.MULTILINE))
    assert ".env" in (ROOT / ".gitignore").read_text().splitlines()


# the service in it


@pytest.fixture
async def fresh(new_database) -> AsyncIterator[tuple[Any, str]]:
    """An empty database where the service's role needs its password, as it does over a network; and its address."""
    address = await new_database()
    owner = await address.connect()
    rules = Path(await owner.fetchval("SHOW hba_file"))
    before = _put_first(rules, f"local {address.name} stepwell_service scram-sha-256\n")
    await owner.execute("SELECT pg_reload_conf()")
    await _until(lambda: _is_refused(address))
    yield address, address.service_dsn.replace("stepwell_service@", f"stepwell_service:{PASSWORD.replace('@', '%40')}@")
    _put_back(rules, before)
    await owner.execute("SELECT pg_reload_conf()")
    await owner.close()


def _put_first(rules: Path, rule: str) -> str:
    before = rules.read_text()
    rules.write_text(rule + before)
    return before


def _put_back(rules: Path, before: str) -> None:
    rules.write_text(before)


async def _is_refused(address) -> bool:
    try:
        await (await address.connect("stepwell_service")).close()
    except (asyncpg.InvalidPasswordError, asyncpg.InterfaceError):
        return True
    return False


async def _until(happened: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await happened():  # noqa: ASYNC110 - another process cannot set an event
            await asyncio.sleep(0.02)


async def _stepwell(*arguments: str, env: dict[str, str]) -> str:
    """A command's stdout; in this process, which has loaded everything already."""
    ran = await asyncio.to_thread(CliRunner().invoke, cli, arguments, env=env)
    assert ran.exit_code == 0, (ran.output, ran.exception)
    assert PASSWORD not in ran.output
    return ran.stdout


@asynccontextmanager
async def _serving(env: dict[str, str], log: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with log.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "app", "serve", cwd=ROOT, env={**env, "STEPWELL_PORT": str(port)}, stderr=stderr
        )
    try:
        yield process, f"http://127.0.0.1:{port}"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_a_new_database_is_upgraded_served_with_keys_and_left_in_order_on_sigterm(fresh, tmp_path):
    database, service_dsn = fresh
    settings = {"DATABASE_URL": service_dsn, "STEPWELL_MIGRATION_URL": database.owner_dsn, "AUTH": "api_key"}
    assert "revision" in await _stepwell("db", "upgrade", "--set-service-password", env=settings)
    key = (await _stepwell("keys", "create", "you", env=settings)).strip()
    del settings["STEPWELL_MIGRATION_URL"]
    env = {**os.environ, **settings}
    log = tmp_path / "stderr"
    async with (
        _serving(env, log) as (process, address),
        httpx.AsyncClient(base_url=address, timeout=PATIENCE_S) as client,
    ):
        await _until(lambda: _answers(process, client))
        assert (await client.post("/api/rag/search", json={"query": "lime"})).status_code == 401
        client.headers["X-API-Key"] = key
        assert (await client.post("/api/rag/documents", json={"content": "Lime sets slowly."})).status_code == 201
        health = {**env, "STEPWELL_PORT": address.rpartition(":")[2]}
        checked = await asyncio.create_subprocess_exec(*_health_command(), env=health)
        assert await checked.wait() == 0
        answer = await _asked_while_stopping(database, process, client)
        assert (answer.status_code, len(answer.json()["results"])) == (200, 1)
        assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["logger"] for line in lines} >= {"app.cli.listening", "app.api.request_ids", "uvicorn.error"}


async def test_a_service_that_cannot_start_logs_the_reason_in_one_json_line(fresh, tmp_path):
    _database_without_schema, service_dsn = fresh
    env = {**os.environ, "DATABASE_URL": service_dsn, "STEPWELL_LOG_JSON": "true"}
    async with _serving(env, tmp_path / "stderr") as (process, _):
        assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 1
    lines = [json.loads(line) for line in (tmp_path / "stderr").read_text().splitlines()]
    assert lines[-1]["code"] == "schema_mismatch"


async def _answers(process: asyncio.subprocess.Process, client: httpx.AsyncClient) -> bool:
    assert process.returncode is None, "the service did not start"
    try:
        return (await client.get("/healthz")).status_code == 200
    except httpx.ConnectError:
        return False


async def _asked_while_stopping(database, process, client) -> httpx.Response:
    """The answer to a search that a lock holds up until the service was sent SIGTERM and stopped listening."""
    owner, watcher = await database.connect(), await database.connect()
    locked = owner.transaction()
    await locked.start()
    await owner.execute("LOCK TABLE stepwell.chunks IN ACCESS EXCLUSIVE MODE")
    search = asyncio.create_task(client.post("/api/rag/search", json={"query": "lime"}))
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

    async def waits() -> bool:
        # A transaction sees the backends as they were when it first asked for them.
        return await watcher.fetchval(waiting) > 0

    await _until(waits)
    process.send_signal(signal.SIGTERM)
    await _until(lambda: _has_stopped_listening(client.base_url.port))
    assert not search.done()
    await locked.rollback()
    await asyncio.gather(owner.close(), watcher.close())
    return await search


async def _has_stopped_listening(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        return True
    writer.close()
    return False
