"""Defines a fetched page, and the hosts from which pages may be fetched."""

from __future__ import annotations

import re
from dataclasses import dataclass

WEB_PORTS = (80, 443)
_PATTERN = re.compile(r"(\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)(?::([1-9][0-9]{0,4}|\*))?", re.I)


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
