"""Serves Swagger UI at /docs and the playground at / and /playground, from the files of this package.

The playground calls the API like any other client. It contains no data, so it needs no key; its user types the key that
it sends. `/` returns the playground if the `Accept` header names `text/html`, as in browsers, and otherwise redirects
to `/docs`.

The pages have no inline script and load nothing from other origins. Trusted Types stop the playground's scripts from
turning text into HTML. The Referrer-Policy lets the browser send the `Origin` header with requests to this service.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from app.documents.files import left_out_rules
from app.http import bodies
from app.query import answer_hints, hop_signal_weights
from app.relevance import answerable_levels
from app.text.words import languages

WEB = Path(__file__).parent
PLAYGROUND = WEB / "playground"
_DOCS_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-cache"}
_ASSETS = "/playground/assets"
_FOLDER_NAMES = ("VENDORED", "GENERATED", "LOCKS", "SYSTEM", "ENDINGS")


def install(app: FastAPI) -> None:
    """Serve the pages and their files.

    Raises ValueError unless the application was created with `docs_url=None, redoc_url=None`, because FastAPI's own
    pages load their scripts from a public server.
    """
    if app.docs_url is not None or app.redoc_url is not None:
        raise ValueError("Create the application with docs_url=None and redoc_url=None.")
    pages = {"/docs": _docs, "/": _root, "/playground": _playground, f"{_ASSETS}/tables.js": _tables}
    for path, page in pages.items():
        app.add_route(path, page, include_in_schema=False)
    app.mount("/docs/assets", _Assets("swagger", "public, max-age=3600"))
    app.mount("/docs/page", _Assets("docs", "public, max-age=3600"))
    # Modules of different versions do not work together, so browsers must ask whether a file has changed.
    app.mount(_ASSETS, _Assets("playground", "no-cache"))


async def _docs(_: Request) -> Response:
    return _page("docs", _DOCS_POLICY)


async def _playground(_: Request) -> Response:
    return _page("playground", POLICY, **{"Cross-Origin-Opener-Policy": "same-origin"})


async def _root(request: Request) -> Response:
    if "text/html" in request.headers.get("accept", "").lower():
        response = await _playground(request)
    else:
        response = RedirectResponse("docs", 307)  # relative, because a proxy may serve this below a path
    response.headers["Vary"] = "Accept"
    return response


def _page(folder: str, policy: str, **headers: str) -> Response:
    headers = {**_HEADERS, "Content-Security-Policy": policy, **headers}
    return FileResponse(WEB / folder / "index.html", headers=headers, media_type="text/html; charset=utf-8")


async def _tables(_: Request) -> Response:
    """A JavaScript module that gives the playground the constants of this program."""
    constants: dict[str, Any] = {
        "SIGNALS": {signal.name: signal.label for signal in hop_signal_weights.SIGNALS},
        "DEGRADED": answer_hints.DEGRADED,
        "RELAXED": answer_hints.RELAXED,
        "LIKELY": answerable_levels.LIKELY,
        "POSSIBLE": answerable_levels.POSSIBLE,
        **{name: sorted(getattr(left_out_rules, name)) for name in _FOLDER_NAMES},
        "MAX_BYTES": bodies.MAX_BYTES,
        "LANGUAGES": languages.CODES,
    }
    source = "".join(f"export const {name} = {json.dumps(value)};\n" for name, value in constants.items())
    headers = {name: _HEADERS[name] for name in ("Cache-Control", "X-Content-Type-Options")}
    return Response(source, headers=headers, media_type="text/javascript; charset=utf-8")


class _Assets(StaticFiles):
    """Serves the files of a folder with an ETag and a `Cache-Control` header."""

    def __init__(self, folder: str, cache_control: str) -> None:
        super().__init__(directory=WEB / folder)
        self._cache_control = cache_control

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = self._cache_control
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
