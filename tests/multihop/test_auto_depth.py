"""The depth `auto` goes over several hops if one search does not answer, with one embedding and few searches."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import harness
import linking
import pytest
from harness import Tenant
from requests_of import search_request

from app.documents.types import Upload
from app.enums import Depth
from app.models.protocols import Proposal
from app.query.search_types import Answer
from app.search import search
from benchmarks.fake_embedder import FakeEmbedder

QUESTION = "Where was the director of Silent Harbour born?"


class Model:
    """A language model that proposes the name of the director."""

    name = "scripted"

    async def propose(self, query: str, passages: Sequence[str]) -> Proposal:
        """The one answer."""
        return Proposal(["Ilse Brandt"])


FILM = [
    Upload("Silent Harbour is a film whose director is Ilse Brandt.", uri="film", title="Silent Harbour"),
    Upload("Trained as a painter, her youth went by in Lundby.", uri="director", title="Ilse Brandt"),
    *(Upload(f"Where the director of the harbour was born, {n}.", uri=f"note {n}") for n in range(8)),
]
stored = harness.stored(FILM)


@pytest.fixture
def film(stored: Tenant) -> Tenant:
    """The user of the film, whose embedder a test may replace."""
    return replace(stored)


async def _ask(tenant: Tenant, wanted: Depth, text: str = QUESTION, **services: Any) -> Answer:
    return await search.run(search_request(text, depth=wanted), tenant.user_id, tenant.services(**services))


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (QUESTION, "divided"),
        (QUESTION.lower(), "divided"),
        ("where was the director of that film born?", "no_names"),
        ("Silent Harbour", "together"),
        ("Who is the director of Silent Harbour?", "together"),
        ("Where was the director of Loud Harbour born?", "together"),
        ("Silent Harbour ERR_4012", "literal"),
        ('"Silent Harbour" director', "literal"),
        ("+director Silent Harbour", "literal"),
    ],
)
async def test_auto_follows_names_only_if_the_first_search_shows_a_divided_answer(film, query, reason) -> None:
    answer = await _ask(film, "auto", query)
    expected = ("thorough" if reason == "divided" else "fast", reason)
    assert (answer.depth, answer.depth_reason) == expected
    assert (answer.hops is not None) == (reason == "divided")


@pytest.mark.parametrize("fields", [{"min_confidence": "low"}, {"limit": 21}])
async def test_an_option_that_hops_do_not_support_decides(film: Tenant, fields: dict[str, Any]) -> None:
    answer = await film.ask(QUESTION, depth="auto", **fields)
    assert (answer.depth, answer.depth_reason) == ("fast", "options")


async def test_auto_leaves_a_question_about_a_described_entity_to_guidance(tenant: Tenant) -> None:
    await tenant.add_all(FILM)
    await linking.add_entities(tenant, linking.person("Ilse Brandt"))
    answer = await _ask(tenant, "auto", "What did Ilse Brandt direct?")
    assert (answer.depth, answer.depth_reason) == ("fast", "entity")


async def test_a_question_without_capitals_is_followed_where_one_search_probably_does_not_answer_it(
    tenant: Tenant,
) -> None:
    await tenant.add_all(
        {
            "company": "沃尔纳公司由王小明于1987年创立，为小型港口生产水泵。",
            "founder": "王小明出生于哈尔滨，学习工程，一直住在那里。",
            **{f"note {n}": f"第{n}个创始人出生在港口，他的公司生产水泵。" for n in range(12)},
        }
    )
    chain = await _ask(tenant, "auto", "沃尔纳公司的创始人出生在哪里？")
    assert (chain.depth_reason, [hit.candidate.uri for hit in chain.hits[:2]]) == ("divided", ["company", "founder"])
    assert (await _ask(tenant, "auto", "沃尔纳公司生产水泵")).depth_reason == "no_names"


async def test_auto_follows_links_with_one_embedding_and_thorough_searches_for_terms_too(film: Tenant) -> None:
    film.embedder = embedder = FakeEmbedder()
    states: dict[type, object] = {}
    auto = await _ask(film, "auto", states=states)
    assert embedder.queries == [QUESTION]
    thorough = await _ask(film, "thorough", states=states)
    assert len(embedder.queries) == 2
    for answer, terms in ((auto, False), (thorough, True)):
        assert answer.depth == "thorough"
        assert ("director", 2) in [(hit.candidate.uri, hit.hop) for hit in answer.hits]
        assert bool((answer.hops or ())[1].terms) == terms


async def test_the_pages_of_an_answer_have_one_depth(film: Tenant) -> None:
    for text in (QUESTION, "Who is the director of Silent Harbour?"):
        request = search_request(text, depth="auto", limit=5)
        first = await search.run(request, film.user_id, film.services())
        second = await search.run(request.changed(cursor=first.next_cursor), film.user_id, film.services())
        assert (second.depth, second.depth_reason) == (first.depth, first.depth_reason)
        assert not {hit.candidate.uri for hit in first.hits} & {hit.candidate.uri for hit in second.hits}


async def test_auto_asks_a_configured_language_model(film: Tenant) -> None:
    answer = await _ask(film, "auto", llm=Model())
    assert (answer.hops or ())[1].term_method == "llm"


async def test_auto_keeps_the_best_hit_of_one_search_first(film: Tenant) -> None:
    question = "Where the director was born, in Silent Harbour, note 3"
    fast, auto, thorough = [await _ask(film, depth, question) for depth in ("fast", "auto", "thorough")]
    first = fast.hits[0].candidate.uri
    assert [answer.hits[0].candidate.uri == first for answer in (auto, thorough)] == [True, False]
    combined = [hit.combined_score or 0.0 for hit in auto.hits]
    assert combined == sorted(combined, reverse=True)


async def test_a_title_in_small_letters_is_a_name_unless_it_is_a_sentence(tenant: Tenant) -> None:
    titles = ("ring gauge", "effects of internal pressure on the buckling of circular shells under axial bending")
    for title in titles:
        await tenant.add("Measured in a tunnel.", uri=title, title=title)
    await tenant.add("The engineers who investigated shells of steel.", uri="engineers", title="engineers")
    asked = [await _ask(tenant, "auto", f"which engineers investigated the {title} of steel") for title in titles]
    assert [answer.depth_reason for answer in asked] == ["divided", "no_names"]


async def test_a_name_in_small_letters_is_found_in_passages_that_write_it_with_a_capital(tenant: Tenant) -> None:
    await tenant.add("The pumps of Volnar were built by Ilse Brandt.", uri="company")
    await tenant.add("Ilse Brandt was born by the harbour.", uri="builder")
    question = "where was whoever built the pumps of volnar born"
    assert (await _ask(tenant, "auto", question)).depth_reason == "divided"
    assert (await _ask(tenant, "auto", question.replace("volnar", "harbour"))).depth_reason == "no_names"
    await tenant.add_all([Upload(f"Pumps of Volnar, part {n}.", uri=f"part {n}") for n in range(12)])
    assert (await _ask(tenant, "auto", question)).depth_reason == "no_names"


async def test_a_title_of_words_that_many_passages_contain_is_no_name(tenant: Tenant) -> None:
    await tenant.add("Algebra was used early.", uri="title", title="Information Retrieval")
    await tenant.add("Abstract systems were built late.", uri="other")
    question = "the use of abstract algebra in information retrieval systems"
    assert (await _ask(tenant, "auto", question)).depth_reason == "divided"
    await tenant.add_all([Upload(f"Systems for information retrieval, part {n}.", uri=f"part {n}") for n in range(12)])
    assert (await _ask(tenant, "auto", question)).depth_reason == "no_names"


async def test_one_search_is_enough_if_a_passage_has_the_names_and_the_words_in_any_form(tenant: Tenant) -> None:
    await tenant.add("Silent Harbour was directed by Ilse Brandt.", uri="film", title="Silent Harbour")
    await tenant.add("Whoever directs a play works from a harbour of notes.", uri="guide", title="Plays")
    assert (await _ask(tenant, "auto", "Who directs Silent Harbour?")).depth_reason == "together"


async def test_auto_goes_further_for_a_word_that_only_documents_beyond_the_best_five_contain(tenant: Tenant) -> None:
    review = "The director of Silent Harbour, review {}: the director is Ilse Brandt."
    await tenant.add_all([Upload(review.format(n), uri=f"review {n}", title="Silent Harbour") for n in range(8)])
    await tenant.add_all([Upload(f"Painter {n} was schooled in Lundby.", uri=f"painter {n}") for n in range(8)])
    await tenant.add("Trained as a painter and schooled in Lundby.", uri="director", title="Ilse Brandt")
    question = "Where was the director of Silent Harbour schooled?"
    fast, auto = [await _ask(tenant, depth, question) for depth in ("fast", "auto")]
    assert "director" not in [hit.candidate.uri for hit in fast.hits[:5]]
    assert auto.depth_reason == "divided"
