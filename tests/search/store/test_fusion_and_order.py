"""The hybrid statement scores, fuses and orders as docs/search.md specifies; expected values are computed in Python."""

import random

import hybrid
import oracle
import pytest
from query_vectors import WORDS, angled, at, ids, one

from app.database.filter_types import Filters
from app.query.search_types import LanguageWeights, Weights


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
    expected = {
        "copper copper": 0.3 * 0 + 0.7 * 1,
        "copper river": 0.3 * 1 + 0.7 * other_text / best_text,
        "meadow stone": 0.3 * (0.8 - 0.5) / (0.9 - 0.5),
    }
    for content, score in expected.items():
        assert one(found, content).convex_score == pytest.approx(score, abs=5e-4), "vectors have 16 bits a number"
        assert one(found, content).score == pytest.approx(score / (0.3 + 0.7), abs=5e-4)
    assert hybrid.contents(found) == sorted(expected, key=lambda content: -expected[content])
    assert one(found, "meadow stone").rrf_score == pytest.approx(2 * 0.3 / (60 + 2), rel=1e-9)


async def test_a_zero_range_counts_as_one_in_convex(put, find) -> None:
    await put("copper", "copper copper river", embedded=[angled(0.6), angled(0.6)])
    found = await find("copper", at(1), fusion="convex", weights=(0.3, 0.7))
    best = max(candidate.text_score or 0 for candidate in found.candidates)
    for candidate in found.candidates:
        assert candidate.convex_score == pytest.approx(0.3 * 1 + 0.7 * (candidate.text_score or 0) / best, abs=1e-6)


async def test_all_results_equal_those_computed_in_python(put, find, owner, user, embedder, graph) -> None:
    dice = random.Random(11)
    for _ in range(20):
        await put(*(" ".join(dice.choices(WORDS, k=dice.randint(2, 12))) for _ in range(dice.randint(1, 6))))
    corpus = await oracle.corpus(owner, user)
    for _ in range(12):
        words = dice.sample(WORDS, 3)
        query = await embedder.embed_query(" ".join(dice.choices(WORDS, k=3)))
        documents = tuple({row.document_id for row in dice.sample(corpus.rows, 12)}) if dice.random() < 0.5 else None
        gone = tuple(row.chunk_id for row in dice.sample(corpus.rows, dice.choice([0, 10])))
        weights, k = (dice.choice([0.3, 1.0]), dice.choice([0.5, 1.0])), dice.choice([5, 60])
        passing = {
            row.chunk_id
            for row in corpus.rows
            if row.chunk_id not in gone and (documents is None or row.document_id in documents)
        }
        stems = await owner.fetchval("SELECT tsvector_to_array(to_tsvector('english', $1))", " ".join(words))
        vector_leg = corpus.leg(corpus.cosine(query), passing, candidates=15)
        text_leg = corpus.leg(corpus.bm25(stems), passing, candidates=15)
        scores = oracle.rrf(vector_leg, text_leg, k=k, weights=weights)
        found = await find(
            " ".join(words),
            query,
            weights=weights,
            k=k,
            candidates=15,
            limit=50,
            filters=Filters(document_ids=documents),
            exclude_chunk_ids=gone,
        )
        assert found.vector_plan == ("hnsw" if graph else "exact")
        assert ids(found) == oracle.ordered(scores, vector_leg, text_leg)
        assert {c.chunk_id: c.rrf_score for c in found.candidates} == pytest.approx(scores, rel=1e-9)
        texts = {c.chunk_id: c.text_score for c in found.candidates if c.text_rank}
        assert texts == pytest.approx(text_leg.scores, rel=1e-6)


async def test_thresholds_apply_after_the_fusion(put, find) -> None:
    await put("copper", "river", "meadow", embedded=[angled(0.2), angled(0.9), angled(0.5)])
    everything = await find("copper", at(1))
    assert len(everything.candidates) == 3
    found = await find("copper", at(1), min_vector_score=0.45)
    assert hybrid.contents(found) == ["river", "meadow"]
    assert found.vector_found == 3
    assert one(found, "meadow").vector_rank == 2
    for least, expected in ((0.1, {"river", "copper"}), (0.3, {"river"})):
        found = await find("copper", at(1), min_vector_score=least, candidates=1)
        assert set(hybrid.contents(found)) == expected, "a chunk that only the text leg has found has a cosine too"
    floor = 1 / 61 - 1e-9
    above = await find("copper", at(1), min_rrf_score=floor)
    assert hybrid.contents(above) == [c.content for c in everything.candidates if (c.rrf_score or 0) >= floor]
    assert 0 < len(above.candidates) < 3


async def test_equal_scores_of_a_leg_have_one_rank_so_that_equal_databases_give_equal_scores(put, find) -> None:
    for word in ("meadow", "castle", "lantern", "violin", "granite", "willow", "harbour", "reef"):
        await put(f"copper {word}", embedded=[angled(0.8)])
    await put("copper far beyond the river", embedded=[angled(0.1)])
    for options in ({}, {"strict": ["copper"]}):
        found = await find("copper", at(1), **options)
        *tied, last = found.candidates
        assert [one.chunk_id for one in tied] == sorted(one.chunk_id for one in tied)
        assert {(one.vector_rank, one.text_rank) for one in tied} == {(1, 1)}
        assert (last.vector_rank, last.text_rank) == (9, 9)


USUAL, UNREAD, FOREIGN = Weights(0.4, 0.6), Weights(0.1, 0.9), Weights(0.8, 0.2)
ENGLISH = LanguageWeights(frozenset({"english"}), 0.65, UNREAD, FOREIGN)
SPANISH = "El puerto cierra cuando la niebla cubre el faro"
ENGLISH_TEXT = "The harbour closes when fog hides the lighthouse"


@pytest.fixture
async def shelf(put) -> None:
    await put(SPANISH, embedded=[angled(0.2)], config="spanish")
    await put(ENGLISH_TEXT, embedded=[angled(0.9)], config="english")


@pytest.mark.parametrize(
    ("query", "weights"),
    [
        ("¿Cuándo cierra el puerto?", UNREAD),
        ("puerto niebla faro", UNREAD),
        ("When does the harbour close?", USUAL),
        ("Wann wird der Hafen geschlossen?", FOREIGN),
        ("puerto niebla faro Hafen", UNREAD),
        ("puerto niebla Hafen Leuchtturm", FOREIGN),
    ],
)
async def test_weights_follow_from_the_documents_with_the_words(find, shelf, query: str, weights: Weights) -> None:
    found = await find(query, at(1), fusion="convex", weights=(0.4, 0.6), by_language=ENGLISH)
    assert found.weights == weights
    for candidate in found.candidates:
        fused = weights.vector * candidate.vector_scaled + weights.text * candidate.text_scaled
        assert candidate.score == pytest.approx(fused, abs=1e-6)


async def test_the_weights_of_a_request_hold_without_a_language(find, put) -> None:
    found = await find("harbour", at(1), weights=(0.4, 0.6), by_language=ENGLISH)
    assert (found.weights, found.candidates) == (USUAL, ())
    await put(SPANISH, config="spanish")
    assert (await find("puerto", at(1), weights=(0.4, 0.6))).weights == USUAL


async def test_a_leg_that_is_not_wanted_does_not_run_in_any_language(find, shelf) -> None:
    found = await find("puerto niebla", at(1), weights=(0.0, 1.0), by_language=ENGLISH)
    assert (hybrid.contents(found), found.vector_found, found.weights) == ([SPANISH], 0, Weights(0.0, 1.0))
