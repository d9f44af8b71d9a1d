"""Reads and writes evaluation sets in BEIR layout.

A set is a folder with `corpus.jsonl` (`_id`, `title`, `text`, optional `created_at`; further fields are metadata),
`queries.jsonl` (`_id`, `text`, optional `type` and `filters`), `qrels.tsv` or `qrels/test.tsv` (query, document,
relevance; a header line is skipped) and, optionally, `entities.jsonl` (a body of `POST /api/rag/entities` per line,
with members by name).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncIterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from app import errors
from app.database.filter_types import Filters
from app.documents.types import Upload
from app.entities.types import EntityDraft
from app.enums import Json
from app.requests.filter_models import SearchFilters
from app.text import unstorable_json, uris

CORPUS, QUERIES, QRELS, ENTITIES = "corpus.jsonl", "queries.jsonl", "qrels.tsv", "entities.jsonl"
SPLIT = "qrels/test.tsv"
"""Where the sets of BEIR itself have their judgements."""
GRADE_LIMIT = 1_000
"""The gain of a grade, 2^grade − 1, is a finite number below it."""
_OWN_FIELDS = frozenset({"_id", "title", "text", "created_at", "metadata"})
_ENTITY = TypeAdapter(EntityDraft)


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """A query with the relevance grades of documents by id and, if the set has types, its type (`kind`)."""

    query_id: str
    text: str
    relevant: dict[str, float]
    kind: str | None = None
    filters: Filters = field(default_factory=Filters)


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """Documents (`uri` = `_id`), judged queries, entities, and the number of documents without text and title."""

    documents: tuple[Upload, ...]
    questions: tuple[JudgedQuestion, ...]
    skipped: int
    entities: tuple[EntityDraft, ...] = ()

    @property
    def missing(self) -> list[str]:
        """The ids of relevant documents that the corpus does not have: no search finds them."""
        stored = {document.uri for document in self.documents}
        relevant = (name for asked in self.questions for name, grade in asked.relevant.items() if grade > 0)
        return [name for name in dict.fromkeys(relevant) if name not in stored]


def load(folder: Path) -> EvaluationSet:
    """Reads a set without the questions that have no relevant document.

    Raises BadRequest with the file and line that cannot be read.
    """
    uploads = [_upload(row) for row in _rows(folder / CORPUS, "_id")]
    documents = tuple(upload for upload in uploads if upload is not None)
    judged = read_judged_questions(folder)
    questions = tuple(one for one in judged if any(grade > 0 for grade in one.relevant.values()))
    path = folder / ENTITIES
    entities = tuple(_entity(row) for row in _rows(path, "type", "name")) if path.exists() else ()
    return EvaluationSet(documents, questions, len(uploads) - len(documents), entities)


def read_judged_questions(folder: Path) -> list[JudgedQuestion]:
    """Reads the questions of a set that have judgements, also those without a relevant document.

    Raises BadRequest with the file and line that cannot be read.
    """
    judged = _judgements(folder)
    ids = ((row, judged.get(str(row["_id"]))) for row in _rows(folder / QUERIES, "_id", "text"))
    return [_question(row, grades) for row, grades in ids if grades]


def read_questions(folder: Path) -> list[JudgedQuestion]:
    """Reads the questions of a folder and none of its judgements. Raises BadRequest as `load` does."""
    return [_question(row, {}) for row in _rows(folder / QUERIES, "_id", "text")]


async def write(folder: Path, judged: Sequence[JudgedQuestion], documents: AsyncIterable[Upload]) -> int:
    """Writes a set without entities, and returns the number of its documents, which are read one by one.

    Creates the folder if it is missing, and replaces existing files. Raises BadRequest if it cannot be written.
    """
    count = 0
    try:
        _write_questions(folder, judged)
        with (folder / CORPUS).open("w", encoding="utf-8") as corpus:
            async for upload in documents:
                corpus.write(_line(_document_row(upload)))
                count += 1
    except OSError as error:
        raise errors.BadRequest(f"The folder cannot be written: {error.strerror}.", field="FOLDER") from error
    return count


def _document_row(upload: Upload) -> dict[str, Any]:
    created_at = {"created_at": upload.created_at.isoformat()} if upload.created_at else {}
    own = {"_id": upload.uri, "title": upload.title, "text": upload.content, **created_at}
    others = {name: value for name, value in upload.metadata.items() if name not in _OWN_FIELDS}
    taken = {name: value for name, value in upload.metadata.items() if name in _OWN_FIELDS}
    return {**own, **others, **({"metadata": taken} if taken else {})}


def _write_questions(folder: Path, judged: Sequence[JudgedQuestion]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / QUERIES).write_text("".join(_line(_question_row(one)) for one in judged), encoding="utf-8")
    rows = ((one.query_id, document, grade) for one in judged for document, grade in one.relevant.items())
    (folder / QRELS).write_text("".join(f"{q}\t{d}\t{grade:g}\n" for q, d, grade in rows), encoding="utf-8")


def _upload(row: dict[str, Any]) -> Upload | None:
    """Returns the row's document, or None if it has neither text nor a title."""
    text, title = str(row.get("text") or ""), str(row.get("title") or "")
    if not (text.strip() or title.strip()):
        return None
    own = row["metadata"] if isinstance(row.get("metadata"), dict) else {}
    fields = {name: value for name, value in row.items() if name not in _OWN_FIELDS}
    metadata = {name: value for name, value in {**own, **fields}.items() if value is not None}
    return Upload(
        text,
        title or None,
        uris.compose(str(row["_id"])),
        metadata,
        created_at=_instant(row.get("created_at")),
        markdown=False,
    )


def _question(row: dict[str, Any], relevant: dict[str, float]) -> JudgedQuestion:
    kind, text = row.get("type"), str(row["text"] or "")
    if not text.strip():
        raise errors.BadRequest(f"Question {row['_id']} has no text.", field=QUERIES)
    try:
        filters = SearchFilters.model_validate(row.get("filters") or {}).shape()
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]["msg"]
        raise errors.BadRequest(
            f"The filters of question {row['_id']} are not those of a search: {reason}", field=QUERIES
        ) from error
    return JudgedQuestion(str(row["_id"]), text, relevant, str(kind) if kind else None, filters)


def _entity(row: dict[str, Any]) -> EntityDraft:
    try:
        return _ENTITY.validate_python({name: value for name, value in row.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise errors.BadRequest(f"Entity {row['name']!r} cannot be read. {reason}", field=ENTITIES) from error


def _instant(given: object) -> datetime | None:
    """Parses an ISO 8601 date-time with a time zone; None gives None. Raises BadRequest."""
    if given is None:
        return None
    try:
        when = datetime.fromisoformat(str(given))
    except ValueError as error:
        raise errors.BadRequest(f"{given!r} is not an ISO 8601 date-time.", field=CORPUS) from error
    if when.tzinfo is None:
        raise errors.BadRequest(f"{given!r} has no time zone.", field=CORPUS)
    return when


def _question_row(question: JudgedQuestion) -> dict[str, Any]:
    given = question.filters
    limits = {
        "metadata": given.metadata,
        "created_after": given.created_after and given.created_after.isoformat(),
        "created_before": given.created_before and given.created_before.isoformat(),
    }
    filters = {name: value for name, value in limits.items() if value is not None}
    row = {"_id": question.query_id, "text": question.text, "type": question.kind, "filters": filters}
    return {name: value for name, value in row.items() if value}


def _line(row: Json) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _rows(path: Path, *keys: str) -> Iterator[dict[str, Any]]:
    for number, line in _lines(path):
        try:
            row = json.loads(line)
            unusable = next(unstorable_json.find_unusable(row), None)
        except (ValueError, RecursionError):
            row = unusable = None
        if unusable is not None:
            raise errors.BadRequest(f"Line {number} has a value that cannot be stored: {unusable[2]}", field=path.name)
        if missing := [key for key in keys if not isinstance(row, dict) or key not in row]:
            raise errors.BadRequest(f"Line {number} is not a JSON object with a field {missing[0]}.", field=path.name)
        yield row


def _judgements(folder: Path) -> dict[str, dict[str, float]]:
    path = next((path for path in (folder / QRELS, folder / SPLIT) if path.exists()), folder / QRELS)
    judged: dict[str, dict[str, float]] = defaultdict(dict)
    for number, line in _lines(path):
        query, *columns = line.split("\t")
        try:
            document, grade = columns[-2], float(columns[-1])
        except (ValueError, IndexError) as error:
            if number == 1:
                continue
            raise errors.BadRequest(f"Line {number} is not query, document, relevance.", field=path.name) from error
        if not abs(grade) < GRADE_LIMIT:
            message = f"Line {number} has the relevance {columns[-1]}: send a number below {GRADE_LIMIT:,}."
            raise errors.BadRequest(message, field=path.name)
        judged[query][uris.compose(document)] = grade
    return dict(judged)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank, with their numbers."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from ((number, raw.rstrip("\r\n")) for number, raw in enumerate(file, 1) if raw.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise errors.BadRequest(f"{path} is missing or is not UTF-8 text.", field=path.name) from error
