"""Attacks by the holder of a key with filters: guessing at what the key does not see, and forging tokens."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import jwt

from app.access import tokens
from benchmarks.attacks.target import DOCUMENTS, SEARCH, Target

USER = "cy"
SEEN = 10
"""Prepared documents that the key sees."""
HIDDEN = ("harpsichord", "Ottoline Verrall", "quibblewort")
"""What only a hidden document contains: a word, a name and a value of metadata."""
GUESSES = ("harpsichord", "harpsichrd", "harp*", "Ottoline Verrall", '"quibblewort"', "+harpsichord", "buoys")
PATHS = (SEARCH, f"{SEARCH}/multihop", f"{SEARCH}/two-pass", "/api/rag/entities/search")


async def _restricted_key(target: Target) -> str | None:
    """A key of USER that sees some of the documents; None where there are no such keys."""
    filters = json.dumps({"any": [{"metadata": {"open": True}}]})
    status, out = await target.launch().run("keys", "create", USER, "--json", "--scope", "search", "--filters", filters)
    return json.loads(out)["key"] if status == 0 else None


async def _store(target: Target) -> str | None:
    key = await _restricted_key(target)
    if key is None:
        return None
    async with target.serving() as service, target.client(service, USER) as client:
        shown = [
            {"uri": f"open{n}", "content": f"Open note {n} on buoys.", "metadata": {"open": True}} for n in range(SEEN)
        ]
        secret = {"uri": "secret", "content": f"{HIDDEN[1]} tunes the {HIDDEN[0]}.", "metadata": {"code": HIDDEN[2]}}
        (await client.post(DOCUMENTS, json=[*shown, secret])).raise_for_status()
    return key


async def hidden_documents(target: Target) -> str:
    """Asks for a hidden document by words, typing errors, prefixes, name, id and uri, with a key that sees others."""
    key = await _store(target)
    if key is None:
        return "n/a"
    asked = leaked = 0
    async with target.serving() as service, target.client(service, USER) as owner, target.client(service) as client:
        listed = (await owner.get(DOCUMENTS, params={"uri": "secret"})).json()["documents"]
        document_id = listed[0]["document_id"]
        client.headers["Authorization"] = f"Bearer {key}"
        for guess in GUESSES:
            for path in PATHS:
                body = {"query": guess} if path.endswith("entities/search") else {"query": guess, "explain": True}
                answer = (await client.post(path, json=body)).text
                asked += 1
                leaked += document_id in answer or any(mark in answer and mark not in guess for mark in HIDDEN)
        for path in (f"{DOCUMENTS}/{document_id}", f"{DOCUMENTS}/{document_id}/chunks"):
            asked += 1
            leaked += (await client.get(path)).status_code != 404
    return f"{leaked} of {asked} answers show something of it"


async def forged_tokens(target: Target) -> str:
    """Sends tokens that widen a key, or are signed with what the database holds."""
    key = await _store(target)
    if key is None:
        return "n/a"
    sent = accepted = 0
    async with target.serving() as service, target.client(service) as client:
        for token in _forged(key):
            response = await client.get(DOCUMENTS, headers={"Authorization": f"Bearer {token}"})
            sent += 1
            accepted += response.status_code == 200
    return f"{accepted} of {sent} accepted"


def _forged(key: str) -> Iterator[str]:
    _prefix, key_id, secret = key.split("_", 2)
    now, header = int(time.time()), {"kid": key_id}
    claims = {"iat": now, "exp": now + 600}
    signer, public = tokens.private_half(secret), tokens.public_half(secret)
    yield jwt.encode(claims, "", algorithm="none", headers=header)
    yield jwt.encode(claims, public, algorithm="HS256", headers=header)
    yield jwt.encode(claims, tokens.private_half("another"), algorithm="EdDSA", headers=header)
    for more in (
        {"scopes": ["write"]},
        {"scopes": ["admin"]},
        {"entities": True},
        {"exp": now + 10**6},
        {"user": "ana"},
    ):
        yield jwt.encode({**claims, **more}, signer, algorithm="EdDSA", headers=header)
