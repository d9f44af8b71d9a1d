"""Tools over REST return what the endpoints return, refuse wrong calls with the fix, and have an OpenAPI document."""

import json
from typing import Any

import made_files
import pytest
from api_caller import Caller
from openapi_spec_validator import validate

from app import capability
from app.agents import registry, tool_formats
from app.enums import COMPAT_TOOLS
from app.tools import NOTICE

LIME = "# Lime mortar\n\nBelow the third landing Ana Silva uses lime mortar, never cement."


async def refused(caller: Caller, tool: str, **arguments: Any) -> tuple[int, Any]:
    """The status of a call that must fail, and its problem."""
    response = await caller.client.post(f"/api/rag/tools/{tool}", json=arguments)
    return response.status_code, response.json()


async def test_each_search_tool_returns_the_hits_of_its_endpoint(caller: Caller) -> None:
    for number in range(8):
        await caller.add(f"# Note {number}\n\nLime mortar of batch {number} hardened in {number + 2} days.")
    first = (await caller.search("lime mortar batch"))["results"][0]["chunk_id"]
    query = {"query": "lime mortar batch 3", "limit": 4}
    for tool, path, body, arguments in (
        ("search_documents", "search", query, query),
        ("search_documents", "search/multihop", query, {**query, "depth": "thorough"}),
        ("find_similar_chunks", "similar", {"chunk_id": first, "limit": 4}, {"chunk_id": first, "limit": 4}),
    ):
        expected = (await caller.client.post(f"/api/rag/{path}", json=body)).json()["results"]
        found = (await caller.call(tool, **arguments))["results"]
        assert [hit["chunk_id"] for hit in found] == [hit["chunk_id"] for hit in expected], tool
        assert found


async def test_passages_of_several_hops_say_which_found_them_and_one_search_has_no_hops(caller: Caller) -> None:
    await caller.add("# Gannet\n\nThe Gannet buoy is looked after by Silent Harbour.", uri="gannet.md")
    await caller.add("# Silent Harbour\n\nIlse Brandt leads it, with four divers.", uri="harbour.md")
    query = "Who leads the team behind the Gannet?"
    path, body = "/api/rag/search/multihop", {"query": query, "limit": 2}
    full = (await caller.client.post(path, json=body)).json()
    compact = (await caller.client.post(path, json={**body, "detail": "compact"})).json()
    result = await caller.call("search_documents", **{**body, "depth": "thorough", "limit": 50})
    assert result["depth"] == "thorough"
    assert len(result["hops"]) == 2
    assert [hop["new_passages"] for hop in result["hops"]] == [hop["result_count"] for hop in full["hops"]]
    assert [found.get("hop", 1) for found in result["results"]] == [hit["hop"] for hit in full["results"]]
    assert [hit["hop"] for hit in compact["results"]] == [hit["hop"] for hit in full["results"]]
    once = await caller.call("search_documents", query=query, depth="fast")
    assert "hops" not in once
    assert all("hop" not in found for found in once["results"])


async def test_passages_have_the_day_of_their_document_if_they_are_of_several_days(caller: Caller) -> None:
    for day, hour, weekday in ((3, 9, "Tuesday"), (3, 17, "Thursday"), (4, 9, "Friday")):
        text = f"The harbour inspection has moved to {weekday}."
        await caller.add(text, uri=weekday, created_at=f"2026-03-0{day}T{hour:02}:00:00+00:00")
    found = (await caller.call("search_documents", query="harbour inspection"))["results"]
    days = {"Tuesday": "2026-03-03", "Thursday": "2026-03-03", "Friday": "2026-03-04"}
    assert {one["uri"]: one["created_at"] for one in found} == days
    of_one_day = await caller.call("search_documents", query="harbour inspection", created_before="2026-03-04")
    assert [one.get("created_at") for one in of_one_day["results"]] == [None, None]


async def test_a_document_is_stored_read_in_parts_listed_and_deleted(caller: Caller) -> None:
    text = "# Log\n\n" + "\n\n".join(f"Entry {n}: the tide was {n} centimetres high." for n in range(200))
    stored = await caller.call("add_document", content=text, uri="log.md", metadata={"team": "tide"})
    assert stored["status"] == "added"
    parts, start = [], 0
    while start is not None:
        part = await caller.call("get_document", document_id=stored["document_id"], start=start, max_tokens=300)
        parts.append(part["content"])
        start = part.get("next_start")
    assert len(parts) > 3
    assert "".join(parts) == (await caller.client.get(f"/api/rag/documents/{stored['document_id']}")).json()["content"]
    (listed,) = (await caller.call("list_documents"))["documents"]
    assert (listed["uri"], listed["metadata"]) == ("log.md", {"team": "tide"})
    assert (await caller.call("delete_document", document_id="log.md"))["documents_deleted"] == 1
    assert (await caller.call("knowledge_stats"))["documents"] == 0


async def test_a_document_without_a_uri_is_replaced_by_the_id_that_a_passage_shows(caller: Caller) -> None:
    await caller.call("add_document", content="Ines prefers the aisle seat", metadata={"kind": "preference"})
    (passage,) = (await caller.call("search_documents", query="Ines seat"))["results"]
    put = await caller.call("add_document", content="Ines prefers the window seat", uri=passage["document_id"])
    assert (put["status"], put["document_id"], put.get("uri")) == ("replaced", passage["document_id"], None)
    found = (await caller.call("search_documents", query="Ines seat"))["results"]
    assert [one["content"] for one in found] == ["Ines prefers the window seat"]


async def test_a_document_is_read_from_a_passage_on(caller: Caller) -> None:
    await caller.add("# Log\n\n" + "\n\n".join(f"## Day {n}\n\nThe tide was {n} metres high." for n in range(90)))
    passage = (await caller.call("search_documents", query="day 88", mode="lexical", limit=1))["results"][0]
    assert passage["start"] > 0
    assert passage["title"] == "Log"
    read = await caller.call("get_document", document_id=passage["chunk_id"])
    assert (read["document_id"], read["start"]) == (passage["document_id"], passage["start"])
    assert read["content"].startswith(passage["content"])
    assert (await caller.call("get_document", document_id=passage["document_id"]))["start"] == 0


async def test_a_document_is_read_from_a_page_on_and_each_part_has_its_page(caller: Caller) -> None:
    raw = made_files.pdf([[f"The tide of day {n} was {n} metres high."] * 30 for n in range(1, 5)])
    stored = await caller.client.post("/api/rag/documents", files={"files": ("tides.pdf", raw)})
    third = await caller.call("get_document", document_id="tides.pdf", page=3, max_tokens=200)
    assert third["content"].startswith("The tide of day 3 was"), stored.text
    after = await caller.call("get_document", document_id="tides.pdf", start=third["next_start"])
    last = await caller.call("get_document", document_id="tides.pdf", page=9)
    assert [part["page"] for part in (third, after, last)] == [3, 3, 4]
    (passage,) = (await caller.call("search_documents", query="day 3", mode="lexical", limit=1))["results"]
    first = await caller.call("get_document", document_id=passage["chunk_id"], page=1)
    assert (passage["page"], first["page"], first["start"]) == (3, 1, 0)


async def test_a_document_is_read_and_deleted_by_the_uri_that_a_passage_shows_even_if_it_looks_like_an_id(
    caller: Caller,
) -> None:
    key = "0b0e8c9e-6f0a-4c55-9d0b-3f3a2a8d9c11"
    for uri in ("notes/lime.md", "file:///notes/lime%20kiln.md", key, f"urn:uuid:{key}"):
        stored = await caller.add(LIME + uri, uri=uri)
        shown = next(one for one in (await caller.call("list_documents"))["documents"])["uri"]
        for given in (uri, shown):
            assert (await caller.call("get_document", document_id=given))["document_id"] == stored["document_id"]
    assert (await caller.call("delete_document", document_id=key))["documents_deleted"] == 1
    assert (await refused(caller, "get_document", document_id=key))[0] == 404


async def test_a_search_is_restricted_to_documents_by_the_id_or_uri_that_a_passage_shows_and_to_a_folder(
    caller: Caller,
) -> None:
    key = "0b0e8c9e-6f0a-4c55-9d0b-3f3a2a8d9c11"
    for uri in ("notes/a.md", "file:///srv/my%20notes/b.md", key):
        await caller.add(LIME + uri, uri=uri)
    without_uri = (await caller.add(LIME))["document_id"]
    passages = (await caller.call("search_documents", query="lime mortar"))["results"]
    shown = [passage.get("uri") or passage["document_id"] for passage in passages]
    assert len(shown) == 4

    async def found(tool: str = "search_documents", **arguments: Any) -> list[str]:
        given = {"chunk_id": passages[0]["chunk_id"]} if tool == "find_similar_chunks" else {"query": "lime mortar"}
        return [
            one.get("uri") or one["document_id"] for one in (await caller.call(tool, **given, **arguments))["results"]
        ]

    for given, passage in zip(shown, passages, strict=True):
        assert await found(document_ids=[given]) == await found(document_ids=[passage["chunk_id"]]) == [given]
    assert await found(document_ids=[f"stepwell://documents/{without_uri}"]) == [without_uri]
    assert set(await found(document_ids=[without_uri, shown[0]])) == {without_uri, shown[0]}
    assert await found("find_similar_chunks", document_ids=[shown[1]]) == [shown[1]]
    assert await found(document_ids=["11111111-1111-4111-8111-111111111111"]) == []
    assert len(await found(document_ids=[], sources=[], created_after="", folder="")) == 4
    status, problem = await refused(caller, "search_documents", query="lime", document_ids=[key, "b.md"])
    assert (status, problem["errors"][0]["field"]) == (404, "document_ids[1]")
    assert await found(folder="/srv/my notes") == await found(folder="/srv") == ["/srv/my notes/b.md"]
    nearest = await caller.call("search_documents", query="lime mortar", folder="my notes")
    assert nearest["no_results_because"].endswith("folder: did you mean /srv/my notes?")


async def test_what_was_not_searched_as_written_is_told_in_sentences(caller: Caller) -> None:
    await caller.add(LIME, uri="lime.md")
    dropped = await caller.call("search_documents", query='"lime cement" mortar')
    assert dropped["relaxed"] == ["No passage meets the quotes and required words, so they were not applied."]
    unread = await caller.call("search_documents", query="mortar (AND")
    assert unread["degraded"] == ["The expression could not be read, so its words were searched."]
    assert {"relaxed", "degraded"}.isdisjoint(await caller.call("search_documents", query="lime mortar"))


async def test_passages_are_counted_by_the_languages_whose_words_are_stemmed(caller: Caller) -> None:
    for language in ("English", "German", "Polish", "Turkish", "Thai"):
        await caller.add(f"Note in {language}", uri=f"{language}.md", language=language)
    assert (await caller.call("knowledge_stats"))["languages"] == {"english": 1, "german": 1, "other": 3}


async def test_a_type_without_entities_is_answered_by_the_types_that_there_are(caller: Caller) -> None:
    assert (await caller.call("list_entities", type="people"))["no_results_because"] == "There are no entities."
    await caller.client.post("/api/rag/entities", json={"type": "person", "name": "Ana Silva"})
    for arguments in ({}, {"query": "Ana"}):
        found = await caller.call("list_entities", type="people", **arguments)
        assert found["no_results_because"] == "No entity has this type. The types are person."
    near = await caller.call("list_entities", type="persons")
    assert near["no_results_because"] == "No entity has this type. Did you mean person? The types are person."
    assert "no_results_because" not in await caller.call("list_entities", type="person", query="Zoe")


async def test_documents_are_listed_by_words_uri_and_metadata(caller: Caller) -> None:
    for number in range(3):
        await caller.add(f"# Tide {number}\n\nHigh water.", uri=f"tides/{number}%.md", metadata={"year": 2020 + number})

    async def uris(**arguments: Any) -> list[str]:
        over_rest = {name: value for name, value in arguments.items() if name != "metadata"}
        if "metadata" in arguments:
            over_rest["filters"] = json.dumps({"metadata": arguments["metadata"]})
        listed = (await caller.client.get("/api/rag/documents", params=over_rest)).json()["documents"]
        found = (await caller.call("list_documents", **arguments))["documents"]
        assert [document["uri"] for document in found] == [document["uri"] for document in listed]
        return [document["uri"][6:7] for document in found]

    assert await uris(query="TIDE 1%") == ["1"]
    assert await uris(query="tides/ md") == ["2", "1", "0"]
    assert await uris(query="tide_ 1") == []
    assert await uris(uri="tides/2%.md") == ["2"]
    assert await uris(metadata={"year": {"gte": 2021}}, limit=1) == ["2"]
    assert await uris(query="0", metadata={"year": {"gte": 2021}}) == []


async def test_a_note_without_title_and_uri_is_listed_by_its_beginning(caller: Caller) -> None:
    await caller.add("# Tide\n\nHigh water.", uri="tide.md")
    assert "notice" not in await caller.call("list_documents")
    await caller.add("Ana prefers tea. " * 40)
    listed = await caller.call("list_documents")
    assert listed["notice"] == NOTICE
    assert [one.get("beginning") for one in listed["documents"]] == [("Ana prefers tea. " * 40)[:200], None]


async def test_long_metadata_is_left_to_reading_the_document(caller: Caller) -> None:
    metadata = {"summary": "heron " * 200, "team": "tide", "links": ["https://x.example/"] * 100}
    await caller.add("# Heron\n\nIt waits.", uri="heron.md", metadata=metadata)
    (listed,) = (await caller.call("list_documents"))["documents"]
    assert listed["metadata"] == {"summary": "…", "team": "tide", "links": "…"}
    assert (await caller.call("get_document", document_id="heron.md"))["metadata"] == metadata
    assert (await caller.call("get_document", document_id="heron.md", start=5))["metadata"] == listed["metadata"]
    facets = {one["key"]: one for one in (await caller.call("list_facets"))["facets"]}
    assert (facets["summary"]["values"], facets["summary"]["distinct"]) == ({}, 1)
    assert facets["team"]["values"] == {"tide": 1}


async def test_an_empty_list_says_what_to_change(caller: Caller) -> None:
    await caller.add("# Tide\n\nHigh water.", uri="tides/one.md", metadata={"year": 2020})
    for arguments, words in (
        (
            {"query": "the document about tides"},
            "No title and uri have all these words: use fewer, or search_documents",
        ),
        ({"uri": "one.md"}, "No document has this uri: `query` finds documents"),
        ({"query": "tide", "metadata": {"yaer": 2020}}, "metadata.yaer: no document has this key. Did you mean year?"),
    ):
        listed = await caller.call("list_documents", **arguments)
        assert (listed["documents"], listed["no_results_because"].startswith(words)) == ([], True), listed
    assert "no_results_because" not in await caller.call("list_documents", query="tide")


@pytest.mark.parametrize(
    ("tool", "arguments", "status", "words"),
    [
        ("search_documents", {"query": "  "}, 400, "visible character"),
        ("search_documents", {}, 422, "query: Required"),
        ("search_documents", {"query": "lime", "limit": "five"}, 422, "limit: Must be a whole number"),
        ("search_documents", {"query": "lime", "sources": ["nope"]}, 404, "The list of sources names them."),
        ("search_documents", {"q": "lime"}, 422, "q: Unknown field. Did you mean query?"),
        ("get_document", {"uri": "notes/lime.md"}, 422, "uri: Unknown field. Did you mean document_id?"),
        ("get_document", {"chunk_id": "x"}, 422, "chunk_id: Unknown field. Did you mean document_id?"),
        ("find_similar_chunks", {"passage_id": "x"}, 422, "passage_id: Unknown field. Did you mean chunk_id?"),
        ("get_document", {"document_id": "notes/none.md"}, 404, "list_documents finds some by words"),
        ("delete_document", {"document_id": "notes/none.md"}, 404, "take uri or document_id of a passage"),
        ("search_documents", {"query": "lime", "path": "notes"}, 422, "path: Unknown field. Did you mean folder?"),
        ("search_documents", {"query": "lime", "uri": "a.md"}, 422, "uri: Unknown field. Did you mean document_ids?"),
        ("find_similar_chunks", {"chunk_id": "a.md"}, 422, "chunk_id: Must be a UUID"),
        ("search", {"query": "lime"}, 404, "There is no such tool. Did you mean search_documents?"),
        ("list_documents", {"cursor": "x"}, 422, "cursor"),
        ("list_documents", {"created_after": "2026-01-31"}, 422, "are query, uri, metadata, limit, cursor."),
        ("list_documents", {"folder": "notes"}, 422, "are query, uri, metadata, limit, cursor."),
        ("search_documents", {"query": "lime", "file_types": ["md"]}, 422, "The arguments are query, "),
        ("add_document", {"content": " "}, 422, "Must contain visible text"),
        ("list_documents", {"metadata": {"$and": [{"team": "x"}]}}, 422, "keys beside one another must all be met;"),
        ("list_documents", {"metadata": {"team": {"$all": ["x"]}}}, 422, "send the list itself"),
        (
            "list_facets",
            {"metadata": {"or": [{"team": {"eq": "x"}}]}},
            422,
            "key: use `in` for several values of a key;",
        ),
        ("nope", {}, 404, "There is no such tool. The tools are search_documents, "),
    ],
)
async def test_a_wrong_call_is_refused_with_the_argument_and_the_fix(caller, tool, arguments, status, words) -> None:
    got, problem = await refused(caller, tool, **arguments)
    assert got == status, problem
    assert words in problem["detail"]


async def test_without_a_key_an_unknown_tool_is_not_revealed(caller: Caller) -> None:
    caller.client.headers.pop("Authorization")
    assert (await refused(caller, "no_such_tool"))[0] == 401
    assert (await caller.client.get("/api/rag/tools")).status_code == 401


MOST_BYTES = 24 * 1024


async def test_the_document_has_one_typed_operation_a_tool_that_can_be_called(caller: Caller) -> None:
    document = (await caller.client.get("/api/rag/tools/openapi.json")).json()
    validate(document)
    operations = {item["post"]["operationId"]: path for path, item in document["paths"].items()}
    assert list(operations) == [
        tool.name for tool in registry.list_offered({"search", "write"}, optional=capability.optional_tools())
    ]
    assert (document["servers"], document["security"]) == ([{"url": "http://localhost"}], [{"key": []}])
    answer = await caller.client.post(operations["search_documents"], json={"query": "lime"})
    assert answer.json()["results"] == []
    assert (await caller.client.post(operations["knowledge_stats"])).json()["documents"] == 0
    refused = await caller.client.post(operations["search_documents"])
    assert [error["field"] for error in refused.json()["errors"]] == ["query"]
    missing = await caller.client.post(operations["get_document"], json={"document_id": "nothing"})
    documented = document["paths"][operations["get_document"]]["post"]["responses"]
    assert (missing.status_code, documented.keys()) == (404, {"200", "default"})


def test_the_document_of_all_tools_is_small() -> None:
    tools = registry.list_offered(["admin"], optional=(*capability.optional_tools(), *COMPAT_TOOLS))
    document = tool_formats.openapi_document(tools, server="https://stepwell.example")
    assert len(text := json.dumps(document, separators=(",", ":"))) < MOST_BYTES
    assert "*/" not in text  # it would end a comment of generated code
