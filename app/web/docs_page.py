"""Serves Swagger UI at /docs from the files of this package, without a network.

The page holds no inline script, and its Content-Security-Policy allows nothing from other origins. Its Referrer-Policy
lets the browser send the `Origin` header with requests to this service.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

WEB = Path(__file__).parent
_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


def install(app: FastAPI) -> None:
    """Serve `/docs` and its files.

    Raises ValueError unless the application was created with `docs_url=None, redoc_url=None`: FastAPI's own pages load
    their scripts from a public server.
    """
    if app.docs_url is not None or app.redoc_url is not None:
        raise ValueError("Create the application with docs_url=None and redoc_url=None.")
    app.add_route("/docs", _page, include_in_schema=False)
    app.mount("/docs/assets", Assets(directory=WEB / "swagger"), name="docs_assets")
    app.mount("/docs/page", Assets(directory=WEB / "docs"), name="docs_page")


async def _page(_: Request) -> Response:
    return FileResponse(WEB / "docs" / "index.html", headers=PAGE_HEADERS, media_type="text/html; charset=utf-8")


class Assets(StaticFiles):
    """Files with an ETag, which browsers cache as `cache_control` says, by default for an hour."""

    def __init__(self, *, directory: Path, cache_control: str = "public, max-age=3600") -> None:
        super().__init__(directory=directory)
        self._cache_control = cache_control

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = self._cache_control
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
