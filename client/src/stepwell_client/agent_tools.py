"""Prepares the service's tools for agent frameworks: definitions read once, and calls that return text for a model.

A refused call (wrong arguments, an unknown id) is returned as text, so that the model can correct it; other failures
are raised.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from stepwell_client.async_client import AsyncClient
from stepwell_client.client import Client
from stepwell_client.errors import ApiError
from stepwell_client.models import ToolDefinition

CORRECTABLE = frozenset({400, 403, 404, 409, 413, 422})
"""Statuses of requests that a model can correct. A 403 also refuses a folder, or metadata that a key may not write."""
Refused = (ApiError, ValueError)
"""What a call raises that may be refused: a ValueError for NaN or half a character, which are no JSON in UTF-8."""


def select(definitions: Sequence[ToolDefinition], names: Collection[str] | None) -> list[ToolDefinition]:
    """The tools of these names, or all that only read if none are named. Raises ValueError for an unknown name."""
    if names is None:
        return [tool for tool in definitions if tool.annotations.get("readOnlyHint")]
    missing = set(names) - {tool.name for tool in definitions}
    if missing:
        raise ValueError(f"The key may not call, or the service lacks: {', '.join(sorted(missing))}")
    return [tool for tool in definitions if tool.name in names]


def call(client: Client, name: str, arguments: Mapping[str, Any]) -> str:
    """The result of a tool as JSON, or what is wrong with the call."""
    try:
        return _text(client.tools.call(name, arguments))
    except Refused as error:
        return correctable(error)


async def call_async(client: Client | AsyncClient, name: str, arguments: Mapping[str, Any]) -> str:
    """The result of a tool as JSON, or what is wrong with the call; a synchronous client works in a thread."""
    if isinstance(client, Client):
        return await asyncio.to_thread(call, client, name, arguments)
    try:
        return _text(await client.tools.call(name, arguments))
    except Refused as error:
        return correctable(error)


async def defined(client: Client | AsyncClient, names: Collection[str] | None) -> list[ToolDefinition]:
    """The tools of these names, or all that only read. Raises ValueError for an unknown name."""
    definitions = (
        await asyncio.to_thread(client.tools.list) if isinstance(client, Client) else await client.tools.list()
    )
    return select(definitions, names)


def _text(result: Mapping[str, Any]) -> str:
    return json.dumps(result, ensure_ascii=False, separators=(",", ":"))


def correctable(error: Exception) -> str:
    """What a model reads of a refused call. Raises the error if a model cannot correct it."""
    return f"The call was refused. {refusal(error)}"


def refusal(error: Exception) -> str:
    """What is wrong with a call: every wrong argument on a line. Raises the error if a model cannot correct it."""
    if not isinstance(error, ApiError):
        return f"An argument cannot be sent as JSON: {error}"
    if error.status not in CORRECTABLE:
        raise error
    return "\n".join(f"{one['field']}: {one['message']}" for one in error.errors) or error.detail
