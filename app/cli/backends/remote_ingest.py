"""Sends files to a running service, several at once, and shows the progress."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any, Protocol

from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from app import errors
from app.cli import options
from app.cli.backends.ingesting import Files, ListedFile, Summary
from app.cli.progress import Progress
from app.pipelines.documents.file_reading import PICTURE
from app.shapes import LeftOutReason, uris

CONCURRENT = 4
REFUSALS = frozenset({400, 413, 415, 422})
"""Statuses of requests whose file cannot be stored; others end the command."""
_UNREAD_PICTURES: dict[str, LeftOutReason] = {"unsupported_format": "binary", "no_text": "empty"}
"""Why pictures are left out that are refused with one of these codes: without OCR, and without text on them."""
PAGE_REFUSALS = frozenset({"site_unavailable", "fetch_not_allowed"})
"""Codes of requests whose page cannot be fetched."""


class _Rates(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Documents and chunks per second since the start."""
        seconds = task.elapsed or 0.0
        if not seconds:
            return Text("–/s")
        documents, chunks = task.fields["documents"] / seconds, task.fields["chunks"] / seconds
        return Text(f"{documents:.1f} documents/s, {chunks:.0f} chunks/s")


class _Remaining(TimeRemainingColumn):
    def render(self, task: Task) -> Text:
        """The time left, in words that stand alone in a line; nothing while it is not known."""
        return Text() if task.time_remaining is None else super().render(task).append(" left")


class Service(Protocol):
    """What a running service does with files."""

    def upload(self, name: str, content: bytes, form: Mapping[str, str]) -> dict[str, Any]:
        """The outcome of storing the documents of one file."""
        ...

    def fetch(self, address: str, text_field: str | None) -> dict[str, Any]:
        """The outcome of storing the page at an address."""
        ...

    def ended_job(self, job_id: str, progress: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """A job once it is done, failed or cancelled, or has failed and waits to be tried again."""
        ...


@dataclass(slots=True)
class _Sending:
    """The files that are being sent; threads send, the caller's thread counts."""

    service: Service
    text_field: str | None
    stopped: threading.Event = field(default_factory=threading.Event)

    def send(self, file: ListedFile) -> dict[str, Any] | None:
        """The outcome of a file; its queued documents have been stored. Raises StepwellError, OSError."""
        if self.stopped.is_set():
            return None
        form = {"uri": file.path.resolve().as_uri()}
        if self.text_field is not None:
            form["text_field"] = self.text_field
        answer = self.service.upload(file.path.name, file.path.read_bytes(), form)
        answer["documents"] = [self._stored(document) for document in answer["documents"]]
        return answer

    def _stored(self, document: dict[str, Any]) -> dict[str, Any]:
        """The result of a document; that of a queued one is its job's."""
        if document["status"] != "queued":
            return document
        job = self.service.ended_job(document["job_id"], lambda _job: self._check())
        if job["status"] == "queued":
            ended = f"failed, and is tried again at {job['run_at'][:19]}"
            return {**document, "status": ended, "error": job["error"]}
        if job["status"] != "done":
            return {**document, "status": job["status"], "error": job["error"] or "cancelled"}
        return {**document, **job["result"]}

    def _check(self) -> None:
        if self.stopped.is_set():
            raise errors.Unavailable("Interrupted.")


def run(files: Files, summary: Summary, service: Service) -> None:
    """Stores files and counts what becomes of each. Raises StepwellError where the service cannot go on."""
    began = time.monotonic()
    columns = (TextColumn("Sending files"), BarColumn(), MofNCompleteColumn(), _Rates(), _Remaining())
    with Progress(*columns, console=options.err) as bar:
        task = bar.add_task("ingest", total=len(files.listed), documents=0, chunks=0)
        for file, sent in _sent(files, service):
            _count(file, sent, summary)
            bar.update(task, advance=1, documents=summary.counts.total(), chunks=summary.chunks)
    for address in files.addresses:
        _fetch(address, files.text_field, summary, service)
    summary.seconds = time.monotonic() - began


def _sent(files: Files, service: Service) -> Iterator[tuple[ListedFile, Future[dict[str, Any] | None]]]:
    """Each file once it has been sent; of an interrupted command the running ones are finished."""
    sending = _Sending(service, files.text_field)
    with ThreadPoolExecutor(CONCURRENT) as threads:
        futures = {threads.submit(sending.send, file): file for file in files.listed}
        try:
            for done in as_completed(futures):
                yield futures[done], done
        finally:
            sending.stopped.set()
            threads.shutdown(wait=False, cancel_futures=True)


def _fetch(address: str, text_field: str | None, summary: Summary, service: Service) -> None:
    try:
        answer = service.fetch(address, text_field)
    except errors.StepwellError as error:
        if error.status not in REFUSALS and error.code not in PAGE_REFUSALS:
            raise
        summary.fail(address, error.message)
        return
    for stored in answer.get("documents", [answer]):
        summary.store(address, stored["status"], stored["chunk_count"])


def _count(file: ListedFile, sent: Future[dict[str, Any] | None], summary: Summary) -> None:
    try:
        answer = sent.result()
    except OSError as error:
        summary.unreadable(file.path, error)
        return
    except errors.StepwellError as error:
        if error.status not in REFUSALS:
            raise
        left_out = _UNREAD_PICTURES.get(error.code) if file.is_found and file.format == PICTURE else None
        if left_out is not None:
            summary.left_out.add(left_out, file.path.name)
        else:
            summary.fail(file.path, error.message)
        return
    path = str(file.path.resolve())
    for stored in answer["documents"] if answer else ():
        if "error" in stored:
            summary.fail(file.path, f"The job that stores it {stored['status']}: {stored['error']}.")
        else:
            summary.store(path, stored["status"], stored["chunk_count"])
    for refused in answer["failed"] if answer else ():
        member = uris.shown(refused["uri"] or "")
        if member.startswith(f"{path}/"):  # a file of an archive
            summary.fail(member, refused["detail"])
        else:
            summary.refuse(path, refused["detail"])
