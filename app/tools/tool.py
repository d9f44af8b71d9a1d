"""Defines what a tool is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from app.tools.arguments import ToolArguments
from app.tools.context import ToolContext
from app.tools.optional_tools import COMPAT_TOOLS, OPTIONAL_TOOLS
from app.tools.results import ToolResult

Handler = Callable[[Any, ToolContext], Awaitable[ToolResult]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: what a model reads about it, the models of its arguments and result, and its handler.

    `scope` is the scope of the keys that may call it. Only tools of the scope `write` change what is searched; one that
    `stores` keeps something else. The handler of one that `is_search` asks for its admission itself.
    """

    name: str
    title: str
    description: str
    arguments: type[ToolArguments]
    result: type[ToolResult]
    handler: Handler
    scope: Literal["search", "write"] = "search"
    stores: bool = False
    is_search: bool = False

    @property
    def is_optional(self) -> bool:
        """Whether it is offered only where the settings name it."""
        return self.name in (*OPTIONAL_TOOLS, *COMPAT_TOOLS)

    @property
    def only_reads(self) -> bool:
        """Whether a call changes nothing."""
        return self.scope == "search" and not self.stores
