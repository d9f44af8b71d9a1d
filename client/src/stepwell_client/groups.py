"""Defines what runs operations: a client, and a group of operations of a client such as `client.documents`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, TypeVar

import httpx

from stepwell_client.operations import Operation

T = TypeVar("T")


class Runs(ABC):
    """Sends operations."""

    @abstractmethod
    def run(self, operation: Operation[T]) -> T:
        """Send an operation. Raises ApiError, ConnectionFailed."""

    @abstractmethod
    def stream(self, operation: Operation[Any]) -> AbstractContextManager[httpx.Response]:
        """The response to an operation that is read piece by piece."""


class Group(Runs):
    """Operations that a client sends."""

    def __init__(self, client: Runs) -> None:
        self._client = client

    def run(self, operation: Operation[T]) -> T:
        """Send an operation. Raises ApiError, ConnectionFailed."""
        return self._client.run(operation)

    def stream(self, operation: Operation[Any]) -> AbstractContextManager[httpx.Response]:
        """The response to an operation that is read piece by piece."""
        return self._client.stream(operation)


class AsyncRuns(ABC):
    """Sends operations asynchronously."""

    @abstractmethod
    async def run(self, operation: Operation[T]) -> T:
        """Send an operation. Raises ApiError, ConnectionFailed."""

    @abstractmethod
    def stream(self, operation: Operation[Any]) -> AbstractAsyncContextManager[httpx.Response]:
        """The response to an operation that is read piece by piece."""


class AsyncGroup(AsyncRuns):
    """Operations that an asynchronous client sends."""

    def __init__(self, client: AsyncRuns) -> None:
        self._client = client

    async def run(self, operation: Operation[T]) -> T:
        """Send an operation. Raises ApiError, ConnectionFailed."""
        return await self._client.run(operation)

    def stream(self, operation: Operation[Any]) -> AbstractAsyncContextManager[httpx.Response]:
        """The response to an operation that is read piece by piece."""
        return self._client.stream(operation)
