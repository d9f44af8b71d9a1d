"""Defines the results of tools, short enough for a model's context, and trims them to a number of tokens.

Results with passages, the text of a document or entities have a notice that these are quotes, because a document may
contain sentences that look like instructions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import Field

from app.query import answer_hints
from app.query.search_types import Answer, Candidate, Hit
from app.relevance import answerable_levels
from app.text import uris
from app.text.words import tokens
from app.tools import NOTICE, InSeconds, NoneIfEmpty, Place, Texts, ToolResult, place, text

NO_ANSWER = (
    "Perhaps none of these passages answers the query. Unless one does, search once more in other words; if that finds "
    "nothing better, say that the documents do not answer it instead of guessing."
)
_MARKS = str.maketrans("", "", "#`*_")
_NO_WORD = re.compile(r"[\W_]+")
MOST_DUPLICATE_URIS = 3
"""Documents that are named as duplicates of a passage; a model reads them."""
MAX_METADATA = 1_000
"""Characters of a document's metadata in a list; it may have 64 KB, and a list 100 documents."""
MIN_CUT_TOKENS = 40
"""A passage is cut rather than left out if at least this many tokens of it fit."""
LONGEST_WORD = 40
"""Most characters that a cut gives up so that it falls between words; Chinese, Japanese and Thai have no blanks."""


class ToolPassage(ToolResult):
    """A passage found by a search."""

    chunk_id: UUID = Field(description="Id of the passage, for find_similar_chunks and get_document.")
    document_id: UUID | None = Field(None, description="Id of its document; left out if that has a URI.")
    title: str | None = Field(
        None, description="Title of its document; left out if the text begins with it, or the file has its name."
    )
    uri: str | None = Field(None, description="URI of its document.")
    created_at: str | None = Field(None, description="Day of its document; left out if all passages are of one day.")
    source: str | None = Field(None, description="Name of the source of its document, if it has one.")
    page: int | None = Field(None, description="Page of the PDF, or slide, that holds the middle of the passage.")
    start: int = Field(description="Offset in the text of its document, in characters.")
    heading: str | None = Field(None, description="Headings above the passage, outermost first.")
    content: str = Field(description="Text of the passage, quoted from the document.")
    confidence: Literal["low"] | None = Field(None, description="Present if the passage is probably not relevant.")
    hop: int | None = Field(None, description="With several hops: the one that found the passage; left out for 1.")
    via: str | None = Field(None, description="The name through which a later hop reached the passage.")
    duplicates: int | None = Field(None, description="Number of passages with nearly the same text, left out.")
    duplicate_uris: list[str] | None = Field(None, description="URIs of the documents of some of them.")
    cut: Literal[True] | None = Field(None, description="Present if the text was cut to fit `max_tokens`.")

    @classmethod
    def of(cls, hit: Hit, *, with_hop: bool = False, created: date | None = None) -> Self:
        """The passage of a hit."""
        candidate = hit.candidate
        content = hit.snippet.text if hit.snippet else candidate.content
        return cls(
            chunk_id=candidate.chunk_id,
            document_id=None if candidate.uri else candidate.document_id,
            title=None if _shows_title(content, candidate) else candidate.title,
            uri=place(candidate.uri),
            created_at=created.isoformat() if created else None,
            source=hit.source,
            page=candidate.page,
            start=candidate.start_offset,
            heading=" > ".join(one for one in candidate.heading_path if one != candidate.title) or None,
            content=content,
            confidence="low" if hit.confidence == "low" else None,
            hop=hit.hop if with_hop and hit.hop != 1 else None,
            via=f"{hit.via.name} ({hit.via.label})" if hit.via else None,
            duplicates=len(hit.duplicates) or None,
            duplicate_uris=[uri for one in hit.duplicate_documents if (uri := place(one.uri))][:MOST_DUPLICATE_URIS]
            or None,
        )


def _shows_title(content: str, candidate: Candidate) -> bool:
    """Whether a text begins with the title, also as a heading, or the file is named like it, such as `mara-veit.md`."""
    title = candidate.title
    if content[: 2 * len(title) + 8].translate(_MARKS).lstrip().startswith(title.translate(_MARKS)):
        return True
    file = PurePosixPath(uris.show(candidate.uri or ""))
    title, *names = (_NO_WORD.sub(" ", text.casefold()).strip() for text in (title, file.stem, file.name))
    return title in names


class ToolHop(ToolResult):
    """A round of a search over several hops."""

    terms: Texts = Field(None, description="Names and words that the round added to the query.")
    new_passages: int = Field(description="Number of passages that no earlier round had found.")


class PassageList(ToolResult):
    """Passages, best first."""

    notice: str = Field(NOTICE, description="How to treat the texts.")
    results: list[ToolPassage] = Field(description="Passages, best first.")
    answerable: float | None = Field(
        None, description="Score, 0 to 1, of whether any passage answers the query; left out if that is likely."
    )
    hops: list[ToolHop] | None = Field(None, description="With several hops: the rounds, if one added terms.")
    advice: str | None = Field(None, description="What to do if no passage is likely to answer.")
    left_out: int | None = Field(None, description="Number of further results that did not fit into `max_tokens`.")
    depth: Literal["thorough"] | None = Field(None, description="Present if it searched over several hops.")
    no_results_because: str | None = Field(None, description="Why there are no results.")
    degraded: Texts = Field(None, description="Parts of the search that failed and were left out.")
    relaxed: Texts = Field(None, description="What was not searched as written.")

    @classmethod
    def of(cls, answer: Answer, days: Mapping[UUID, date], *, max_tokens: int) -> Self:
        """The answer of a search, trimmed from its end to about `max_tokens` tokens; `days` are those of documents."""
        rounds = answer.hops if answer.hops and len(answer.hops) > 1 else ()
        told = days if len(set(days.values())) > 1 else {}
        passages = [
            ToolPassage.of(hit, with_hop=bool(rounds), created=told.get(hit.candidate.document_id))
            for hit in answer.hits
        ]
        kept = fit(passages, max_tokens)
        hops = [ToolHop.show(hop, new_passages=hop.result_count) for hop in rounds]
        score = answer.answerable
        return cls(
            results=kept,
            answerable=None if score is None or score >= answerable_levels.LIKELY else round(score, 2),
            hops=hops if any(hop.terms for hop in hops) else None,
            advice=NO_ANSWER if kept and answerable_levels.is_doubtful(score) else None,
            left_out=len(passages) - len(kept) or None,
            depth="thorough" if answer.depth == "thorough" else None,
            no_results_because=None if passages else " ".join(answer_hints.of(answer)) or None,
            degraded=[answer_hints.DEGRADED.get(one, one) for one in answer.degraded],
            relaxed=[answer_hints.RELAXED.get(one, one) for one in answer.relaxed],
        )


def fit(passages: Sequence[ToolPassage], max_tokens: int) -> list[ToolPassage]:
    """The first passages that take at most `max_tokens` together; the last may be cut. The first is always kept."""
    kept: list[ToolPassage] = []
    for passage in passages:
        cost = tokens.count(text(passage.compact()))
        if cost <= max_tokens:
            kept.append(passage)
            max_tokens -= cost
            continue
        around = cost - tokens.count(passage.content)
        if not kept or max_tokens - around >= MIN_CUT_TOKENS:
            end = cut(passage.content, max(max_tokens - around, 1))
            shorter = {"content": f"{passage.content[:end].rstrip()} …", "cut": True}
            kept.append(passage.model_copy(update=shorter if end < len(passage.content) else {}))
        break
    return kept


def cut(text: str, max_tokens: int) -> int:
    """The offset where the first `max_tokens` tokens (1 or more) of a text end, moved back to the end of a word.

    Without white space in its last LONGEST_WORD characters, the text is cut after the last token that fits.
    """
    starts = tokens.starts(text)
    if len(starts) <= max_tokens:
        return len(text)
    end = starts[max_tokens]
    return max(text.rfind(space, max(0, end - LONGEST_WORD), end) for space in " \n") + 1 or end


def shorten(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata for a list or a later part: an ellipsis stands for each value beyond MAX_METADATA characters in all."""
    shown, left = dict(metadata), MAX_METADATA
    for key, value in metadata.items():
        if (cost := len(text(value))) <= left:
            left -= cost
        else:
            shown[key] = "…"
    return shown


class ToolDocument(ToolResult):
    """A stored document of a listing."""

    document_id: UUID = Field(description="Id of the document.")
    title: Annotated[str | None, NoneIfEmpty] = Field(None, description="Title of the document.")
    uri: Place = Field(None, description="URI of the document.")
    metadata: Annotated[dict[str, Any] | None, NoneIfEmpty] = Field(
        None, description="Metadata of the document; in lists and later parts, … stands for long values."
    )
    chunk_count: int = Field(description="Number of its passages.")
    created_at: Annotated[str, InSeconds] = Field(description="Creation time.")
    beginning: str | None = Field(None, description="In lists, of a document without title and uri, its beginning.")


class DocumentList(ToolResult):
    """A page of documents, newest first."""

    notice: str | None = Field(None, description="How to treat the texts, if there are any.")
    documents: list[ToolDocument] = Field(description="Documents, newest first.")
    next_cursor: str | None = Field(None, description="Value of `cursor` for the next page; absent on the last page.")
    no_results_because: str | None = Field(None, description="What to change, if no document is listed.")


class DocumentText(ToolDocument):
    """A document with a part of its text."""

    notice: str = Field(NOTICE, description="How to treat the text.")
    content: str = Field(description="Text from `start` on, quoted from the document.")
    start: int = Field(description="Offset of the text in the document, in characters.")
    page: int | None = Field(None, description="Page of the PDF, or slide, on which the text begins.")
    next_start: int | None = Field(None, description="Value of `start` that continues the text; absent at its end.")


class DocumentStored(ToolResult):
    """The result of storing a document."""

    document_id: UUID = Field(description="Id of the document.")
    status: Literal["added", "replaced", "unchanged"] = Field(description="Whether the document was new or changed.")
    title: Annotated[str | None, NoneIfEmpty] = Field(None, description="Title of the document.")
    uri: str | None = Field(None, description="URI of the document.")
    chunk_count: int = Field(description="Number of its passages.")
    warnings: Texts = Field(None, description="Problems that did not prevent storing.")


class DocumentDeleted(ToolResult):
    """The result of deleting a document."""

    documents_deleted: int = Field(description="Number of deleted documents.")
    chunks_deleted: int = Field(description="Number of deleted passages.")


class ToolEntity(ToolResult):
    """A person, project or thing that documents mention."""

    entity_id: UUID = Field(description="Id of the entity.")
    type: str = Field(description="Type, such as person or project.")
    name: str = Field(description="Name.")
    aliases: Texts = Field(None, description="Other names.")
    role: str | None = Field(None, description="Role.")
    description: str | None = Field(None, description="Description.")
    facts: Texts = Field(None, description="Sentences about the entity.")
    score: float | None = Field(None, description="With `query`: how well it matches, 0 to 1.")
    matched_by: str | None = Field(None, description="With `query`: what matches best, such as name or description.")


class EntityEntries(ToolResult):
    """Entities by name, or by their scores for the query."""

    notice: str = Field(NOTICE, description="How to treat the texts.")
    entities: list[ToolEntity] = Field(description="Entities.")
    no_results_because: str | None = Field(None, description="What to change in `type`.")
    degraded: list[str] | None = Field(None, description="Parts of the search that failed and were left out.")
    next_cursor: str | None = Field(None, description="Value of `cursor` for the next page; absent on the last page.")


class KnowledgeStats(ToolResult):
    """What is stored."""

    documents: int = Field(description="Number of documents.")
    chunks: int = Field(description="Number of passages.")
    languages: dict[str, int] = Field(description="Number of passages per language whose words are stemmed.")
    embedding_model: str = Field(description="Name of the embedding model.")
