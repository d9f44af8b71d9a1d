"""Agents find the tools over REST and MCP; people find the pages, and operators the health of the service."""

from __future__ import annotations

from typing import Any

import pytest
from over_http import API, Caller, Json, refusal, sample, uris

MCP_HEADERS = {"Accept": "application/json, text/event-stream"}
TOOLS = {
    "search_documents", "find_similar_chunks", "get_document", "list_documents", "list_entities", "list_facets",
    "knowledge_stats", "list_sources", "add_document", "delete_document", "add_source", "sync_source", "rate_passage",
}  # fmt: skip
OTHER_PLATFORMS = {"search", "fetch"}


@pytest.mark.parametrize(
    ("format_", "place"),
    [
        ("openai", ("function", "name")),
        ("openai-responses", ("name",)),
        ("anthropic", ("name",)),
        ("mcp", ("name",)),
    ],
)
def test_tools_are_defined_in_the_format_of_a_model_api(service: Caller, format_: str, place: tuple[str, ...]) -> None:
    names = set()
    for tool in service.get("/tools", format=format_):
        for key in place:
            tool = tool[key]
        names.add(tool)
    assert names >= TOOLS


def test_tools_are_defined_for_gemini_and_as_an_openapi_document(service: Caller) -> None:
    assert service.get("/tools", format="gemini")
    document = service.get("/tools/openapi.json")
    assert {path.rpartition("/")[2] for path in document["paths"]} >= TOOLS
    assert document["security"] == []  # a service without keys needs none


CALLS: dict[str, Json] = {
    "search_documents": {"query": "lime mortar"},
    "list_documents": {"query": "lime"},
    "list_entities": {"query": "Cliff Clarke"},
    "list_facets": {},
    "knowledge_stats": {},
    "list_sources": {},
}


@pytest.mark.parametrize(("tool", "arguments"), CALLS.items(), ids=CALLS)
def test_a_tool_returns_over_mcp_what_it_returns_over_rest(settled: Caller, tool: str, arguments: Json) -> None:
    over_rest = settled.post(f"/tools/{tool}", arguments)
    over_mcp = _mcp(settled, "tools/call", name=tool, arguments=arguments)
    assert over_mcp["structuredContent"] == over_rest
    assert not over_mcp.get("isError")
    if tool.startswith("search"):
        assert over_rest["notice"]
        assert over_rest["results"]


def test_a_search_tool_answers_briefly_within_its_tokens(service: Caller) -> None:
    result = service.post("/tools/search_documents", {"query": "lime mortar", "limit": 3})
    first = result["results"][0]
    assert {"chunk_id", "uri", "start", "content"} <= first.keys()
    assert first["uri"] == sample("decisions/D-019-lime.md")[0]
    short = service.post("/tools/search_documents", {"query": "lime mortar", "limit": 20, "max_tokens": 300})
    assert short["left_out"] > 0


def test_a_document_is_added_read_on_and_deleted_by_tools(service: Caller) -> None:
    added = service.post("/tools/add_document", {"content": "The gangway is aluminium.", "uri": "e2e/gangway.md"})
    read = service.post("/tools/get_document", {"document_id": added["document_id"]})
    assert "aluminium" in read["content"]
    assert service.post("/tools/delete_document", {"document_id": added["document_id"]})["documents_deleted"] == 1


def test_a_wrong_call_names_the_argument_and_the_fix(service: Caller) -> None:
    wrong = service.call("POST", f"{API}/tools/search_documents", 422, json={"query": "lime", "top_k": 3})
    assert "Did you mean limit?" in refusal(wrong, "invalid_request", "top_k")["detail"]
    missing = service.call("POST", f"{API}/tools/search_document", 404, json={"query": "lime"})
    assert "search_documents" in refusal(missing, "not_found")["detail"]
    over_mcp = _mcp(service, "tools/call", name="search_documents", arguments={"query": "lime", "top_k": 3})
    assert over_mcp["isError"]
    assert "Did you mean limit?" in over_mcp["content"][0]["text"]


def _mcp(service: Caller, method: str, **parameters: Any) -> Json:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    result: Json = service.call("POST", "/mcp", json=message, headers=MCP_HEADERS).json()["result"]
    return result


def test_mcp_is_initialised_and_lists_tools(service: Caller) -> None:
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "suite", "version": "1"}}
    started = _mcp(service, "initialize", **client)
    assert started["protocolVersion"] == "2025-06-18"
    assert "search_documents" in started["instructions"]
    assert {tool["name"] for tool in _mcp(service, "tools/list")["tools"]} == TOOLS | OTHER_PLATFORMS
    assert service.call("GET", "/mcp", 405).headers["allow"]


def test_documents_are_resources_of_mcp(service: Caller) -> None:
    listed = _mcp(service, "resources/list")["resources"]
    assert listed[0]["uri"].startswith("stepwell://documents/")
    [content] = _mcp(service, "resources/read", uri=listed[0]["uri"])["contents"]
    assert content["text"].startswith("Untrusted")


def test_the_tools_of_chatgpt_are_served(service: Caller) -> None:
    found = _mcp(service, "tools/call", name="search", arguments={"query": "lime mortar"})["structuredContent"]
    first = found["results"][0]
    assert first.keys() >= {"id", "title", "url"}
    fetched = _mcp(service, "tools/call", name="fetch", arguments={"id": first["id"]})["structuredContent"]
    assert "lime" in fetched["text"].lower()


def test_the_knowledge_api_of_dify_is_served(with_key: dict[str, Caller]) -> None:
    asked = {"knowledge_id": "default", "query": "lime mortar", "retrieval_setting": {"top_k": 2, "score_threshold": 0}}
    headers = {"Authorization": f"Bearer {with_key['search'].http.headers['X-API-Key']}"}
    records = with_key["search"].call("POST", "/retrieval", json=asked, headers=headers).json()["records"]
    assert len(records) == 2
    assert all("lime" in record["content"].lower() for record in records)


def test_a_key_with_one_scope_is_offered_its_tools(with_key: dict[str, Caller]) -> None:
    offered = {tool["name"] for tool in with_key["search"].get("/tools", format="mcp")}
    assert "search_documents" in offered
    assert not {"add_document", "delete_document"} & offered


@pytest.mark.parametrize(
    ("path", "content_type", "words"),
    [
        ("/playground", "text/html", "Stepwell playground"),
        ("/docs", "text/html", "swagger-ui"),
        ("/healthz", "application/json", '"ok"'),
        ("/readyz", "application/json", '"ready"'),
        ("/metrics", "text/plain", "stepwell_http_requests_total"),
    ],
)
def test_a_page_is_served(service: Caller, path: str, content_type: str, words: str) -> None:
    response = service.call("GET", path)
    assert response.headers["content-type"].startswith(content_type)
    assert words in response.text


def test_what_the_pages_load_is_served(service: Caller) -> None:
    for page in ("/playground", "/docs"):
        html = service.call("GET", page).text
        loaded = [part.partition('"')[0] for mark in ('src="', 'href="') for part in html.split(mark)[1:]]
        for path in loaded:
            if not path.startswith(("#", "http", "data:")):
                service.call("GET", str(service.http.base_url.join(page).join(path)))


def test_the_first_page_is_for_browsers_and_others(service: Caller) -> None:
    assert "playground" in service.call("GET", "/", headers={"Accept": "text/html"}).text
    assert service.call("GET", "/", 307).headers["location"].endswith("docs")


def test_the_openapi_document_describes_every_operation(service: Caller) -> None:
    document = service.call("GET", "/openapi.json").json()
    operations = [(path, method) for path, item in document["paths"].items() for method in item]
    assert len(operations) >= 45
    search = document["paths"][f"{API}/search"]["post"]
    fields = document["components"]["schemas"]["SearchRequest"]["properties"]
    assert list(fields) == [
        "query", "vector", "limit", "filters", "exclude_chunk_ids", "mode", "depth", "cursor", "detail", "collapse",
        "explain", "ranking",
    ]  # fmt: skip
    assert search["requestBody"]["content"]["application/json"]


def test_the_examples_of_a_search_run_as_they_are(service: Caller) -> None:
    document = service.call("GET", "/openapi.json").json()
    for path in ("/search", "/search/multihop", "/search/two-pass"):
        body = document["paths"][API + path]["post"]["requestBody"]["content"]["application/json"]
        examples = body["examples"].values()
        assert examples
        for example in examples:
            service.post(path, example["value"])


def test_metrics_count_requests(service: Caller) -> None:
    mark = 'stepwell_http_requests_total{method="POST",route="/api/rag/search",status="200"} '

    def counted() -> float:
        return float(service.call("GET", "/metrics").text.partition(mark)[2].partition("\n")[0])

    before = counted()
    assert uris(service.search("lime mortar"))
    assert counted() == before + 1
