"""Prepares an upload for storing: cleans, parses, chunks and hashes it, without I/O."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from app import errors, limits
from app.concurrency import offload
from app.documents.types import ChunkDraft, CleanDocument, DocumentDraft, Upload
from app.models.protocols import EmbeddingModel
from app.parsing import formats
from app.services import ChunkingOptions
from app.text import chunking, uris
from app.text.chunking import Passage
from app.text.structure import frontmatter, markups, metadata_json, structure
from app.text.words import cleaning, languages, tokens, tsvector_text
from app.text.words.cleaning import CleanedPages

DEFAULT_CONFIG = "english"
"""The text-search configuration of a text whose language is not detected."""
FIELD_SEPARATOR = "\x1f"
"""Separates the fields of a text to index."""
_WORD = re.compile(r"[^\W\d_]{2,}")
RESERVED_TOKENS = 21
"""Tokens of the model's input that content leaves free, for special tokens, a prefix, and the error of an estimate."""


def clean(upload: Upload, *, language: str | None = None) -> CleanDocument:
    """Clean the text of an upload and resolve its attributes. Raises BadRequest, and what interrupts it.

    A blank text needs a title; a file name does not count. `language` applies to a document that names none; by default
    the language is detected.
    """
    document = resolve(upload, language=language)
    title = upload.title or embedded_title(document.title, document.metadata.get("filename"))
    if not document.content and cleaning.is_blank(title):
        raise errors.BadRequest(errors.BLANK_CONTENT, field="content", code="blank_content")
    return document


def resolve(upload: Upload, *, language: str | None = None) -> CleanDocument:
    """Like `clean`, but also accepts an upload that has neither text nor title."""
    offload.check_stopped()
    cleaned = _clean(upload.content, upload.page_starts)
    offload.check_stopped()
    markdown = upload.markdown and not _is_code(upload)
    if markdown and upload.frontmatter:
        parsed = frontmatter.parse(cleaned.text)
    else:
        parsed = frontmatter.ParsedMarkdown(cleaned.text, structure.title(cleaned.text) if markdown else None)
    metadata, problems = metadata_json.join(parsed.metadata, upload.metadata)
    if problems:  # frontmatter that is not kept as metadata stays in the text
        parsed = dataclasses.replace(parsed, body=cleaned.text)
    title = clean_title(upload.title or parsed.title or upload.default_title)
    config, notes = _named_config(upload, parsed)
    return CleanDocument(
        content="" if cleaning.is_blank(parsed.body) else parsed.body,
        title=title,
        uri=stored_uri(upload.uri),
        metadata=metadata,
        config=config or default_config(parsed.body, title, language=language, table=upload.table_config),
        created_at=upload.created_at or parsed.created_at,
        markdown=markdown,
        page_starts=cleaned.starts,
        warnings=(*upload.warnings, *cleaned.warnings, *parsed.warnings, *problems, *notes),
        source=upload.source,
    )


def clean_again(document: CleanDocument) -> CleanDocument:
    """Cleans a stored document by the current rules. Raises what interrupts it.

    Earlier rules stemmed some of the languages whose words are now truncated, and indexed the others as written.
    """
    offload.check_stopped()
    cleaned = _clean(document.content, document.page_starts)
    config = languages.look_up_config(document.config) or document.config
    if config == languages.UNSTEMMED and languages.detect_config(cleaned.text) == languages.TRUNCATED:
        config = languages.TRUNCATED
    return dataclasses.replace(document, content=cleaned.text, page_starts=cleaned.starts, config=config)


def hash_document(document: CleanDocument) -> DocumentDraft:
    """Computes the identity and the hashes of a document. The draft has no chunks yet."""
    content_hash = hashlib.sha256(document.content.encode()).digest()
    own = _digest("hash", content_hash.hex()) if document.content else _digest("title", document.title)
    return DocumentDraft(
        **{field.name: getattr(document, field.name) for field in dataclasses.fields(document)},
        identity=uris.identity(document.uri) if document.uri else own,
        content_hash=content_hash,
        attributes_hash=attributes_hash(document),
        cleaning_version=cleaning.VERSION,
    )


def cut(draft: DocumentDraft, *, model: EmbeddingModel, options: ChunkingOptions) -> DocumentDraft:
    """Cuts the text of a document into chunks. Raises what interrupts it."""
    chunks = []
    for passage in passages(draft, model=model, options=options):
        offload.check_stopped()
        chunks.append(chunk(passage, draft, model=model))
    return dataclasses.replace(draft, chunks=tuple(chunks), chunk_tokens=options.target, chunk_overlap=options.overlap)


def passages(draft: DocumentDraft, *, model: EmbeddingModel, options: ChunkingOptions) -> list[Passage]:
    """The passages of a document. A document with only a title has one passage of length 0 for the title."""
    if not draft.content:
        return [Passage(draft.title, 0, 0)]
    suffix = formats.suffix(str(draft.metadata.get("filename") or ""))
    other = "code" if _is_code(draft) else markups.find(draft.content, suffix) or "plain"
    return chunking.split(
        draft.content,
        kind="markdown" if draft.markdown else other,
        target_tokens=options.target,
        overlap_tokens=min(options.overlap, options.target - 1),
        max_tokens=max(options.target, model.max_tokens - RESERVED_TOKENS - tokens.count(draft.title)),
        starts=model.token_starts or tokens.starts,
    )


def _is_code(document: Upload | CleanDocument) -> bool:
    """Whether a text is source code: by its first line, its file's name, or its URI unless that is a web address."""
    uri = "" if (document.uri or "").startswith(("http://", "https://")) else document.uri
    name = str(document.metadata.get("filename") or uri or "")
    return formats.is_code(name) or document.content.startswith("#!/")


def chunk(passage: Passage, draft: DocumentDraft, *, model: EmbeddingModel) -> ChunkDraft:
    """The draft of a chunk. The key of its vector is a hash of the model's name and the embedded text."""
    title = embedded_title(draft.title, draft.metadata.get("filename"))
    content = passage.content if passage.end else ""
    text = text_below(title, passage.heading_path, content) or draft.title
    key = UUID(bytes=hashlib.sha256(f"{model.key_name}\n{text}".encode()).digest()[:16])
    config = languages.config_of_passage(content, draft.config)
    indexed = indexed_text(draft.title, draft.metadata.get("filename"), passage.heading_path, content, config)
    return ChunkDraft(passage, embedded=text, indexed=indexed, config=config, embedding_key=key)


def attributes_hash(document: CleanDocument) -> bytes:
    """The hash of a document's given attributes, except its URI, which is part of the identity."""
    created_at = document.created_at.isoformat() if document.created_at else None
    return _digest(document.title, document.config, document.metadata, created_at)


@functools.lru_cache(maxsize=64)  # a document's title is cleaned for each of its chunks
def clean_title(title: str) -> str:
    """Cleans a title to one line of at most 500 characters."""
    return cleaning.clean(title).text.replace("\n", " ").strip()[: limits.MAX_TITLE]


def default_config(text: str, title: str, *, language: str | None, table: str | None = None) -> str:
    """The text-search configuration of a document that names no language: by `language`, or detected.

    That of its table decides, unless the text is in a script in which that language is not written.
    """
    if language is not None:
        return config_for(language)
    text = text if text.strip() else title
    scripts = languages.configs_of_script(text)
    if table is None or (scripts and table not in scripts):
        table = languages.detect_config(text)
    return table or DEFAULT_CONFIG


def config_for(language: str) -> str:
    """The text-search configuration of a language. Raises BadRequest if the language is unknown."""
    config = languages.look_up_config(language)
    if config is None:
        raise errors.BadRequest(f"The language is unknown. {languages.accepted()}", field="language")
    return config


def _clean(text: str, page_starts: Sequence[int]) -> CleanedPages:
    if page_starts:
        return cleaning.clean_pages(text, page_starts)
    cleaned = cleaning.clean(text)
    return CleanedPages(cleaned.text, (), cleaned.warnings)


def title_of_file(name: str) -> str:
    """The title of a file that has no other: its name.

    The name of a Markdown file, or one with spaces between words, loses its suffix.
    """
    stem = name.rpartition(".")[0]
    is_written = " " in stem and len(_WORD.findall(stem)) > 1
    return stem if stem and (is_written or formats.by_suffix(name) == formats.MARKDOWN) else name


def embedded_title(title: str, filename: object) -> str:
    """The title to embed. It is empty if it is the file's name, so that a renamed file is not embedded again."""
    return "" if isinstance(filename, str) and title == clean_title(filename) else title


def embedded_text(title: str, filename: object, heading_path: Sequence[str], content: str) -> str:
    """The text of a chunk to embed. `content` is empty if the chunk is the title."""
    return text_below(embedded_title(title, filename), heading_path, content) or title


def text_below(title: str, heading_path: Sequence[str], content: str) -> str:
    """The text of a chunk below the document's title and the heading path, with short rules.

    `content` is empty if the chunk is the title.
    """
    headings = [heading for heading in heading_path if heading != title]
    return "\n".join(part for part in (title, " › ".join(headings), chunking.RULE.sub("", content)) if part)


def indexed_title(title: str, filename: object) -> str:
    """The title to index, with the words of the file's name (without suffix) that it lacks, so that they find it."""
    return _with_name(title, filename) if isinstance(filename, str) else title


@functools.lru_cache(maxsize=64)
def _with_name(title: str, filename: str) -> str:
    if title == clean_title(filename):
        return title
    name = filename.rpartition(".")[0] or filename
    title_words, name_words = (tsvector_text.index_text(clean_title(one), "simple").split() for one in (title, name))
    return " ".join([title, *dict.fromkeys(word for word in name_words if word not in title_words)])


def indexed_text(title: str, filename: object, heading_path: Sequence[str], content: str, config: str) -> str:
    """The fields of a chunk to index: content, title, title that is also a heading, headings. One title is empty."""
    headings = [heading for heading in heading_path if heading != title]
    whole = indexed_title(title, filename)
    titles = (whole, "") if len(headings) == len(heading_path) else ("", whole)
    fields = (
        tsvector_text.index_text(field, config) if field else "" for field in (content, *titles, " ".join(headings))
    )
    return FIELD_SEPARATOR.join(fields).rstrip(FIELD_SEPARATOR)


def _named_config(upload: Upload, parsed: frontmatter.ParsedMarkdown) -> tuple[str | None, tuple[str, ...]]:
    """The text-search configuration of the language that the upload or its frontmatter names; None if none is named.

    An unknown language in the frontmatter gives a warning. Raises BadRequest.
    """
    if upload.language is not None:
        return config_for(upload.language), ()
    if parsed.language is None:
        return None, ()
    config = languages.look_up_config(parsed.language)
    unknown = ("frontmatter's language is unknown: indexed without stemming",)
    return (config, ()) if config else (languages.UNSTEMMED, unknown)


def stored_uri(uri: str | None) -> str | None:
    """The URI of an upload to store. Raises BadRequest if it is too long."""
    composed = uri and uris.compose(uri)
    if composed is not None and len(composed) > limits.MAX_URI:
        raise errors.BadRequest(f"A uri has at most {limits.MAX_URI} characters.", field="uri")
    return composed


def _digest(*parts: Any) -> bytes:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).digest()
