"""Counts the requests that each API key authenticates, and names the actor of a request for the audit log."""

from __future__ import annotations

from fastapi import Request

from app.access.audit import KeyUses
from app.access.store.audit import LOCAL


def count_use(request: Request, key_id: str, scope: str) -> None:
    """Record that a key authenticated the request for an operation of this scope; counts are stored once a minute."""
    uses: KeyUses = request.app.state.key_uses
    request.state.key_id = key_id
    uses.add(key_id, scope)


def actor(request: Request) -> str:
    """The id of the key that authenticated the request, `local` where none is needed."""
    key_id: str | None = getattr(request.state, "key_id", None)
    return key_id or LOCAL
