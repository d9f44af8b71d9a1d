"""Limits how many files a process of the service parses at once."""

from __future__ import annotations

from fastapi import FastAPI

from app.concurrency.limiter import Limiter

PARSED_AT_ONCE, PARSED_OF_USER = 4, 2
"""Files that are parsed at once, each in a process of its own."""
WAITING, WAIT_S = 256, 300.0
"""Files that wait for that, each of them so many seconds at most."""


def install(app: FastAPI, _settings: object) -> None:
    """Create the limit of an application."""
    app.state.parse_places = Limiter(PARSED_AT_ONCE, of_user=PARSED_OF_USER, max_waiting=WAITING, timeout_s=WAIT_S)
