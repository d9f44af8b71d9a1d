"""Starts a service of the repository with a few documents, for the tests of the adapters."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from stepwell_client import Client, ConnectionFailed

STEPWELL = Path(__file__).parents[2] / ".venv" / "bin" / "stepwell"
START_S = 120.0
NOTES = [
    {
        "content": f"# Batch {n}\n\nLime mortar of batch {n} hardened in {n + 2} days below the third landing.",
        "uri": f"{n}.md",
    }
    for n in range(8)
]
QUERY = {"query": "which batch hardened in five days", "limit": 4}


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The address of a running service that contains the notes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the embedded Postgres may run under another account
        log = Path(folder) / "log"
        command = [STEPWELL, "serve", "--port", str(port), "--data-dir", Path(folder) / "data"]
        with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output) as service:
            try:
                _store_notes(f"http://127.0.0.1:{port}", service, log)
                yield f"http://127.0.0.1:{port}"
            finally:
                service.terminate()


def _store_notes(url: str, service: subprocess.Popen[bytes], log: Path) -> None:
    """Stores the notes once the service accepts connections."""
    deadline = time.monotonic() + START_S
    with Client(url) as client:
        while service.poll() is None and time.monotonic() < deadline:
            try:
                assert not client.documents.add_many(NOTES).failed
                return
            except ConnectionFailed:
                time.sleep(0.2)
    raise AssertionError(log.read_text())


@pytest.fixture(scope="session")
def client(url: str) -> Iterator[Client]:
    """A client of the service."""
    with Client(url) as opened:
        yield opened


@pytest.fixture(scope="session")
def query() -> dict[str, object]:
    """The arguments of the search that every adapter makes."""
    return QUERY


@pytest.fixture(scope="session")
def searches(client: Client, expected: list[str]) -> dict[str, tuple[dict[str, object], list[str]]]:
    """Arguments for each tool that searches, and the chunk ids that it must return."""
    arguments = {
        "search_documents": QUERY,
        "find_similar_chunks": {"chunk_id": expected[0], "limit": 4},
    }
    found = {name: client.tools.call(name, given)["results"] for name, given in arguments.items()}
    return {name: (given, [hit["chunk_id"] for hit in found[name]]) for name, given in arguments.items()}


@pytest.fixture(scope="session")
def expected(client: Client) -> list[str]:
    """The chunk ids of the hits that every adapter must return."""
    return [str(hit.chunk_id) for hit in client.search(QUERY["query"], limit=QUERY["limit"]).results]
