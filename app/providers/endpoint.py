"""How is a provider behind HTTP asked, and when is it left alone?"""

from __future__ import annotations

import json
from typing import Any

import httpx

from app import errors
from app.providers import pausing

MOST_BYTES = 1_000_000
"""Of an answer; terms and a hundred scores take a few thousand, and the passages fit where a server sends them back."""


class Endpoint:
    """One address that answers JSON with JSON; `who` begins the sentences of its errors.

    After a 429 or 503 it is left alone for as long as its Retry-After says, at most a minute. `timeout_s` bounds each
    step of a question (connecting, sending, each part of the answer), in seconds.
    """

    def __init__(self, who: str, *, url: str, api_key: str | None, timeout_s: float) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._who = who
        self._client = httpx.AsyncClient(
            base_url=url.rstrip("/") + "/", headers=headers, timeout=timeout_s, trust_env=False
        )
        self._pause = pausing.Pause()

    async def ask(self, path: str, question: dict[str, Any]) -> Any:
        """What it answers to a POST, as JSON of whatever shape. Raises ProviderError."""
        if self._pause.lasts:
            raise errors.ProviderError(f"{self._who} asked to be left alone for a while.")
        try:
            async with self._client.stream("POST", path, json=question) as response:
                self._pause.note(response.status_code, response.headers)
                response.raise_for_status()
                return json.loads(await self._body(response))
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError) as error:
            raise errors.ProviderError(f"{self._who} could not be asked.") from error

    async def aclose(self) -> None:
        """Give the connections back."""
        await self._client.aclose()

    async def _body(self, response: httpx.Response) -> bytes:
        read = bytearray()
        async for part in response.aiter_bytes():
            read += part
            if len(read) > MOST_BYTES:
                raise errors.ProviderError(f"{self._who} answered at too great a length.")
        return bytes(read)
