"""A multi-hop search finds passages through links between documents, and reports each hop."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import harness
import pytest
from harness import Tenant, uris
from requests_of import search_request

from app import errors
from app.database import transactions
from app.documents.types import Upload
from app.enums import Vector
from app.models.protocols import EmbeddingModel, Proposal
from app.multihop import multihop
from app.query.search_request import GuidanceOptions
from app.query.search_types import Answer
from app.services import Budget
from benchmarks.fake_embedder import FakeEmbedder

QUESTION = "Where was the director of Silent Harbour born?"
LIBRARY = {
    "film": ("Silent Harbour", "Silent Harbour is a film whose director is Ilse Brandt."),
    "director": ("Ilse Brandt (painter)", "Trained as a painter, her youth went by in Lundby."),
    "town": ("Lundby", "A port with a tall lighthouse, ferries, and herring each spring."),
    "lighthouse": ("Keepers", "Every keeper of the light is listed here, the last one being Otto Falk."),
}
NOISE = [
    "Where was the director of the bank born?", "The director was born where the river ends.",
    "A harbour where a silent crowd was waiting.", "Where the director of the choir was standing.",
    "Silent films were born in a harbour shed.", "The harbour director was silent.",
    "Nobody knows where the silent director went.", "Born of the harbour was the idea of a market.",
]  # fmt: skip


BOOKS = [Upload(text, uri=uri, title=title) for uri, (title, text) in LIBRARY.items()]
SAND = [Upload(f"Sand {n}", uri=f"sand{n}", title=f"sand {n}") for n in range(9)]
NOTES = [Upload(text, uri=f"noise{n}", title=f"note {n}") for n, text in enumerate(NOISE)]


stored = harness.stored([*BOOKS, *NOTES])


@pytest.fixture
def library(stored: Tenant) -> Tenant:
    """The user of the library, whose embedder a test may replace."""
    return replace(stored)


class Proposing:
    """A language model with one answer, or none."""

    name = "scripted"

    def __init__(
        self, terms: list[object] | None = None, questions: Sequence[object] = (), *, silent: bool = False
    ) -> None:
        self._terms = terms
        self._questions = questions
        self._silent = silent
        self.asked: list[tuple[str, list[str]]] = []

    async def propose(self, query: str, passages: Sequence[str]) -> Proposal:
        """The one answer."""
        self.asked.append((query, list(passages)))
        if self._silent:
            await asyncio.Event().wait()
        if self._terms is None:
            raise errors.ProviderError("The scripted model was told to fail.")
        return Proposal(self._terms, self._questions)


class FailingLater(FakeEmbedder):
    """An embedder that answers the first query only."""

    async def embed_query(self, text: str) -> Vector:
        """The fake's vector, once."""
        if self.queries:
            raise errors.ProviderError("Only once.")
        return await super().embed_query(text)


FLAT = GuidanceOptions(mode="off", boost=False)


async def _ask(tenant: Tenant, text: str = QUESTION, *, llm: Any = None, budget: Any = None, **given: Any) -> Answer:
    services = tenant.services(budget=budget or Budget(), llm=llm)
    return await multihop.run(search_request(text, **given), tenant.user_id, services)


async def test_a_hit_that_no_search_found_has_the_cosine_that_is_known_and_no_other_score(library: Tenant) -> None:
    answer = await _ask(library, candidates=10, limit=5)
    director = next(hit.candidate for hit in answer.hits if hit.candidate.uri == "director")
    everything = await library.ask(QUESTION, guidance=FLAT, limit=12)
    cosine = next(hit.candidate.cosine for hit in everything.hits if hit.candidate.uri == "director")
    assert director.vector_score == pytest.approx(cosine, abs=1e-3)
    others = ("rrf_score", "convex_score", "text_score", "vector_rank", "text_rank")
    assert [getattr(director, name) for name in others] == [None] * 5


async def test_classic_never_returns_a_chunk_of_hop_1_again(library: Tenant) -> None:
    answer = await _ask(library, "Silent Harbour is a film: where was its director born?", merge="classic", limit=6)
    assert [hop.result_count for hop in answer.hops] == [6, 6]
    assert answer.total_results == len(LIBRARY) + len(NOISE)
    assert {hit.hop for hit in answer.hits} == {1, 2}
    assert all((hit.via is None) == (hit.hop == 1) for hit in answer.hits)


async def test_classic_has_one_scale_whether_or_not_hop_2_finds_more(library: Tenant) -> None:
    for limit, brought in ((6, [6, 6]), (20, [12, 0])):
        answer = await _ask(
            library, "Silent Harbour is a film: where was its director born?", merge="classic", limit=limit
        )
        assert [hop.result_count for hop in answer.hops or ()] == brought
        for hit in answer.hits:
            assert hit.combined_score == pytest.approx(
                (hit.candidate.rrf_score or 0) + 0.0002 + 0.0005 * (hit.hop == 1)
            )


def _fillers(count: int) -> list[Upload]:
    return [Upload(f"Where was filler number {n}", uri=f"filler{n}", title=f"filler {n}") for n in range(count)]


async def test_a_hop_follows_links_of_what_it_found_and_is_the_last_if_that_is_far_from_the_question(tenant) -> None:
    await tenant.add_all([*BOOKS, *_fillers(6)])
    answer = await _ask(tenant, max_hops=4)
    assert {"film", "director", "town"} <= set(uris(answer))
    town = next(hit for hit in answer.hits if hit.candidate.uri == "town")
    assert (town.hop, town.via.name, town.via.signal, town.via.steps) == (2, "Lundby", "linked", 2)
    assert [hop.result_count for hop in answer.hops or ()] == [5, 2]


@pytest.mark.parametrize(("fillers", "most", "brought"), [(9, 2, [5, 5]), (9, 3, [5, 5, 3]), (6, 4, [5, 5, 0])])
async def test_hops_continue_up_to_their_number_while_they_find_new_chunks(tenant, fillers, most, brought) -> None:
    await tenant.add_all([*BOOKS, *_fillers(fillers)])
    answer = await _ask(tenant, max_hops=most, merge="classic", limit=5)
    assert [hop.result_count for hop in answer.hops or ()] == brought


async def test_an_excluded_word_keeps_a_linked_chunk_out(library: Tenant) -> None:
    assert "director" in uris(await _ask(library, limit=12))
    assert "director" not in uris(await _ask(library, f'{QUESTION} -"painter"', limit=12))


@pytest.mark.parametrize("conditions", ['-"painter"', "AND silent", "+film"])
async def test_hops_count_only_chunks_that_meet_the_conditions(library: Tenant, conditions: str) -> None:
    answer = await _ask(library, f"Silent Harbour {conditions}", limit=20)
    later = [hop for hop in answer.hops or () if hop.hop > 1]
    assert [hop.result_count for hop in later] == [sum(hit.hop == hop.hop for hit in answer.hits) for hop in later]
    assert answer.total_results <= len(answer.hits)


@pytest.mark.parametrize("merge", ["linked", "classic"])
async def test_every_hit_of_every_hop_has_the_required_words(library: Tenant, merge: Any) -> None:
    answer = await _ask(library, f"{QUESTION} +director", limit=12, merge=merge)
    assert answer.relaxed == ()
    assert set(uris(answer)) == {"film", "noise0", "noise1", "noise3", "noise5", "noise6"}
    grouped = await _ask(library, f"{QUESTION} (director OR lighthouse*)", limit=12, merge=merge)
    assert grouped.relaxed == ()
    assert set(uris(grouped)) == {*uris(answer), "town"}


@pytest.mark.parametrize(("merge", "others"), [("linked", SAND), ("classic", NOTES)])
async def test_the_questions_of_a_model_are_searched_for(tenant: Tenant, merge: Any, others: list[Upload]) -> None:
    """No name leads to the lamps, whose passage shares no word with the question."""
    await tenant.add_all([*BOOKS, *others, Upload("Lamps burn oil by wicks.", uri="lamps", title="Ledger")])

    async def rank(llm: Proposing, **given: Any) -> int:
        answer = await _ask(tenant, llm=llm, merge=merge, limit=5, **given)
        return [*uris(answer), "lamps"].index("lamps")

    question = "Which lamps burn oil?"
    usable_or_not = [question, 7, "x" * 300, " ", QUESTION]
    without = await rank(Proposing(["Ilse Brandt"]))
    assert await rank(Proposing(["Ilse Brandt"], usable_or_not)) < without
    assert await rank(Proposing([], usable_or_not), extractor="llm") < without
    answer = await _ask(tenant, llm=Proposing(["Ilse Brandt"], usable_or_not), merge=merge, limit=5)
    assert (answer.hops or ())[1].questions == (question,)
    [lamps] = [hit for hit in answer.hits if hit.candidate.uri == "lamps"]
    assert lamps.hop == 2
    assert merge == "classic" or (lamps.via.signal, lamps.via.name) == ("asked", question)


@pytest.mark.parametrize("proposed", [[], ["not in any passage"], [None, 7], ["http://evil.example"]])
async def test_useless_terms_of_a_model_do_not_lower_the_result(library: Tenant, proposed: list[object]) -> None:
    without = await _ask(library)
    answer = await _ask(library, llm=Proposing(proposed))
    assert uris(answer) == uris(without)
    assert answer.hops[1].term_method == "entities"


async def test_random_words_from_a_model_do_not_displace_stored_names(library: Tenant) -> None:
    without = await _ask(library, extractor="entities")
    names_led = (without.hops or ())[1].terms
    junk: list[object] = ["is a film", "whose", "silent crowd", "waiting", "bank", "river ends"]
    answer = await _ask(library, llm=Proposing(junk), extractor="llm")
    assert answer.hops[1].terms[: len(names_led)] == names_led
    assert answer.hops[1].term_method == "llm"
    assert "director" in uris(answer)
    assert answer.degraded == ()


async def test_a_name_that_the_model_chose_comes_before_the_other_stored_names(tenant: Tenant) -> None:
    crew = Upload("Silent Harbour by Ilse Brandt was shot by Otto Falk: where was the director born?", uri="crew")
    await tenant.add_all([*BOOKS, *NOTES, crew])
    without = await _ask(tenant, extractor="entities")
    assert {"Ilse Brandt", "Otto Falk"} <= set((without.hops or ())[1].terms)
    for chosen in ("Otto Falk", "Ilse Brandt"):
        answer = await _ask(tenant, llm=Proposing([chosen]))
        terms = (answer.hops or ())[1].terms
        assert terms[0] == chosen
        assert {"Ilse Brandt", "Otto Falk"} <= set(terms)


@pytest.mark.parametrize("llm", [Proposing(None), Proposing([], silent=True), None])
async def test_a_failing_model_is_replaced_by_stored_names_and_reported(library: Tenant, llm: Any) -> None:
    answer = await _ask(library, llm=llm, extractor="llm", budget=Budget(llm_s=0.05))
    assert answer.hops[1].term_method == "entities"
    assert "director" in uris(answer)
    assert answer.degraded == ("llm_failed",)


async def test_copies_of_a_passage_leave_room_for_the_hits_below_them(tenant: Tenant) -> None:
    copies = [Upload(f"{QUESTION} Nobody knows.", uri=f"copy{number}", title="") for number in range(30)]
    others = [Upload(f"The director of bank {number} is here.", uri=f"other{number}") for number in range(8)]
    await tenant.add_all([*copies, *others])
    first = await _ask(tenant, limit=5)
    second = await _ask(tenant, limit=5, cursor=first.next_cursor)
    found = [*uris(first), *uris(second)]
    assert (len(first.hits), len(found), len(set(found)), second.next_cursor) == (5, 9, 9, None)
    assert sum(uri.startswith("copy") for uri in found) == 1


async def test_a_failing_second_embedding_leaves_hop_1_and_is_reported(library: Tenant) -> None:
    library.embedder = FailingLater()
    answer = await _ask(library)
    assert uris(answer) == uris(await Tenant(library.db, FakeEmbedder(), library.user_id).ask(QUESTION, guidance=FLAT))
    assert {hit.hop for hit in answer.hits} == {1}
    assert "hop2_failed" in answer.degraded
    assert (answer.hops[1].result_count, answer.hops[1].error) == (0, "provider_failed")


async def test_without_hop_2_copies_of_a_passage_leave_room_for_further_hits(tenant: Tenant) -> None:
    copies = [Upload(f"{QUESTION} Nobody knows.", uri=f"copy{number}", title="") for number in range(4)]
    others = [Upload(f"The director of bank {number} is here.", uri=f"other{number}") for number in range(8)]
    await tenant.add_all([*copies, *others])
    tenant.embedder = FailingLater()
    answer = await _ask(tenant, limit=5)
    assert answer.degraded[-1] == "hop2_failed"
    assert uris(answer) == uris(await Tenant(tenant.db, FakeEmbedder(), tenant.user_id).ask(QUESTION, guidance=FLAT))


async def test_a_hanging_embedder_leaves_words_and_names(library: Tenant) -> None:
    library.embedder = FakeEmbedder(failing=True)
    answer = await _ask(library)
    assert "director" in uris(answer)
    assert set(answer.degraded) == {"embedding_failed", "no_query_vector"}


async def test_a_database_failure_in_hop_2_leaves_hop_1_and_is_reported(library, address, owner) -> None:
    limits = transactions.TimeLimits(read_ms=1_000)
    async with transactions.connect(address.service_dsn, pool_size=2, limits=limits) as hurried, owner.transaction():
        await owner.execute("LOCK TABLE stepwell.mentions IN ACCESS EXCLUSIVE MODE")
        answer = await _ask(Tenant(hurried, library.embedder, library.user_id))
    assert {hit.hop for hit in answer.hits} == {1}
    assert answer.degraded == ("hop2_failed",)
    assert (answer.hops[1].result_count, answer.hops[1].error) == (0, "search_timeout")


SPANISH = {"harbour": "puerto", "close": "cierra", "fog": "niebla"}


class Translator(FakeEmbedder):
    """A model that reads English and Spanish."""

    @property
    def model(self) -> EmbeddingModel:
        return replace(super().model, languages=frozenset(("en", "es")))

    async def embed_query(self, text: str) -> Vector:
        return await super().embed_query(" ".join(SPANISH.get(word, word) for word in text.lower().split()))


async def test_words_that_another_language_has_by_chance_do_not_count_over_hops(tenant: Tenant) -> None:
    tenant.embedder = Translator()
    texts = {
        "puerto": "El puerto de Gannet cierra cuando la niebla cubre el faro y los barcos esperan fuera.",
        "pescador": "Cada noche el pescador de Gannet come su pan y sus peces en la casa que está al lado del faro.",
        "barco": "El barco de Gannet sale cada mañana a las siete y regresa por la noche desde la isla.",
    }
    await tenant.add_all(texts)
    answer = await tenant.ask("does the harbour close in fog if ships come", depth="thorough", limit=3)
    assert uris(answer)[0] == "puerto"


async def test_passages_that_no_name_links_keep_the_order_and_the_relevance_of_one_search(tenant: Tenant) -> None:
    await tenant.add_all({
        "both": "doses of quinine that lower a fever",
        "fever": "fever of children: a fever that returns with a fever each night",
        "doses": "doses are weighed on a scale",
        "returns": "a swallow returns, and lower clouds bring rain",
        "scale": "children climb the scale of the ladder",
    })  # fmt: skip
    question = "which doses of quinine lower the fever of children?"
    once = await tenant.ask(question, guidance=FLAT)
    answer = await tenant.ask(question, depth="thorough", hops={"extractor": "none"})
    assert [(hit.candidate.uri, hit.relevance) for hit in answer.hits] == [
        (hit.candidate.uri, hit.relevance) for hit in once.hits
    ]
    assert answer.answerable == once.answerable


async def test_a_user_without_documents_gets_an_empty_answer(tenant: Tenant) -> None:
    answer = await _ask(tenant, "anything")
    assert (list(answer.hits), answer.fallback_reason, answer.total_results) == ([], "no_documents", 0)
    assert [hop.result_count for hop in answer.hops or ()] == [0]
