"""Cuts pages from the results of a search, and makes and checks their cursors.

The results of all pages are one list: the hits of the search, then the other candidates in the order of the hybrid
statement, then the candidates that it finds with 1,000 from each leg. Each page computes the list again, as far as it
needs it. A cursor contains the number of results before the page, the user's version, the time of the first page (for
the ages of documents), and digests of the request and of the results before the page. If any of them differs, the
cursor is rejected, so that a page neither repeats nor omits a result.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
import struct
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from pydantic_core import to_json, to_jsonable_python

from app import errors, limits
from app.concurrency import offload
from app.database.transactions import retry_read
from app.query.search_request import SearchRequest
from app.query.search_types import Hit, HybridRequest, HybridResult
from app.search import answer_completion, duplicates, replaced_chunks, source_names
from app.search.state import Page, SearchContext, SearchState, unranked
from app.search.store import hybrid_search

FILTER_COST = 100
"""Cost of deciding whether a hit is wanted, in units of `offload.run`."""

_CURSOR = struct.Struct(">QHI8s8s")
_DIGEST_BYTES = 8
_MICROSECONDS_OF_MINUTE = 60_000_000
_VARYING = {"cursor", "detail", "explain", "filters"}
"""Fields that may differ between the pages of a request, and `filters`, which are digested with sorted keys."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page of the results of a request with this digest, after `offset` other results.

    `minute` is the time of the first page, in minutes since 1970. The cursor gives `version`, the user's version, and
    `before`, the digest of the results before the page; both are None on the first page. `is_whole` is set if the page
    has the results of all pages.
    """

    query: SearchRequest
    digest: bytes
    minute: int
    offset: int = 0
    version: int | None = None
    before: bytes | None = None
    is_whole: bool = False

    @property
    def moment(self) -> int:
        """The time of the first page, in microseconds since 1970."""
        return self.minute * _MICROSECONDS_OF_MINUTE

    @property
    def end(self) -> int:
        """The number of results up to the end of the page."""
        return limits.MAX_RESULTS if self.is_whole else min(self.offset + self.query.limit, limits.MAX_RESULTS)

    @property
    def reads_further(self) -> bool:
        """Whether to run the statement again if the hits of the search do not fill the page."""
        return self.offset > 0 or self.is_merged or self.is_whole

    @property
    def is_merged(self) -> bool:
        """Whether several hits may become one result."""
        return self.query.is_collapsed or self.query.group_size is not None


@dataclass(frozen=True, slots=True)
class HybridRun:
    """A hybrid request and its result; `is_whole` is set if the hits contain everything that the legs found."""

    request: HybridRequest
    result: HybridResult
    is_whole: bool

    @property
    def is_exhausted(self) -> bool:
        """Whether a request with more candidates would find no other chunk."""
        return self.is_whole and not _is_cut(self.result, self.request.candidates)


def request_of(query: SearchRequest, context: SearchContext) -> PageRequest:
    """The page that the cursor of a request refers to; without a cursor, the first page.

    Raises `invalid_cursor` if the cursor is malformed or belongs to another request or to another view of the data.
    """
    same = [value for name, value in query if name not in _VARYING]
    filters = json.dumps(to_jsonable_python(query.filters), sort_keys=True) if query.filters else ""
    digest = _digest(to_json([same, filters, context.user_id, context.services.db.audience]))
    if query.cursor is None:
        return PageRequest(query, digest, int(time.time() // 60))
    try:
        padded = query.cursor.encode("ascii") + b"=" * (-len(query.cursor) % 4)
        version, offset, minute, made_for, before = _CURSOR.unpack(base64.b64decode(padded, b"-_", validate=True))
    except (ValueError, struct.error) as error:
        raise errors.BadRequest(errors.INVALID_CURSOR, field="cursor", code="invalid_cursor") from error
    if made_for != digest or not 0 < offset < limits.MAX_RESULTS:
        raise errors.BadRequest(errors.INVALID_CURSOR, field="cursor", code="invalid_cursor")
    return PageRequest(query, digest, minute, offset, version, before)


async def of_search(search: SearchState, page: PageRequest) -> Page:
    """The page of the list that begins with the hits of a search. Raises `stale_cursor` and DatabaseUnavailable."""
    is_whole = not search.is_guided and len(search.hits) == len(search.result.candidates) < search.request.limit
    return await read(
        search.hits,
        page,
        search.context,
        run=HybridRun(search.request, search.result, is_whole),
        is_wanted=partial(answer_completion.is_wanted, search=search) if search.query.has_minimum else None,
    )


async def read(
    hits: Sequence[Hit],
    page: PageRequest,
    context: SearchContext,
    *,
    run: HybridRun | None = None,
    is_wanted: Callable[[Hit], bool] | None = None,
) -> Page:
    """The page of the list of results that begins with these hits.

    `run` retrieved the hits. If they do not fill the page, and the page reads further, the run is continued. Without
    `run` the list ends with the hits. Hits that are not wanted are left out. Raises DatabaseUnavailable, and
    `stale_cursor` if the user's version or the results before the page differ from the cursor.
    """
    found, end = list(hits), page.end
    results = await _results(found, page, is_wanted)
    wider = _wider_requests(page, run, every=is_wanted is not None) if len(results) <= end else ()
    for request in wider:
        found, is_cut = await _continue(found, request, context)
        results = await _results(found, page, is_wanted)
        if not is_cut or len(results) > end:
            break
    _check(results, page, context)
    is_end = run is None or page.reads_further or run.is_exhausted
    is_last = end == limits.MAX_RESULTS or len(results) < end or (len(results) == end and is_end)
    cursor = None if is_last else _cursor(results, page, context)
    return Page(tuple(results[page.offset : end]), cursor, page.offset)


def _wider_requests(page: PageRequest, run: HybridRun | None, *, every: bool) -> list[HybridRequest]:
    """The requests that continue the run. If hits are left out or merged, they ask for all that the legs find."""
    if run is None or not page.reads_further or run.is_exhausted:
        return []
    widths = {run.request.candidates, limits.MAX_RESULTS} - ({run.request.candidates} if run.is_whole else set())
    every = every or page.is_merged
    return [
        replace(run.request, candidates=candidates, limit=2 * candidates if every else page.end + 1)
        for candidates in sorted(widths)
    ]


def _is_cut(result: HybridResult, candidates: int) -> bool:
    """Whether a leg returned as many chunks as its limit allows."""
    return max(result.vector_found, result.text_found) >= candidates


async def _results(found: Sequence[Hit], page: PageRequest, is_wanted: Callable[[Hit], bool] | None) -> list[Hit]:
    """The results among the hits: without groups, at most one beyond the page, to show that another page follows."""
    cost = 0 if is_wanted is None else FILTER_COST * len(found)
    cost += sum(len(hit.candidate.content) for hit in found) if page.query.is_collapsed else 0
    return await offload.run(cost, _select, found, page, is_wanted)


def _select(found: Sequence[Hit], page: PageRequest, is_wanted: Callable[[Hit], bool] | None) -> list[Hit]:
    wanted: Iterable[Hit] = found if is_wanted is None else filter(is_wanted, found)
    if page.query.is_collapsed:
        wanted = duplicates.collapse(wanted)
    if page.query.group_size is not None:
        return _by_document(wanted, page.query.group_size)
    return list(itertools.islice(wanted, page.end + 1))


def _by_document(hits: Iterable[Hit], size: int) -> list[Hit]:
    """The first hit of each document, in order. Its `more` has up to `size` further hits of the document."""
    groups: dict[UUID, list[Hit]] = {}
    for hit in hits:
        group = groups.setdefault(hit.candidate.document_id, [])
        if len(group) <= size:
            group.append(hit)
    return [best._replace(more=tuple(others)) for best, *others in groups.values()]


@retry_read
async def _continue(found: Sequence[Hit], request: HybridRequest, context: SearchContext) -> tuple[list[Hit], bool]:
    """Drops changed chunks, adds the new hits of the request, and returns whether more candidates would find others.

    Scores of different numbers of candidates are not comparable, so no added score exceeds the lowest score before.
    """
    with context.timed("pages"):
        async with context.services.db.searching(context.user_id, candidates=request.candidates) as reading:
            stale = await replaced_chunks.find([hit.candidate for hit in found], context, reading)
            result = await hybrid_search.hybrid(reading, request)
            await source_names.read(context, result.candidates, reading)
    context.version = reading.version
    kept = [hit for hit in found if hit.candidate.chunk_id not in stale]
    known = {hit.candidate.chunk_id for hit in kept}
    lowest = min((hit.candidate.score for hit in kept), default=math.inf)
    others = [one for one in result.candidates if one.chunk_id not in known]
    added = [hit if hit.candidate.score <= lowest else hit.rescored("page", lowest) for hit in unranked(others)]
    return kept + added, _is_cut(result, request.candidates)


def _check(results: Sequence[Hit], page: PageRequest, context: SearchContext) -> None:
    """Raises `stale_cursor`."""
    if page.version is None:
        return
    is_same_version = context.version is not None and context.version.data == page.version
    if not is_same_version or _digest_of(results[: page.offset]) != page.before:
        raise errors.Conflict(errors.STALE_CURSOR, field="cursor", code="stale_cursor")


def _cursor(results: Sequence[Hit], page: PageRequest, context: SearchContext) -> str:
    user_version = 0 if context.version is None else context.version.data
    fields = (user_version, page.end, page.minute, page.digest, _digest_of(results[: page.end]))
    return base64.urlsafe_b64encode(_CURSOR.pack(*fields)).decode().rstrip("=")


def _digest_of(results: Iterable[Hit]) -> bytes:
    """A digest of the results as a set, because hits with equal scores may change places."""
    return _digest(b"".join(sorted(hit.candidate.chunk_id.bytes for hit in results)))


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()
