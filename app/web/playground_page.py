"""Serves the playground at / and /playground, a page for searching in a browser, from the files of this package.

The page calls the API as any other client. It is served without a key, since it holds no data, and sends the key that
its user types. Its Content-Security-Policy allows only the package's own files and calls to this service, and with
Trusted Types no script can turn text into HTML. `/` answers with it where HTML is asked for by name, as browsers do,
and redirects other clients to `/docs`.

The modules of each view have a folder, and `page` has those that several views share. Five modules are made of tables:
`signals.js` of the signals, `levels.js` of the levels of `answerable`, `folder_names.js` of what is left out of a
folder, `upload_rules.js` of the formats and the largest request, `job_kinds.js` of the jobs that may be cancelled.
"""

from __future__ import annotations

import json

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from app.documents.files import file_reading, folder_names
from app.jobs import kinds
from app.query import signals
from app.relevance import answerability
from app.web import docs_page as docs

PAGES = docs.WEB / "playground"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {**docs.PAGE_HEADERS, "Content-Security-Policy": POLICY, "Cross-Origin-Opener-Policy": "same-origin"}


def install(app: FastAPI) -> None:
    """Serve the page at `/` and `/playground`, and its files."""
    app.add_route("/", _root, include_in_schema=False)
    app.add_route("/playground", _page, include_in_schema=False)
    app.add_route("/playground/assets/signals.js", _signals, include_in_schema=False)
    app.add_route("/playground/assets/levels.js", _levels, include_in_schema=False)
    app.add_route("/playground/assets/folder_names.js", _folder_names, include_in_schema=False)
    app.add_route("/playground/assets/upload_rules.js", _upload_rules, include_in_schema=False)
    app.add_route("/playground/assets/job_kinds.js", _job_kinds, include_in_schema=False)
    # Modules of two versions do not fit together, so browsers ask whether a file has changed.
    files = docs.Assets(directory=PAGES, cache_control="no-cache")
    app.mount("/playground/assets", files, name="playground_assets")


async def _root(request: Request) -> Response:
    if "text/html" in request.headers.get("accept", "").lower():
        response: Response = await _page(request)
    else:
        response = RedirectResponse(request.scope.get("root_path", "").rstrip("/") + "/docs", 307)
    response.headers["Vary"] = "Accept"
    return response


async def _signals(_: Request) -> Response:
    """A module with what people call each signal of a search over several hops."""
    labels = {signal.name: signal.label for signal in signals.SIGNALS}
    return _module(SIGNALS=labels)


async def _levels(_: Request) -> Response:
    """A module with the probabilities from which on an answer is called likely, or at least possible."""
    return _module(LIKELY=answerability.LIKELY, POSSIBLE=answerability.POSSIBLE)


async def _folder_names(_: Request) -> Response:
    """A module with the names of folders and files that are left out of a folder."""
    return _module(
        VENDORED=sorted(folder_names.VENDORED),
        GENERATED=sorted(folder_names.GENERATED),
        LOCKS=sorted(folder_names.LOCKS),
        SYSTEM=sorted(folder_names.SYSTEM),
        ENDINGS=folder_names.ENDINGS,
    )


async def _upload_rules(request: Request) -> Response:
    """A module with the bytes that a request may have, and the formats of files by suffix."""
    return _module(MAX_BYTES=request.app.state.max_body_bytes, FORMATS=file_reading.FORMAT_OF_SUFFIX)


async def _job_kinds(_: Request) -> Response:
    """A module with the kinds of jobs that may be cancelled."""
    return _module(CANCELLABLE=[kind.name for kind in kinds.every() if kind.is_cancellable])


def _module(**constants: object) -> Response:
    """A module that exports constants."""
    source = "".join(f"export const {name} = {json.dumps(value)};\n" for name, value in constants.items())
    headers = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    return Response(source, headers=headers, media_type="text/javascript; charset=utf-8")


async def _page(_: Request) -> Response:
    return FileResponse(PAGES / "index.html", headers=_HEADERS, media_type="text/html; charset=utf-8")
