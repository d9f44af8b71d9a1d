"""Attacks with connections, headers, hosts and origins."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import AsyncExitStack, suppress

import httpx

from benchmarks import raw_http
from benchmarks.attacks.target import DOCUMENTS, SEARCH, Probe, Target, milliseconds, search, timed

HEADER_S, HEADER_MB = 15.0, 200
FLOOD = 300


async def half_sent_bodies(target: Target) -> str:
    """Holds as many half-sent search bodies without a key as searches may run at once; counts searches answered."""
    async with target.serving() as service, AsyncExitStack() as stack:
        for _ in range(max(2, os.cpu_count() or 2)):
            _reader, writer = await stack.enter_async_context(raw_http.connection(service.port))
            headers = {"Content-Type": "application/json", "Content-Length": "100"}
            writer.write(raw_http.head("POST", SEARCH, headers) + b"{")
            await writer.drain()
        await asyncio.sleep(0.5)
        client = await stack.enter_async_context(target.client(service, "ana", timeout_s=3.0))
        answered = [await search(client, f"lime mortar {n}") for n in range(5)]
    return f"{sum(each.ok for each in answered)} of {len(answered)} searches answered"


async def cross_site_write(target: Target) -> str:
    """Posts a form from another site to a default installation (AUTH=none)."""
    async with target.serving(AUTH="none") as service, target.client(service) as client:
        headers = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
        files = {"files": ("note.txt", b"Written by another site.", "text/plain")}
        return (await timed(client, "POST", DOCUMENTS, headers=headers, files=files)).outcome


async def foreign_host(target: Target) -> str:
    """Reads documents under the host name of an attacker, as after DNS rebinding (AUTH=none)."""
    async with target.serving(AUTH="none") as service, target.client(service) as client:
        return (await timed(client, "GET", DOCUMENTS, headers={"Host": "evil.example"})).outcome


async def endless_headers(target: Target) -> str:
    """Sends header lines on one connection until it is closed, for at most 15 seconds."""
    async with target.serving() as service:
        before, most = service.memory_mb(), 0.0
        deadline = time.monotonic() + HEADER_S
        line = b"X-Filler: " + b"a" * 4000 + b"\r\n"
        sent = 0
        with suppress(OSError):
            async with raw_http.connection(service.port) as (_reader, writer):
                writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
                while time.monotonic() < deadline and sent < HEADER_MB * 2**20:
                    writer.write(line * 50)
                    await asyncio.wait_for(writer.drain(), 5.0)
                    sent += len(line) * 50
                    most = max(most, service.memory_mb())
        most = max(most, service.memory_mb())
    return f"{sent / 2**20:.1f} MB accepted, memory +{max(0.0, most - before):.0f} MB"


async def readyz_flood(target: Target) -> str:
    """Sends 300 unauthenticated /readyz requests; measures the CPU time of the service and Postgres."""
    async with target.serving() as service:
        before = service.cpu_s() + _cpu_s(target)
        limits = httpx.Limits(max_connections=10)
        async with httpx.AsyncClient(base_url=service.address, timeout=30.0, limits=limits, trust_env=False) as client:
            start = time.monotonic()
            await asyncio.gather(*(timed(client, "GET", "/readyz") for _ in range(FLOOD)))
            took = time.monotonic() - start
        used = service.cpu_s() + _cpu_s(target) - before
    return f"{used:.1f} s of CPU in {took:.1f} s"


async def stalled_probe(target: Target) -> str:
    """Measures the longest wait for /healthz without an attack, for comparison."""
    async with target.serving() as service, target.client(service) as client:
        async with Probe(client).running() as probe:
            await asyncio.sleep(3.0)
        return milliseconds(probe.longest_s)


def _cpu_s(target: Target) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in target.postgres())
