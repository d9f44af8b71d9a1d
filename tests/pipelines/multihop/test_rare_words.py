"""Rare words link passages that have neither titles nor names."""

from __future__ import annotations

import pytest
from harness import Tenant
from requests_of import search_request

from app.pipelines.multihop import multihop

NOISE = ("Where the quay ends.", "A shed by the reservoir.", "Nobody swelled with pride.", "The sisters of the choir.")


@pytest.mark.parametrize(
    ("source", "answer", "question", "word"),
    [
        (
            "the cells that swelled at the reservoir carry the stamp tolvexa",
            "that firm is run by two sisters: who runs tolvexa",
            "whose cells swelled at the reservoir, and who runs that firm?",
            "tolvexa",
        ),
        ("水庫,浮標的電池膨脹,印有青嵐字樣", "兩姊妹在碼頭,經營青嵐,工廠", "水庫,工廠?", "青嵐"),
    ],
)
async def test_a_rare_word_links_notes_without_titles_and_capitals(
    tenant: Tenant, source: str, answer: str, question: str, word: str
) -> None:
    notes = {"source": source, "answer": answer, **{f"noise{n}": text.lower() for n, text in enumerate(NOISE * 2)}}
    await tenant.add_all({uri: f"{text} {uri}" for uri, text in notes.items()})
    found = await multihop.run(search_request(question, explain=True), tenant.user_id, tenant.services())
    best = {hit.candidate.uri: hit for hit in found.hits}
    assert "answer" in best
    assert best["answer"].explain is not None
    assert best["answer"].explain["signals"]["rare"] > 0
    via = best["answer"].via
    assert via is None or (via.signal, via.name) == ("rare", word)
