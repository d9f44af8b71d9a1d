"""Does the hybrid statement answer as SPEC §2 says? Expected values are computed in Python from what is stored."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime
from uuid import UUID, uuid4

import asyncpg
import drafts
import oracle
import pytest

from app.providers.fake import FakeEmbedder
from app.shapes import Candidate, Filters, Recalled, Vector
from app.store import recall
from app.store.db import Database

WORDS = [
    "harbour",
    "lantern",
    "river",
    "castle",
    "violin",
    "copper",
    "meadow",
    "thunder",
    "pepper",
    "saddle",
    "marble",
    "orchid",
]


@pytest.fixture
def put(database: Database, embedder: FakeEmbedder, user: str):
    async def stored(*texts: str, embedded: list[Vector] | None = None, **attributes) -> UUID:
        draft = drafts.draft(*texts, **attributes)
        return await drafts.put(database, user, draft, embedded=embedded, embedder=embedder)

    return stored


@pytest.fixture
def find(database: Database, user: str):
    async def found(words: str | None = None, vector: Vector | None = None, **options) -> Recalled:
        return await drafts.find(database, drafts.ask(user, words, vector, **options))

    return found


@pytest.fixture
def by_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every scope counts as too large for an exact scan."""
    monkeypatch.setattr(recall, "EXACT_FLOOR", 0)
    monkeypatch.setattr(recall, "EXACT_FACTOR", 0.0)
    monkeypatch.setattr(recall, "EXACT_FACTOR_FILTERED", 0.0)


def at(*first: float) -> Vector:
    """A vector that begins with these numbers, in the dimension of the tests' database."""
    return [*map(float, first), *([0.0] * (64 - len(first)))]


def angled(cosine: float) -> Vector:
    """A unit vector at this cosine to at(1)."""
    return at(cosine, math.sqrt(1 - cosine * cosine))


def one(found: Recalled, content: str) -> Candidate:
    return next(candidate for candidate in found.candidates if candidate.content == content)


def ids(found: Recalled) -> list[UUID]:
    return [candidate.chunk_id for candidate in found.candidates]


async def test_rrf_adds_weight_over_k_plus_rank_and_nothing_for_an_absent_leg(put, find) -> None:
    await put("copper copper", "copper river", "meadow", embedded=[angled(0.5), angled(0.9), angled(0.7)])
    found = await find("copper", at(1), candidates=2)
    assert drafts.contents(found) == ["copper river", "copper copper", "meadow"]
    both, text_only, vector_only = found.candidates
    assert both.rrf_score == pytest.approx(1 / (60 + 1) + 1 / (60 + 2), rel=1e-12)
    assert text_only.rrf_score == pytest.approx(1 / (60 + 1), rel=1e-12)
    assert vector_only.rrf_score == pytest.approx(1 / (60 + 2), rel=1e-12)
    assert [(c.vector_rank, c.text_rank) for c in found.candidates] == [(1, 2), (None, 1), (2, None)]
    assert (text_only.vector_score, vector_only.text_score) == (None, None)


async def test_weights_and_k_of_the_request_are_used(put, find) -> None:
    await put("copper copper", "copper river", embedded=[angled(0.5), angled(0.9)])
    found = await find("copper", at(1), weights=(0.7, 1.6), k=5)
    assert one(found, "copper copper").rrf_score == pytest.approx(0.7 / (5 + 2) + 1.6 / (5 + 1), rel=1e-12)
    assert one(found, "copper river").rrf_score == pytest.approx(0.7 / (5 + 1) + 1.6 / (5 + 2), rel=1e-12)
    best = (0.7 + 1.6) / (5 + 1)
    assert found.candidates[0].score == pytest.approx((0.7 / 7 + 1.6 / 6) / best, rel=1e-12)
    assert drafts.contents(found) == ["copper copper", "copper river"]


async def test_first_in_both_legs_scores_one(put, find) -> None:
    await put("copper", "river", embedded=[angled(0.9), angled(0.1)])
    assert (await find("copper", at(1))).candidates[0].score == pytest.approx(1.0, abs=1e-12)


async def test_ties_go_to_the_better_single_rank(put, find) -> None:
    # At k = 1: 1/(1+1) + 1/(1+5) = 2/3 = 1/(1+2) + 1/(1+2) holds of first-and-fifth and of second-in-both.
    texts = [f"copper {'river ' * n}".strip() for n in range(6)]
    cosines = [0.5, 0.8, 0.7, 0.6, 0.4, 0.3]
    extra = angled(0.9)
    await put(*texts, "meadow", embedded=[*map(angled, cosines), extra])
    found = await find("copper", at(1), k=1)
    first, second = one(found, texts[0]), one(found, texts[1])
    assert (first.text_rank, first.vector_rank, second.text_rank, second.vector_rank) == (1, 5, 2, 2)
    assert first.rrf_score == pytest.approx(second.rrf_score, rel=1e-12)
    order = drafts.contents(found)
    assert order.index(texts[0]) < order.index(texts[1])


async def test_ties_of_score_and_rank_go_by_chunk_id_and_twice_the_same_way(put, find) -> None:
    for n in range(6):
        await put(f"copper {'river' if n % 2 else 'copper'}", "meadow", embedded=[at(0, n + 1, 1), at(1, n / 10)])
    found = await find("copper", at(1), candidates=6)
    keys = [
        (-round(c.score, 12), min(r for r in (c.vector_rank, c.text_rank) if r), c.chunk_id) for c in found.candidates
    ]
    assert keys == sorted(keys)
    assert len({key[:2] for key in keys}) < len(keys)
    assert ids(await find("copper", at(1), candidates=6)) == ids(found)


async def test_convex_scales_the_vector_to_the_legs_range_and_the_text_to_its_best(put, find) -> None:
    await put(
        "copper copper",
        "copper river",
        "meadow stone",
        embedded=[angled(0.5), angled(0.9), angled(0.8)],
        config="simple",
    )
    found = await find("copper", at(1), fusion="convex", weights=(0.3, 0.7))
    best_text = one(found, "copper copper").text_score
    other_text = one(found, "copper river").text_score
    assert best_text is not None
    assert other_text is not None
    expected = {
        "copper copper": 0.3 * 0 + 0.7 * 1,
        "copper river": 0.3 * 1 + 0.7 * other_text / best_text,
        "meadow stone": 0.3 * (0.8 - 0.5) / (0.9 - 0.5),
    }
    for content, score in expected.items():
        assert one(found, content).convex_score == pytest.approx(score, abs=1e-6)
        assert one(found, content).score == pytest.approx(score / (0.3 + 0.7), abs=1e-6)
    assert drafts.contents(found) == sorted(expected, key=lambda content: -expected[content])
    assert one(found, "meadow stone").rrf_score == pytest.approx(0.3 / (60 + 2), rel=1e-9)


async def test_a_zero_range_counts_as_one_in_convex(put, find) -> None:
    await put("copper", "copper copper river", embedded=[angled(0.6), angled(0.6)])
    found = await find("copper", at(1), fusion="convex", weights=(0.3, 0.7))
    best = max(candidate.text_score or 0 for candidate in found.candidates)
    for candidate in found.candidates:
        assert candidate.convex_score == pytest.approx(0.3 * 1 + 0.7 * (candidate.text_score or 0) / best, abs=1e-6)


async def test_text_score_is_bm25_over_the_users_stored_lexemes(put, find, owner, user) -> None:
    dice = random.Random(7)
    for _ in range(12):
        await put(*(" ".join(dice.choices(WORDS, k=dice.randint(1, 40))) for _ in range(dice.randint(1, 5))))
    corpus = await oracle.corpus(owner, user)
    for lexemes in (["lantern"], ["lantern", "castl", "orchid"], ["copper", "copper", "river"]):
        words = " ".join({"castl": "castle"}.get(lexeme, lexeme) for lexeme in lexemes)
        expected = corpus.bm25(lexemes)
        found = await find(words, limit=50)
        assert found.text_found == len(expected)
        assert {c.chunk_id: c.text_score for c in found.candidates} == pytest.approx(expected, rel=1e-5)
        assert [c.text_rank for c in found.candidates] == list(range(1, len(expected) + 1))
        assert {t.lexeme: t.idf for t in found.terms} == pytest.approx({x: corpus.idf(x) for x in lexemes}, rel=1e-9)


async def test_bm25_stays_that_of_the_whole_corpus_under_filters_and_exclusions(put, find, owner, user) -> None:
    wanted = await put("copper river", "copper copper copper", "meadow")
    await put("copper lantern", "river", "river meadow castle")
    expected = (await oracle.corpus(owner, user)).bm25(["copper", "river"])
    everything = await find("copper river")
    filtered = await find("copper river", filters=Filters(document_ids=(wanted,)))
    excluding = await find("copper river", exclude_chunk_ids=tuple(ids(everything)[:2]))
    for found, count in ((everything, 5), (filtered, 2), (excluding, 3)):
        assert len(found.candidates) == count
        for candidate in found.candidates:
            assert candidate.text_score == pytest.approx(expected[candidate.chunk_id], rel=1e-5)
        assert found.terms == everything.terms


async def test_a_lexeme_counts_up_to_255_times_a_chunk(put, find, owner, user) -> None:
    await put("copper " * 200, "copper " * 400, "river")
    corpus = await oracle.corpus(owner, user)
    expected = corpus.bm25(["copper"])
    found = await find("copper")
    assert one(found, "copper " * 200).text_score == pytest.approx(
        expected[one(found, "copper " * 200).chunk_id], rel=1e-5
    )
    assert one(found, "copper " * 400).text_score == pytest.approx(
        expected[one(found, "copper " * 400).chunk_id], rel=1e-3
    )


@pytest.fixture
async def one_zebra(monkeypatch, put) -> None:
    """21 chunks hold a common word, one of them a rare one too, and only five postings may make candidates."""
    monkeypatch.setattr(recall, "SPEND", 5)
    await put("copper zebra", *(f"copper {'river ' * n}".strip() for n in range(20)))


async def test_common_words_add_their_exact_share_to_what_rare_words_nominate(one_zebra, find, owner, user) -> None:
    expected = (await oracle.corpus(owner, user)).bm25(["copper", "zebra"])
    found = await find("copper zebra", candidates=1)
    assert drafts.contents(found) == ["copper zebra"]
    assert found.candidates[0].text_score == pytest.approx(expected[found.candidates[0].chunk_id], rel=1e-5)


async def test_a_query_of_common_words_alone_is_scored_in_full(one_zebra, find, owner, user) -> None:
    expected = (await oracle.corpus(owner, user)).bm25(["copper"])
    found = await find("copper", limit=50)
    assert {c.chunk_id: c.text_score for c in found.candidates} == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "options",
    [{"strict": ["copper"]}, {"excluded": ["lantern"]}, {"filters": Filters(metadata={})}],
    ids=["strict", "excluding", "filtered"],
)
async def test_every_match_is_scored_where_the_candidates_are_filtered(one_zebra, find, owner, user, options) -> None:
    expected = (await oracle.corpus(owner, user)).bm25(["copper", "zebra"])
    found = await find("copper zebra", limit=50, **options)
    assert {c.chunk_id: c.text_score for c in found.candidates} == pytest.approx(expected, rel=1e-5)


async def test_a_rare_word_beside_a_common_one_does_not_leave_the_answer_short(one_zebra, find) -> None:
    found = await find("copper zebra", limit=10)
    assert len(found.candidates) == 10 or found.approximate
    for candidates in (1, 100):
        gone = (found.candidates[0].chunk_id,)
        rest = await find("copper zebra", limit=candidates, candidates=candidates, exclude_chunk_ids=gone)
        assert len(rest.candidates) == min(candidates, 20)


async def test_a_word_that_nothing_holds_does_not_silence_the_others(one_zebra, find) -> None:
    found = await find("copper unheard", limit=50, candidates=1)
    assert (found.text_found, [term.df for term in found.terms]) == (1, [0, 21])


async def test_vector_score_is_the_cosine_and_ranks_by_it(put, find, owner, user, embedder) -> None:
    await put(*(f"{first} {second}" for first in WORDS for second in WORDS))
    corpus = await oracle.corpus(owner, user)
    query = [3.0 * number for number in await embedder.embed_query("castle thunder")]
    expected = corpus.leg(corpus.cosine(query))
    found = await find(None, query, limit=50, candidates=100)
    assert found.vector_found == 100
    for candidate in found.candidates:
        assert candidate.vector_score == pytest.approx(expected.scores[candidate.chunk_id], abs=1e-6)
    scores = [candidate.vector_score for candidate in found.candidates]
    assert scores == sorted(scores, reverse=True)
    assert [candidate.vector_rank for candidate in found.candidates] == list(range(1, 51))


@pytest.mark.parametrize("graph", [False, True], ids=["exact", "graph"])
async def test_the_whole_answer_equals_plain_pythons(request, put, find, owner, user, embedder, graph) -> None:
    if graph:
        request.getfixturevalue("by_graph")
    dice = random.Random(11)
    for _ in range(20):
        await put(*(" ".join(dice.choices(WORDS, k=dice.randint(2, 12))) for _ in range(dice.randint(1, 6))))
    corpus = await oracle.corpus(owner, user)
    for _ in range(12):
        words = dice.sample(WORDS, 3)
        query = await embedder.embed_query(" ".join(dice.choices(WORDS, k=3)))
        documents = tuple({row.document_id for row in dice.sample(corpus.rows, 12)}) if dice.random() < 0.5 else None
        gone = tuple(row.chunk_id for row in dice.sample(corpus.rows, dice.choice([0, 10])))
        weights = (dice.choice([0.3, 1.0]), dice.choice([0.5, 1.0]))
        passing = {
            row.chunk_id
            for row in corpus.rows
            if row.chunk_id not in gone and (documents is None or row.document_id in documents)
        }
        stems = await owner.fetchval("SELECT tsvector_to_array(to_tsvector('english', $1))", " ".join(words))
        vector_leg = corpus.leg(corpus.cosine(query), passing, candidates=15)
        text_leg = corpus.leg(corpus.bm25(stems), passing, candidates=15)
        scores = oracle.rrf(vector_leg, text_leg, weights=weights)
        found = await find(
            " ".join(words),
            query,
            weights=weights,
            candidates=15,
            limit=50,
            filters=Filters(document_ids=documents),
            exclude_chunk_ids=gone,
        )
        assert found.vector_plan == ("hnsw" if graph else "exact")
        assert ids(found) == oracle.ordered(scores, vector_leg, text_leg)
        assert {c.chunk_id: c.rrf_score for c in found.candidates} == pytest.approx(scores, rel=1e-9)


@pytest.mark.parametrize("graph", [False, True], ids=["exact", "graph"])
async def test_excluded_chunks_leave_before_the_legs_are_cut(request, put, find, graph) -> None:
    if graph:
        request.getfixturevalue("by_graph")
    texts = [f"copper {'river ' * n}".strip() for n in range(30)]
    await put(*texts, embedded=[angled(0.99 - n / 50) for n in range(30)])
    everything = await find("copper", at(1), candidates=30, limit=30)
    assert drafts.contents(everything) == texts
    rest = await find("copper", at(1), candidates=10, limit=10, exclude_chunk_ids=tuple(ids(everything)[:20]))
    assert drafts.contents(rest) == texts[20:]
    assert (rest.vector_found, rest.text_found) == (10, 10)
    assert [(c.vector_rank, c.text_rank) for c in rest.candidates] == [(n, n) for n in range(1, 11)]


async def test_excluding_nothing_or_strangers_changes_nothing(put, find) -> None:
    await put("copper", "copper river")
    everything = await find("copper", at(1))
    assert await find("copper", at(1), exclude_chunk_ids=(uuid4(), uuid4())) == everything


async def test_excluding_everything_answers_nothing_but_reports(put, find) -> None:
    await put("copper", "copper river", "meadow")
    gone = tuple(ids(await find("copper", at(1))))
    empty = await find("copper", at(1), exclude_chunk_ids=gone)
    assert empty.candidates == ()
    assert (empty.vector_found, empty.text_found, empty.corpus_chunks, empty.scope_chunks) == (0, 0, 3, 3)
    assert [(term.lexeme, term.df) for term in empty.terms] == [("copper", 2)]


METADATA = {
    "old": {"year": 1999, "tags": ["red", "blue"], "when": "2024-03-01", "it's": 1, 'a"b': 2, "$.x": 3, "größe": 4},
    "new": {"year": 2024, "tags": ["red"], "when": "2024-03-02T10:00:00+00:00", "deep": {"inner": [1, 2]}, "ok": True},
    "odd": {"year": "2024", "tags": "red", "when": "soon", "\\": 5, "a.b": 6, "null": None, "😀": 7},
}
CASES = [
    ({"tags": ["red"]}, {"old", "new"}),
    ({"tags": ["red", "blue"]}, {"old"}),
    ({"tags": "red"}, {"odd"}),
    ({"year": 2024}, {"new"}),
    ({"year": "2024"}, {"odd"}),
    ({"deep": {"inner": [2]}}, {"new"}),
    ({"ok": True}, {"new"}),
    ({"null": None}, {"odd"}),
    ({"absent": 1}, set()),
    ({}, {"old", "new", "odd"}),
    ({"year": {"gte": 1999}}, {"old", "new"}),
    ({"year": {"gt": 1999}}, {"new"}),
    ({"year": {"lt": 2024}}, {"old"}),
    ({"year": {"gte": 1999, "lte": 1999.5}}, {"old"}),
    ({"year": {"gte": 1999, "lt": 1999}}, set()),
    ({"year": {"gte": 1999}, "tags": ["blue"]}, {"old"}),
    ({"year": {"gte": 1}, "when": {"gte": "2024-03-02"}}, {"new"}),
    ({"when": {"gte": "2024-03-01"}}, {"old", "new"}),
    ({"when": {"lt": "2024-03-02"}}, {"old"}),
    ({"when": {"gt": "2024-03-02T09:59:59+00:00", "lt": "2024-03-02T12:01:00+02:00"}}, {"new"}),
    ({"when": {"lte": "2024-03-02T10:00:00Z"}}, {"old", "new"}),
    ({"when": {"gte": "2024-03-02T10:00:00.001Z"}}, set()),
    ({"when": {"gte": 'soon" || true'}}, set()),
    ({"it's": {"gte": 1}}, {"old"}),
    ({'a"b': {"lte": 2}}, {"old"}),
    ({"$.x": {"gt": 2}}, {"old"}),
    ({"größe": {"gte": 4}}, {"old"}),
    ({"😀": {"gte": 7}}, {"odd"}),
    ({"\\": {"gte": 5}}, {"odd"}),
    ({"a.b": {"gte": 6}}, {"odd"}),
    ({"x) || (1 == 1": {"gte": 0}}, set()),
    ({":user_id": {"gte": 0}}, set()),
    ({"it's": 1, "$.x": 3}, {"old"}),
]


@pytest.fixture(scope="module")
async def described(database: Database, embedder: FakeEmbedder) -> str:
    """A user whose three documents differ in their metadata and age."""
    user = f"described-{uuid4().hex}"
    days = {"old": 1, "new": 2, "odd": 3}
    for name, metadata in METADATA.items():
        created = datetime(2024, 3, days[name], tzinfo=UTC)
        stored = drafts.draft(
            f"copper {name}", f"copper river {name}", metadata=metadata, title=name, created_at=created
        )
        await drafts.put(database, user, stored, embedder=embedder)
    return user


@pytest.mark.parametrize("graph", [False, True], ids=["exact", "graph"])
@pytest.mark.parametrize(("metadata", "expected"), CASES, ids=[str(metadata) for metadata, _ in CASES])
async def test_metadata_filters_bind_both_legs(request, database, described, metadata, expected, graph) -> None:
    if graph:
        request.getfixturevalue("by_graph")
    filters = Filters(metadata=metadata)
    found = await drafts.find(database, drafts.ask(described, "copper", at(1), filters=filters))
    assert {candidate.title for candidate in found.candidates} == expected
    assert (found.vector_found, found.text_found) == (2 * len(expected), 2 * len(expected))
    assert found.scope_chunks == min(2 * len(expected), 2 if graph else 6)


@pytest.mark.parametrize(
    ("after", "before", "expected"),
    [
        (2, None, {"new", "odd"}),
        (None, 2, {"old"}),
        (2, 3, {"new"}),
        (2, 2, set()),
        (None, None, {"old", "new", "odd"}),
    ],
)
async def test_created_after_is_inclusive_and_created_before_exclusive(
    database, described, after, before, expected
) -> None:
    def day(number: int | None) -> datetime | None:
        return None if number is None else datetime(2024, 3, number, tzinfo=UTC)

    filters = Filters(created_after=day(after), created_before=day(before))
    found = await drafts.find(database, drafts.ask(described, "copper", at(1), filters=filters))
    assert {candidate.title for candidate in found.candidates} == expected
    assert found.vector_found == found.text_found == 2 * len(expected)


async def test_filters_by_source_and_document_bind_both_legs(put, find, owner, user) -> None:
    first, second = await put("copper river"), await put("copper meadow")
    source = uuid4()
    await owner.execute(
        "INSERT INTO stepwell.sources (user_id, source_id, path, glob) VALUES ($1, $2, '/', '*')", user, source
    )
    await owner.execute(
        "UPDATE stepwell.documents SET source_id = $3 WHERE user_id = $1 AND document_id = $2", user, second, source
    )
    of_source = await find("copper", at(1), filters=Filters(source_ids=(source, uuid4())))
    assert [c.document_id for c in of_source.candidates] == [second]
    assert of_source.candidates[0].source_id == source
    of_document = await find("copper", at(1), filters=Filters(document_ids=(first, uuid4())))
    assert [c.document_id for c in of_document.candidates] == [first]
    for filters in (Filters(document_ids=()), Filters(document_ids=(first,), source_ids=(source,))):
        nothing = await find("copper", at(1), filters=filters)
        assert (nothing.candidates, nothing.vector_found, nothing.text_found, nothing.scope_chunks) == ((), 0, 0, 0)
        assert nothing.corpus_chunks == 2


async def test_a_phrase_must_stand_in_what_the_text_leg_finds(put, find) -> None:
    await put("copper river", "river copper", "copper old river", "rivers of copper rivers")
    found = await find("copper river", strict=["copper river"])
    assert set(drafts.contents(found)) == {"copper river", "rivers of copper rivers"}


async def test_required_words_are_all_required_and_inflect(put, find) -> None:
    await put("copper river", "copper meadow", "coppers and meadows and rivers", "lantern")
    found = await find("copper lantern", strict=["river", "copper"])
    assert set(drafts.contents(found)) == {"copper river", "coppers and meadows and rivers"}
    assert (await find("copper", strict=["violin"])).candidates == ()


async def test_a_required_stop_word_asks_nothing_where_it_is_alone(put, find) -> None:
    await put("copper river", "copper meadow")
    found = await find("copper", strict=["the", "river"])
    assert drafts.contents(found) == ["copper river"]


@pytest.mark.parametrize("graph", [False, True], ids=["exact", "graph"])
@pytest.mark.parametrize("filtered", [False, True], ids=["all", "filtered"])
async def test_excluded_words_and_phrases_leave_both_legs_before_the_cut(request, put, find, graph, filtered) -> None:
    if graph:
        request.getfixturevalue("by_graph")
    barred = [f"copper meadow {'river ' * n}".strip() for n in range(12)]
    phrase = [f"copper old lantern {'river ' * n}".strip() for n in range(12)]
    kept = [f"copper lantern old {'river ' * (n + 12)}".strip() for n in range(4)]
    document = await put(*barred, *phrase, *kept, embedded=[angled(0.99 - n / 40) for n in range(28)])
    filters = Filters(document_ids=(document,)) if filtered else None
    found = await find("copper", at(1), excluded=["meadows", "old lantern"], candidates=4, limit=10, filters=filters)
    assert drafts.contents(found) == kept
    assert [(c.vector_rank, c.text_rank) for c in found.candidates] == [(n, n) for n in range(1, 5)]


async def test_stop_words_alone_leave_the_vector_leg(put, find) -> None:
    await put("copper", "river")
    found = await find("the of and", at(1))
    assert (found.terms, found.text_found, found.vector_found) == ((), 0, 2)
    assert all(c.text_rank is None and c.text_score is None for c in found.candidates)
    assert found.candidates[0].rrf_score == pytest.approx(1 / 61)


async def test_without_a_vector_the_text_leg_answers_alone(put, find) -> None:
    await put("copper", "river")
    found = await find("copper", None)
    assert (found.vector_plan, found.vector_found, found.text_found) == ("none", 0, 1)
    assert (found.candidates[0].vector_rank, found.candidates[0].vector_score) == (None, None)
    assert not found.approximate


async def test_a_leg_of_weight_zero_is_not_run(put, find) -> None:
    await put("copper", "river", embedded=[angled(0.1), angled(0.9)])
    lexical = await find("copper", at(1), weights=(0.0, 1.0))
    assert (lexical.vector_plan, lexical.vector_found, drafts.contents(lexical)) == ("none", 0, ["copper"])
    assert lexical.candidates[0].score == pytest.approx(1.0)
    semantic = await find("copper", at(1), weights=(1.0, 0.0))
    assert (semantic.text_found, semantic.terms, drafts.contents(semantic)) == (0, (), ["river", "copper"])


async def test_thresholds_apply_after_the_fusion(put, find) -> None:
    await put("copper", "river", "meadow", embedded=[angled(0.2), angled(0.9), angled(0.5)])
    everything = await find("copper", at(1))
    assert len(everything.candidates) == 3
    found = await find("copper", at(1), min_vector_score=0.45)
    assert drafts.contents(found) == ["river", "meadow"]
    assert found.vector_found == 3
    assert one(found, "meadow").vector_rank == 2
    floor = 1 / 61 - 1e-9
    above = await find("copper", at(1), min_rrf_score=floor)
    assert drafts.contents(above) == [c.content for c in everything.candidates if (c.rrf_score or 0) >= floor]
    assert 0 < len(above.candidates) < 3


async def test_a_hit_without_a_vector_score_fails_min_vector_score(put, find) -> None:
    await put("copper", "river", embedded=[angled(0.2), angled(0.9)])
    found = await find("copper", at(1), candidates=1, min_vector_score=-1.0)
    assert drafts.contents(found) == ["river"]
    assert (await find("copper", None, min_vector_score=0.0)).candidates == ()


async def test_documents_of_several_languages_answer_one_query_each_by_its_own_stems(put, find, owner, user) -> None:
    await put("The houses stood empty", "lanterns", config="english")
    await put("Die Häuser standen leer", "Laternen", config="german")
    await put("houses", config="simple")
    assert set(drafts.contents(await find("house"))) == {"The houses stood empty"}
    assert set(drafts.contents(await find("Haus"))) == {"Die Häuser standen leer"}
    both = await find("Häusern houses")
    assert set(drafts.contents(both)) == {"The houses stood empty", "Die Häuser standen leer", "houses"}
    corpus = await oracle.corpus(owner, user)
    assert one(both, "houses").text_score == pytest.approx(
        corpus.bm25(["houses"])[one(both, "houses").chunk_id], rel=1e-5
    )
    strict = await find("Häusern houses", strict=["leeren"])
    assert drafts.contents(strict) == ["Die Häuser standen leer"]
    without = await find("Häusern houses", excluded=["leeres", "stood empty"])
    assert drafts.contents(without) == ["houses"]


async def test_accents_are_folded_in_english(put, find) -> None:
    await put("the café in Orléans")
    for query in ("cafe orleans", "CAFÉ", "Orle\u0301ans", "orléans"):
        assert drafts.contents(await find(query)) == ["the café in Orléans"]


async def test_accents_count_in_french(put, find) -> None:
    await put("la pêche", "peche", config="french")
    assert drafts.contents(await find("pêche")) == ["la pêche"]
    assert drafts.contents(await find("peche")) == ["peche"]
    assert drafts.contents(await find("pêche peche", strict=["pêche"])) == ["la pêche"]
    assert drafts.contents(await find("pêche peche", excluded=["pêche"])) == ["peche"]


async def test_a_user_without_documents_gets_an_empty_report(find) -> None:
    for options in ({}, {"filters": Filters(metadata={"a": 1})}, {"strict": ["river"]}, {"excluded": ["river"]}):
        found = await find("copper", at(1), **options)
        assert found.candidates == ()
        assert (found.corpus_chunks, found.scope_chunks, found.vector_found, found.text_found) == (0, 0, 0, 0)


async def test_chunks_without_a_single_lexeme_are_found_by_meaning(put, find) -> None:
    await put("the", "of")
    found = await find("the copper", at(1))
    assert (found.vector_found, found.text_found) == (2, 0)
    assert [(term.lexeme, term.df) for term in found.terms] == [("copper", 0)]


async def test_content_is_left_out_on_request(put, find) -> None:
    await put("copper", title="Metals", uri="metals.md", metadata={"a": 1})
    bare = (await find("copper", at(1), with_content=False)).candidates[0]
    assert (bare.content, bare.title, bare.uri, bare.metadata) == ("", "Metals", "metals.md", {"a": 1})


LONG_QUERIES = ["copper " * 3_000, " ".join(WORDS) + " xyz" * 500, "'; DROP TABLE x; -- :* & | ! <-> copper"]


@pytest.mark.parametrize("query", LONG_QUERIES, ids=["repeated", "long", "operators"])
async def test_long_and_hostile_queries_are_words_only(put, find, query) -> None:
    await put("copper")
    assert drafts.contents(await find(query, at(1), strict=[], excluded=["zzz"])) == ["copper"]


CORPUS = 3_003


@pytest.fixture(scope="module")
async def large(database: Database, owner: asyncpg.Connection, embedder: FakeEmbedder) -> str:
    """A user with 3,003 tiny chunks: 1 % of them `kind: rare`, 0.1 % `kind: single`."""
    user = f"large-{uuid4().hex}"
    dice = random.Random(3)
    sizes = [("common", 30)] * 99 + [("rare", 10)] * 3 + [("single", 3)]
    for n, (kind, size) in enumerate(sizes):
        texts = [f"{' '.join(dice.choices(WORDS, k=4))} {n} {m}" for m in range(size)]
        stored = drafts.draft(*texts, metadata={"kind": kind, "n": n}, title=f"document {n}")
        await drafts.put(database, user, stored, embedder=embedder)
    await owner.execute("VACUUM ANALYZE stepwell.embeddings, stepwell.chunks, stepwell.documents, stepwell.postings")
    return user


SELECTIONS = [
    (None, CORPUS),
    ({"kind": "rare"}, 30),
    ({"kind": "single"}, 3),
    ({"n": {"lt": 50}}, 1_500),
    ({"n": {"gte": 101}}, 13),
]


@pytest.mark.parametrize(("metadata", "passing"), SELECTIONS, ids=[str(metadata) for metadata, _ in SELECTIONS])
@pytest.mark.parametrize("excluding", [0, 30])
async def test_an_answer_through_the_graph_is_never_short_of_what_passes(
    by_graph, database, large, embedder, metadata, passing, excluding
) -> None:
    query = await embedder.embed_query("lantern thunder")
    filters = Filters(metadata=metadata)
    nearest = drafts.ask(large, None, query, filters=filters, limit=30, candidates=100)
    gone = tuple(ids(await drafts.find(database, nearest))[:excluding])
    for limit in (1, 5, 50):
        wanted = drafts.ask(large, None, query, filters=filters, limit=limit, exclude_chunk_ids=gone)
        found = await drafts.find(database, wanted)
        assert found.vector_plan == "hnsw"
        assert len(found.candidates) == min(limit, passing - len(gone))
        assert not set(ids(found)) & set(gone)
        assert found.approximate == (passing - len(gone) < 100)


@pytest.mark.parametrize(("metadata", "passing"), SELECTIONS, ids=[str(metadata) for metadata, _ in SELECTIONS])
async def test_the_graph_finds_what_an_exact_scan_finds(
    monkeypatch, database, large, embedder, owner, metadata, passing
) -> None:
    corpus = await oracle.corpus(owner, large)
    hits = total = 0
    for text in ("lantern thunder", "copper orchid meadow", "castle 17 3"):
        query = await embedder.embed_query(text)
        wanted = drafts.ask(large, text, query, filters=Filters(metadata=metadata), limit=50, excluded=["violin"])
        with monkeypatch.context() as patch:
            patch.setattr(recall, "EXACT_FLOOR", CORPUS)
            exact = await drafts.find(database, wanted)
        with monkeypatch.context() as patch:
            patch.setattr(recall, "EXACT_FLOOR", 0)
            patch.setattr(recall, "EXACT_FACTOR", 0.0)
            patch.setattr(recall, "EXACT_FACTOR_FILTERED", 0.0)
            graph = await drafts.find(database, wanted)
        assert (exact.vector_plan, graph.vector_plan) == ("exact", "hnsw")
        assert (exact.vector_found, exact.text_found) == (graph.vector_found, graph.text_found)
        assert "violin" not in " ".join(drafts.contents(exact) + drafts.contents(graph))
        cosines = corpus.cosine(query)
        for found in (exact, graph):
            for candidate in found.candidates:
                if candidate.vector_score is not None:
                    assert candidate.vector_score == pytest.approx(cosines[candidate.chunk_id], abs=1e-6)
        assert not exact.approximate
        hits += len(set(ids(exact)) & set(ids(graph)))
        total += len(exact.candidates)
    assert hits >= 0.97 * total
    assert total > 0


async def test_the_choice_between_graph_and_exact_scan_follows_the_counted_scope(monkeypatch, database, large) -> None:
    monkeypatch.setattr(recall, "EXACT_FACTOR", 0.0)
    monkeypatch.setattr(recall, "EXACT_FACTOR_FILTERED", 0.0)
    for floor, metadata, plan in (
        (CORPUS, None, "exact"),
        (CORPUS - 1, None, "hnsw"),
        (30, {"kind": "rare"}, "exact"),
        (29, {"kind": "rare"}, "hnsw"),
    ):
        monkeypatch.setattr(recall, "EXACT_FLOOR", floor)
        wanted = drafts.ask(large, None, at(1), filters=Filters(metadata=metadata))
        assert (await drafts.find(database, wanted)).vector_plan == plan


async def test_a_big_table_makes_a_filtered_scope_exact_up_to_the_square_root_of_its_cost(
    monkeypatch, database, large, owner
) -> None:
    monkeypatch.setattr(recall, "EXACT_FLOOR", 0)
    rows = await owner.fetchval("SELECT reltuples FROM pg_class WHERE oid = 'stepwell.embeddings'::regclass")
    scope = 30
    for above, plan in ((1.0, "exact"), (-1.0, "hnsw")):
        monkeypatch.setattr(recall, "EXACT_FACTOR", (scope + above) ** 2 / (100 * rows))
        monkeypatch.setattr(recall, "EXACT_FACTOR_FILTERED", (scope + above) ** 2 / (100 * rows))
        wanted = drafts.ask(large, None, at(1), filters=Filters(metadata={"kind": "rare"}))
        assert (await drafts.find(database, wanted)).vector_plan == plan
