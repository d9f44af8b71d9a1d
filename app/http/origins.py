"""Checks the Host and Origin headers: refuses unknown hosts and cross-site browser requests, and answers CORS.

Two checks run before anything else reads the request. The `Host` header must name an allowed host, which stops DNS
rebinding: a page whose own name is made to resolve to this machine still sends its own name. A request from another
origin, by its `Origin` or `Sec-Fetch-Site` header, is refused unless that origin is allowed; only navigations to pages
without data may come from anywhere. Clients other than browsers send neither header.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import AddressValueError, IPv6Address
from typing import NamedTuple

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from app import errors
from app.http import problems

PAGES = frozenset({"/", "/docs", "/playground"})
"""Static pages without data, which a link on another site may open."""
METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")
_BOTH = ("X-Request-ID", "X-Stepwell-Version")
_MCP = ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name")
"""Headers that the versions of MCP require of its clients."""
REQUEST_HEADERS = ("Authorization", "Content-Type", "Idempotency-Key", "X-API-Key", *_MCP, *_BOTH)
RESPONSE_HEADERS = (
    *("Idempotent-Replayed", "Location", "RateLimit", "RateLimit-Policy", "Retry-After", "Server-Timing"),
    *_BOTH,
)
PREFLIGHT_SECONDS = 600
_DEFAULT_PORTS = {"http": 80, "https": 443}
_AUTHORITY = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::([0-9]{1,5}))?")
_ORIGIN = re.compile(r"(https?)://([^/]+)")


class Authority(NamedTuple):
    """A host name in lower case without its trailing dot, or an address, and the port if one was given."""

    name: str
    port: int | None


def install(app: FastAPI, *, hosts: Collection[str] | None, allowed: Collection[str]) -> None:
    """Check hosts and origins. Install nothing after it but the request log, so that a refused request costs little.

    `hosts` are names as `Settings.hosts` holds them, each for any port unless it has one; None allows every host.
    `allowed` are origins of other sites that may call the service, such as `https://app.example`.
    """
    app.add_middleware(Origins, hosts=hosts, allowed=allowed)


class Origins:
    """Refuses other hosts with 421 and other origins with 403; adds CORS headers to every answer to an allowed one."""

    def __init__(self, app: ASGIApp, *, hosts: Collection[str] | None, allowed: Collection[str]) -> None:
        self._app = app
        self._hosts = None if hosts is None else {authority(host) for host in hosts}
        self._allowed = frozenset(origin.encode() for origin in allowed)
        self._cors = CORSMiddleware(
            app,
            allow_origins=tuple(allowed),
            allow_methods=METHODS,
            allow_headers=REQUEST_HEADERS,
            allow_private_network=True,
            expose_headers=RESPONSE_HEADERS,
            max_age=PREFLIGHT_SECONDS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._choose(scope) if scope["type"] == "http" else self._app
        await app(scope, receive, send)

    def _choose(self, scope: Scope) -> ASGIApp:
        """What answers a request: the application, the same with headers of CORS, or a refusal."""
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        host = authority(hosts[0].decode("latin-1").strip()) if len(hosts) == 1 else None
        if not (self._hosts is None or (host and {host, Authority(host.name, None)} & self._hosts)):
            return problems.of(errors.RequestRefused(errors.HOST_NOT_ALLOWED, code="host_not_allowed"), scope)
        if len(origins) == 1 and origins[0] in self._allowed:
            return self._cors
        if _is_foreign(origins, _values(scope, b"sec-fetch-site"), host) and not _opens_a_page(scope):
            return problems.of(errors.Forbidden(errors.ORIGIN_NOT_ALLOWED, code="origin_not_allowed"), scope)
        return self._app


def authority(text: str) -> Authority | None:
    """The parts of `name`, `name:port` or `[address]:port`, in one spelling; None for anything else."""
    found = _AUTHORITY.fullmatch(text.lower())
    if found is None:
        return None
    name, port = found[1], int(found[2]) if found[2] else None
    if not name.startswith("["):
        return Authority(name.removesuffix("."), port)
    try:
        return Authority(f"[{IPv6Address(name[1:-1]).compressed}]", port)
    except AddressValueError:
        return None


def _values(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key == name]


def _is_foreign(origins: list[bytes], sites: list[bytes], host: Authority | None) -> bool:
    """Whether a browser made this request for a page of another origin, another port of this host included.

    The scheme is not compared: a proxy may end TLS.
    """
    if sites == [b"same-origin"]:
        return False  # the browser has compared them itself; a proxy may have changed the Host
    if any(site != b"none" for site in sites):
        return True
    for origin in origins:
        found = _ORIGIN.fullmatch(origin.decode("latin-1").lower())
        named = authority(found[2]) if found else None
        if found is None or named is None or host is None:
            return True
        default = _DEFAULT_PORTS[found[1]]
        if (named.name, named.port or default) != (host.name, host.port or default):
            return True
    return len(origins) > 1


def _opens_a_page(scope: Scope) -> bool:
    """Whether the request opens, by a link, a page without data."""
    return (
        scope["method"] in {"GET", "HEAD"}
        and scope["path"] in PAGES
        and _values(scope, b"sec-fetch-mode") == [b"navigate"]
    )
