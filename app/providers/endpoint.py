"""Sends JSON requests to a provider's HTTP endpoint."""

from __future__ import annotations

import json
from typing import Any

import httpx

from app import errors
from app.providers import breaker

MAX_BYTES = 1_000_000
"""Of an answer. Terms and a hundred scores take a few thousand; a server may send the passages back."""


class Endpoint:
    """An address that answers JSON to JSON. `who` is the subject of its error messages.

    `timeout_s` limits each step of a request (connecting, sending, each part of the answer), in seconds.
    """

    def __init__(self, who: str, *, url: str, api_key: str | None, timeout_s: float) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._who = who
        self._client = httpx.AsyncClient(
            base_url=url.rstrip("/") + "/", headers=headers, timeout=timeout_s, trust_env=False
        )

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """The JSON answer to a POST, whatever its shape.

        Raises ProviderDown where the endpoint cannot be reached or fails, ProviderError for any other failure.
        """
        try:
            async with self._client.stream("POST", path, json=body) as response:
                if not response.is_success:
                    message = f"{self._who} answered with status {response.status_code}."
                    raise breaker.down(response.status_code, response.headers, message)
                return json.loads(await self._read(response))
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError) as error:
            raise breaker.ProviderDown(f"{self._who} could not be reached or did not answer with JSON.") from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _read(self, response: httpx.Response) -> bytes:
        content = bytearray()
        async for part in response.aiter_bytes():
            content += part
            if len(content) > MAX_BYTES:
                raise errors.ProviderError(f"{self._who} sent more than {MAX_BYTES:,} bytes.")
        return bytes(content)
