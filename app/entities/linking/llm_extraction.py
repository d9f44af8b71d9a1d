"""Asks the language model for the entities of stored documents, in background jobs, if the setting is on.

The transaction that stores a document queues the job, so that storing neither waits for the model nor fails with it.
The model's entities are stored as if the document's metadata named them. Only names that occur in the text are kept.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from app import errors
from app.concurrency import offload
from app.database.transactions import Database, Writing
from app.entities.linking import mention_refresh
from app.entities.store import llm_entities, mentions
from app.jobs import store as jobs
from app.jobs import workers
from app.models.protocols import Llm
from app.services import Services
from app.text.names import gazetteer as gazetteers
from app.text.names import metadata_names, names
from app.text.words import word_lists

PART, PARTS = 6_000, 4
"""Most characters of a request, and most requests for a document. Only its beginning is read."""
MAX_CHUNKS = 100
"""Most chunks that are read from a document."""
PER_PART, PER_DOCUMENT = 20, 50
"""Most entities that are kept from an answer, and from a document."""
MAX_ALIASES, MAX_LENGTH = 5, 200
_NO_ID = UUID(int=0)


async def enqueue(db: Writing, document_ids: Sequence[UUID]) -> None:
    """Queue a job for each document that is stored in this transaction."""
    await jobs.enqueue_for_documents(db, KIND.name, document_ids)


async def run_waiting(user_id: str, services: Services) -> AsyncGenerator[int, None]:
    """Run the user's jobs that can run now. Yields after each job how many still wait.

    A job whose answer cannot be used is left for a later attempt, and the next one runs. After another failure of the
    model no further job runs. Jobs of other workers are not waited for. Raises DatabaseUnavailable.
    """
    while True:
        try:
            ran = await workers.run_next(services, [KIND], user_id=user_id)
        except errors.ProviderError as error:
            if error.fault != "answer":
                return
        else:
            if ran is None:
                return
        yield await waiting(user_id, services.db)


async def waiting(user_id: str, db: Database) -> int:
    """The number of documents that still wait for the model."""
    async with db.shared() as shared:
        return await jobs.count(shared.as_user(user_id), KIND.name)


async def _extract(run: workers.Run) -> int:
    """Store the entities that the model names, and return their number."""
    user_id, document_id = run.job.user_id, UUID(run.job.payload["document_id"])
    llm, options = run.services.llm, run.services.chunking_options
    async with run.db.reading(user_id) as reading:
        version = await llm_entities.version(reading, document_id)
        chunks = await mentions.chunk_texts(reading, document_id, limit=MAX_CHUNKS)
    found = await _ask(llm, chunks) if version is not None and llm is not None else None
    async with run.db.locking(user_id) as writing:
        if version is not None and found is not None:
            saved = await llm_entities.save(writing, document_id, version=version, extracted=found)
            if saved:
                await mention_refresh.relink(writing, document_id, keys=options.entity_keys)
        if await llm_entities.version(writing, document_id) not in (None, version):
            await enqueue(writing, [document_id])  # the write of this version may have taken the job for one that waits
        await run.finish(writing)
    return len(found or ())


def _has_model(services: Services) -> bool:
    return services.llm is not None and services.chunking_options.llm_entities


KIND = workers.JobKind("extract_entities", _extract, queue="entities", kept=0, can_run=_has_model)


async def _ask(llm: Llm, chunks: Sequence[mentions.ChunkText]) -> list[dict[str, Any]]:
    """The entities that the model names in the beginning of a document. Raises ProviderError."""
    found: dict[str, dict[str, Any]] = {}
    for part in _parts(chunks):
        answer = await llm.entities(part)
        for key, entity in (await offload.run(len(part), _check, answer, part)).items():
            known = found.setdefault(key, entity)
            known["aliases"] = list(dict.fromkeys((*known["aliases"], *entity["aliases"])))[:MAX_ALIASES]
            known["role"] = known["role"] or entity["role"]
    return list(found.values())[:PER_DOCUMENT]


def _parts(chunks: Sequence[mentions.ChunkText]) -> list[str]:
    """The text of each request: chunks with at most PART characters together. The title is before the first chunk."""
    parts: list[str] = []
    for chunk in chunks:
        text = f"{chunk.opening.title}\n{chunk.content}" if chunk.opening else chunk.content
        text = text[:PART]
        if parts and len(parts[-1]) + len(text) < PART:
            parts[-1] += f"\n{text}"
        elif len(parts) == PARTS:
            break
        else:
            parts.append(text)
    return parts


def _check(answer: Sequence[object], text: str) -> dict[str, dict[str, Any]]:
    """The entities of an answer by the keys of their names. Names, aliases and roles are kept if the text has them."""
    proposed = [one for one in answer if isinstance(one, Mapping)][:PER_PART]
    written = [name for one in proposed for name in (_name(one.get("name")), *_aliases(one)) if name]
    in_text = gazetteers.Gazetteer.build((name, _NO_ID) for name in written)
    matches = in_text.find(text)
    occurring = {key for match in matches for key in (match.key, *match.others)}
    words = f" {' '.join(names.words(text))} "
    found: dict[str, dict[str, Any]] = {}
    for one in proposed:
        name, role = _name(one.get("name")), _line(one.get("role"))
        key = gazetteers.key(name) if name else None
        if name is None or key is None or key not in occurring:
            continue
        aliases = [alias for alias in _aliases(one) if gazetteers.key(alias) in occurring - {key}]
        role = role if role and f" {' '.join(names.words(role))} " in words and names.key(role) else None
        type_name = metadata_names.type_name(_line(one.get("type")) or "")
        found.setdefault(key, {"type": type_name, "name": name, "aliases": aliases, "role": role})
    return found


def _aliases(one: Mapping[Any, object]) -> Iterator[str]:
    given = one.get("aliases")
    for alias in given[:MAX_ALIASES] if isinstance(given, list) else ():
        if (name := _name(alias)) is not None:
            yield name


def _name(text: object) -> str | None:
    """A string of an answer, cleaned; None for "she", "the company", "2019" or "May 2019", which name nothing alone.

    In German, any noun has a capital: "die Firma" names as little as "the company", unlike "the Hague".
    """
    line = _line(text)
    if line is None or line.split()[0] in (word_lists.DETERMINERS if line.islower() else word_lists.GERMAN_DETERMINERS):
        return None
    is_capitals = len(line) > 1 and line.isupper()  # "US", "IT"
    return line if is_capitals or names.has_proper_word(names.words(line)) else None


def _line(text: object) -> str | None:
    """A string of an answer, cleaned like a stored name; None if it cannot be a name."""
    if not isinstance(text, str) or len(text) > MAX_LENGTH:
        return None
    return names.tidy("".join(letter if letter.isprintable() else " " for letter in text)) or None
