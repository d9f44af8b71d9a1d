"""Prepares an upload for storing: cleans, parses, chunks and hashes it, without I/O."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from app import errors
from app.pipelines import cancellable
from app.pipelines.chunking_options import ChunkingOptions
from app.providers.base import EmbeddingModel
from app.shapes import ChunkDraft, DocumentDraft, Passage, Upload
from app.text import chunking, cleaning, languages, lexical, markdown, tokens

MAX_TITLE_LENGTH = 500
MAX_URI_LENGTH = 2_048
RESERVED_TOKENS = 21
"""Tokens of the model's input that content leaves free: two special tokens, and the error of the estimated count."""


def prepare(
    upload: Upload, *, model: EmbeddingModel, options: ChunkingOptions, check: Callable[[], None] = cancellable.never
) -> DocumentDraft:
    """Clean, chunk and hash an upload.

    Raises BadRequest naming the field, and whatever `check` raises; it is called between the steps.
    """
    check()
    cleaned = cleaning.clean(upload.content)
    check()
    parsed = markdown.parse(cleaned.text) if upload.markdown else markdown.ParsedMarkdown(cleaned.text)
    if cleaning.is_blank(parsed.body):
        raise errors.BadRequest("The document contains no text.", field="content")
    title = _title(upload, parsed)
    config, notes = _config(upload, parsed)
    metadata = {**parsed.metadata, **upload.metadata}
    created_at = upload.created_at or parsed.created_at
    passages = chunking.split(
        parsed.body,
        markdown=upload.markdown,
        target_tokens=options.target,
        overlap_tokens=min(options.overlap, options.target - 1),
        max_tokens=max(options.target, model.max_tokens - RESERVED_TOKENS - tokens.count(title)),
    )
    chunks = []
    for passage in passages:
        check()
        chunks.append(_chunk(passage, title, config, model.name))
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
        warnings=(*cleaned.warnings, *parsed.warnings, *notes),
    )


def _chunk(passage: Passage, title: str, config: str, model: str) -> ChunkDraft:
    """The draft of a chunk. The key of its vector is a hash of the model's name and the embedded text."""
    text = embedded_text(title, passage.heading_path, passage.content)
    key = UUID(bytes=hashlib.sha256(f"{model}\n{text}".encode()).digest()[:16])
    return ChunkDraft(passage, embedded=text, indexed=lexical.index_text(text, config), embedding_key=key)


def embedded_text(title: str, heading_path: Sequence[str], content: str) -> str:
    """The text of a chunk that is embedded and indexed: the document's title, the heading path and the content."""
    headings = [heading for heading in heading_path if heading != title]
    return "\n".join(part for part in (title, " › ".join(headings), content) if part)


def _config(upload: Upload, parsed: markdown.ParsedMarkdown) -> tuple[str, tuple[str, ...]]:
    """The text-search configuration, with a warning on an unknown language in the frontmatter. Raises BadRequest."""
    if upload.language is not None:
        config = languages.config_for(upload.language)
        if config is None:
            raise errors.BadRequest(f"The language is unknown. {languages.accepted()}", field="language")
        return config, ()
    if parsed.language is None:
        return "english", ()
    config = languages.config_for(parsed.language)
    unknown = ("frontmatter's language is unknown: indexed without stemming",)
    return (config, ()) if config else (languages.UNSTEMMED, unknown)


def _title(upload: Upload, parsed: markdown.ParsedMarkdown) -> str:
    given = upload.title or parsed.title or upload.default_title
    return cleaning.clean(given).text.replace("\n", " ").strip()[:MAX_TITLE_LENGTH]


def _uri(uri: str | None) -> str | None:
    if uri is not None and len(uri) > MAX_URI_LENGTH:
        raise errors.BadRequest(f"A uri has at most {MAX_URI_LENGTH} characters.", field="uri")
    return uri


def _digest(*parts: Any) -> bytes:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).digest()
