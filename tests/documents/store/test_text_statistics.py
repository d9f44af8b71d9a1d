"""Text statistics stay exact through every change; the stored chunks are counted again and compared."""

import asyncio
import itertools
import random
from collections import Counter, defaultdict
from uuid import UUID, uuid4

import asyncpg
import hybrid
import pytest

from app import errors
from app.database import transactions
from app.database.schema import tables
from app.database.transactions import Database
from app.documents.store import document_puts, document_rows, documents, hidden_chunks
from app.documents.types import DocumentDraft
from benchmarks.fake_embedder import FakeEmbedder

BLOCK = 128
WORDS = ["harbour", "lantern", "river", "castle", "violin", "copper", "meadow", "thunder", "pepper", "saddle"]
COUNTED = """
SELECT c.chunk_no, c.length, c.config, t.lexeme, cardinality(t.positions) AS tf
FROM stepwell.chunks AS c LEFT JOIN LATERAL unnest(c.tsv) AS t ON true
WHERE c.user_id = $1
"""


@pytest.fixture
def put(database: Database, embedder: FakeEmbedder, user: str):
    async def stored(draft: DocumentDraft) -> UUID:
        return await hybrid.store(database, user, draft, embedder=embedder)

    return stored


@pytest.fixture
def delete(database: Database, user: str):
    async def deleted(document_id: UUID):
        async with database.writing(user) as writing:
            return (await documents.delete(writing, [document_id]))[document_id]

    return deleted


async def assert_exact(owner: asyncpg.Connection, user: str) -> None:
    """Document frequencies, posting blocks, chunk counts and token totals equal a recount of the chunks."""
    postings: dict[str, list[int]] = defaultdict(list)
    lengths: dict[int, tuple[str, int]] = {}
    for row in await owner.fetch(COUNTED, user):
        lengths[row["chunk_no"]] = (row["config"], row["length"])
        if row["lexeme"] is not None:
            item = row["chunk_no"] << 24 | min(row["tf"], 255) << 16 | min(row["length"], 65_535)
            postings[row["lexeme"]].append(item)
    blocks = await _blocks(owner, user)
    assert {lexeme: [item for _, items in found for item in items] for lexeme, found in blocks.items()} == {
        lexeme: sorted(items) for lexeme, items in postings.items()
    }
    stored = await owner.fetch("SELECT lexeme, df, tail_no, tail_size FROM stepwell.lexemes WHERE user_id = $1", user)
    assert {row["lexeme"]: tuple(row)[1:] for row in stored} == {
        lexeme: (len(items), blocks[lexeme][-1][0], len(blocks[lexeme][-1][1])) for lexeme, items in postings.items()
    }
    await _assert_totals(owner, user, lengths)
    for found in blocks.values():
        _assert_well_formed(found)


async def _blocks(owner: asyncpg.Connection, user: str) -> dict[str, list[tuple[int, list[int]]]]:
    rows = await owner.fetch(
        "SELECT lexeme, first_no, items FROM stepwell.postings WHERE user_id = $1 ORDER BY lexeme, first_no", user
    )
    blocks = defaultdict(list)
    for row in rows:
        blocks[row["lexeme"]].append((row["first_no"], row["items"]))
    return blocks


async def _assert_totals(owner: asyncpg.Connection, user: str, lengths: dict[int, tuple[str, int]]) -> None:
    rows = await owner.fetch(
        "SELECT config, chunks, tokens FROM stepwell.text_statistics WHERE user_id = $1 AND chunks <> 0", user
    )
    chunks = Counter(config for config, _ in lengths.values())
    tokens: Counter[str] = Counter()
    for config, length in lengths.values():
        tokens[config] += length
    assert {row["config"]: (row["chunks"], row["tokens"]) for row in rows} == {
        config: (chunks[config], tokens[config]) for config in chunks
    }


def _assert_well_formed(blocks: list[tuple[int, list[int]]]) -> None:
    sizes = [len(items) for _, items in blocks]
    assert all(size + following > BLOCK // 2 for size, following in itertools.pairwise(sizes)), sizes
    last = -1
    for first_no, items in blocks:
        assert 1 <= len(items) <= BLOCK
        assert items == sorted(items)
        assert last < first_no <= items[0] >> 24
        last = items[-1] >> 24


@pytest.mark.parametrize("sizes", [[1], [128], [129], [300], [127, 1, 1], [100, 100, 100]])
async def test_blocks_hold_up_to_128_postings_and_miss_none(put, owner, user, sizes) -> None:
    for size in sizes:
        await put(hybrid.draft(*(f"copper {'river ' * (n % 3)} {n}" for n in range(size))))
    await assert_exact(owner, user)
    blocks = (await _blocks(owner, user))["copper"]
    assert len(blocks) == -(-sum(sizes) // BLOCK)
    assert [len(items) for _, items in blocks[:-1]] == [BLOCK] * (len(blocks) - 1)


@pytest.mark.parametrize("by_job", [False, True], ids=["at once", "by the job"])
async def test_blocks_that_replacing_thins_are_merged(monkeypatch, database, put, owner, user, by_job) -> None:
    """Documents that stay are stored between the versions of one that fills blocks."""
    if by_job:
        monkeypatch.setattr(document_rows, "MOST_UNINDEXED", 1)
    for n in range(4):
        await put(hybrid.draft("copper lantern", uri=f"stays{n}"))
        for m in range(2):
            await put(hybrid.draft(*[f"copper {n} {m}"] * 70, uri="changes"))
            if by_job:
                await _remove_hidden(database, user)
        await put(hybrid.draft(f"copper river {n}", uri=f"stays{n // 2}"))
    await assert_exact(owner, user)
    blocks = {lexeme: len(found) for lexeme, found in (await _blocks(owner, user)).items()}
    assert (blocks["copper"], blocks["lantern"], blocks["river"]) == (1, 1, 1)


async def _remove_hidden(database: Database, user: str) -> None:
    """Remove the postings of hidden chunks in pages of three lexemes, each in a transaction of its own."""
    job_id, last = uuid4(), ""
    async with database.writing(user) as writing:
        await hidden_chunks.take(writing, job_id)
    while last is not None:
        async with database.writing(user) as writing:
            last = await hidden_chunks.unindex(writing, job_id, after=last, limit=3)
    async with database.writing(user) as writing:
        await hidden_chunks.forget(writing, job_id)


async def test_a_write_that_fails_half_way_leaves_no_count_behind(database, put, owner, user) -> None:
    await put(hybrid.draft("copper river", uri="a"))
    with pytest.raises(KeyError):
        async with database.writing(user) as writing:
            await document_puts.put(writing, [hybrid.draft("meadow copper", uri="a")], vectors_by_key={})
    await assert_exact(owner, user)
    assert await owner.fetchval("SELECT content FROM stepwell.chunks WHERE user_id = $1", user) == "copper river"


@pytest.mark.parametrize("seed", range(2))
async def test_any_sequence_of_changes_leaves_exact_counts(put, database, owner, user, seed) -> None:
    """Documents are stored, replaced, and deleted one or several together."""
    dice = random.Random(seed)
    stored: dict[str, UUID] = {}
    for _ in range(25):
        uri = f"{dice.randrange(6)}"
        if uri in stored and dice.random() < 0.4:
            some = [stored.pop(one) for one in dice.sample(sorted(stored), dice.randint(1, min(len(stored), 3)))]
            async with database.writing(user) as writing:
                assert set(await documents.delete(writing, some)) == set(some)
        else:
            size = dice.choice([0, 1, 3, 40, 130])
            texts = (" ".join(dice.choices(WORDS, k=dice.randint(0, 6))) for _ in range(size))
            config = dice.choice(["english", "german", "simple"])
            stored[uri] = await put(hybrid.draft(*texts, uri=uri, config=config))
        await assert_exact(owner, user)


async def test_writers_of_one_user_at_once_neither_deadlock_nor_drift(address, owner, user, embedder) -> None:
    database = transactions.connect(address.service_dsn, pool_size=8, pool_wait_s=60)

    async def write(seed: int) -> None:
        dice = random.Random(seed)
        for _ in range(6):
            texts = [" ".join(dice.choices(WORDS, k=5)) for _ in range(dice.choice([1, 20]))]
            document_id = await hybrid.store(
                database, user, hybrid.draft(*texts, uri=f"{dice.randrange(5)}"), embedder=embedder
            )
            if dice.random() < 0.4:
                await _delete_if_there(database, user, document_id)

    try:
        await asyncio.gather(*map(write, range(6)))
    finally:
        await database.close()
    await assert_exact(owner, user)
    assert await owner.fetchval("SELECT version FROM stepwell.tenants WHERE user_id = $1", user) >= 36


async def _delete_if_there(database: Database, user: str, document_id: UUID) -> None:
    try:
        async with database.writing(user) as writing:
            await documents.delete(writing, [document_id])
    except errors.NotFound:
        return


async def test_writers_of_different_users_do_not_wait_for_each_other(database, embedder, user) -> None:
    async with database.writing(user) as held:
        await document_puts.put(held, [hybrid.draft()], vectors_by_key={})
        await hybrid.store(database, f"{user}-other", hybrid.draft("copper"), embedder=embedder)


async def test_deleting_everything_leaves_only_the_row_of_the_user(put, delete, owner, user) -> None:
    kept = f"{user}-kept"
    stored = await put(hybrid.draft(*(f"copper river {n}" for n in range(200))))
    entity = "11111111-1111-1111-1111-111111111111"
    await owner.execute(
        "INSERT INTO stepwell.entities (user_id, entity_id, type, name, origin) VALUES ($1, $2, 'x', $3, 'user')",
        user, entity, kept,
    )  # fmt: skip
    await owner.execute(
        """INSERT INTO stepwell.mentions (user_id, entity_id, chunk_no, kind, document_id, count)
           SELECT user_id, $2, chunk_no, 'text', document_id, 1 FROM stepwell.chunks WHERE user_id = $1 LIMIT 7""",
        user, entity,
    )  # fmt: skip
    removed = await delete(stored)
    assert (removed.documents, removed.chunks, removed.vectors) == (1, 200, 200)
    left = {
        table.name: await owner.fetchval(f"SELECT count(*) FROM {table.fullname} WHERE user_id = $1", user)
        for table in tables.of_users()
    }
    assert {name: count for name, count in left.items() if count} == {"tenants": 1, "entities": 1, "text_statistics": 1}
    assert await owner.fetchval("SELECT chunks + tokens FROM stepwell.text_statistics WHERE user_id = $1", user) == 0
    with pytest.raises(errors.NotFound):
        await delete(stored)
