"""Tests `stepwell mcp` as desktop programs run it: a process whose stdout carries nothing but protocol messages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest

from app.kinds import OPTIONAL_TOOLS

ROOT = Path(__file__).parents[2]
CALLS = 1_000 if os.environ.get("STEPWELL_FAULTS") == "full" else 30
HANDSHAKE = (
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)
LIME = "# Lime mortar\n\nBelow the third landing we use lime mortar, never cement.\n"


@pytest.fixture(scope="module")
def note(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("notes") / "lime.md"
    path.write_text(LIME, encoding="utf-8")
    return path


def command(data_dir: Path) -> list[str]:
    return [sys.executable, "-m", "app", "mcp", "--data-dir", str(data_dir)]


def search(number: int) -> dict[str, Any]:
    """A search as a message; every tenth is a wrong call."""
    arguments = {"query": "lime mortar"} if number % 10 else {"query": " "}
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": "search_documents", "arguments": arguments},
    }


def test_stdout_has_only_valid_messages_for_calls_without_waiting_and_for_every_tool(
    stepwell: Callable[..., Any], data_dir: Path, note: Path
) -> None:
    """The tools find what the search command finds, and the job of a folder is run by the same process."""
    assert stepwell("ingest", note).code == 0
    expected = [hit["chunk_id"] for hit in stepwell("search", "lime mortar", "--json").json["results"]]
    assert expected
    given = {"STEPWELL_SOURCE_ROOTS": str(note.parent.resolve()), "STEPWELL_TOOLS": ",".join(OPTIONAL_TOOLS)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": {**os.environ, **given}}
    with subprocess.Popen(command(data_dir), cwd=ROOT, text=True, **pipes) as process, ThreadPoolExecutor(1) as writer:
        assert process.stdin
        assert process.stdout
        messages = [*HANDSHAKE, *(search(number) for number in range(1, CALLS + 1))]
        sending = writer.submit(process.stdin.write, "".join(json.dumps(message) + "\n" for message in messages))
        answers = [json.loads(process.stdout.readline()) for _ in range(CALLS + 1)]
        sending.result()
        assert sorted(answer["id"] for answer in answers) == list(range(CALLS + 1))
        for answer in answers:
            assert answer["jsonrpc"] == "2.0"
            if answer["id"]:
                assert answer["result"].get("isError", False) is (answer["id"] % 10 == 0)
        check_every_tool(Conversation(process.stdin, process.stdout), note.parent, expected)
        process.stdin.close()
        assert process.stdout.read() == ""
    assert process.returncode == 0


@dataclass(slots=True)
class Conversation:
    """Requests over pipes, one after the other."""

    sent: IO[str]
    received: IO[str]
    called: set[str] = field(default_factory=set)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request."""
        self.sent.write(json.dumps({"jsonrpc": "2.0", "id": "one", "method": method, "params": params}) + "\n")
        self.sent.flush()
        answer = json.loads(self.received.readline())
        assert answer["id"] == "one"
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool returns."""
        result = self.ask("tools/call", name=tool, arguments=arguments)
        assert not result.get("isError"), result
        self.called.add(tool)
        found: dict[str, Any] = result["structuredContent"]
        return found


def check_every_tool(conversation: Conversation, folder: Path, expected: list[str]) -> None:
    call = conversation.call
    added = call("add_source", path=str(folder), wait_s=30)
    assert (added["status"], added["failed"]) == ("done", 0)
    assert call("sync_source", source_id=added["source_id"], wait_s=30)["unchanged"] == 1
    assert len(call("list_sources")["sources"]) == 1
    stored = call("add_document", content="High water at noon.", uri="tides")
    assert call("get_document", document_id=stored["document_id"])["content"] == "High water at noon."
    assert len(call("list_documents")["documents"]) == 2
    assert call("knowledge_stats")["documents"] == 2
    assert call("delete_document", document_id=stored["document_id"])["documents_deleted"] == 1
    assert call("list_entities")["entities"] == []
    assert "filename" in {facet["key"] for facet in call("list_facets")["facets"]}
    assert call("find_similar_chunks", chunk_id=expected[0])["results"] == []
    assert [hit["chunk_id"] for hit in call("search_documents", query="lime mortar")["results"]] == expected
    assert call("rate_passage", chunk_id=expected[0], query="lime mortar", helpful=True)["helpful"]
    assert conversation.called == {tool["name"] for tool in conversation.ask("tools/list")["tools"]}


def test_the_bridge_answers_requests_when_no_service_listens() -> None:
    arguments = [sys.executable, "-m", "app", "mcp", "--url", "http://127.0.0.1:9"]
    sent = "".join(json.dumps(message) + "\n" for message in (*HANDSHAKE, search(1))) + "not json\n"
    ran = subprocess.run(arguments, cwd=ROOT, input=sent, capture_output=True, text=True, check=True)
    answers = {answer["id"]: answer["error"] for answer in map(json.loads, ran.stdout.splitlines())}
    assert answers.keys() == {0, 1, None}
    assert "is it running?" in answers[0]["message"]
    assert answers[None]["code"] == -32700


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://example.com", ""])
def test_an_address_without_a_scheme_is_refused(stepwell: Callable[..., Any], url: str) -> None:
    ran = stepwell("mcp", "--url", url)
    assert ran.code == 2
    assert "http://127.0.0.1:8000" in ran.err


@pytest.mark.parametrize("program", ["claude-desktop", "cursor", "vscode"])
@pytest.mark.parametrize("url", [None, "http://127.0.0.1:9"])
def test_the_printed_configuration_is_json_with_an_absolute_command_or_an_address(
    stepwell: Callable[..., Any], program: str, url: str | None
) -> None:
    ran = stepwell("mcp", "--print-config", program, *(("--url", url) if url else ()))
    place, _, document = ran.out.partition("\n")
    assert ".json" in place
    (server,) = json.loads(document)["servers" if program == "vscode" else "mcpServers"].values()
    if "command" in server:
        assert Path(server["command"]).is_absolute()
        assert server["args"][0] == "mcp"
        assert ("--url" in server["args"]) is (url is not None)
    else:
        assert server["url"] == "http://127.0.0.1:9/mcp"
        assert server["headers"]["Authorization"].startswith("Bearer ")


def test_the_printed_configuration_names_the_data_folder_of_the_environment(
    stepwell: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STEPWELL_DATA_DIR", str(tmp_path))
    assert f"mcp --data-dir {tmp_path}" in stepwell("mcp", "--print-config", "claude-code").out


def test_the_printed_configuration_of_claude_code_is_a_command(stepwell: Callable[..., Any]) -> None:
    assert "claude mcp add stepwell -- /" in stepwell("mcp", "--print-config", "claude-code").out
    for given in ("https://search.example", "https://search.example/", "https://search.example/mcp"):
        remote = stepwell("mcp", "--print-config", "claude-code", "--url", given).out
        assert "--transport http stepwell https://search.example/mcp --header" in remote
