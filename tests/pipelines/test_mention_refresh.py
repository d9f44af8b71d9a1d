"""Do stored texts follow every change of names, so that it does not matter what came first?"""

from __future__ import annotations

import asyncio
import random
from typing import Any

import gazette
import pytest
from given import World

from app import errors
from app.pipelines import documents, entities, ingest, mention_extraction, mention_refresh
from app.store import jobs, mentions, name_changes
from app.text import tags

NOTES = {
    "a": ("Harbour notes", "The Harbour Light was run by Ilse Brandt. New York is far from York.", {"people": ["Ana"]}),
    "b": (
        "Ilse Brandt",
        "She painted the harbour light at dusk; asilva bought it, not Ana's friend.\n\n## Harbour Light\n\nIn oil.",
        {},
    ),
    "c": ("", "In der Nähe von Müller und IT. It is ana silva, und York.", {"author": "ilse brandt", "tags": ["York"]}),
    "d": (
        "York (city)",
        "## Far from York\n\nA town of ANA SILVA. Josh.ai and josh ai and joshai.",
        {"project": "Harbour Light"},
    ),
}
PEOPLE = {
    "Ana Silva": ("Ana", "asilva"),
    "Ilse Brandt": (),
    "Josh AI": (),
    "Muller": ("IT",),
    "New York": (),
}


class Killed(BaseException):
    """What no worker can answer."""


async def _store(world: World, *uris: str) -> None:
    for uri in uris:
        title, text, metadata = NOTES[uri]
        language = "de" if uri == "c" else None
        await world.add(text, uri, title=title, metadata=metadata, language=language)


async def _fresh(database: Any, owner: Any, people: dict[str, tuple[str, ...]]) -> set[tuple[Any, ...]]:
    """What the notes mention where everybody was known before the first of them came, and metadata's names too."""
    world = World(database)
    for name, aliases in people.items():
        await gazette.name(world, name, *aliases)
    await _store(world, *"abcd")
    for document in await documents.page(world.user_id, db=database, limit=9, after=None, uri=None):
        async with database.writing(world.user_id) as writing:
            await mentions.lock(writing, world.user_id)
            await mention_extraction.link(writing, world.user_id, document.document_id, keys=tags.KEYS)
    return await gazette.mentioned(owner, world)


async def test_entities_that_come_after_the_texts_are_linked_as_if_they_had_come_before(
    world: World, database: Any, owner: Any
) -> None:
    await _store(world, *"abcd")
    for name, aliases in PEOPLE.items():
        await gazette.name(world, name, *aliases)
    assert await gazette.mentioned(owner, world) != await _fresh(database, owner, PEOPLE)
    assert await gazette.relink(world) > 0
    assert await gazette.mentioned(owner, world) == await _fresh(database, owner, PEOPLE)
    assert await gazette.relink(world) == 0


async def test_a_rename_an_alias_and_a_deletion_are_followed(world: World, database: Any, owner: Any) -> None:
    await _store(world, *"abcd")
    ids = {name: (await gazette.name(world, name, *aliases)).entity_id for name, aliases in PEOPLE.items()}
    await gazette.relink(world)
    context = {"db": world.db, "embedder": world.embedder}
    await entities.change(ids["Ana Silva"], {"aliases": ("York",)}, world.user_id, **context)
    await entities.change(ids["Josh AI"], {"name": "Lisbon"}, world.user_id, **context)
    await entities.remove(ids["Ilse Brandt"], world.user_id, db=world.db)
    await entities.remove(ids["New York"], world.user_id, db=world.db)
    await gazette.relink(world)
    left = {"Ana Silva": ("York",), "Lisbon": (), "Muller": ("IT",)}
    assert await gazette.mentioned(owner, world) == await _fresh(database, owner, left)


async def test_names_that_only_metadata_gave_are_texts_names_again_when_it_is_gone(
    world: World, database: Any, owner: Any
) -> None:
    await _store(world, *"abcd")
    await gazette.relink(world)
    for uri in "acd":
        (document,) = await documents.page(world.user_id, db=database, limit=1, after=None, uri=uri)
        await documents.delete(document.document_id, world.user_id, db=database)
    await gazette.relink(world)
    alone = World(database)
    await _store(alone, "b")
    found, expected = [
        {(*m[:3], m[3].casefold(), *m[4:]) for m in await gazette.mentioned(owner, one)} for one in (world, alone)
    ]
    assert found == expected


@pytest.mark.parametrize("most", [0, 200], ids=["all chunks", "chunks that may hold a name"])
@pytest.mark.parametrize("seed", range(3))
async def test_any_order_of_changes_and_texts_ends_alike(
    database: Any, owner: Any, monkeypatch: pytest.MonkeyPatch, most: int, seed: int
) -> None:
    monkeypatch.setattr(mention_refresh, "MOST_NAMES", most)
    monkeypatch.setattr(mention_refresh, "SLICE", 2)
    world, dice = World(database), random.Random(seed)
    steps: list[Any] = [*"abcd", *PEOPLE.items(), None, None]
    dice.shuffle(steps)
    for step in steps:
        if step is None:
            await gazette.relink(world)
        elif isinstance(step, str):
            await _store(world, step)
        else:
            await gazette.name(world, step[0], *step[1])
    await gazette.relink(world)
    assert await gazette.mentioned(owner, world) == await _fresh(database, owner, PEOPLE)


async def test_while_documents_go_in_from_several_tasks_nothing_is_missed(database: Any, owner: Any) -> None:
    world, texts = World(database), [f"{n}: Person {n % 12} met person {(n + 5) % 12}, Nobody {n}." for n in range(36)]

    async def ingest_some(part: int) -> None:
        for n in range(part, len(texts), 3):
            await world.add(texts[n], f"note-{n}", metadata={"people": [f"Person {n % 4}"]})

    async def name_some() -> None:
        for n in range(12):
            await gazette.name(world, f"Person {n}", f"Nobody {n}", type="robot")
            await gazette.relink(world)

    await asyncio.gather(*(ingest_some(part) for part in range(3)), name_some())
    await gazette.relink(world)
    fresh = World(database)
    for n in range(12):
        await gazette.name(fresh, f"Person {n}", f"Nobody {n}", type="robot")
    for n, text in enumerate(texts):
        await fresh.add(text, f"note-{n}", metadata={"people": [f"Person {n % 4}"]})
    await gazette.relink(fresh)
    found = await gazette.mentioned(owner, world)
    assert len([m for m in found if m[2] == "robot"]) > 72
    assert found == await gazette.mentioned(owner, fresh)


async def test_one_job_waits_however_many_changes_there_are(world: World, database: Any) -> None:
    for name in PEOPLE:
        await gazette.name(world, name)
    async with database.shared() as shared:
        assert await jobs.count(shared, world.user_id, name_changes.JOB) == 1


async def test_a_job_that_died_is_taken_up_where_it_was_when_its_lease_is_over(
    world: World, database: Any, owner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mention_refresh, "SLICE", 1)
    for n in range(6):
        await world.add(f"Ana {n}.", f"{n}")
    await gazette.name(world, "Ana")
    slices = 0
    whole = mention_refresh._relink_slice

    async def dying(*given: Any) -> None:
        nonlocal slices
        slices += 1
        if slices == 4:
            raise Killed
        await whole(*given)

    monkeypatch.setattr(mention_refresh, "_relink_slice", dying)
    with pytest.raises(Killed):
        await gazette.relink(world)
    assert len(await gazette.links(owner, world, "Ana")) == 3
    assert await gazette.relink(world) == 0, "the lease still runs"
    await owner.execute("UPDATE stepwell.jobs SET leased_until = now() WHERE user_id = $1", world.user_id)
    assert await gazette.relink(world) == 3
    assert len(await gazette.links(owner, world, "Ana")) == 6


async def test_a_worker_that_is_stopped_hands_its_job_on_at_once(
    world: World, owner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.add("Ana.", "a")
    await gazette.name(world, "Ana")
    reached = asyncio.Event()

    async def hanging(*_given: Any) -> None:
        reached.set()
        await asyncio.Event().wait()

    with monkeypatch.context() as slow:
        slow.setattr(mention_refresh, "_relink_slice", hanging)
        worker = asyncio.create_task(gazette.relink(world))
        await reached.wait()
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
    assert await gazette.relink(world) == 1
    assert len(await gazette.links(owner, world, "Ana")) == 1


async def test_a_worker_that_lost_its_lease_stops(world: World, owner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mention_refresh, "SLICE", 1)
    for n in range(3):
        await world.add(f"Ana {n}.", f"{n}")
    await gazette.name(world, "Ana")
    whole = mention_refresh._relink_slice

    async def overtaken(*given: Any) -> None:
        await owner.execute("UPDATE stepwell.jobs SET attempts = attempts + 1 WHERE user_id = $1", world.user_id)
        await whole(*given)

    monkeypatch.setattr(mention_refresh, "_relink_slice", overtaken)
    assert await gazette.relink(world) == 1
    pending = "SELECT count(*) FROM stepwell.entity_changes WHERE user_id = $1 AND pending"
    assert await owner.fetchval(pending, world.user_id) == 1


async def test_a_job_that_fails_waits_and_is_given_up_after_five_attempts(
    world: World, owner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mention_refresh, "RETRY_S", 0.0)
    await world.add("Ana.", "a")
    await gazette.name(world, "Ana")

    async def failing(*_given: Any) -> None:
        raise errors.DatabaseUnavailable("down")

    with monkeypatch.context() as broken:
        broken.setattr(mention_refresh, "_relink_slice", failing)
        for _ in range(5):
            with pytest.raises(errors.DatabaseUnavailable):
                await gazette.relink(world)
        assert await gazette.relink(world) == 0
    row = await owner.fetchrow("SELECT status, error, attempts FROM stepwell.jobs WHERE user_id = $1", world.user_id)
    assert tuple(row) == ("failed", "DatabaseUnavailable", 5)
    await gazette.name(world, "Otto")
    await gazette.relink(world)
    assert len(await gazette.links(owner, world, "Ana")) == 1, "the next change brings the old one with it"


async def test_long_documents_are_linked_in_slices(world: World, owner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mention_refresh, "SLICE", 3)
    world.chunking_options = ingest.ChunkingOptions(target=40, overlap=0)
    stored = await world.add("\n\n".join(f"Paragraph {n} is by Ana, of stone and of lime and more." for n in range(20)))
    await gazette.name(world, "Ana")
    assert await gazette.relink(world) == stored.chunk_count
    assert len(await gazette.links(owner, world, "Ana")) == stored.chunk_count > 6
