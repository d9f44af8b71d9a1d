"""Identifiers and rare words link passages that share neither a name nor a word of the question."""

import pytest
from harness import Tenant
from requests_of import search_request

from app.documents.types import Upload
from app.multihop import multihop
from app.query.search_types import Answer

NOISE = ("Where the quay ends.", "A shed by the reservoir.", "Nobody swelled with pride.", "The sisters of the choir.")


async def _ask(tenant: Tenant, question: str) -> Answer:
    return await multihop.run(search_request(question, explain=True), tenant.user_id, tenant.services())


@pytest.mark.parametrize(
    ("source", "answer", "question", "signal", "name"),
    [
        (
            "the cells that swelled: kx-207b", "built by sisters: KX-207B", "who makes cells that swelled?",
            "identifier", "kx-207b",
        ),
        ("水庫、電池膨脹、型号FB-12的电池", "青嵐、兩姊妹、FB-12", "水庫、電池、工廠", "identifier", "FB-12"),
        (
            "the cells that swelled at the reservoir carry the stamp tolvexa",
            "that firm is run by two sisters: who runs tolvexa",
            "whose cells swelled at the reservoir, and who runs that firm?",
            "rare", "tolvexa",
        ),
        ("水庫,浮標的電池膨脹,印有青嵐字樣", "兩姊妹在碼頭,經營青嵐,工廠", "水庫,工廠?", "rare", "青嵐"),
    ],
)  # fmt: skip
async def test_what_two_passages_share_links_them_without_titles_and_capitals(
    tenant: Tenant, source: str, answer: str, question: str, signal: str, name: str
) -> None:
    notes = {"source": source, "answer": answer, **{f"noise{n}": text.lower() for n, text in enumerate(NOISE * 2)}}
    await tenant.add_all({uri: f"{text} {uri}" for uri, text in notes.items()})
    best = {hit.candidate.uri: hit for hit in (await _ask(tenant, question)).hits}
    assert best["answer"].explain["signals"][signal] > 0
    via = best["answer"].via
    assert via is None or (via.signal, via.name) == (signal, name)


@pytest.mark.parametrize("question", ["which firm makes cells of type KX-207B?", "cells that swelled"])
async def test_an_identifier_of_the_question_links_nothing_nor_does_one_where_nothing_is_left_open(tenant, question):
    await tenant.add_all({"source": "the cells that swelled: kx-207b", "answer": "built by sisters: KX-207B"})
    answer = await _ask(tenant, question)
    assert {hit.candidate.uri for hit in answer.hits} == {"source", "answer"}
    assert all("identifier" not in (hit.explain or {})["signals"] for hit in answer.hits)


async def test_many_chunks_of_a_manual_that_have_an_identifier_share_the_weight_of_three(tenant: Tenant) -> None:
    pages = "\n\n".join(f"## Page {n}\n\n" + f"Turn kx-207b by {n} marks and wait. " * 30 for n in range(1, 5))
    notes = {"source": "the cells that swelled: kx-207b and qt-3301", "maker": "built by sisters: QT-3301"}
    await tenant.add_all({**notes, "manual": pages, **{f"noise{n}": text for n, text in enumerate(NOISE)}})
    answer = await _ask(tenant, "who makes cells that swelled?")
    linked = [(hit.candidate.uri, (hit.explain or {})["signals"].get("identifier", 0.0)) for hit in answer.hits]
    weights = {uri: weight for uri, weight in linked if weight}
    assert weights["manual"] < weights["maker"] / 2


async def test_a_file_name_that_is_a_title_links_other_documents_and_not_the_rest_of_its_own(tenant: Tenant) -> None:
    answer = await _ask(await _with_file_name(tenant), "which cells swelled in the factory?")
    weights = [(hit.candidate.uri, (hit.explain or {})["signals"].get("identifier", 0.0)) for hit in answer.hits]
    assert {uri for uri, weight in weights if weight} == {"other"}


async def test_a_file_name_is_no_term_of_a_hop(tenant: Tenant) -> None:
    answer = await _ask(await _with_file_name(tenant), "which cells swelled in the factory?")
    assert [term for hop in answer.hops for term in hop.terms or () if "cells" in term] == []


async def _with_file_name(tenant: Tenant) -> Tenant:
    """The tenant with a document of two passages that is titled by its file name, and one that mentions this."""
    cells, quay = "The cells of the reservoir swelled. " * 30, "The quay is swept by the choir at dawn. " * 30
    log = Upload(f"## Cells\n\n{cells}\n\n## Quay\n\n{quay}", uri="log", title="cells.txt")
    other = Upload("A factory of two sisters, see cells.txt and its table.", uri="other", title="Sisters")
    await tenant.add_all([log, other, *(Upload(text, uri=f"noise{n}") for n, text in enumerate(NOISE))])
    return tenant
