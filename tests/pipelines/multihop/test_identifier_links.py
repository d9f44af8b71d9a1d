"""Identifiers link passages that share neither a name nor a word of the question."""

from __future__ import annotations

import pytest
from harness import Tenant
from requests_of import search_request

from app.pipelines.multihop import multihop
from app.pipelines.running.services import Services
from app.shapes import Answer

NOISE = ("Where the quay ends.", "A shed by the reservoir.", "Nobody swelled with pride.", "The cells of the choir.")


async def _ask(user_id: str, question: str, services: Services) -> Answer:
    return await multihop.run(search_request(question, explain=True), user_id, services)


@pytest.mark.parametrize(
    ("source", "answer", "question", "identifier"),
    [
        ("the cells that swelled: kx-207b", "built by sisters: KX-207B", "who makes cells that swelled?", "kx-207b"),
        ("水庫、電池膨脹、型号FB-12的电池", "青嵐、兩姊妹、FB-12", "水庫、電池、工廠", "FB-12"),
    ],
)
async def test_an_identifier_in_any_case_links_a_passage_without_a_word_of_the_question(
    tenant: Tenant, source: str, answer: str, question: str, identifier: str
) -> None:
    notes = {"source": source, "answer": answer, **{f"noise{n}": text for n, text in enumerate(NOISE * 2)}}
    await tenant.add_all({uri: f"{text} {uri}" for uri, text in notes.items()})
    best = {hit.candidate.uri: hit for hit in (await _ask(tenant.user_id, question, tenant.services())).hits}
    assert best["answer"].explain is not None
    assert best["answer"].explain["signals"]["identifier"] == pytest.approx(0.5, abs=0.1)
    via = best["answer"].via
    assert via is None or (via.signal, via.name, via.chunks) == ("identifier", identifier, 2)


@pytest.mark.parametrize("question", ["which firm makes cells of type KX-207B?", "cells that swelled"])
async def test_an_identifier_of_the_question_links_nothing_nor_does_one_where_nothing_is_left_open(
    tenant: Tenant, question: str
) -> None:
    await tenant.add_all({"source": "the cells that swelled: kx-207b", "answer": "built by sisters: KX-207B"})
    answer = await _ask(tenant.user_id, question, tenant.services())
    assert {hit.candidate.uri for hit in answer.hits} == {"source", "answer"}
    assert all("identifier" not in (hit.explain or {})["signals"] for hit in answer.hits)
