"""Defines an API user with a client that sends the user's key."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
from requests_of import search_body


@dataclass(frozen=True, slots=True)
class Caller:
    """A user with a client that sends the user's key."""

    user_id: str
    key: str
    client: httpx.AsyncClient

    async def post(self, path: str, body: Any) -> Any:
        """The JSON that a path answers to a request that must succeed."""
        response = await self.client.post(path, json=body)
        assert response.status_code == 200, response.text
        return response.json()

    async def search(self, query: str, **fields: Any) -> dict[str, Any]:
        """The answer to a search that must succeed."""
        answer: dict[str, Any] = await self.post("/api/rag/search", search_body(query, **fields))
        return answer

    async def call(self, tool: str, **arguments: Any) -> Any:
        """The result of a call of a tool that must succeed."""
        return await self.post(f"/api/rag/tools/{tool}", arguments)

    async def pages(self, path: str, **parameters: Any) -> AsyncIterator[dict[str, Any]]:
        """The pages of a list, one after the other."""
        cursor: dict[str, str] = {}
        while True:
            page: dict[str, Any] = (await self.client.get(path, params=parameters | cursor)).json()
            yield page
            if page["next_cursor"] is None:
                return
            cursor = {"cursor": page["next_cursor"]}

    async def finished(self, location: str) -> dict[str, Any]:
        """The job at a path once it has ended, as its events show it; empty if it ended before and is gone."""
        async with self.client.stream("GET", f"{location}/events") as response:
            if response.status_code == 404:
                return {}
            lines = [line async for line in response.aiter_lines() if line.startswith("data: ")]
        last: dict[str, Any] = json.loads(lines[-1].removeprefix("data: "))
        return last

    async def add(self, content: str, uri: str | None = None, **fields: Any) -> dict[str, Any]:
        """What became of a document that must be stored."""
        response = await self.client.post("/api/rag/documents", json={"content": content, "uri": uri, **fields})
        assert response.status_code in (200, 201), response.text
        stored: dict[str, Any] = response.json()
        return stored
