"""What does an evaluation set in BEIR layout hold?

`corpus.jsonl` (`_id`, `title`, `text`; further fields are metadata), `queries.jsonl` (`_id`, `text`) and `qrels.tsv`
(query, document, relevance; a header line is skipped).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app import errors
from app.shapes import Upload

_OWN_FIELDS = frozenset({"_id", "title", "text"})


@dataclass(frozen=True, slots=True)
class Question:
    """A judged query: `relevant` grades documents by id."""

    query_id: str
    text: str
    relevant: dict[str, int]


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """Documents (`uri` = `_id`), judged queries, and how many documents were empty."""

    documents: tuple[Upload, ...]
    questions: tuple[Question, ...]
    skipped: int


def load(folder: Path) -> EvaluationSet:
    """Read a set. Raises BadRequest naming the file and line that cannot be read."""
    documents, skipped = [], 0
    for row in _rows(folder / "corpus.jsonl"):
        text = str(row.get("text") or "")
        if text.strip():
            metadata = {name: value for name, value in row.items() if name not in _OWN_FIELDS and value is not None}
            title = str(row.get("title") or "") or None
            documents.append(Upload(text, title=title, uri=str(row["_id"]), metadata=metadata, markdown=False))
        else:
            skipped += 1
    judged = _judgements(folder / "qrels.tsv")
    questions = tuple(
        Question(str(row["_id"]), str(row["text"]), judged[str(row["_id"])])
        for row in _rows(folder / "queries.jsonl")
        if any(grade > 0 for grade in judged.get(str(row["_id"]), {}).values())
    )
    return EvaluationSet(tuple(documents), questions, skipped)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_lines(path), 1):
        try:
            row = json.loads(line)
            row["_id"]
        except (ValueError, TypeError, KeyError) as error:
            raise errors.BadRequest(f"Line {number} is not a JSON object with an _id.", field=path.name) from error
        yield row


def _judgements(path: Path) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    for number, line in enumerate(_lines(path), 1):
        columns = line.split("\t")
        try:
            query, document, grade = columns[0], columns[-2], int(float(columns[-1]))
        except (ValueError, IndexError) as error:
            if number == 1:
                continue
            raise errors.BadRequest(f"Line {number} is not query, document, relevance.", field=path.name) from error
        judged[query][document] = grade
    return dict(judged)


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as file:
            yield from (line for line in (raw.rstrip("\r\n") for raw in file) if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise errors.BadRequest("The file is missing or is not UTF-8 text.", field=path.name) from error
