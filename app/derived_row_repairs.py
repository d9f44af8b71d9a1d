"""Defines a repair: how one kind of derived rows, such as postings, is compared with its source and rewritten."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from app.database.transactions import Database, Reading, Writing
from app.services import Services

Damage = dict[str, int]
"""How many derived rows of a user are wrong, by kind; kinds without any are left out."""


@dataclass(frozen=True, slots=True)
class UserRows:
    """Access to the rows of one user. `keys` are the keys of metadata whose values are names."""

    user_id: str
    db: Database
    keys: Sequence[str]

    def reading(self) -> AbstractAsyncContextManager[Reading]:
        """Open a transaction that reads them."""
        return self.db.reading(self.user_id)


@dataclass(frozen=True, slots=True)
class Repair:
    """How one kind of derived rows is compared and rewritten.

    Attributes:
        kind: Its name in JSON.
        find: Returns slices of what is wrong.
        rewrite: Corrects a slice.
        noun: What is counted.
        passes: Largest number of rounds of both. A round that finds nothing is the last.
    """

    kind: str
    find: Callable[[UserRows], AsyncIterator[Sequence[Any]]]
    rewrite: Callable[[Sequence[Any], str, Services], Awaitable[None]]
    noun: str
    passes: int = 1


def under_lock(write: Callable[[Writing, Sequence[Any]], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """A `rewrite` that runs a function in one transaction under the user's lock."""

    async def rewrite(wrong: Sequence[Any], user_id: str, services: Services) -> None:
        async with services.db.locking(user_id) as writing:
            await write(writing, wrong)

    return rewrite
