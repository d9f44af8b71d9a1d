"""The tests of faults work on databases for vectors of the offline model's length."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import given
import pytest


@pytest.fixture(scope="session")
async def wide_template(new_place: Callable[..., Awaitable[Any]]) -> str:
    return await given.template(new_place)


@pytest.fixture(scope="module")
async def place(new_place: Callable[..., Awaitable[Any]], wide_template: str) -> Any:
    """The module's own database."""
    return await new_place(wide_template)
