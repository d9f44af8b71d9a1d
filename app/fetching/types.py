"""Defines a fetched page, the hosts from which pages may be fetched, and which requests take a proxy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from app import errors

WEB_PORTS = (80, 443)
_PATTERN = re.compile(r"(\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)(?::([1-9][0-9]{0,4}|\*))?", re.I)

_THIS_MACHINE = re.compile(r"https?://(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\])(?:[:/]|$)", re.I)


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Patterns of hosts: a name, `*.` and a name for all names below it, or `*` for all.

    They allow the ports 80 and 443; with `:` and a port, or `:*`, that port or all.
    """

    patterns: tuple[str, ...] = ()

    def allow(self, host: str, port: int) -> bool:
        """Whether pages may be fetched from a port of a host."""
        host = host.lower().rstrip(".")
        for pattern in self.patterns:
            name, _, wanted = pattern.lower().partition(":")
            is_below = name.startswith("*.") and host.endswith(name[1:]) and len(host) >= len(name)
            is_port = wanted == "*" or (port == int(wanted) if wanted else port in WEB_PORTS)
            if is_port and (is_below or name in ("*", host)):
                return True
        return False


ANY_HOST = AllowedHosts(("*:*",))


def is_pattern(text: str) -> bool:
    """Whether a text is the pattern of a host."""
    return _PATTERN.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page or file as a site sent it, without content encoding.

    `media_type` and `charset` are in lower case, and empty where the site names none.
    """

    raw: bytes
    media_type: str
    charset: str


def is_remote(url: str) -> bool:
    """Whether an address is one of another machine. Only requests to others take the proxy of the environment."""
    return _THIS_MACHINE.match(url) is None


@contextmanager
def refuse_bad_proxies() -> Iterator[None]:
    """Raises BadRequest if a client cannot be made because of the proxy that the environment names."""
    import httpx  # the settings import this module, and commands of the owner do without

    try:
        yield
    except (ValueError, httpx.InvalidURL) as error:
        message = f"The environment's HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is not the address of a proxy: {error}."
        raise errors.BadRequest(message) from error
