"""Defines a fetched page, and who fetches pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from app.fetching.hosts import AllowedHosts


@dataclass(frozen=True, slots=True)
class Validators:
    """What a site said about the version of a page at `address`, for a conditional request; empty if it said none."""

    address: str
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page or file as a site sent it, without content encoding; `validators` has its address after redirects.

    `media_type` and `charset` are in lower case, and empty where the site names none.
    """

    raw: bytes
    media_type: str
    charset: str
    validators: Validators


class PageFetcher(Protocol):
    """Fetches one page or file of the public web."""

    def normalised(self, address: str) -> str:
        """An http or https address as it is fetched and stored, without its fragment. Raises `blocked_url`."""
        ...

    async def fetch(self, address: str, *, allowed: AllowedHosts, known: Validators | None = None) -> WebPage | None:
        """The page at an http or https address; None if it is still the version that `known` names.

        Raises `blocked_url` for an address that may not be fetched, `fetch_failed` and `site_unavailable`.
        """
        ...
