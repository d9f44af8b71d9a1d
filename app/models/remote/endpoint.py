"""Sends JSON requests to a provider's HTTP endpoint."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import httpx

from app import errors
from app.fetching.types import is_remote, refuse_bad_proxies
from app.models import remote_calls

MAX_BYTES = 1_000_000
"""Largest answer to a query. Terms or a hundred scores take a few thousand; a server may send the passages back."""
QUERY_CONNECTIONS, BULK_CONNECTIONS = 8, 4
"""Concurrent calls of each process to one model."""
QUERY_WAIT_S, BULK_WAIT_S = 1.0, 30.0
"""Longest wait for a connection."""


class Endpoint:
    """An address that answers JSON to JSON. `who` is the subject of its error messages.

    Queries and calls in bulk have connections of their own, so that an ingest leaves room for searches. The caller
    limits the time of a call. Raises BadRequest if the proxy of the environment is not an address.
    """

    def __init__(self, who: str, *, url: str, api_key: str | None = None, max_bytes: int = MAX_BYTES) -> None:
        self._who = who
        self._max_bytes = max_bytes
        address, fields = url.rstrip("/") + "/", {"Authorization": f"Bearer {api_key}"} if api_key else {}
        with refuse_bad_proxies():
            self._queries, self._bulk = (
                httpx.AsyncClient(
                    base_url=address,
                    headers=fields,
                    limits=httpx.Limits(max_connections=connections),
                    timeout=httpx.Timeout(None, pool=wait_s),
                    trust_env=is_remote(url),
                )
                for connections, wait_s in ((QUERY_CONNECTIONS, QUERY_WAIT_S), (BULK_CONNECTIONS, BULK_WAIT_S))
            )

    async def post(self, path: str, body: dict[str, Any], *, bulk: bool = False) -> Any:
        """The JSON answer to a POST, whatever its shape.

        Raises NotCalled where no connection becomes free, ProviderDown where the endpoint cannot be reached or fails,
        ProviderError for any other failure.
        """
        client = self._bulk if bulk else self._queries
        try:
            async with client.stream("POST", path, json=body) as response:
                if not response.is_success:
                    message = f"{self._who} answered with status {response.status_code}."
                    raise remote_calls.error_for_status(response.status_code, response.headers, message)
                content = bytearray()
                async for part in response.aiter_bytes():
                    content += part
                    if len(content) > self._max_bytes:
                        message = f"{self._who} sent more than {self._max_bytes:,} bytes."
                        raise errors.ProviderError(message, fault="answer")
                return json.loads(content)
        except httpx.PoolTimeout as error:
            raise remote_calls.NotCalled("Too many calls to the provider wait for a connection.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            fault, problem = unreachable(error)
            raise remote_calls.ProviderDown(f"{self._who} {problem}.", fault=fault) from error
        except (ValueError, RecursionError) as error:
            raise remote_calls.ProviderDown(f"{self._who} did not answer with JSON.", fault="answer") from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._queries.aclose()
        await self._bulk.aclose()


def unreachable(error: BaseException) -> tuple[errors.ProviderFault, str]:
    """What was wrong with a connection, as a fault and as the end of a sentence."""
    causes = list(_chain(error))
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return "tls", "has no TLS certificate that this machine trusts, or does not speak TLS"
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return "address", "has a host name that cannot be resolved"
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return "address", "refused the connection"
    return "address", "could not be reached or closed the connection"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for one in error.exceptions:
                yield from _chain(one)
        error = error.__cause__ or error.__context__
