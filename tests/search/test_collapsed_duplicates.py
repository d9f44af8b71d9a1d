"""If duplicates are collapsed, copies of a note do not fill an answer: in one search, groups, pages, hops and tools."""

import random
from typing import Any

import harness
import pytest
from harness import Tenant
from requests_of import search_request

from app.multihop import multihop
from app.query.search_request import SimilarRequest
from app.query.search_types import Hit
from app.search import search, similar

NOTE = (
    "# Mortar\n\nBelow the third landing we use lime mortar and never cement, because the old stones have to breathe."
)
COPIES = [f"copy-{number}" for number in range(40)]
OTHERS = {
    "wall": "The lime mortar of the harbour wall is as old as the wall itself and was mixed with sea sand.",
    "slaking": "Lime is slaked for three months before it is used as mortar on the lower landing.",
    "cement": "Cement mortar cracked on the second landing within two winters of its use.",
    "plaster": "The plaster of the office is lime too, mixed with goat hair and a little mortar.",
    "dog": "A dog is a loyal companion that likes long walks in the park and the sea.",
}


shelf = harness.stored({**dict.fromkeys(COPIES, NOTE), **OTHERS})
"""A note with 40 copies (a search first reads fewer hits) and five other notes."""


def is_copy(hit: Hit) -> bool:
    return str(hit.candidate.uri).startswith("copy-")


@pytest.mark.parametrize(
    "fields",
    [{}, {"mmr": True}, {"mode": "hybrid"}, {"rerank": "cosine"}, {"group_size": 2}, {"detail": "ids"}],
    ids=str,
)
async def test_copies_fill_an_answer_unless_they_are_collapsed(shelf: Tenant, fields: dict[str, Any]) -> None:
    filled = await shelf.ask("lime mortar landing", collapse="off", **fields)
    assert sum(map(is_copy, filled.hits)) >= 4
    answer = await shelf.ask("lime mortar landing", **fields)
    assert len(answer.hits) == 5
    assert sum(map(is_copy, answer.hits)) == 1
    (copy,) = filter(is_copy, answer.hits)
    assert len(copy.duplicates) >= 20
    assert {str(one.uri) for one in copy.duplicates} <= set(COPIES) - {copy.candidate.uri}
    assert not any(one.duplicates for one in answer.hits if not is_copy(one))


async def test_pages_of_diverse_results_are_one_list_and_the_first_reads_no_further(tenant: Tenant) -> None:
    dice, words = (
        random.Random(1),
        ["tide", "gauge", "harbour", "crew", "sensor", "drift", "salt", "water", "radio", "buoy", "battery", "island"],
    )
    texts = [" ".join(dice.choices(words, k=60)) for _ in range(80)]
    await tenant.add_all({f"{copy}/{n}": text for n, text in enumerate(texts) for copy in "ab"[: 1 + (n % 3 == 0)]})
    for limit in (5, 10, 20):
        query = search_request("tide gauge battery", limit=limit, mmr=True)
        first = await search.run(query, tenant.user_id, tenant.services())
        second = await search.run(query.changed(cursor=first.next_cursor), tenant.user_id, tenant.services())
        whole = await search.run(query.changed(limit=2 * limit), tenant.user_id, tenant.services())
        assert "pages" not in first.timings
        assert len({hit.candidate.chunk_id for hit in (*first.hits, *second.hits)}) == 2 * limit
        assert whole.hits[0].candidate.chunk_id == first.hits[0].candidate.chunk_id


@pytest.mark.parametrize("fields", [{}, {"group_size": 1}, {"mmr": True}], ids=str)
async def test_pages_have_every_text_once(shelf: Tenant, fields: dict[str, Any]) -> None:
    query = search_request("lime mortar landing", limit=2, **fields)
    found, cursor = [], None
    while True:
        answer = await search.run(query.changed(cursor=cursor), shelf.user_id, shelf.services())
        found += answer.hits
        if (cursor := answer.next_cursor) is None:
            break
    assert sorted("copy" if is_copy(hit) else str(hit.candidate.uri) for hit in found) == sorted(["copy", *OTHERS])


async def test_the_hits_of_all_hops_and_similar_passages_are_collapsed(shelf: Tenant) -> None:
    services, question = shelf.services(), search_request("lime mortar landing", detail="ids", extractor="none")
    answers = [await multihop.run(question, shelf.user_id, services)]
    chunk_id = (await shelf.ask("loyal companion")).hits[0].candidate.chunk_id
    answers.append(await similar.run(SimilarRequest(chunk_id=chunk_id), shelf.user_id, services))
    for answer in answers:
        assert sum(map(is_copy, answer.hits)) == 1
        assert len(answer.hits) >= 4
