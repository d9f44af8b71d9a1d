"""The image is built from locked and pinned parts only, runs without rights, and checks its health without Python."""

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
import threading
import tomllib
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import dockerfile
import pytest
import yaml

ROOT = Path(__file__).parents[2]
MANIFEST = json.dumps({"mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []}).encode()


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


def test_the_image_has_the_licence_files_that_the_package_names():
    named = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license-files"])
    assert named <= {word for line in dockerfile.TEXT.splitlines() if line.startswith("COPY ") for word in line.split()}


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
    named = [
        image for text in (dockerfile.TEXT, (ROOT / "compose.yaml").read_text()) for image in pin_images.images(text)
    ]
    assert [name for name, _ in named] == ["python", "pgvector/pgvector"]
    assert all(re.match(r"\d+\.\d+\.\d+-", tag) for _, tag in named)


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
