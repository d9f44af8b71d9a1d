"""A document is changed by a JSON merge patch."""

from typing import Any

from api_caller import Caller

DOCUMENTS = "/api/rag/documents"


async def _patch(caller: Caller, document_id: str, patch: dict[str, Any], status: int = 200) -> dict[str, Any]:
    response = await caller.client.patch(f"{DOCUMENTS}/{document_id}", json=patch)
    assert response.status_code == status, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def _get(caller: Caller, document_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await caller.client.get(f"{DOCUMENTS}/{document_id}")).json()
    return found


async def test_metadata_is_merged_without_embedding_and_its_links_follow(caller: Caller) -> None:
    """As RFC 7396 says."""
    metadata = {"people": ["Ana Silva"], "size": {"width": 2, "height": 3}, "draft": True, "kind": "a", "none": None}
    document_id = (await caller.add("# Lime\n\nWe use lime.", "lime", metadata=metadata))["document_id"]
    patch = {"people": ["Ilse Brandt"], "size": {"width": None, "depth": 4}, "draft": None, "gone": None}
    patch |= {"kind": {"a": 1, "b": None}, "new": [None, {"a": None}], "deep": {"bb": {"ccc": None}}}
    changed = await _patch(caller, document_id, {"metadata": patch})
    assert (changed["status"], changed["embedded"], changed["chunk_count"], changed["uri"]) == ("changed", 0, 1, "lime")
    stored = await _get(caller, document_id)
    assert stored["metadata"] == {
        "people": ["Ilse Brandt"], "size": {"height": 3, "depth": 4}, "kind": {"a": 1}, "none": None,
        "new": [None, {"a": None}], "deep": {"bb": {}},
    }  # fmt: skip
    assert (stored["title"], stored["content"]) == ("Lime", "# Lime\n\nWe use lime.")
    entities = (await caller.client.get("/api/rag/entities", params={"origin": "metadata"})).json()["entities"]
    assert [entity["name"] for entity in entities] == ["Ilse Brandt"]
    found = await caller.search("lime", filters={"metadata": {"size": {"depth": 4}}})
    assert [hit["document_id"] for hit in found["results"]] == [document_id]
    assert (await caller.search("lime", filters={"metadata": {"draft": True}}))["results"] == []


async def test_a_new_title_is_embedded_and_found_and_the_old_one_is_not(caller: Caller) -> None:
    document_id = (await caller.add("We use it below the landing.", "a", title="Quicklime"))["document_id"]
    assert (await _patch(caller, document_id, {"title": "Gypsum"}))["embedded"] == 1
    found = await caller.search("gypsum", mode="lexical")
    assert ([hit["title"] for hit in found["results"]], "relaxed" in found) == (["Gypsum"], False)
    assert (await caller.search("quicklime", mode="lexical"))["relaxed"] == ["nearest_vectors"]
    assert (await _patch(caller, document_id, {"title": None}))["title"] == ""


async def test_the_text_the_language_and_the_uri_change_and_the_rest_stays(caller: Caller) -> None:
    created = "2024-01-01T00:00:00Z"
    stored = await caller.add("# Kalk\n\nText.", "a", title="T", metadata={"k": 1}, created_at=created)
    document_id = stored["document_id"]
    await _patch(caller, document_id, {"content": "---\nseen: 2\n---\nDie Kalke brennen.", "language": "Deutsch"})
    await _patch(caller, document_id, {"uri": "b"})
    document = await _get(caller, document_id)
    assert (document["content"], document["language"], document["uri"]) == ("Die Kalke brennen.", "german", "b")
    assert (document["title"], document["metadata"], document["created_at"]) == ("T", {"k": 1, "seen": 2}, created)
    assert (await caller.search("Kalk", mode="lexical"))["results"][0]["document_id"] == document_id
    await _patch(caller, document_id, {"language": None, "uri": None, "metadata": None})
    document = await _get(caller, document_id)
    assert (document["language"], document["uri"], document["metadata"]) == ("english", None, {})


async def test_a_patch_that_changes_nothing_leaves_the_document_unchanged(caller: Caller) -> None:
    stored = await caller.add("# Lime\n\nWe use lime.", "lime", metadata={"k": 1})
    before = await _get(caller, stored["document_id"])
    for patch in ({}, {"metadata": {"k": 1, "none": None}}, {"title": "Lime"}, {"title": None}, {"uri": "lime"}):
        assert (await _patch(caller, stored["document_id"], patch))["status"] == "unchanged"
    assert await _get(caller, stored["document_id"]) == before


async def test_an_invalid_patch_is_refused_with_its_field(caller: Caller) -> None:
    stored = await caller.add("Lime.", "lime", metadata={"big": "x" * 40_000})
    before = await _get(caller, stored["document_id"])
    invalid: list[tuple[Any, str]] = [
        ({"content": None}, "content"),
        ({"content": " \u200b"}, "content"),
        ({"content": "---\ntitle: x\n---\n"}, "content"),
        ({"created_at": None}, "created_at"),
        ({"uri": ""}, "uri"),
        ({"titel": "x"}, "titel"),
        ({"language": "Klingonese"}, "language"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"more": "x" * 40_000}}, "metadata"),
        ([], "body"),
    ]
    for patch, field in invalid:
        refused = await _patch(caller, stored["document_id"], patch, 422)
        assert [error["field"] for error in refused["errors"]] == [field]
    assert await _get(caller, stored["document_id"]) == before
