"""Defines the protocol by which a pipeline releases its place among the concurrent searches during a provider call."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol


class SearchTurn(Protocol):
    """Permission to run, one of a limited number at the same time."""

    def released(self) -> AbstractAsyncContextManager[None]:
        """Give the turn back while a block waits for another service."""
        ...


class Unlimited:
    """A turn without a limit, for the command line and evaluations."""

    def released(self) -> AbstractAsyncContextManager[None]:
        """Do nothing."""
        return nullcontext()


UNLIMITED: SearchTurn = Unlimited()
