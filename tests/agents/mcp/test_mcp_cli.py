"""Tests `stepwell mcp` as desktop programs run it: a process whose stdout carries nothing but protocol messages."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import harness
import pytest

from app import capability
from app.agents.mcp import commands
from app.database.transactions import Database
from app.settings import Settings

ROOT = Path(__file__).parents[3]
CALLS = 1_000 if os.environ.get("STEPWELL_FAULTS") == "full" else 15
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
    return call(number, "search_documents", query="lime mortar" if number % 10 else " ")


def call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    """A call of a tool as a message."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_stdout_has_only_valid_messages_for_calls_without_waiting(stepwell, data_dir, note) -> None:
    """The tools find what the search command finds, and the job of a folder is run by the same process."""
    assert stepwell("ingest", note).code == 0
    expected = [hit["chunk_id"] for hit in stepwell("search", "lime mortar", "--json").json["results"]]
    given = {
        "STEPWELL_SOURCE_ROOTS": str(note.parent.resolve()),
        "STEPWELL_TOOLS": ",".join(capability.optional_tools()),
    }
    add_folder = call(CALLS + 1, "add_source", path=str(note.parent), wait_s=30)
    last = [add_folder] if "sources" in capability.exports() else []
    messages = [*HANDSHAKE, *(search(number) for number in range(1, CALLS + 1)), *last]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": {**os.environ, **given}}
    with subprocess.Popen(command(data_dir), cwd=ROOT, text=True, **pipes) as process, ThreadPoolExecutor(1) as writer:
        sending = writer.submit(print, "\n".join(map(json.dumps, messages)), file=process.stdin, flush=True)
        answers = {one["id"]: one for one in (json.loads(process.stdout.readline()) for _ in messages[1:])}
        sending.result()
        process.stdin.close()
        assert process.stdout.read() == ""
    assert process.returncode == 0
    assert sorted(answers) == list(range(len(messages) - 1))
    for number in range(1, CALLS + 1):
        assert answers[number]["result"].get("isError", False) is (number % 10 == 0)
    found = answers[1]["result"]["structuredContent"]["results"]
    assert [hit["chunk_id"] for hit in found] == expected != []
    added = [answers[one["id"]]["result"]["structuredContent"] for one in last]
    assert [(one["status"], one["failed"]) for one in added] == [("done", 0)] * len(last)


def test_the_bridge_answers_requests_when_no_service_listens() -> None:
    """Also those that hold half a character, or no number, which JSON of other programs may hold; they end nothing."""
    arguments = [sys.executable, "-m", "app", "mcp", "--url", "http://127.0.0.1:9"]
    odd = (
        call(2, "search_documents", query="\ud83d"),
        call(3, "\ud83d"),
        call(4, "search_documents", limit=float("nan")),
    )
    sent = "".join(json.dumps(message) + "\n" for message in (*HANDSHAKE, *odd, search(1)))
    sent += "not json\n" + 5_000 * "[" + "\n"
    ran = subprocess.run(arguments, cwd=ROOT, input=sent, capture_output=True, text=True, check=True)
    answers = {answer["id"]: answer["error"] for answer in map(json.loads, ran.stdout.splitlines())}
    assert answers.keys() == {0, 1, 2, 3, 4, None}
    assert "is it running?" in answers[0]["message"]
    assert answers[None]["code"] == -32700


@pytest.mark.parametrize("bridge", [True, False])
def test_ctrl_c_ends_it_while_it_waits_for_a_message(data_dir: Path, bridge: bool) -> None:
    arguments = [sys.executable, "-m", "app", "mcp", "--url", "http://127.0.0.1:9"] if bridge else command(data_dir)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(arguments, cwd=ROOT, **pipes, preexec_fn=harness.heed_ctrl_c) as run:
        assert run.stdin
        assert run.stdout
        try:
            run.stdin.write(json.dumps(HANDSHAKE[0]).encode() + b"\n")
            run.stdin.flush()
            assert json.loads(run.stdout.readline())["id"] == 0
            run.send_signal(signal.SIGINT)
            assert run.wait(30) == 130
        finally:
            run.kill()


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://example.com", ""])
def test_an_address_without_a_scheme_is_refused(stepwell: Callable[..., Any], url: str) -> None:
    ran = stepwell("mcp", "--url", url)
    assert ran.code == 2
    assert "http://127.0.0.1:8000" in ran.err


@pytest.mark.parametrize("program", ["claude-desktop", "cursor", "vscode"])
@pytest.mark.parametrize("url", [None, "http://127.0.0.1:9"])
def test_the_printed_configuration_is_json_with_an_absolute_command_or_an_address(stepwell, program, url) -> None:
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


def test_the_command_is_absolute_where_the_shell_finds_the_program_in_a_relative_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/stepwell").touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "bin")
    assert commands.Launch(None, "local", None, external=False).command() == [f"{tmp_path}/bin/stepwell", "mcp"]


@pytest.mark.usefixtures("on_embedded")
def test_the_printed_configuration_of_claude_code_is_a_command(stepwell, monkeypatch, tmp_path) -> None:
    assert "claude mcp add stepwell -- /" in stepwell("mcp", "--print-config", "claude-code").out
    for given in ("https://search.example", "https://search.example/", "https://search.example/mcp"):
        remote = stepwell("mcp", "--print-config", "claude-code", "--url", given).out
        assert "--transport http stepwell https://search.example/mcp --header" in remote
    monkeypatch.setenv("STEPWELL_DATA_DIR", str(tmp_path))
    assert f"mcp --data-dir {tmp_path}" in stepwell("mcp", "--print-config", "claude-code").out


async def test_a_printed_configuration_has_a_placeholder_only_where_the_service_asks_for_a_key(
    remote: Callable[..., Any], address_of_service: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STEPWELL_API_KEY")
    async with (
        harness.running(Settings(auth="none"), await harness.services(database)) as app,
        harness.listening(app) as port,
    ):
        for program in ("claude-desktop", "claude-code", "cursor", "vscode"):
            printed = ("mcp", "--print-config", program, "--url")
            assert "YOUR_API_KEY" not in (await remote(*printed, f"http://127.0.0.1:{port}")).out
            assert "YOUR_API_KEY" in (await remote(*printed, address_of_service)).out


def test_the_bridge_imports_neither_the_protocol_s_library_nor_the_search_core() -> None:
    report = "import sys, app.agents.mcp.commands; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", report], cwd=ROOT, capture_output=True, text=True, check=True)
    unwanted = {"sqlalchemy", "fastapi", "mcp", "mcp_types", "app.settings", "app.runtime", "app.search.search"}
    assert not unwanted & set(ran.stdout.split())
