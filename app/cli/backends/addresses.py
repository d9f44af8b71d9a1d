"""Checks the address of a service."""

from __future__ import annotations

from urllib.parse import urlsplit

from app.errors import BadRequest


def checked(url: str) -> str:
    """The address without a slash at its end. Raises BadRequest for one that is no HTTP address."""
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or parts.query or parts.fragment:
        raise BadRequest("Give the address of a service, such as http://127.0.0.1:8000.", field="--url")
    return url.strip().rstrip("/")
