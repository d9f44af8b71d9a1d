"""Serves the tools for agents: their definitions in the format of a model API, and calls by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

from fastapi import Body, Depends, Path, Query, Request

from app.agents import registry, tool_formats
from app.concurrency.limiter import Released
from app.enums import ToolFormat
from app.http import admission, auth, bodies, problems
from app.query.search_types import Answer
from app.tools import Admission, Tool, ToolContext

router = bodies.router("tools", bodies.ListsRoute)

T = TypeVar("T")
_EXAMPLES: dict[str, Any] = {
    "search": {"summary": "Search documents", "value": {"query": "Why do the buoys not report every minute?"}},
}
_NAMES: dict[str, Any] = {
    "search_documents": {"summary": "Search documents", "value": "search_documents"},
    "unknown": {"summary": "Tool that does not exist", "value": "search_document"},
}


class ToolScope(auth.Scope):
    """A dependency that requires a key with the scope of the tool that the path names."""

    def sufficient(self, request: Request) -> tuple[str, ...]:
        """The scope of the tool. Raises NotFound for an unknown tool."""
        return (_tool(request.path_params["name"], request).scope,)


def _tool(name: str, request: Request) -> Tool:
    """The tool of this name. Raises NotFound."""
    return registry.find(name, request.state.caller.scopes, optional=request.app.state.services.tools)


AnyUser = Annotated[str, Depends(auth.Scope("search", "write"))]
ToolUser = Annotated[str, Depends(ToolScope())]


class RequestAdmission(Admission):
    """Admits searches, reads and uploads by the limiters of the application, for a request's user."""

    def __init__(self, request: Request, user_id: str) -> None:
        super().__init__()
        self._request = request
        self._user_id = user_id

    async def search(self, run: Callable[[Released], Awaitable[T]]) -> T:
        """The result of `run`, called in the user's turn; an answer is recorded for metrics and logs."""
        result = await admission.in_turn(self._request, self._user_id, run)
        if isinstance(result, Answer):
            self._request.state.answer, self._request.state.timings = result, result.timings
        return result

    async def read(self, run: Callable[[], Awaitable[T]]) -> T:
        """The result of `run`, called in one of the user's turns of ordinary reads."""
        async with self._request.app.state.reads.turn(self._user_id):
            return await run()

    async def upload(self, run: Callable[[], Awaitable[T]]) -> T:
        """The result of `run`, called in a turn of an upload."""
        async with self._request.app.state.uploads.turn(self._user_id):
            return await admission.cancel_on_disconnect(self._request, run)


def context(request: Request, user_id: str) -> ToolContext:
    """What a tool runs with when it is called by a request."""
    return ToolContext(
        auth.services(request, only_reads=False),
        user_id,
        auth.actor(request),
        RequestAdmission(request, user_id),
        auth.services(request, only_reads=True),
        request.state.caller.scopes,
    )


@router.get("/tools", summary="List tools")
async def list_tools(
    request: Request,
    user_id: AnyUser,
    format: Annotated[ToolFormat, Query(description="The API that the definitions are for.")] = "openai",
) -> list[dict[str, Any]]:
    """The tools that the key may call, as definitions to pass to a model."""
    known = context(request, user_id)
    return tool_formats.export(registry.list_offered(known.scopes, optional=known.optional_tools), format)


@router.get("/tools/openapi.json", summary="Describe the tools in OpenAPI")
async def describe_tools(request: Request, user_id: AnyUser) -> dict[str, Any]:
    """An OpenAPI document of the tools that the key may call, with one typed operation each.

    Its server is the address of this request.
    """
    known = context(request, user_id)
    server = str(request.base_url).rstrip("/") + request.headers.get("x-forwarded-prefix", "").rstrip("/")
    offered = registry.list_offered(known.scopes, optional=known.optional_tools)
    needs_key = request.app.state.settings.auth != "none"
    return tool_formats.openapi_document(offered, server=server, needs_key=needs_key)


@router.post("/tools/{name}", summary="Call a tool", responses={**problems.WRITE, **problems.responses(404, 504)})
async def call_tool(
    name: Annotated[str, Path(description="Name of the tool.", max_length=64, openapi_examples=_NAMES)],
    request: Request,
    user_id: ToolUser,
    arguments: Annotated[dict[str, Any], Body(default_factory=dict, openapi_examples=_EXAMPLES)],
) -> dict[str, Any]:
    """Run a tool with the arguments that a model chose, and return its result. No body means no arguments."""
    return await registry.call(_tool(name, request), arguments, context(request, user_id))
