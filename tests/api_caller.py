"""Defines an API user with a client that sends the user's key."""

from __future__ import annotations

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

    async def search(self, query: str, **fields: Any) -> dict[str, Any]:
        """The answer to a search that must succeed."""
        response = await self.client.post("/api/rag/search", json=search_body(query, **fields))
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    async def add(self, content: str, uri: str | None = None, **fields: Any) -> dict[str, Any]:
        """What became of a document that must be stored."""
        response = await self.client.post("/api/rag/documents", json={"content": content, "uri": uri, **fields})
        assert response.status_code in (200, 201), response.text
        stored: dict[str, Any] = response.json()
        return stored
