"""Cuts documents into requests, and collects what becomes of each document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from stepwell_client import encoding
from stepwell_client.errors import ApiError
from stepwell_client.models import DocumentFailure, DocumentResult, DocumentResults

SIZE = 100
MAX_BYTES = 250_000
"""Bytes of the body of a request, unless one document has more. Four at once are stored within the client's timeout."""
REFUSED = frozenset({413, 422})
"""Statuses of requests of which no document was stored because of what the documents are."""


class _Sent(NamedTuple):
    """A document with its index among all, and as JSON."""

    index: int
    document: Mapping[str, Any]
    json: bytes


class Batches:
    """The requests for any number of documents, and the results so far.

    After each body, `stored` or `refused` says what the service answered. The documents of a refused request are sent
    again one by one, so that each has its own reason and does not keep the others from being stored.
    """

    def __init__(self, documents: Iterable[Mapping[str, Any]], size: int) -> None:
        self._documents, self._size = documents, size
        self._pending: list[_Sent] = []
        self._again: list[_Sent] = []
        self._stored: list[DocumentResult] = []
        self._failed: list[DocumentFailure] = []
        self.done = 0
        """Number of documents that were stored or refused."""

    @property
    def results(self) -> DocumentResults:
        """What became of the documents so far."""
        counts = Counter(one.status for one in self._stored)
        counted = {status: counts[status] for status in ("added", "replaced", "unchanged", "queued")}
        failed = sorted(self._failed, key=lambda failure: failure.index)
        return DocumentResults(documents=list(self._stored), failed=failed, **counted)

    def bodies(self) -> Iterator[bytes]:
        """The bodies of the requests."""
        for batch in self._cut():
            yield self._body(batch)
            again, self._again = self._again, []
            for one in again:
                yield self._body([one])

    def stored(self, answer: DocumentResults) -> None:
        """Collect the results of the last request."""
        self._stored += answer.documents
        for failure in answer.failed:
            self._failed.append(failure.model_copy(update={"index": self._pending[failure.index].index}))
        self.done += len(self._pending)

    def refused(self, error: ApiError) -> None:
        """Collect why the last request was refused, or send its documents one by one. Raises other errors."""
        if error.status not in REFUSED and error.code != "outside_of_key":
            raise error
        if len(self._pending) > 1:
            self._again = self._pending
            return
        [one] = self._pending
        field = str((error.errors or [{}])[0].get("field") or "").removeprefix("[0]").removeprefix(".")
        self._fail(one.index, one.document, error.code, error.detail, field or None)

    def _body(self, batch: list[_Sent]) -> bytes:
        self._pending = batch
        return b"[" + b",".join(one.json for one in batch) + b"]"

    def _cut(self) -> Iterator[list[_Sent]]:
        """The documents that are JSON, in lists that fit into a request."""
        batch: list[_Sent] = []
        size = 0
        for index, document in enumerate(self._documents):
            try:
                one = _Sent(index, document, encoding.encoded(document))
            except (TypeError, ValueError, RecursionError) as error:
                field = encoding.unsendable_field(document)
                self._fail(index, document, "invalid_json", f"Cannot be sent as JSON: {error}", field)
                continue
            if batch and (len(batch) >= self._size or size + len(one.json) > MAX_BYTES):
                yield batch
                batch, size = [], 0
            batch.append(one)
            size += len(one.json)
        if batch:
            yield batch

    def _fail(self, index: int, document: Mapping[str, Any], code: str, detail: str, field: str | None = None) -> None:
        uri = document.get("uri") if isinstance(document, Mapping) else None
        named = uri if isinstance(uri, str) else None
        self._failed.append(DocumentFailure(index=index, uri=named, field=field, code=code, detail=detail))
        self.done += 1
