"""Where can a person try the API? At /docs: Swagger UI from this package's own files, so it needs no network.

The page holds no inline script and its Content-Security-Policy lets nothing in from elsewhere; `/` leads to it.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

WEB = Path(__file__).parent.parent / "web"
_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_PAGE_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


def install(app: FastAPI) -> None:
    """Serve `/docs` and its files, and lead `/` there.

    The application must be made with `docs_url=None, redoc_url=None`, else ValueError: FastAPI's own pages load
    their scripts from a public server.
    """
    if app.docs_url is not None or app.redoc_url is not None:
        raise ValueError("Make the application with docs_url=None and redoc_url=None.")
    app.add_route("/", _to_docs, include_in_schema=False)
    app.add_route("/docs", _page, include_in_schema=False)
    app.mount("/docs/assets", Assets(directory=WEB / "swagger"), name="docs_assets")
    app.mount("/docs/page", Assets(directory=WEB / "docs"), name="docs_page")


async def _to_docs(request: Request) -> Response:
    return RedirectResponse(request.scope.get("root_path", "").rstrip("/") + "/docs", 307)


async def _page(_: Request) -> Response:
    return FileResponse(WEB / "docs" / "index.html", headers=_PAGE_HEADERS, media_type="text/html; charset=utf-8")


class Assets(StaticFiles):
    """Files with an ETag, kept by a browser for an hour."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=3600"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
