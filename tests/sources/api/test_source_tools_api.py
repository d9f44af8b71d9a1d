"""Agents add, list and synchronise sources by tools, over REST and MCP, within the folders that are allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import source_folder
from api_caller import Caller
from fastapi import FastAPI
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

OWN_DATABASE = True
"""A database of its own: workers of other applications may read no folder."""


async def test_an_agent_adds_and_synchronises_a_folder(app: FastAPI, caller: Caller, root: Path) -> None:
    folder = root / caller.user_id / "notes"
    source_folder.write(folder, "a.md", b"Lime.")
    source_folder.write(folder, "bad.pdf", b"%PDF-1.7 damaged")
    added = await caller.call("add_source", path="notes", wait_s=30)
    assert (added["status"], added["added"], added["failed"]) == ("done", 1, 1)
    assert [failure["path"] for failure in added["failures"]] == ["bad.pdf"]
    (listed,) = (await caller.call("list_sources"))["sources"]
    assert (listed["source_id"], listed["path"], listed["documents"]) == (added["source_id"], str(folder), 1)
    source_folder.write(folder, "b.md", b"Sand.")
    headers = {"Authorization": f"Bearer {caller.key}"}
    async with (
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=app), base_url="http://localhost", headers=headers
        ) as http,
        Client(streamable_http_client("http://localhost/mcp", http_client=http)) as client,
    ):
        over_mcp = await client.call_tool("list_sources", {})
        assert over_mcp.structured_content == {"sources": [listed]}
        synced = await client.call_tool("sync_source", {"source_id": added["source_id"], "wait_s": 30})
        assert (synced.structured_content["added"], synced.structured_content["unchanged"]) == (1, 1)
        refused = await client.call_tool("add_source", {"path": "/etc"})
        assert refused.is_error
        assert "not in one that is allowed" in refused.content[0].text
    unfinished = await caller.call("sync_source", source_id=added["source_id"], wait_s=0)
    assert unfinished["status"] in ("queued", "running")


async def test_an_agent_cannot_reach_the_source_of_another_user(caller: Caller, new_caller: Any, root: Path) -> None:
    source_folder.write(root / caller.user_id, "notes/a.md", b"Lime.")
    added = await caller.call("add_source", path="notes", wait_s=0)
    other = await new_caller("search", "write")
    assert (await other.call("list_sources"))["sources"] == []
    for tool, arguments in (
        ("sync_source", {"source_id": added["source_id"]}),
        ("add_source", {"path": str(root / caller.user_id / "notes")}),
    ):
        response = await other.client.post(f"/api/rag/tools/{tool}", json=arguments)
        assert response.status_code in (403, 404)
