"""Stores uploads: cleans and cuts them, embeds the chunks that have no vector yet, and writes each in one transaction.

No transaction is open while the model works. A cancelled upload stops at the next slice of its work and stores nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

import stamina

from app import errors
from app.pipelines import cancellable, gazetteers, mention_extraction
from app.providers import base
from app.providers.base import Embedder
from app.shapes import ChunkDraft, DocumentDraft, IngestResult, Passage, Upload
from app.store import documents
from app.store.db import Database
from app.text import chunking, cleaning, lexical, markdown, tags, tokens

P = ParamSpec("P")
T = TypeVar("T")
LONGEST_TITLE = 500
LONGEST_URI = 2_048
BATCH_CHUNKS = 64
"""Chunks that are embedded together where many documents come at once."""
EMBED_SLICE = 256
"""Chunks whose vectors are asked for in one call: between two calls the upload can be cancelled."""
ROOM_TOKENS = 235
"""Tokens of content that the offline model reads beside a short title; it cuts at 256."""
PATIENT_S, PROMPT_S = 15.0, 1.0
"""How long a write waits for a database that is coming back: in bulk, and while a caller waits for the answer."""


@dataclass(frozen=True, slots=True)
class ChunkingOptions:
    """How documents are read: the chunks' size and overlap in tokens, and the metadata keys that name entities."""

    target: int = 160
    overlap: int = 24
    entity_keys: tuple[str, ...] = tags.KEYS


@dataclass(frozen=True, slots=True)
class IngestOutcome:
    """What became of one of many uploads: stored, or refused with the reason."""

    upload: Upload
    stored: IngestResult | None = None
    error: errors.StepwellError | None = None


async def run(
    upload: Upload,
    user_id: str,
    *,
    db: Database,
    embedder: Embedder,
    options: ChunkingOptions,
    patience_s: float = PATIENT_S,
) -> IngestResult:
    """Store one document, or find it unchanged.

    A database that is away is waited for during `patience_s` seconds, and one try more.
    Raises BadRequest naming the field, ProviderError, DatabaseUnavailable; then nothing is stored.
    """
    work = partial(prepare, upload, model=embedder.model.name, options=options)
    draft = await cancellable.run(len(upload.content), work)
    batch = _Batch([(upload, draft)], patience_s=patience_s)
    await batch.recognise(user_id, db=db)
    await batch.embed(user_id, db=db, embedder=embedder)
    return await batch.store(draft, user_id, db=db, keys=options.entity_keys)


async def replace(
    document_id: UUID,
    upload: Upload,
    user_id: str,
    *,
    db: Database,
    embedder: Embedder,
    options: ChunkingOptions,
) -> IngestResult:
    """Store an upload as the new content of one document. Raises NotFound, Conflict, and what `run` raises."""
    async with db.reading(user_id) as reading:
        known = await documents.get(reading, user_id, document_id)
        await gazetteers.current(reading, user_id)
    if upload.uri is None and known.uri is not None:
        upload = Upload(**{**_fields(upload), "uri": known.uri})
    work = partial(prepare, upload, model=embedder.model.name, options=options)
    draft = await cancellable.run(len(upload.content), work)
    batch = _Batch([(upload, draft)], patience_s=PROMPT_S)
    await batch.embed(user_id, db=db, embedder=embedder)
    async with db.writing(user_id) as writing:
        status = await documents.replace(writing, user_id, document_id, draft, vectors_by_key=batch.vectors)
        if status != "unchanged":
            await mention_extraction.link(writing, user_id, document_id, keys=options.entity_keys)
    return _stored(document_id, status, draft, batch)


async def many(
    uploads: Iterable[Upload],
    user_id: str,
    *,
    db: Database,
    embedder: Embedder,
    options: ChunkingOptions,
    patience_s: float = PATIENT_S,
) -> AsyncIterator[IngestOutcome]:
    """Store many documents, embedding across them; each is stored or refused on its own, in the order given.

    A database that is away is waited for during `patience_s` seconds, and one try more. Raises what concerns all of
    them: ProviderError, DatabaseUnavailable. What was yielded before stays stored.
    """
    ready: asyncio.Queue[_Batch | None] = asyncio.Queue(maxsize=2)

    async def embed_ahead() -> None:
        for group in _batches(uploads):
            characters = sum(len(upload.content) for upload in group)
            batch = await cancellable.run(characters, partial(_prepared, group, embedder.model.name, options))
            batch.patience_s = patience_s
            await batch.recognise(user_id, db=db)
            await batch.embed(user_id, db=db, embedder=embedder)
            await ready.put(batch)
        await ready.put(None)

    ahead = asyncio.create_task(embed_ahead())
    try:
        while (batch := await _next(ready, ahead)) is not None:
            for upload, draft in batch.uploads:
                if isinstance(draft, errors.BadRequest):
                    yield IngestOutcome(upload, error=draft)
                else:
                    keys = options.entity_keys
                    yield IngestOutcome(upload, stored=await batch.store(draft, user_id, db=db, keys=keys))
    finally:
        ahead.cancel()
        await asyncio.gather(ahead, return_exceptions=True)


def prepare(
    upload: Upload, *, model: str, options: ChunkingOptions, check: Callable[[], None] = cancellable.never
) -> DocumentDraft:
    """An upload cleaned, cut and hashed. Pure. Raises BadRequest naming the field, and whatever `check` raises."""
    check()
    cleaned = cleaning.clean(upload.content)
    check()
    parsed = markdown.parse(cleaned.text) if upload.markdown else markdown.ParsedMarkdown(cleaned.text)
    if cleaning.is_blank(parsed.body):
        raise errors.BadRequest("The document holds no text.", field="content")
    title = _title(upload, parsed)
    config = lexical.config_for(upload.language or parsed.language)
    metadata = {**parsed.metadata, **upload.metadata}
    created_at = upload.created_at or parsed.created_at
    passages = chunking.split(
        parsed.body,
        markdown=upload.markdown,
        target_tokens=options.target,
        overlap_tokens=min(options.overlap, options.target - 1),
        max_tokens=max(options.target, ROOM_TOKENS - tokens.count(title)),
    )
    chunks = []
    for passage in passages:
        check()
        chunks.append(_chunk(passage, title, config, model))
    content_hash = hashlib.sha256(parsed.body.encode()).digest()
    return DocumentDraft(
        uri=_uri(upload.uri),
        title=title,
        content=parsed.body,
        metadata=metadata,
        config=config,
        created_at=created_at,
        identity=_digest("uri", upload.uri) if upload.uri else _digest("hash", content_hash.hex()),
        content_hash=content_hash,
        attributes_hash=_digest(title, config, metadata, created_at.isoformat() if created_at else None),
        chunks=tuple(chunks),
        warnings=(*cleaned.warnings, *parsed.warnings),
    )


def _chunk(passage: Passage, title: str, config: str, model: str) -> ChunkDraft:
    """A chunk with what is embedded and indexed for it: the document's title, its heading path and its content."""
    whole = embedded_text(title, passage.heading_path, passage.content)
    key = UUID(bytes=hashlib.sha256(f"{model}\n{whole}".encode()).digest()[:16])
    return ChunkDraft(passage, embedded=whole, indexed=lexical.index_text(whole, config), embedding_key=key)


def embedded_text(title: str, heading_path: Sequence[str], content: str) -> str:
    """The text that is embedded for a chunk, and indexed after `lexical.index_text`."""
    headings = [heading for heading in heading_path if heading != title]
    return "\n".join(part for part in (title, " › ".join(headings), content) if part)


def _title(upload: Upload, parsed: markdown.ParsedMarkdown) -> str:
    given = upload.title or parsed.title or ""
    return cleaning.clean(given).text.replace("\n", " ").strip()[:LONGEST_TITLE]


def _uri(uri: str | None) -> str | None:
    if uri is not None and len(uri) > LONGEST_URI:
        raise errors.BadRequest(f"A uri holds at most {LONGEST_URI} characters.", field="uri")
    return uri


def _digest(*parts: Any) -> bytes:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).digest()


def _fields(upload: Upload) -> dict[str, Any]:
    return {name: getattr(upload, name) for name in Upload.__dataclass_fields__}


@dataclass(slots=True)
class _Batch:
    """Uploads in the order given, as drafts whose missing vectors are computed together, or refused."""

    uploads: list[tuple[Upload, DocumentDraft | errors.BadRequest]] = field(default_factory=list)
    stored: dict[bytes, documents.StoredVersion] = field(default_factory=dict)
    vectors: dict[UUID, str | array[float]] = field(default_factory=dict)
    embedded: set[UUID] = field(default_factory=set)
    patience_s: float = PATIENT_S

    def drafts(self) -> list[DocumentDraft]:
        """What is not refused."""
        return [draft for _upload, draft in self.uploads if isinstance(draft, DocumentDraft)]

    async def recognise(self, user_id: str, *, db: Database) -> None:
        """Look up which drafts are stored already, so that nothing is done for those."""
        identities = [draft.identity for draft in self.drafts()]
        self.stored = await self._trying(_stored_before, user_id, identities, db=db)

    async def embed(self, user_id: str, *, db: Database, embedder: Embedder) -> None:
        """Fill in every changed chunk's vector: from the database where its text is known, else from the model.

        A computed vector is kept as 32-bit floats, in an eighth of the memory of a list.
        """
        changed = [draft for draft in self.drafts() if self.unchanged(draft) is None]
        texts = {chunk.embedding_key: chunk.embedded for draft in changed for chunk in draft.chunks}
        if not texts:
            return
        db.check_room()
        self.vectors.update(await self._trying(_known, user_id, list(texts), db=db))
        missing = [key for key in texts if key not in self.vectors]
        for start in range(0, len(missing), EMBED_SLICE):
            keys = missing[start : start + EMBED_SLICE]
            computed = await embedder.embed_documents([texts[key] for key in keys])
            _checked(computed, len(keys), embedder.model.dimension)
            self.vectors |= {key: array("f", vector) for key, vector in zip(keys, computed, strict=True)}
        self.embedded = set(missing)

    async def store(self, draft: DocumentDraft, user_id: str, *, db: Database, keys: Sequence[str]) -> IngestResult:
        """Write one document in one transaction; a retry after an unanswered commit finds it unchanged."""
        if (same := self.unchanged(draft)) is not None:
            return _stored(same, "unchanged", draft, self)
        document_id, status = await self._trying(_put, draft, user_id, self.vectors, db=db, keys=keys)
        return _stored(document_id, status, draft, self)

    def unchanged(self, draft: DocumentDraft) -> UUID | None:
        """The stored document that storing `draft` would not change."""
        known = self.stored.get(draft.identity)
        return known.document_id if known and known.same_as(draft) else None

    async def _trying(self, step: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """A step that is tried again while the database is away."""
        longest = min(2.0, self.patience_s / 4)
        trying = stamina.AsyncRetryingCaller(
            attempts=None, timeout=self.patience_s, wait_initial=0.1, wait_max=longest, wait_jitter=longest / 2
        )
        return await trying((errors.DatabaseUnavailable, errors.Busy), step, *args, **kwargs)


def _checked(computed: Sequence[Sequence[float]], expected: int, dimension: int) -> None:
    if len(computed) != expected or not all(base.is_usable(vector, dimension) for vector in computed):
        raise errors.BadEmbedding("The embedding model returned another number or kind of vectors than asked for.")


def _batches(uploads: Iterable[Upload]) -> Iterable[list[Upload]]:
    """Uploads in groups of about BATCH_CHUNKS chunks' worth of text."""
    group: list[Upload] = []
    characters = 0
    for upload in uploads:
        group.append(upload)
        characters += max(len(upload.content), 400)
        if characters >= BATCH_CHUNKS * 600:
            yield group
            group, characters = [], 0
    if group:
        yield group


def _prepared(group: Sequence[Upload], model: str, options: ChunkingOptions, *, check: Callable[[], None]) -> _Batch:
    batch = _Batch()
    for upload in group:
        try:
            batch.uploads.append((upload, prepare(upload, model=model, options=options, check=check)))
        except errors.BadRequest as error:
            batch.uploads.append((upload, error))
    return batch


async def _next(ready: asyncio.Queue[_Batch | None], ahead: asyncio.Task[None]) -> _Batch | None:
    """The next batch, or the exception that ended the task which makes them."""
    getting = asyncio.ensure_future(ready.get())
    await asyncio.wait({getting, ahead}, return_when=asyncio.FIRST_COMPLETED)
    if not getting.done() and ahead.exception() is not None:
        getting.cancel()
        await ahead
    return await getting


async def _stored_before(
    user_id: str, identities: list[bytes], *, db: Database
) -> dict[bytes, documents.StoredVersion]:
    async with db.reading(user_id) as reading:
        await gazetteers.current(reading, user_id)
        return await documents.find_many(reading, user_id, identities=identities)


async def _known(user_id: str, keys: list[UUID], *, db: Database) -> dict[UUID, str]:
    async with db.reading(user_id) as reading:
        return await documents.known_vectors(reading, user_id, keys=keys)


async def _put(
    draft: DocumentDraft, user_id: str, known: dict[UUID, str | array[float]], *, db: Database, keys: Sequence[str]
) -> tuple[UUID, Any]:
    async with db.writing(user_id) as writing:
        document_id, status = await documents.put(writing, user_id, draft, vectors_by_key=known)
        if status != "unchanged":
            await mention_extraction.link(writing, user_id, document_id, keys=keys)
    return document_id, status


def _stored(document_id: UUID, status: Any, draft: DocumentDraft, batch: _Batch) -> IngestResult:
    fresh = 0 if status == "unchanged" else sum(chunk.embedding_key in batch.embedded for chunk in draft.chunks)
    return IngestResult(document_id, status, draft.uri, draft.title, len(draft.chunks), fresh, draft.warnings)
