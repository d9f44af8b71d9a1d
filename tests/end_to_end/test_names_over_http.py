"""Searches over several hops and about entities, similar passages, merged lists, and entities themselves."""

from __future__ import annotations

import json

import pytest
from over_http import API, NOBODY, Caller, Json, falling, ids, refusal, sample, uris

LINKED: dict[str, tuple[str, str]] = {
    "a name": ("Which musical instrument does the author of the backfill guide play?", "people/ines-brandauer.md"),
    "a vendor": (
        "What is the daily price of the masons who will rebuild the collapsed landing?",
        "vendors/stonehand.md",
    ),
    "a part number": (
        "How long is the warranty on the battery that swelled at Hallin Reservoir?",
        "vendors/fennick.md",
    ),
    "a boat": ("How much fuel does the boat chosen for the mooring survey burn?", "assets/petrel-anne.md"),
}
CHAIN, LAST_NOTE = LINKED["a name"]
DECIDED = "What did Mara Tolland decide about money?"


@pytest.mark.parametrize("merge", ["linked", "classic"])
@pytest.mark.parametrize(("question", "note"), LINKED.values(), ids=LINKED)
def test_several_hops_find_what_shares_no_word_with_the_question(
    service: Caller, question: str, note: str, merge: str
) -> None:
    answer = service.search(question, "/search/multihop", ranking={"hops": {"merge": merge}})
    hit = next(hit for hit in answer["results"] if hit["uri"] == sample(note)[0])
    assert hit["hop"] == 2
    assert hit["via"]["name"]
    assert falling(hit["combined_score"] for hit in answer["results"])


def test_an_answer_over_several_hops_says_how_it_was_reached(service: Caller) -> None:
    answer = service.search(CHAIN, "/search/multihop")
    assert list(answer) == ["results", "total_results", "answerable", "next_cursor", "took_ms", "hops"]
    assert answer["total_results"] > len(answer["results"]) == 5
    first, second = answer["hops"]
    assert (first["hop"], first["query"]) == (1, CHAIN)
    assert second["hop"] == 2
    assert "Ines Brandauer" in second["expanded_terms"]
    reached = next(hit for hit in answer["results"] if hit["uri"] == sample(LAST_NOTE)[0])
    assert reached["via"].keys() == {"name", "kind", "source_chunk_id"}
    assert all({"hop", "combined_score"} <= hit.keys() for hit in answer["results"])
    assert all(hit["hop"] > 1 for hit in answer["results"] if "via" in hit)


@pytest.mark.parametrize(("depth", "has_hops"), [("fast", False), ("auto", True), ("thorough", True)])
def test_a_search_goes_over_several_hops_if_its_depth_says_so(service: Caller, depth: str, has_hops: bool) -> None:
    answer = service.search(CHAIN, depth=depth)
    assert ("hops" in answer) == has_hops
    assert all(("hop" in hit) == has_hops for hit in answer["results"])


def test_options_of_the_hops_are_used(service: Caller) -> None:
    no_terms = service.search(CHAIN, "/search/multihop", ranking={"hops": {"extractor": "none"}})
    assert not no_terms["hops"][1]["expanded_terms"]
    further = service.search(CHAIN, depth="thorough", ranking={"hops": {"max_hops": 3}}, limit=20)
    assert {hop["hop"] for hop in further["hops"]} <= {1, 2, 3}
    guided = service.search(DECIDED, "/search/multihop", ranking={"guidance": {"mode": "force"}, "mmr": True})
    assert len(guided["results"]) == 5


@pytest.mark.parametrize(
    ("path", "fields", "field"),
    [
        ("/search/multihop", {"limit": 50}, "limit"),
        ("/search", {"limit": 50, "depth": "thorough"}, "limit"),
        ("/search/multihop", {"depth": "fast"}, "depth"),
        ("/search/multihop", {"vector": [0.1] * 384}, "vector"),
        ("/search", {"ranking": {"hops": {"max_hops": 3}}}, "ranking.hops"),
    ],
    ids=["a limit", "a limit of a thorough search", "one hop only", "a vector", "hops of a fast search"],
)
def test_what_does_not_go_over_several_hops_is_refused(service: Caller, path: str, fields: Json, field: str) -> None:
    refused = service.call("POST", API + path, 422, json={"query": CHAIN, **fields})
    refusal(refused, "invalid_request", field)


def test_a_search_in_two_passes_answers_about_the_entity_of_the_query(settled: Caller) -> None:
    answer = settled.search(DECIDED, "/search/two-pass")
    assert answer["search_mode"] == "two_pass"
    assert [entity["name"] for entity in answer["pass1_entities"]][:1] == ["Mara Tolland"]
    assert answer["pass1_entities"][0]["matched_by"] == "name"
    for hit in answer["results"]:
        assert hit["parent"].keys() == {"entity_id", "parent_entity_score", "link_strength", "doc_score"}
    assert answer["results"][0]["parent"]["entity_id"] == answer["pass1_entities"][0]["entity_id"]
    forced = settled.search(DECIDED, ranking={"guidance": {"mode": "force"}})
    assert ids(forced) == ids(answer)
    assert forced["search_mode"] == "two_pass"


def test_a_search_in_two_passes_without_an_entity_says_so(service: Caller) -> None:
    answer = service.search("lime mortar", "/search/two-pass")
    assert answer["search_mode"] == "flat"
    assert answer["pass1_entities"] == []
    assert answer["hints"]
    assert uris(answer)[0] == sample("decisions/D-019-lime.md")[0]


def test_similar_passages_are_near_to_a_passage_or_a_vector(settled: Caller) -> None:
    passage = settled.search("lime mortar")["results"][0]["chunk_id"]
    answer = settled.post("/similar", {"chunk_id": passage})
    assert len(answer["results"]) == 5
    assert passage not in ids(answer)
    assert falling(hit["vector_score"] for hit in answer["results"])
    page = settled.post("/similar", {"chunk_id": passage, "cursor": answer["next_cursor"]})
    assert not {*ids(page)} & {*ids(answer)}
    to_vector = settled.post("/similar", {"vector": [0.5] * 384, "limit": 2, "detail": "ids"})
    assert len(to_vector["results"]) == 2


def test_similar_passages_can_be_filtered_excluded_grouped_and_shortened(settled: Caller) -> None:
    passage = settled.search("lime mortar")["results"][0]["chunk_id"]
    request = {"chunk_id": passage, "filters": {"folder": "sample/people"}, "detail": "compact"}
    people = settled.post("/similar", request)
    assert all("/people/" in uri for uri in uris(people))
    others = settled.post("/similar", request | {"exclude_chunk_ids": ids(people)})
    assert not {*ids(others)} & {*ids(people)}
    grouped = settled.post("/similar", {"chunk_id": passage, "group": {"by": "document", "size": 1}})
    assert len({hit["document_id"] for hit in grouped["results"]}) == 5


def test_nothing_is_similar_to_a_passage_that_is_not_there(service: Caller) -> None:
    refusal(service.call("POST", f"{API}/similar", 404, json={"chunk_id": NOBODY}), "not_found", "chunk_id")
    refusal(service.call("POST", f"{API}/similar", 422, json={}), "one_of")


@pytest.mark.parametrize("merge", ["rrf", "classic"])
def test_lists_from_anywhere_are_merged(service: Caller, merge: str) -> None:
    ours = service.search("lime mortar", limit=3)["results"]
    theirs = [{"chunk_id": ours[0]["chunk_id"], "content": "lime"}, {"chunk_id": "other", "content": "cement"}]
    lists = [{"name": "ours", "hits": ours}, {"name": "theirs", "hits": theirs}]
    merged = service.post("/rerank", {"lists": lists, "merge": merge, "limit": 4})
    assert merged["results"][0]["chunk_id"] == ours[0]["chunk_id"]
    assert {hit["chunk_id"] for hit in merged["results"]} == {*(hit["chunk_id"] for hit in ours), "other"}


def test_merged_lists_are_reranked_and_shortened(settled: Caller) -> None:
    lists = [
        {"name": query, "hits": settled.search(query, limit=3, mode="semantic")["results"]}
        for query in ("ferry", "lime mortar")
    ]
    request = {"query": "lime mortar", "lists": lists, "rerank": "cosine", "rerank_weight": 1.0, "limit": 3}
    reranked = settled.post("/rerank", request)
    assert [hit["chunk_id"] for hit in reranked["results"]] == [hit["chunk_id"] for hit in lists[1]["hits"]]
    short = settled.post("/rerank", request | {"detail": "ids"})
    assert short["results"][0].keys() == {"chunk_id", "score"}


def test_merged_lists_are_diversified(service: Caller) -> None:
    notes = ["Lime mortar sets slowly.", "Lime mortar sets slowly!", "The tide turns at noon."]
    lists = [{"name": "theirs", "hits": [{"chunk_id": str(n), "content": text} for n, text in enumerate(notes)]}]
    merged = service.post("/rerank", {"lists": lists, "mmr": True, "mmr_lambda": 0.3})
    assert [hit["chunk_id"] for hit in merged["results"]] == ["0", "2", "1"]


def test_an_entity_is_added_read_changed_and_deleted(service: Caller) -> None:
    wren = {"type": "person", "name": "Odalys Wren", "aliases": ["owren"], "role": "lampist", "facts": ["Keeps bees."]}
    added = service.post("/entities", wren, 201)
    assert {name: added[name] for name in wren} == wren
    path = f"/entities/{added['entity_id']}"
    assert service.get(path)["origin"] == "user"
    changed = service.call("PATCH", API + path, json={"role": "keeper", "aliases": ["wren"]}).json()
    assert (changed["role"], changed["aliases"], changed["facts"]) == ("keeper", ["wren"], ["Keeps bees."])
    assert service.call("DELETE", API + path).json()["entities_deleted"] == 1
    assert service.is_gone(path)


def test_an_entity_is_not_added_twice(service: Caller) -> None:
    heron = {"type": "team", "name": "Heron Watch"}
    service.post("/entities", heron, 201)
    refusal(service.call("POST", f"{API}/entities", 409, json=heron), "conflict")


def test_a_list_of_entities_is_added_at_once(service: Caller) -> None:
    both = [{"type": "person", "name": "Ilse Quern"}, {"type": "team", "name": "Millers", "members": ["Ilse Quern"]}]
    added = service.post("/entities", both, 201)["entities"]
    assert [entity["name"] for entity in added] == ["Ilse Quern", "Millers"]


def test_lines_of_entities_are_stored_one_by_one(service: Caller) -> None:
    lines = [{"type": "vendor", "name": "Quayside Rope"}, {"type": "vendor"}, {"type": "vendor", "name": "Bell & Sons"}]
    body = "\n".join(map(json.dumps, lines)).encode()
    headers = {"Content-Type": "application/x-ndjson"}
    stored = service.call("POST", f"{API}/entities/bulk", content=body, headers=headers).json()
    assert (stored["added"], stored["refused"]) == (2, 1)
    assert [line["line"] for line in stored["lines"] if line["status"] == "refused"] == [2]
    again = service.call("POST", f"{API}/entities/bulk", content=body, headers=headers).json()
    assert (again["unchanged"], again["refused"]) == (2, 1)


def test_entities_are_listed_by_type_origin_and_spelling(service: Caller) -> None:
    people = service.get("/entities", type="person", limit=50)["entities"]
    assert {"Mara Veit", "Mara Tolland"} <= {entity["name"] for entity in people}
    page = service.get("/entities", limit=2)
    next_page = service.get("/entities", limit=2, cursor=page["next_cursor"])
    assert not {one["entity_id"] for one in page["entities"]} & {one["entity_id"] for one in next_page["entities"]}
    assert service.get("/entities", q="cliff clark")["entities"][0]["name"] == "Cliff Clarke"
    assert {entity["origin"] for entity in service.get("/entities", origin="metadata")["entities"]} == {"metadata"}


@pytest.mark.parametrize(
    ("query", "matched_by"),
    [
        ("What does Sabra Kettle do?", "name"),
        ("Who tunes the church organ?", "description"),
        ("the bell founder", "role"),
        ("sabra ketle", "fuzzy"),
    ],
)
def test_entities_are_found_by_any_spelling_and_by_meaning(service: Caller, query: str, matched_by: str) -> None:
    kettle = {
        "type": "person", "name": "Sabra Kettle", "role": "bell founder", "entity_id": NOBODY,
        "description": "Tunes and repairs church organs.",
    }  # fmt: skip
    headers = {"Content-Type": "application/x-ndjson"}
    service.call("POST", f"{API}/entities/bulk", content=json.dumps(kettle).encode(), headers=headers)
    found = service.post("/entities/search", {"query": query, "limit": 3})["entities"]
    assert (found[0]["name"], found[0]["matched_by"]) == ("Sabra Kettle", matched_by)


def test_the_documents_of_an_entity_are_listed_by_the_strength_of_their_links(service: Caller) -> None:
    [clarke] = service.get("/entities", q="Cliff Clarke", limit=1)["entities"]
    linked = service.get(f"/entities/{clarke['entity_id']}/documents", limit=50)["documents"]
    assert linked[0]["uri"] == sample("people/cliff-clarke.md")[0]
    assert falling(document["strength"] for document in linked)


def test_entities_that_are_one_are_merged(service: Caller) -> None:
    kept = service.post("/entities", {"type": "person", "name": "Bronagh Tull", "facts": ["Rows."]}, 201)
    other = service.post("/entities", {"type": "person", "name": "B. Tull-Hagen", "facts": ["Sings."]}, 201)
    merged = service.post(f"/entities/{kept['entity_id']}/merge", {"entity_ids": [other["entity_id"]]})
    assert merged["aliases"] == ["B. Tull-Hagen"]
    assert sorted(merged["facts"]) == ["Rows.", "Sings."]
    assert service.is_gone(f"/entities/{other['entity_id']}")


def test_an_entity_guides_searches_once_its_mentions_were_found(service: Caller) -> None:
    service.add("Vesna Orlic inspected the sluice and found two cracks.", "e2e/sluice.md")
    service.post("/entities", {"type": "person", "name": "Vesna Orlic", "aliases": ["vorlic"]}, 201)
    service.finish_jobs()
    answer = service.search("What has vorlic found?", "/search/two-pass")
    assert answer["pass1_entities"][0]["name"] == "Vesna Orlic"
    assert uris(answer)[0] == "e2e/sluice.md"
