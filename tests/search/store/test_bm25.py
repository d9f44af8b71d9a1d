"""The text leg is BM25 over everything that the user stored, whichever words select the candidates."""

import random
from collections import Counter

import bm25s
import oracle
import pytest
from query_vectors import WORDS, angled, at, one

from app.database.filter_types import Filters
from app.search.store import hybrid_search


async def test_scores_and_the_best_ten_are_those_of_an_independent_bm25(put, find, owner, user) -> None:
    """Of 250 documents of very different lengths, whose words are as frequent as in real text."""
    dice, words = random.Random(20), [f"{word}{end}" for word in WORDS for end in ("ka", "to", "vi", "zu", "ran")]
    frequencies = [1 / place for place in range(1, len(words) + 1)]
    await put(*(" ".join(dice.choices(words, frequencies, k=dice.choice([3, 8, 20, 60]))) for _ in range(250)))
    rows = (await oracle.corpus(owner, user)).rows
    reference = bm25s.BM25(method="lucene", k1=oracle.K1, b=oracle.B)
    reference.index([list(Counter(row.frequencies).elements()) for row in rows], show_progress=False)
    for _ in range(40):
        found = await find(" ".join(dice.sample(words, dice.choice([1, 2, 4, 8]))))
        # Like Lucene since version 8 the reference leaves out the constant factor k1 + 1 of the formula.
        scores = (oracle.K1 + 1) * reference.get_scores([term.lexeme for term in found.terms])
        expected = {row.chunk_id: score for row, score in zip(rows, scores, strict=True)}
        best = sorted(scores[scores > 0], reverse=True)[:10]
        assert [one.text_score for one in found.candidates] == pytest.approx(best, abs=1e-4)
        assert [expected[one.chunk_id] for one in found.candidates] == pytest.approx(best, abs=1e-4)


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


@pytest.mark.parametrize("options", [{}, {"excluded": ["lantern"]}, {"filters": Filters(metadata={})}])
async def test_a_hit_that_only_the_vector_leg_found_has_its_bm25_score(put, find, owner, user, options) -> None:
    """Below the last candidate of the text leg, with common words that make no candidates, and without any word."""
    texts = [f"copper {'zebra ' * (n % 4)}{'river ' * n}".strip() for n in range(12)]
    await put(*texts, "copper " * 300, "meadow", embedded=[angled(0.3 + n / 20) for n in range(14)])
    expected = (await oracle.corpus(owner, user)).bm25(["copper", "zebra", "zebra"])
    found = await find("copper zebra zebra", at(1), candidates=3, limit=20, **options)
    assert any(one.text_rank is None and one.text_score for one in found.candidates)
    for candidate in found.candidates:
        assert candidate.text_score == pytest.approx(expected.get(candidate.chunk_id, 0), rel=1e-5)
    everything = await find("copper zebra zebra", at(1), candidates=20, limit=20, weights=(1.0, 0.0), **options)
    assert {one.text_score for one in everything.candidates} == {None}


@pytest.fixture
async def one_zebra(monkeypatch, put) -> None:
    """21 chunks hold a common word, one of them a rare one too, and only five postings may make candidates."""
    monkeypatch.setattr(hybrid_search, "CANDIDATE_POSTINGS", 5)
    await put("copper zebra", *(f"copper {'river ' * n}".strip() for n in range(20)))


async def test_the_best_of_many_candidates_are_those_of_the_exact_sums(monkeypatch, put, find, owner, user) -> None:
    """A common word adds to some candidates of the rare ones, which may pass others that have more of these."""
    monkeypatch.setattr(hybrid_search, "CANDIDATE_POSTINGS", 60)
    dice = random.Random(3)
    shares = {"zebra": 0.2, "orchid": 0.2, "copper": 0.6}
    texts = [[word for word, share in shares.items() for _ in range(3) if dice.random() < share] for _ in range(150)]
    await put(*(" ".join([*words, f"x{number}"]) for number, words in enumerate(texts)))
    corpus = await oracle.corpus(owner, user)
    rare, whole = corpus.bm25(["zebra", "orchid"]), corpus.bm25(["zebra", "orchid", "copper"])
    found = await find("zebra orchid copper", limit=20, candidates=20)
    expected = sorted((whole[chunk_id] for chunk_id in rare), reverse=True)[:20]
    assert [c.text_score for c in found.candidates] == pytest.approx(expected, rel=1e-5)


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


async def test_a_word_that_no_chunk_contains_does_not_hide_matches_of_the_others(one_zebra, find) -> None:
    found = await find("copper unheard", limit=50, candidates=1)
    assert (found.text_found, [term.df for term in found.terms]) == (1, [0, 21])
