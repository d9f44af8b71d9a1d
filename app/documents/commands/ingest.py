"""Implements `stepwell ingest`: finds files, sends them in batches, fetches pages, and shows the progress."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

from app import errors
from app.cli import client_options, options, terminal
from app.cli.client import Answer, Client
from app.cli.progress import Progress
from app.documents.commands import ingest_report
from app.documents.commands.ingest_report import Files, ListedFile, Summary
from app.documents.files import file_reading, folders, left_out_rules
from app.documents.files.file_reading import PICTURE
from app.enums import LeftOutReason
from app.text import uris

_ADDRESS = re.compile(r"https?://", re.I)
CONCURRENT = 2
"""Batches that are sent at once: as many as a service processes for one user."""
BATCH_FILES, BATCH_BYTES = 32, 100_000
"""Most files and bytes of a request: some seconds of work. A single file may be larger."""
PATIENCE_S = 900.0
"""For how many seconds a batch is sent again while the service or its model is not available."""
REFUSALS = frozenset({400, 413, 415, 422})
"""Statuses of a refused request. Its files are then sent one by one. Other error statuses end the command."""
_UNREAD_PICTURES: dict[str, LeftOutReason] = {"unsupported_format": "binary", "no_text": "empty"}
"""Why a picture is left out, by the code of the service's refusal: there is no OCR, or no text on it."""
_PAGE_REFUSALS = frozenset({"site_unavailable", "fetch_not_allowed"})
"""Codes of requests whose page cannot be fetched."""
_Batch = list[ListedFile]


@client_options.connect
def ingest(
    client: Client,
    paths: Annotated[
        list[str], typer.Argument(help="Files, folders of files, and addresses of pages, such as https://example.com/.")
    ],
    text_field: Annotated[
        str | None, typer.Option(help="Column of tables, or field of JSON records, that holds the text.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Store nothing: count files and formats.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Add files; the command may be interrupted and repeated, and embeds no text twice.

    It deletes nothing: rows and files that are gone keep their documents. `stepwell sources add` follows a folder.
    Of folders, every file is read that is text or has a supported format. Left out and counted are hidden files, what
    .gitignore files exclude, installed packages, build outputs, lock files, minified files, and the files of a Postgres
    server, such as those of the data folder.
    With --url the files are sent to the service, which reads them, with their pictures if it reads those.
    """
    addresses = [path for path in paths if _ADDRESS.match(path)]
    local = [options.read_path(path) for path in paths if path not in addresses]
    summary = Summary()
    listed = find(local, summary, pictures=client.backend.reads_pictures)
    files = Files(listed, text_field, addresses)
    if dry_run:
        result = ingest_report.planned(summary, files)
    else:
        try:
            _run(files, summary, client)
        except KeyboardInterrupt:
            raise options.Interrupted(ingest_report.so_far(summary, files)) from None
        result = summary.as_json()
    if as_json:
        terminal.write_json(result)
    elif dry_run:
        ingest_report.show_plan(summary, result)
    else:
        ingest_report.show(summary)
    if summary.failures:
        raise typer.Exit(1)


def find(paths: Sequence[Path], summary: Summary, *, pictures: bool = False) -> list[ListedFile]:
    """The files to read, in order, each once, whatever paths and links lead to it.

    A named file is always read. `summary` counts what is missing or left out. `pictures`: whether their text is read.
    """
    found: dict[Path, ListedFile] = {}
    for path in paths:
        if folders.is_in_database(path.absolute()):
            summary.fail(path, "It belongs to a Postgres server.")
        elif os.path.isdir(path):
            for inside in folders.files(path, summary.left_out, summary.unreadable):
                file, head = _list(inside)
                # One that cannot be opened is among those to read, and fails later.
                reason = head is not None and folders.unread(head, file.size, inside.name, pictures=pictures)
                if reason:
                    summary.left_out.add(reason, inside.relative_to(path).as_posix())
                else:
                    found.setdefault(inside.resolve(), replace(file, is_found=True))
        elif os.path.isfile(path):
            found[path.resolve()] = _list(path)[0]
        else:
            summary.fail(path, "No file or folder that can be read.")
    return [file for file in found.values() if _has_text_name(file, summary)]


def _has_text_name(file: ListedFile, summary: Summary) -> bool:
    is_text = left_out_rules.show(file.path) == str(file.path)
    if not is_text:
        summary.fail(file.path, left_out_rules.NOT_UTF8)
    return is_text


def _list(path: Path) -> tuple[ListedFile, bytes | None]:
    """A file and its first bytes; None instead of the bytes if it cannot be opened."""
    try:
        with path.open("rb") as opened:
            head = opened.read(file_reading.HEAD)
            size = os.fstat(opened.fileno()).st_size
    except OSError:
        return ListedFile(path, 0, "unsupported"), None
    return ListedFile(path, size, file_reading.format_name(head, path.name)), head


@dataclass(frozen=True, slots=True)
class _Sent:
    """The outcome of files that were sent together: the answer, or why one of them could not be read or sent."""

    files: Sequence[ListedFile]
    answer: Answer | None = None
    error: errors.StepwellError | OSError | None = None


BAR = 12
"""Characters of the bar, beside which the numbers fit into a line of 80."""
COLUMNS = (
    TextColumn("Storing files {task.fields[read]:,}/{task.fields[files]:,}"),
    BarColumn(BAR),
    TextColumn("{task.fields[chunks]:,} chunks"),
    TimeRemainingColumn(),
)


def _run(files: Files, summary: Summary, client: Client) -> None:
    """Stores files and pages, and counts the outcome of each. Raises StepwellError if it cannot continue."""
    began = time.monotonic()
    if files.listed:
        _store(files, summary, _Sender(client, files.text_field))
    elif not (files.addresses or summary.failures):
        terminal.err.print("No file that can be stored was found.")
    for address in files.addresses:
        _fetch(address, files.text_field, summary, client)
    client.backend.finish_jobs()
    summary.seconds = time.monotonic() - began


def _store(files: Files, summary: Summary, sender: _Sender) -> None:
    """Stores the files, and shows the progress: the bar follows their bytes."""
    number, size = len(files.listed), sum(file.size for file in files.listed)
    with Progress(*COLUMNS, console=terminal.err) as bar:
        task = bar.add_task("ingest", total=size, read=0, files=number, chunks=0)
        for sent in _send(files.listed, sender):
            _count(sent, summary)
            read = sum(file.size for file in sent.files)
            bar.update(task, advance=read, read=summary.read, chunks=summary.chunks)
    summary.sort()


def _send(listed: Sequence[ListedFile], sender: _Sender) -> Iterator[_Sent]:
    """Sends the files and yields their outcomes. The service finishes the batches of an interrupted command."""
    with ThreadPoolExecutor(CONCURRENT) as threads:
        futures = [threads.submit(sender.send, batch) for batch in _batches(listed)]
        try:
            for future in as_completed(futures):
                yield from future.result()
        except BaseException:
            sender.stopped.set()
            threads.shutdown(wait=False, cancel_futures=True)
            sender.client.backend.cancel_requests()
            raise


def _batches(listed: Sequence[ListedFile]) -> Iterator[_Batch]:
    batch: _Batch = []
    for file in listed:
        if batch and (len(batch) == BATCH_FILES or sum(one.size for one in batch) + file.size > BATCH_BYTES):
            yield batch
            batch = []
        batch.append(file)
    if batch:
        yield batch


@dataclass(slots=True)
class _Sender:
    """Sends batches, from several threads."""

    client: Client
    text_field: str | None
    stopped: threading.Event = field(default_factory=threading.Event)

    def send(self, batch: _Batch) -> list[_Sent]:
        """Sends a batch, waits for queued documents, and returns the outcomes of its files. Raises StepwellError."""
        if self.stopped.is_set():
            return []
        read, unread = list[tuple[ListedFile, bytes]](), list[_Sent]()
        for file in batch:
            try:
                read.append((file, file.path.read_bytes()))
            except OSError as error:
                unread.append(_Sent([file], error=error))
        try:
            return [*unread, *([_Sent([file for file, _raw in read], self._upload(read))] if read else ())]
        except errors.StepwellError as error:
            if error.status not in REFUSALS:
                raise
            if len(read) == 1:
                return [*unread, _Sent([read[0][0]], error=error)]
        return [*unread, *(sent for file, _raw in read for sent in self.send([file]))]

    def _upload(self, read: Sequence[tuple[ListedFile, bytes]]) -> Answer:
        form: dict[str, object] = {"uri": [file.path.resolve().as_uri() for file, _raw in read]}
        if self.text_field is not None:
            form["text_field"] = self.text_field
        files = [("files", (file.path.name, raw)) for file, raw in read]
        answer = self.client.send("POST", "/documents/upload", files=files, data=form, patience_s=PATIENCE_S)
        answer["documents"] = [self._stored(document) for document in answer["documents"]]
        return answer

    def _stored(self, document: Answer) -> Answer:
        """The result of a document. For a queued document it is the result of the job."""
        if document["status"] != "queued":
            return document
        job = self.client.wait_for_job(document["job_id"], lambda _job: self._check())
        if job["status"] == "queued":
            ended = f"failed, and is tried again at {job['run_at'][:19]}"
            return {**document, "status": ended, "error": job["error"]}
        if job["status"] != "done":
            return {**document, "status": job["status"], "error": job["error"] or "cancelled"}
        return {**document, **job["result"]}

    def _check(self) -> None:
        if self.stopped.is_set():
            raise errors.Unavailable("Interrupted.")


def _fetch(address: str, text_field: str | None, summary: Summary, client: Client) -> None:
    try:
        answer = client.post("/documents", {"url": address, "text_field": text_field})
    except errors.StepwellError as error:
        if error.status not in REFUSALS and error.code not in _PAGE_REFUSALS:
            raise
        summary.fail(address, error.message)
        return
    for stored in answer["documents"]:
        summary.store(address, stored["status"], stored["chunk_count"], stored["warnings"])


def _count(sent: _Sent, summary: Summary) -> None:
    summary.read += len(sent.files)
    if isinstance(sent.error, OSError):
        summary.unreadable(sent.files[0].path, sent.error)
    elif sent.error is not None:
        _refuse(sent.files[0], sent.error.code, sent.error.message, summary)
    if sent.answer is None:
        return
    paths = {str(file.path.resolve()): str(file.path) for file in sent.files}
    for stored in sent.answer["documents"]:
        found = stored["uri"] if stored["uri"] in paths else stored["uri"].rpartition("#")[0] or stored["uri"]
        path = paths.get(found, found)
        if "error" in stored:
            summary.fail(path, f"The job that stores it {stored['status']}: {stored['error']}.")
        else:
            summary.store(path, stored["status"], stored["chunk_count"], stored.get("warnings", ()))
    for refused in sent.answer["failed"]:
        _count_refused(refused, sent.files[refused["index"]], summary)


def _count_refused(refused: Answer, file: ListedFile, summary: Summary) -> None:
    """Counts a file, a document of it, or a file of an archive that was not stored."""
    path, uri = str(file.path.resolve()), uris.show(refused["uri"] or "").partition("#")[0]
    member = uri.removeprefix(f"{path}/")
    if member == uri:
        _refuse(file, refused["code"], refused["detail"], summary)
    elif refused["left_out"] is not None:
        summary.left_out.add(refused["left_out"], f"{file.path.name}/{member}")
    else:
        summary.fail(f"{file.path}/{member}", refused["detail"])


def _refuse(file: ListedFile, code: str, reason: str, summary: Summary) -> None:
    """Counts a file as failed. A picture of a folder counts as left out if it has no text or is not read."""
    left_out = _UNREAD_PICTURES.get(code) if file.is_found and file.format == PICTURE else None
    if left_out is not None:
        summary.left_out.add(left_out, file.path.name)
    else:
        summary.refuse(str(file.path), reason)
