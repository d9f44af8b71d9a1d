"""Sends operations to a service and retries those that it had no room for."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import UUID

import httpx

from stepwell_client import batches, models, operations, resources, retrying, transport, waiting
from stepwell_client.errors import ApiError, JobTimeout, StepwellError
from stepwell_client.operations import API, Operation, given, segment
from stepwell_client.resources import Sources
from stepwell_client.retrying import Retries
from stepwell_client.uploading import File, Progress

T = TypeVar("T")


class Documents(resources.Documents):
    """Documents and their chunks."""

    def add_many(
        self,
        documents: Iterable[Mapping[str, Any]],
        *,
        batch_size: int = batches.SIZE,
        on_progress: Callable[[int], object] = lambda _done: None,
    ) -> models.DocumentResults:
        """Store any number of documents, each an object with `content` and the options of `add`.

        They are sent in batches of at most `batch_size` documents and 250 kB; `on_progress` is called with the number
        of documents that were stored or refused. `failed` has those that were refused, with their indexes among all. An
        error of the service or the connection has `results`: what was done before.
        """
        batched = batches.Batches(documents, batch_size)
        try:
            for body in batched.bodies():
                try:
                    batched.stored(self.run(operations.add_many(body)))
                except ApiError as error:
                    batched.refused(error)
                on_progress(batched.done)
        except StepwellError as error:
            error.results = batched.results
            raise
        return batched.results

    def upload(
        self,
        files: Sequence[File],
        *,
        title: str | None = None,
        uri: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        language: str | None = None,
        text_field: str | None = None,
        on_progress: Progress = lambda _sent, _total: None,
    ) -> models.DocumentResults:
        """Store up to 100 files, each a path, or a name or relative path with its content.

        Files are read while they are sent.

        Args:
            files: The files.
            title: Title of the one file; by default its own, else its name.
            uri: URI of the one file; by default its name.
            metadata: Added to the metadata of every file.
            language: BCP 47 tag, ISO 639 code or name of every file's language.
            text_field: Column of tables, or field of JSON records, that holds the text.
            on_progress: Called with the bytes that were sent, and those of all files.
        """
        fields = given(title=title, uri=uri, metadata=metadata, language=language, text_field=text_field)
        return self.run(operations.upload(files, fields, on_progress))


class Entities(resources.Entities):
    """People, teams, projects and other things with names."""

    def add_many(self, entities: Iterable[Mapping[str, Any]]) -> models.EntityUpserts:
        """Add or change many entities, each an object with `type`, `name` and the arguments of `add`."""
        return self.run(operations.upsert_entities(entities))


class Jobs(resources.Jobs):
    """Background jobs."""

    def follow(self, job_id: UUID | str) -> Iterator[models.Job]:
        """The job now, after each change, and at its end. Raises ApiError, ConnectionFailed."""
        with self.stream(Operation("GET", f"{API}/jobs/{segment(job_id)}/events", models.Job)) as response:
            yield from filter(None, map(transport.job_of, response.iter_lines()))

    def wait(
        self,
        job_id: UUID | str,
        *,
        timeout_s: float | None = None,
        on_progress: Callable[[models.Job], object] = lambda _job: None,
    ) -> models.Job:
        """The job once it has ended: `status` is done, failed or cancelled.

        Raises ApiError, ConnectionFailed, and JobTimeout if it has not ended after `timeout_s` seconds.
        """
        last: models.Job | None = None
        for pause_s in waiting.pauses(timeout_s):
            time.sleep(pause_s)
            job = self.get(job_id)
            if job != last:
                on_progress(job)
            if job.has_ended:
                return job
            last = job
        raise JobTimeout(f"The job {job_id} had not ended after {timeout_s} seconds.")


class Synonyms(resources.Synonyms):
    """Words and phrases that are searched for one another."""

    def set(self, groups: Sequence[Sequence[str] | Mapping[str, Any]]) -> models.SynonymCounts:
        """Replace all groups: each is a list of terms, or has `terms` and `expand_to`."""
        return self.run(operations.set_synonyms(groups))


class Tools(resources.Tools):
    """Tools for agents."""

    def list(self) -> Sequence[models.ToolDefinition]:
        """The tools that the key may call."""
        return self.run(Operation("GET", f"{API}/tools", TOOLS, parameters={"format": "mcp"}))

    def definitions(self, format: str = "openai") -> Sequence[dict[str, Any]]:
        """The tools for `openai`, `openai-responses`, `anthropic`, `gemini` or `mcp`."""
        return self.run(Operation("GET", f"{API}/tools", DEFINITIONS, parameters={"format": format}))

    def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool with the arguments that a model chose."""
        path = f"{API}/tools/{segment(name)}"
        # An agent ends its run at an error that its model cannot mend. A repeated deletion would find nothing.
        repeatable = name != "delete_document"
        return self.run(Operation("POST", path, dict[str, Any], dict(arguments), repeatable=repeatable))


TOOLS, DEFINITIONS = list[models.ToolDefinition], list[dict[str, Any]]


class Client(resources.Searches):
    """A synchronous client; use it as a context manager, or call `close`. It may be shared by threads.

    `url` and `api_key` default to STEPWELL_URL and STEPWELL_API_KEY. Methods raise ApiError and ConnectionFailed.
    `timeout_s` is 60 by default. `http` replaces the HTTP client, which is then not closed; its base URL, headers and
    timeout are used where `url`, `api_key` and `timeout_s` are not given.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float | None = None,
        retries: int = 3,
        http: httpx.Client | None = None,
    ) -> None:
        self._owned = http is None
        self._target = transport.Target.of(url, api_key, timeout_s, http)
        self._http = http or httpx.Client(trust_env=self._target.is_remote)
        self._retries = Retries(retries)
        self._seen = transport.SeenVersion()

    def with_options(self, *, timeout_s: float | None = None, retries: int | None = None) -> Self:
        """The same client with other limits, as in `client.with_options(timeout_s=5).search(…)`; it is not closed."""
        view = copy.copy(self)
        view._owned = False
        if timeout_s is not None:
            view._target = replace(self._target, timeout_s=timeout_s)
        if retries is not None:
            view._retries = Retries(retries)
        return view

    @property
    def documents(self) -> Documents:
        """Documents and their chunks."""
        return Documents(self)

    @property
    def entities(self) -> Entities:
        """People, teams, projects and other things with names."""
        return Entities(self)

    @property
    def sources(self) -> Sources:
        """Folders whose documents are kept in step."""
        return Sources(self)

    @property
    def jobs(self) -> Jobs:
        """Background jobs."""
        return Jobs(self)

    @property
    def synonyms(self) -> Synonyms:
        """Words and phrases that are searched for one another."""
        return Synonyms(self)

    @property
    def tools(self) -> Tools:
        """Tools for agents."""
        return Tools(self)

    def run(self, operation: Operation[T]) -> T:
        """Send an operation, and repeat it as `retrying` says. Raises ApiError, ConnectionFailed."""
        outcome = self._send(operation)
        for otherwise in self._retries.waits():
            wait_s = retrying.wait_after(outcome, otherwise, repeatable=operation.may_be_repeated)
            if wait_s is None:
                break
            time.sleep(wait_s)
            outcome = self._send(operation)
        if isinstance(outcome, httpx.HTTPError):
            raise transport.failed(self._target, outcome) from outcome
        return transport.result(operation, outcome)

    @contextmanager
    def stream(self, operation: Operation[Any]) -> Iterator[httpx.Response]:
        """The response to an operation that is read piece by piece. Raises ApiError, ConnectionFailed."""
        try:
            with self._http.stream(**transport.request(operation, self._seen, self._target)) as response:
                if not transport.is_stream(response):
                    response.read()
                    raise transport.refusal(response)
                yield response
        except httpx.HTTPError as error:
            raise transport.failed(self._target, error) from error

    def _send(self, operation: Operation[Any]) -> retrying.Outcome:
        try:
            response = self._http.request(**transport.request(operation, self._seen, self._target))
        except httpx.HTTPError as error:
            return error
        return self._seen.note(response)

    def close(self) -> None:
        """Close the connections."""
        if self._owned:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
