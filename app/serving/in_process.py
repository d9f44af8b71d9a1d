"""Answers the requests of a command by the application in this process, on a database that it opens.

The application runs on an event loop of its own thread, so that jobs go on while the command asks how far they are.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import AsyncExitStack, ExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.types import Receive, Scope, Send

from app import errors, runtime
from app.access.callers import Caller
from app.cli import options, terminal
from app.cli.client import API, Backend, Client
from app.cli.progress import Progress
from app.entities.linking import llm_extraction, mention_refresh
from app.fetching.types import ANY_HOST
from app.jobs import workers
from app.main import create_app
from app.runtime import configured_models
from app.services import Services
from app.settings import Settings

ADDRESS = "http://127.0.0.1"
CONNECTIONS = 4
WAIT_S = 0.2
"""Pause before jobs are looked for again."""


def client(user: str, data_dir: Path | None) -> Client:
    """A client of the application for a user. Raises BadRequest for a name that cannot be a user's."""
    local = InProcess(user, data_dir)
    return Client(httpx.Client(base_url=ADDRESS + API, transport=local, timeout=None), local)


class InProcess(httpx.BaseTransport, Backend):
    """The application for one user, which is opened when the first request is sent."""

    is_local = True

    def __init__(self, user: str, data_dir: Path | None) -> None:
        self._user = options.check_user(user)
        self._settings = options.settings(data_dir)
        self._stack = ExitStack()
        self._opened: _Application | None = None
        self._opening = Lock()
        self._openers: list[asyncio.Task[object]] = []
        self._running: set[Future[httpx.Response]] = set()

    @property
    def reads_pictures(self) -> bool:
        """Whether text in pictures is read."""
        return runtime.reads_pictures(self._settings)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The response of the application. Raises StepwellError where the database or a model cannot be opened."""
        application = self._application()
        running = application.portal.start_task_soon(application.answer, request)
        self._running.add(running)
        try:
            return running.result()
        finally:
            running.cancel()
            self._running.discard(running)

    def start_jobs(self) -> None:
        """Runs the user's jobs from now on."""
        application = self._application()
        application.portal.call(application.start_jobs)

    def finish_jobs(self) -> None:
        """Runs the jobs that complete what the user has stored, and prints how many documents the model is to read."""
        application = self._application()
        application.portal.call(application.finish_jobs)

    def cancel_requests(self) -> None:
        """Cancels the requests that run in other threads, and the opening of the application."""
        for running in tuple(self._running):
            running.cancel()
        for opener in self._openers:
            if self._opened is None and not opener.done():
                opener.get_loop().call_soon_threadsafe(opener.cancel)

    def close(self) -> None:
        """Closes the application."""
        self.cancel_requests()
        self._stack.close()

    def _application(self) -> _Application:
        with self._opening:
            if self._opened is None:
                portal = self._stack.enter_context(start_blocking_portal(name="application"))
                opened = portal.wrap_async_context_manager(_open(self._user, self._settings, portal, self._openers))
                self._opened = self._stack.enter_context(opened)
            return self._opened


class _Application:
    """The open application, used from the thread of its event loop."""

    def __init__(self, user: str, services: Services, transport: httpx.ASGITransport, portal: BlockingPortal) -> None:
        self.portal = portal
        self._user = user
        self._services = services
        self._transport = transport
        self._working: asyncio.Task[None] | None = None

    async def answer(self, request: httpx.Request) -> httpx.Response:
        """The whole response to a request."""
        response = await self._transport.handle_async_request(request)
        content = await response.aread()
        return httpx.Response(response.status_code, headers=response.headers, content=content)

    async def start_jobs(self) -> None:
        """Run the user's jobs until `close`. A job that fails is repeated, or shows why."""
        if self._working is None:
            self._working = asyncio.create_task(self._work())

    async def finish_jobs(self) -> None:
        """Stop running jobs in the background, and run those that complete what the user has stored."""
        await self.close()
        await _finish_jobs(self._user, self._services)

    async def close(self) -> None:
        """Stop running jobs."""
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)
            self._working = None

    async def _work(self) -> None:
        while True:
            try:
                ran = await workers.run_next(self._services, workers.every_kind(), user_id=self._user)
            except errors.StepwellError:
                ran = None
            if ran is None:
                await asyncio.sleep(WAIT_S)


@asynccontextmanager
async def _open(
    user: str, settings: Settings, portal: BlockingPortal, openers: list[asyncio.Task[object]]
) -> AsyncIterator[_Application]:
    """Opens and closes the application in one task, which is added to `openers`."""
    openers += filter(None, [asyncio.current_task()])
    level = "debug" if settings.log_level == "debug" else "error"
    quiet = settings.model_copy(update={"log_level": level, "worker": False})
    async with AsyncExitStack() as stack:
        opening = runtime.open_services(quiet, pool_size=CONNECTIONS, patience_s=configured_models.COMMAND_PATIENCE_S)
        services = await stack.enter_async_context(opening)
        # A command reads tables of any length, fetches any page and adds any folder to an embedded database.
        limits = replace(services.parse_limits, documents=sys.maxsize)
        is_local = services.owner is not None
        services = replace(services, owner=None, is_local=is_local, fetch_hosts=ANY_HOST, parse_limits=limits)
        app = create_app(quiet, opened=(services, stack.pop_all()))
        async with app.router.lifespan_context(app):
            opened = _Application(user, services, httpx.ASGITransport(_Authenticated(app, user)), portal)
            try:
                yield opened
            finally:
                await opened.close()


class _Authenticated:
    """The application without authentication, since the caller has opened the database: all requests are the user's."""

    def __init__(self, app: object, user: str) -> None:
        self._app = app
        self._caller = Caller(user, None, frozenset({"admin"}))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "state": {"caller": self._caller}}, receive, send)  # type: ignore[operator]


async def _finish_jobs(user_id: str, services: Services) -> None:
    """Runs the user's jobs that complete what a command has stored: entities of the language model, and links of names.

    Prints how many documents still wait for the model. The next command continues an interrupted job. Raises
    DatabaseUnavailable.
    """
    left = 0
    if services.chunking_options.llm_entities:
        total = left = await llm_extraction.waiting(user_id, services.db)
        with Progress(console=terminal.err) as bar:
            task = bar.add_task("Extracting entities", total=total)
            async with aclosing(llm_extraction.run_waiting(user_id, services)) as run:
                async for left in run:
                    bar.update(task, completed=total - left)
    if left:
        terminal.err.print(
            f"Documents that wait for the language model: {left}. A service, `stepwell worker` or this command, "
            "if it is repeated, asks it about them.",
            soft_wrap=True,
        )
    await mention_refresh.settle(user_id, services)
