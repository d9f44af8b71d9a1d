"""Defines what a tool needs besides its arguments: the opened services, the user, and admission to run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from app.concurrency.limiter import UNLIMITED, Released
from app.services import Budget, Services

T = TypeVar("T")
LOCAL_ACTOR = "local"


class Admission(Protocol):
    """Limits how many searches, other reads and uploads run at once."""

    async def search(self, run: Callable[[Released], Awaitable[T]]) -> T:
        """The result of `run`, called when a search may start. Raises Overloaded, DeadlineExceeded."""
        ...

    async def read(self, run: Callable[[], Awaitable[T]]) -> T:
        """The result of `run`, called when an ordinary read may start. Raises Overloaded."""
        ...

    async def upload(self, run: Callable[[], Awaitable[T]]) -> T:
        """The result of `run`, called when a document may be stored. Raises Overloaded."""
        ...


@dataclass(frozen=True, slots=True)
class Unrestricted:
    """Admits everything at once, for a process with one caller; a search may take so many seconds."""

    user_id: str = LOCAL_ACTOR
    search_s: float = Budget().whole_s

    async def search(self, run: Callable[[Released], Awaitable[T]]) -> T:
        """The result of `run`. Raises DeadlineExceeded."""
        async with Budget(whole_s=self.search_s).deadline():
            return await run(UNLIMITED)

    async def read(self, run: Callable[[], Awaitable[T]]) -> T:
        """The result of `run`."""
        return await run()

    async def upload(self, run: Callable[[], Awaitable[T]]) -> T:
        """The result of `run`."""
        return await run()


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Who calls a tool, and with what it runs. `actor` is recorded in the audit log; `scopes` are those of the key.

    `read_services` are the services of tools that only read; None if they are the same.
    """

    services: Services
    user_id: str
    actor: str = LOCAL_ACTOR
    admission: Admission = field(default_factory=Unrestricted)
    read_services: Services | None = None
    scopes: Collection[str] = ("search", "write")

    def holds(self, scope: str) -> bool:
        """Whether the key has this scope; `admin` includes the others."""
        return scope in self.scopes or "admin" in self.scopes

    @property
    def optional_tools(self) -> Collection[str]:
        """The optional tools that are offered."""
        return self.services.tools

    def for_reading(self) -> ToolContext:
        """The context of a tool that only reads."""
        return replace(self, services=self.read_services or self.services)
