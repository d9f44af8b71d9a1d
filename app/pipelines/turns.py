"""Defines the protocol by which a pipeline releases its place among the concurrent searches during a provider call."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol


class SearchTurn(Protocol):
    """A place among the searches that run at the same time."""

    def released(self) -> AbstractAsyncContextManager[None]:
        """Give the turn back while a block waits for another service."""
        ...


class Unlimited:
    """A turn where nobody waits for one: on the command line and in evaluations."""

    def released(self) -> AbstractAsyncContextManager[None]:
        """Do nothing."""
        return nullcontext()


UNLIMITED: SearchTurn = Unlimited()
