"""Attacks on Postgres and stored data: frozen server, privileges, timing, corrupted rows, socket folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

import httpx
import psutil

from app import errors
from benchmarks.attacks.target import SEARCH, Target, milliseconds, search
from benchmarks.service import Launch, serving

NOBODY = 65534
PRIVILEGES = ("SELECT", "INSERT", "UPDATE", "DELETE")
CORRUPTION = """
UPDATE stepwell.postings SET items = items[1:cardinality(items) - 1] || ARRAY[items[cardinality(items)] + 65536]
WHERE (user_id, lexeme, first_no) = (
    SELECT user_id, lexeme, first_no FROM stepwell.postings WHERE user_id = 'cy' AND lexeme = 'mortar' LIMIT 1)
"""


async def frozen_postgres(target: Target) -> str:
    """Freezes Postgres and measures how long an authenticated search waits for an answer."""
    async with target.serving() as service, target.client(service, "ana", 25.0) as client:
        await search(client)
        frozen = target.postgres()
        try:
            for process in frozen:
                with suppress(psutil.Error):
                    process.suspend()
            response = await search(client, "something else")
        finally:
            for process in frozen:
                with suppress(psutil.Error):
                    process.resume()
    return f"{response.outcome} after {response.seconds:.1f} s"


async def key_table(target: Target) -> str:
    """Lists what the role of the service may do with the table of API keys."""
    async with target.serving(), target.database("stepwell_service") as connection:
        query = (
            "SELECT coalesce(bool_or(has_column_privilege('stepwell.api_keys', attname, $1)), false) "
            "OR has_table_privilege('stepwell.api_keys', $1) FROM pg_attribute "
            "WHERE attrelid = 'stepwell.api_keys'::regclass AND attnum > 0 AND NOT attisdropped"
        )
        delete = "SELECT has_table_privilege('stepwell.api_keys', $1)"
        held = [name for name in PRIVILEGES if await connection.fetchval(delete if name == "DELETE" else query, name)]
    return ", ".join(held) or "nothing"


async def query_oracle(target: Target) -> str:
    """Searches another user's latest query; compares the time of its embedding with that of a new text."""
    secret = f"merger of the lighthouse trust {time.monotonic()}"
    async with target.serving() as service, target.client(service, "ana") as ana, target.client(service, "ben") as ben:
        await _embedding_ms(ben, "warm up")
        await _embedding_ms(ana, secret)
        same, other = await _embedding_ms(ben, secret), await _embedding_ms(ben, f"unrelated words {time.monotonic()}")
    shown = "visible" if same < other / 4 else "not visible"
    return f"{shown} ({same:.2f} ms against {other:.2f} ms for a new text)"


async def _embedding_ms(client: httpx.AsyncClient, query: str) -> float:
    response = await client.post(SEARCH, json={"query": query, "mode": "semantic", "explain": True})
    return float(response.raise_for_status().json()["explain"]["timings"]["embed"])


async def corrupted_posting(target: Target) -> str:
    """Changes one posting and runs `stepwell repair --dry-run`."""
    async with target.serving(), target.database("postgres") as owner:
        async with owner.transaction():
            kept = await owner.fetch("SELECT * FROM stepwell.postings WHERE user_id = 'cy' AND lexeme = 'mortar'")
            changed = await owner.execute(CORRUPTION)
        corrupted = await _damage(target)
        for row in kept:
            await owner.execute(
                "UPDATE stepwell.postings SET items = $1 WHERE user_id = $2 AND lexeme = $3 AND first_no = $4",
                *(row["items"], row["user_id"], row["lexeme"], row["first_no"]),
            )
    if changed != "UPDATE 1":
        return "n/a"
    return f"found ({', '.join(corrupted)})" if corrupted else "not found"


async def _damage(target: Target) -> list[str]:
    """The kinds of derived rows of the user that are wrong."""
    _status, out = await target.launch().run("repair", "--user", "cy", "--dry-run", "--json", timeout_s=50.0)
    counts: dict[str, int] = json.loads(out)["cy"]
    return [kind for kind, count in counts.items() if count]


async def occupied_socket_folder(target: Target) -> str:
    """Occupies the temporary socket folder of a long data dir as another user before the first start."""
    data_dir = target.data_dir.parent / ("long" * 30) / "data"
    room = data_dir / "postgres"
    folder = Path("/tmp") / f"stepwell-{hashlib.sha256(os.fsencode(room)).hexdigest()[:16]}"
    data_dir.parent.mkdir(exist_ok=True)
    data_dir.parent.chmod(0o711)
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    start = time.monotonic()
    try:
        async with serving(Launch(data_dir, {"AUTH": "api_key"}, target.checkout, target.python)):
            return f"starts in {milliseconds(time.monotonic() - start)}"
    except errors.EmbeddedServerError:
        return "does not start"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
