"""Phrases, required and excluded words, languages and accents restrict the hybrid statement as documented."""

import hybrid
import oracle
import pytest
from query_vectors import angled, at, one

from app.database.filter_types import Filters
from app.search.store import hybrid_search


async def test_strict_words_bind_only_the_languages_that_do_not_drop_them(put, find) -> None:
    await put("a castle", "the castle", config="english")
    await put("castle die", "castle", config="german")
    await put("the castle", "castle", config="simple")
    english = {"a castle", "the castle"}
    assert set(hybrid.contents(await find("castle", strict=["the"]))) == english
    assert (await find("castle", strict=["the"])).text_found == 3
    assert set(hybrid.contents(await find("castle", strict=["die"]))) == {"castle die", "castle"}
    assert set(hybrid.contents(await find("castle", excluded=["the"]))) == {"castle", "castle die", *english}
    assert (await find("castle", excluded=["the"])).text_found == 5


@pytest.mark.parametrize("filtered", [False, True], ids=["all", "filtered"])
async def test_excluded_words_and_phrases_are_removed_from_both_legs_before_the_cut(put, find, graph, filtered) -> None:
    barred = [f"copper meadow {'river ' * n}".strip() for n in range(12)]
    phrase = [f"copper old lantern {'river ' * n}".strip() for n in range(12)]
    kept = [f"copper lantern old {'river ' * (n + 12)}".strip() for n in range(4)]
    document = await put(*barred, *phrase, *kept, embedded=[angled(0.99 - n / 40) for n in range(28)])
    filters = Filters(document_ids=(document,)) if filtered else None
    found = await find("copper", at(1), excluded=["meadows", "old lantern"], candidates=4, limit=10, filters=filters)
    assert hybrid.contents(found) == kept
    assert [(c.vector_rank, c.text_rank) for c in found.candidates] == [(n, n) for n in range(1, 5)]


@pytest.mark.parametrize(
    ("filtered", "few"), [(False, False), (True, False), (True, True)], ids=["all", "filtered", "few"]
)
async def test_both_legs_hold_only_chunks_with_the_required_words_and_phrases(
    put, find, monkeypatch, graph, filtered, few
) -> None:
    if few:
        monkeypatch.setattr(hybrid_search, "EXACT_FLOOR", 4)
    near = [f"copper meadow lantern {'river ' * n}".strip() for n in range(12)]
    kept = [f"copper old lantern {'river ' * (n + 12)}".strip() for n in range(4)]
    document = await put(*near, *kept, embedded=[angled(0.99 - n / 40) for n in range(16)])
    filters = Filters(document_ids=(document,)) if filtered else None
    options = {"strict": ["old lantern", "rivers"], "candidates": 4, "limit": 10, "filters": filters}
    found = await find("copper", at(1), **options)
    assert hybrid.contents(found) == kept
    assert [(c.vector_rank, c.text_rank) for c in found.candidates] == [(n, n) for n in range(1, 5)]
    semantic = await find("copper", at(1), weights=(1.0, 0.0), **options)
    assert hybrid.contents(semantic) == kept
    assert (await find("copper", at(1), strict=["violin"], filters=filters)).candidates == ()


async def test_stop_words_alone_leave_the_vector_leg(put, find) -> None:
    await put("copper", "river")
    found = await find("the of and", at(1))
    assert (found.terms, found.text_found, found.vector_found) == ((), 0, 2)
    assert all(c.text_rank is None and c.text_score == 0 for c in found.candidates)
    assert found.candidates[0].rrf_score == pytest.approx(1 / 61)


async def test_one_query_matches_documents_of_several_languages_by_the_stems_of_each(put, find, owner, user) -> None:
    await put("The houses stood empty", "lanterns", config="english")
    await put("Die Häuser standen leer", "Laternen", config="german")
    await put("houses", config="simple")
    assert set(hybrid.contents(await find("house"))) == {"The houses stood empty"}
    assert set(hybrid.contents(await find("Haus"))) == {"Die Häuser standen leer"}
    both = await find("Häusern houses")
    assert set(hybrid.contents(both)) == {"The houses stood empty", "Die Häuser standen leer", "houses"}
    corpus = await oracle.corpus(owner, user)
    assert one(both, "houses").text_score == pytest.approx(
        corpus.bm25(["houses"])[one(both, "houses").chunk_id], rel=1e-5
    )
    strict = await find("Häusern houses", strict=["leeren"])
    assert hybrid.contents(strict) == ["Die Häuser standen leer"]
    without = await find("Häusern houses", excluded=["leeres", "stood empty"])
    assert hybrid.contents(without) == ["houses"]


async def test_accents_count_in_french(put, find) -> None:
    await put("la pêche", "peche", config="french")
    assert hybrid.contents(await find("pêche")) == ["la pêche"]
    assert hybrid.contents(await find("peche")) == ["peche"]
    assert hybrid.contents(await find("pêche peche", strict=["pêche"])) == ["la pêche"]
    assert hybrid.contents(await find("pêche peche", excluded=["pêche"])) == ["peche"]
