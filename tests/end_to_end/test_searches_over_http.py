"""A search over HTTP finds what its users mean, in every mode, page and size, and with each option of `ranking`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from over_http import API, Caller, Json, falling, ids, refusal, sample, uris

HIT = [
    "chunk_id", "document_id", "chunk_index", "title", "uri", "heading_path", "page", "content", "metadata", "score",
    "relevance", "confidence", "rrf_score", "vector_score", "text_score",
]  # fmt: skip
ANSWER = ["results", "total_results", "answerable", "next_cursor", "took_ms"]
OUTAGE = "outage of the Gannet in Skerrin Sound"
HARD = "Why do the buoys not report every minute?"


def text_of(hit: Json) -> str:
    """The title, headings and text of a hit in lower case, with single spaces."""
    return " ".join([hit["title"], *hit["heading_path"], *hit["content"].split()]).lower()


FOUND: dict[str, tuple[Json, str]] = {
    "a question in other words than the note": (
        {"query": "How do I get my money back for a train fare and a hotel?"},
        "howto/travel-claims.md",
    ),
    "an identifier": ({"query": "ERR_CHAIN_6001"}, "products/wagtail.md"),
    "a date": ({"query": "Which decision was accepted on 4 November 2025?"}, "decisions/D-022-rota.md"),
    "a phrase": ({"query": '"no cement below the third landing"'}, "decisions/D-019-lime.md"),
    "meaning alone": ({"query": HARD, "mode": "semantic"}, "decisions/D-014-sync-interval.md"),
    "words alone": ({"query": "sync interval of the Gannet", "mode": "lexical"}, "decisions/D-014-sync-interval.md"),
    "both legs with equal weights": ({"query": "lime mortar", "mode": "hybrid"}, "decisions/D-019-lime.md"),
    "a person who is named by a handle": (
        {"query": "What has cliffclarke been working on?"},
        "people/cliff-clarke.md",
    ),
}


@pytest.mark.parametrize(("request_body", "note"), FOUND.values(), ids=FOUND)
def test_the_first_hit_is_the_note_that_answers(service: Caller, request_body: Json, note: str) -> None:
    answer = service.search(**request_body)
    assert uris(answer)[0] == sample(note)[0]
    assert falling(hit["score"] for hit in answer["results"])


CONDITIONS: dict[str, tuple[str, Callable[[Json], bool]]] = {
    "a phrase is required": (
        '"no cement below the third landing" lime',
        lambda hit: "no cement below the third landing" in text_of(hit),
    ),
    "a word with a plus is required": ("+gannet outage", lambda hit: "gannet" in text_of(hit)),
    "AND requires both words": (
        "gannet AND outage",
        lambda hit: "gannet" in text_of(hit) and "outage" in text_of(hit),
    ),
    "a minus excludes a word": ("outage -ferry", lambda hit: not re.search(r"\bferr(y|ies)\b", text_of(hit))),
    "NOT excludes a phrase": ('lime NOT "third landing"', lambda hit: "third landing" not in text_of(hit)),
    "one word of a group is required": (
        "lime AND (cement OR mortar)",
        lambda hit: "lime" in text_of(hit) and ("cement" in text_of(hit) or "mortar" in text_of(hit)),
    ),
    "no word of an excluded group is found": (
        "lime NOT (cement OR mortar)",
        lambda hit: "cement" not in text_of(hit) and "mortar" not in text_of(hit),
    ),
    "a prefix is required": ("calib*", lambda hit: re.search(r"\bcalib", text_of(hit)) is not None),
    "a word is required in the title": ("title:lime", lambda hit: "lime" in hit["title"].lower()),
    "a word is required in the headings": ("heading:codes", lambda hit: "Codes" in hit["heading_path"]),
    "a word is excluded from the title": ("lime -title:lime", lambda hit: "lime" not in hit["title"].lower()),
}


@pytest.mark.parametrize(("query", "holds"), CONDITIONS.values(), ids=CONDITIONS)
def test_a_condition_of_the_query_binds_every_hit(service: Caller, query: str, holds: Callable[[Json], bool]) -> None:
    answer = service.search(query, limit=20)
    assert answer["results"]
    assert all(map(holds, answer["results"]))
    assert "degraded" not in answer
    assert "relaxed" not in answer


def test_an_answer_says_what_its_query_excludes(service: Caller) -> None:
    assert "ferry" in " ".join(service.search("outage -ferry")["excluded"])
    assert "excluded" not in service.search("outage")


def test_a_condition_that_nothing_meets_is_dropped(service: Caller) -> None:
    answer = service.search("+zebra lime mortar")
    assert answer["relaxed"] == ["constraints_dropped"]
    assert uris(answer)[0] == sample("decisions/D-019-lime.md")[0]


def test_an_expression_that_cannot_be_read_is_searched_as_words(service: Caller) -> None:
    answer = service.search("lime AND (cement")
    assert answer["degraded"] == ["invalid_expression"]
    assert uris(answer)[0] == sample("decisions/D-019-lime.md")[0]


def test_a_typing_error_is_corrected(service: Caller) -> None:
    answer = service.search("how to calibrtae the head")
    assert answer["relaxed"] == ["similar_words"]
    assert uris(answer)[0] == sample("howto/calibrate-head.md")[0]


def test_a_question_without_an_answer_is_unlikely_to_be_answered(service: Caller) -> None:
    assert service.search("lime mortar")["answerable"] > 0.8
    unanswered = service.search("What is the capital of France?")
    assert unanswered["answerable"] < 0.1
    assert {hit["confidence"] for hit in unanswered["results"]} == {"low"}


FILTERS: dict[str, tuple[Json, Callable[[Json], bool]]] = {
    "a value": ({"metadata": {"team": "Firmware"}}, lambda hit: hit["metadata"]["team"] == "Firmware"),
    "an element of a list": ({"metadata": {"tags": "decision"}}, lambda hit: "decision" in hit["metadata"]["tags"]),
    "all elements": (
        {"metadata": {"tags": ["decision", "heritage"]}},
        lambda hit: {"decision", "heritage"} <= set(hit["metadata"]["tags"]),
    ),
    "one of several values": (
        {"metadata": {"team": {"in": ["Firmware", "Sensor Lab"]}}},
        lambda hit: hit["metadata"]["team"] in ("Firmware", "Sensor Lab"),
    ),
    "another value": (
        {"metadata": {"team": {"ne": "Field Operations"}}},
        lambda hit: hit["metadata"].get("team") != "Field Operations",
    ),
    "a key": ({"metadata": {"author": {"exists": True}}}, lambda hit: "author" in hit["metadata"]),
    "no key": ({"metadata": {"author": {"exists": False}}}, lambda hit: "author" not in hit["metadata"]),
    "a range of dates": (
        {"metadata": {"date": {"gte": "2025-03-01", "lt": "2025-10-01"}}},
        lambda hit: "2025-03-01" <= hit["metadata"]["date"] < "2025-10-01",
    ),
    "a time of creation": (
        {"created_after": "2025-06-01", "created_before": "2025-12-01"},
        lambda hit: "2025-06-01" <= hit["metadata"]["date"] < "2025-12-01",
    ),
    "a folder": ({"folder": "sample/people"}, lambda hit: hit["uri"].startswith("sample/people/")),
    "a beginning of the URI": ({"uri_prefix": "sample/decisions/D-0"}, lambda hit: "/decisions/" in hit["uri"]),
    "a file type": ({"file_types": ["md"]}, lambda hit: hit["uri"].endswith(".md")),
    "any of two filters": (
        {"any": [{"metadata": {"tags": "decision"}}, {"folder": "sample/people"}]},
        lambda hit: "/decisions/" in hit["uri"] or "/people/" in hit["uri"],
    ),
    "all of two filters": (
        {"all": [{"metadata": {"tags": "decision"}}, {"metadata": {"tags": "heritage"}}]},
        lambda hit: hit["uri"].endswith("D-019-lime.md"),
    ),
    "none of a filter": (
        {"uri_prefix": "sample/", "not": {"folder": "sample/incidents"}},
        lambda hit: "/incidents/" not in hit["uri"],
    ),
}


@pytest.mark.parametrize(("filters", "passes"), FILTERS.values(), ids=FILTERS)
def test_every_hit_passes_the_filters(service: Caller, filters: Json, passes: Callable[[Json], bool]) -> None:
    answer = service.search(OUTAGE, filters=filters, limit=20)
    assert answer["results"]
    assert all(map(passes, answer["results"]))


def test_filters_select_documents_by_their_ids(service: Caller) -> None:
    wanted = service.search("lime mortar")["results"][0]["document_id"]
    answer = service.search(OUTAGE, filters={"document_ids": [wanted]})
    assert {hit["document_id"] for hit in answer["results"]} == {wanted}


def test_filters_that_no_document_passes_are_answered_with_the_value_that_was_meant(service: Caller) -> None:
    answer = service.search("outage", filters={"metadata": {"team": "firmware"}})
    assert answer["results"] == []
    assert "Firmware" in " ".join(answer["hints"])


def test_excluded_passages_make_room_for_others(settled: Caller) -> None:
    first = ids(settled.search("lime mortar", limit=3))
    others = ids(settled.search("lime mortar", limit=3, exclude_chunk_ids=first))
    assert len(others) == 3
    assert not {*first} & {*others}


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/search", {}),
        ("/search", {"mode": "hybrid", "ranking": {"mmr": True, "rerank": "cosine"}}),
        ("/search", {"ranking": {"group": {"by": "document"}}}),
        ("/search/two-pass", {}),
        ("/search/multihop", {}),
    ],
    ids=["one search", "re-ranked and diversified", "documents", "two passes", "several hops"],
)
def test_pages_follow_one_another_without_repetition(settled: Caller, path: str, fields: Json) -> None:
    query = {"query": "What did Mara Tolland decide about money?", "limit": 4, "detail": "ids", **fields}
    page = settled.post(path, query)
    found = ids(page)
    for _ in range(3):
        page = settled.post(path, query | {"cursor": page["next_cursor"]})
        assert len(page["results"]) == 4
        found += ids(page)
    assert len({*found}) == 16


def test_the_last_page_has_no_cursor(service: Caller) -> None:
    people = {"query": "lime", "limit": 50, "filters": {"folder": "sample/assets"}}
    answer = service.post("/search", people)
    assert answer["total_results"] == len(answer["results"]) == 3
    assert answer["next_cursor"] is None


def test_a_cursor_is_refused_for_another_request_and_after_a_write(settled: Caller) -> None:
    cursor = settled.search("lime", limit=2)["next_cursor"]
    other = settled.call("POST", f"{API}/search", 422, json={"query": "tide", "limit": 2, "cursor": cursor})
    refusal(other, "invalid_cursor", "cursor")
    settled.add("A note between two pages.", "e2e/between-pages.md")
    stale = settled.call("POST", f"{API}/search", 409, json={"query": "lime", "limit": 2, "cursor": cursor})
    refusal(stale, "stale_cursor")


def test_a_plain_answer_has_only_what_every_reader_needs(service: Caller) -> None:
    answer = service.search("lime mortar")
    assert list(answer) == ANSWER
    assert all(list(hit) == HIT for hit in answer["results"])
    assert answer["total_results"] == len(answer["results"]) == 5
    hit = answer["results"][0]
    assert hit["heading_path"][0] == hit["title"] == "D-019: Lime mortar at Amli Vav"
    assert hit["page"] is None
    assert hit["confidence"] == "very_high"


def test_scores_are_short_numbers(service: Caller) -> None:
    for hit in service.search(OUTAGE, limit=20)["results"]:
        for name in ("score", "relevance", "vector_score", "text_score"):
            assert hit[name] is None or hit[name] == round(hit[name], 4)
        assert hit["rrf_score"] == round(hit["rrf_score"], 6)


@pytest.mark.parametrize("path", ["/search", "/search/two-pass", "/search/multihop"])
def test_compact_hits_have_the_sentences_that_match(service: Caller, path: str) -> None:
    answer = service.search("lime mortar", path, detail="compact")
    for hit in answer["results"]:
        assert [name for name in hit if name in (*HIT, "snippet")] == [
            "snippet" if name == "content" else name for name in HIT
        ]
        assert hit["snippet"].keys() == {"text", "matches"}
    snippet = answer["results"][0]["snippet"]
    matched = {snippet["text"][start:end].lower() for start, end in snippet["matches"]}
    assert {"lime", "mortar"} & matched


@pytest.mark.parametrize("path", ["/search", "/search/two-pass", "/search/multihop"])
def test_an_answer_of_ids_has_the_same_passages(settled: Caller, path: str) -> None:
    full = settled.search("What did Mara Tolland decide about money?", path)
    short = settled.search("What did Mara Tolland decide about money?", path, detail="ids")
    assert ids(short) == ids(full)
    assert all(list(hit) == ["chunk_id", "document_id", "score"] for hit in short["results"])


def test_an_answer_is_small_around_its_texts_and_metadata(service: Caller) -> None:
    for query in ("lime mortar", HARD, OUTAGE, "who pays for travel", "ERR_TIDE_4012"):
        for detail, text in (("full", "content"), ("compact", "snippet")):
            answer = service.search(query, detail=detail)
            for hit in answer["results"]:
                assert _bytes({name: value for name, value in hit.items() if name not in (text, "metadata")}) <= 450
            assert _bytes(answer | {"results": []}) <= 300


def _bytes(part: Json) -> int:
    return len(json.dumps(part, ensure_ascii=False, separators=(",", ":")).encode())


def test_passages_that_repeat_one_another_are_shown_once_unless_asked_for(service: Caller) -> None:
    text = "The heron on the north pontoon watches the otter that steals the smallest eels at dusk."
    for name in ("first", "second"):
        service.add(text, f"e2e/heron-{name}.md", title=f"Heron, {name}")
    query = {"query": "heron on the north pontoon", "filters": {"uri_prefix": "e2e/heron-"}}
    assert len(service.post("/search", query)["results"]) == 1
    assert len(service.post("/search", query | {"collapse": "duplicates"})["results"]) == 1
    assert len(service.post("/search", query | {"collapse": "off"})["results"]) == 2


def test_a_score_is_explained_when_asked_for(service: Caller) -> None:
    answer = service.search("ERR_TIDE_4012 outage", explain=True)
    assert list(answer) == [*ANSWER, "explain"]
    for hit in answer["results"]:
        assert list(hit) == [*HIT, "explain"]
        assert hit["explain"]["legs"].keys() == {"vector", "text"}
    assert "tide" in json.dumps(answer["explain"])


def test_a_passage_is_explained_that_is_not_in_an_answer(service: Caller) -> None:
    placement = service.search("lime mortar", "/search/why", uri=sample("people/mara-veit.md")[0])
    assert placement["rank"] > 5
    assert "limit" in json.dumps(placement)


def by(name: str) -> Callable[[Json], bool]:
    """Whether the hits are in the order of one of their scores."""
    return lambda answer: falling(hit[name] or 0.0 for hit in answer["results"])


def every(holds: Callable[[Json], bool]) -> Callable[[Json], bool]:
    """Whether there are hits and all of them are so."""
    return lambda answer: bool(answer["results"]) and all(map(holds, answer["results"]))


ORDERS: dict[str, tuple[Json, Callable[[Json], bool]]] = {
    "fusion: rrf": ({"fusion": "rrf"}, by("rrf_score")),
    "k": ({"fusion": "rrf", "k": 1}, every(lambda hit: hit["rrf_score"] <= 1.0)),
    "weights of the vector leg": ({"fusion": "rrf", "weights": {"vector": 1, "text": 0}}, by("vector_score")),
    "weights of the text leg": ({"fusion": "rrf", "weights": {"vector": 0, "text": 1}}, by("text_score")),
    "candidates": ({"candidates": 10}, lambda answer: len(answer["results"]) == 5),
    "min_vector_score": ({"min_vector_score": 0.4}, every(lambda hit: hit["vector_score"] >= 0.4)),
    "min_rrf_score": ({"min_rrf_score": 0.03}, every(lambda hit: hit["rrf_score"] >= 0.03)),
    "min_confidence": ({"min_confidence": "high"}, every(lambda hit: hit["confidence"] in ("high", "very_high"))),
    "min_relevance": ({"min_relevance": 0.3}, every(lambda hit: hit["relevance"] >= 0.3)),
    "group": (
        {"group": {"by": "document", "size": 2}},
        lambda answer: (
            len({hit["document_id"] for hit in answer["results"]}) == 5
            and all(
                len(hit["more"]) <= 2 and all(other["document_id"] == hit["document_id"] for other in hit["more"])
                for hit in answer["results"]
            )
            and any(hit["more"] for hit in answer["results"])
        ),
    ),
}


@pytest.mark.parametrize(("ranking", "holds"), ORDERS.values(), ids=ORDERS)
def test_an_option_of_ranking_says_which_hits_there_are_and_in_which_order(
    service: Caller, ranking: Json, holds: Callable[[Json], bool]
) -> None:
    assert holds(service.search(OUTAGE, ranking=ranking))


CHANGED: dict[str, tuple[Json, Json]] = {
    "fusion": ({"fusion": "rrf"}, {"fusion": "convex"}),
    "k": ({"fusion": "rrf", "k": 1}, {"fusion": "rrf", "k": 1_000}),
    "weights": ({"weights": {"vector": 3, "text": 1}}, {"weights": {"vector": 1, "text": 3}}),
    "guidance": ({"guidance": {"mode": "force"}}, {"guidance": {"mode": "off"}}),
    "alpha": ({"guidance": {"mode": "force", "alpha": 0.1}}, {"guidance": {"mode": "force", "alpha": 1.0}}),
    "boost": ({"guidance": {"mode": "force", "boost": True}}, {"guidance": {"mode": "force", "boost": False}}),
    "rerank": ({"rerank": "cosine"}, {"rerank": "none"}),
    "rerank_weight": ({"rerank": "cosine", "rerank_weight": 1.0}, {"rerank": "cosine", "rerank_weight": 0.1}),
    "mmr": ({"mmr": True, "mmr_lambda": 0.1}, {"mmr": False}),
    "mmr_lambda": ({"mmr": True, "mmr_lambda": 0.1}, {"mmr": True, "mmr_lambda": 0.9}),
    "recency": ({"recency": {"half_life_days": 200, "weight": 1.0}}, {"recency": None}),
    "recency of a key of the metadata": (
        {"recency": {"half_life_days": 200, "weight": 1.0, "field": "date"}},
        {"recency": {"half_life_days": 200, "weight": 0.1, "field": "date"}},
    ),
}


@pytest.mark.parametrize(("one", "other"), CHANGED.values(), ids=CHANGED)
def test_an_option_of_ranking_changes_order_or_scores(settled: Caller, one: Json, other: Json) -> None:
    query = "What did Mara Tolland decide about money?"
    answers = [settled.search(query, ranking=ranking)["results"] for ranking in (one, other)]
    scores = [[(hit["chunk_id"], hit["score"], hit["rrf_score"]) for hit in hits] for hits in answers]
    assert scores[0] != scores[1]


def test_the_newest_is_raised_where_the_query_asks_for_it(settled: Caller) -> None:
    def order(query: str, recency: Any) -> list[str]:
        return ids(settled.search(query, limit=20, ranking={"recency": recency}))

    assert order("the latest meeting", "auto") != order("the latest meeting", None)
    assert order("a meeting", "auto") == order("a meeting", None)
    if_asked = {"half_life_days": 30, "weight": 1.0, "only_if_asked": True}
    assert order("a meeting", if_asked) == order("a meeting", None)


def test_entities_guide_a_search_under_both_names_of_the_option(settled: Caller) -> None:
    query = "What did Mara Tolland decide about money?"
    nested = {"guidance": {"mode": "force", "alpha": 0.2, "threshold": 0.6, "max_entities": 1}}
    flat = {"hierarchy": "force", "alpha": 0.2, "threshold": 0.6, "max_entities": 1}
    assert settled.search(query, ranking=nested)["results"] == settled.search(query, ranking=flat)["results"]
    both = settled.call("POST", f"{API}/search", 422, json={"query": query, "ranking": nested | flat})
    refusal(both, "moved_field", "ranking.hierarchy")


def test_a_vector_of_the_caller_replaces_the_embedding(service: Caller) -> None:
    vector = [1.0] + [0.0] * 383
    answer = service.post("/search", {"vector": vector, "limit": 3})
    assert by("vector_score")(answer)
    assert {hit["relevance"] for hit in answer["results"]} == {None}
    with_words = service.search("lime mortar", vector=vector, mode="hybrid")
    assert sample("decisions/D-019-lime.md")[0] in uris(with_words)


def test_a_reranker_that_is_not_there_degrades_the_answer(service: Caller) -> None:
    answer = service.search("lime mortar", ranking={"rerank": "provider"})
    assert answer["degraded"] == ["reranker_failed"]
    assert uris(answer)[0] == sample("decisions/D-019-lime.md")[0]


MOVED: dict[str, tuple[Any, str]] = {
    "fusion": ("rrf", "ranking.fusion"),
    "weights": ({"vector": 1, "text": 1}, "ranking.weights"),
    "k": (60, "ranking.k"),
    "candidates": (100, "ranking.candidates"),
    "min_vector_score": (0.1, "ranking.min_vector_score"),
    "min_rrf_score": (0.1, "ranking.min_rrf_score"),
    "min_confidence": ("low", "ranking.min_confidence"),
    "min_relevance": (0.1, "ranking.min_relevance"),
    "hierarchy": ("off", "ranking.guidance.mode"),
    "alpha": (0.5, "ranking.guidance.alpha"),
    "threshold": (0.5, "ranking.guidance.threshold"),
    "max_entities": (3, "ranking.guidance.max_entities"),
    "boost": (False, "ranking.guidance.boost"),
    "rerank": ("cosine", "ranking.rerank"),
    "rerank_weight": (0.5, "ranking.rerank_weight"),
    "mmr": (True, "ranking.mmr"),
    "mmr_lambda": (0.5, "ranking.mmr_lambda"),
    "recency": ("auto", "ranking.recency"),
    "group_by": ("document", "ranking.group"),
    "group_size": (2, "ranking.group"),
    "max_hops": (2, "ranking.hops"),
    "merge": ("linked", "ranking.hops"),
    "extractor": ("none", "ranking.hops"),
    "snippets": (True, "compact"),
    "omit_nulls": (True, "Gone"),
}


@pytest.mark.parametrize("path", ["/search", "/search/multihop", "/search/two-pass"])
def test_a_field_at_its_old_place_is_refused_with_the_new_one(service: Caller, path: str) -> None:
    for field, (value, place) in MOVED.items():
        refused = service.call("POST", API + path, 422, json={"query": "lime", field: value})
        problem = refusal(refused, "moved_field", field)
        assert place in problem["detail"], field


def test_a_judgement_of_a_passage_is_stored_replaced_and_taken_back(service: Caller) -> None:
    hit = service.search("lime mortar")["results"][0]
    for judgement in (True, False, None):
        about = {"query": "lime mortar", "chunk_id": hit["chunk_id"], "helpful": judgement}
        stored = service.post("/feedback", about)
        assert (stored["document_id"], stored["helpful"]) == (hit["document_id"], judgement)


def test_synonyms_are_searched_for_one_another(service: Caller) -> None:
    groups = [{"terms": ["quicklime", "calx"]}, {"terms": ["zzboat"], "expand_to": ["catamaran"]}]
    service.add("The calx arrives by catamaran on Thursdays.", "e2e/calx.md")
    stored = service.call("PUT", f"{API}/synonyms", json={"groups": groups}).json()
    assert stored == {"groups": 2, "terms": 4}
    listed = service.get("/synonyms")
    assert listed == {"groups": [{"expand_to": [], **group} for group in groups]}
    assert service.call("PUT", f"{API}/synonyms", json=listed).json() == stored
    for query in ("quicklime", "zzboat"):
        assert uris(service.search(query, mode="lexical"))[0] == "e2e/calx.md"
    assert service.call("PUT", f"{API}/synonyms", json={"groups": []}).json() == {"groups": 0, "terms": 0}
