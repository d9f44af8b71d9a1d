"""Tests of snippets: the best sentences of each hit, with the matches that Postgres' configurations make."""

from typing import Any

import pytest
from api_caller import Caller

MULTIHOP = "/api/rag/search/multihop"


async def snippet_of(caller: Caller, query: str, **fields: Any) -> tuple[str, list[str]]:
    """The snippet of the first hit, and what matches in it."""
    return shown((await caller.search(query, detail="compact", **fields))["results"][0])


def shown(hit: dict[str, Any]) -> tuple[str, list[str]]:
    """The snippet of a hit, and what matches in it."""
    text = hit["snippet"]["text"]
    assert "content" not in hit
    return text, [text[start:end] for start, end in hit["snippet"]["matches"]]


@pytest.mark.parametrize(
    ("language", "content", "query", "match"),
    [
        ("de", "Es regnet. Der Maurer löschte Kalk in den Häusern am Hafen.", "Haus löschen", "Häusern"),
        ("fr", "Il pleut. Les maçons utilisaient la chaux du cœur.", "utiliser coeur", "cœur"),
        ("ja", "雨が降る。石工は東京都で漆喰を使う。", "東京都", "東京都"),
        ("ru", "Идёт дождь. Каменщики гасили известь.", "каменщик", "Каменщики"),
        ("en", "It rains. The café closed early.", "cafe", "café"),
        ("en", "It rains. Set `buoy_sync_interval` to 1,440.", "1440", "1,440"),
    ],
)
async def test_words_match_as_the_language_of_the_document_is_indexed(caller, language, content, query, match) -> None:
    await caller.add(content, language=language)
    text, matches = await snippet_of(caller, query)
    assert content.replace("`", "").endswith(text)
    assert match in matches


async def test_each_document_is_matched_by_its_own_language(caller: Caller) -> None:
    await caller.add("The bettings were high.", uri="en", language="en")
    await caller.add("Die Betten waren hoch.", uri="de", language="de")
    answer = await caller.search("Betten", detail="compact", limit=10)
    matches = {hit["uri"]: shown(hit)[1] for hit in answer["results"]}
    assert matches["de"] == ["Betten"]
    assert matches["en"] == []


async def test_a_later_hop_marks_the_name_by_which_it_was_reached(caller: Caller) -> None:
    await caller.add("Silent Harbour is a film whose director is Ilse Brandt.", title="Silent Harbour")
    await caller.add("It rained. Ilse Brandt spent her youth in Lundby. She trained as a painter.", title="Ilse Brandt")
    born = [{"content": f"Where the director of the harbour was born, {n}.", "title": f"note {n}"} for n in range(8)]
    assert (await caller.client.post("/api/rag/documents", json=born)).status_code == 201
    body = {"query": "Where was the director of Silent Harbour born?", "detail": "compact"}
    answer = (await caller.client.post(MULTIHOP, json=body)).json()
    reached = next(hit for hit in answer["results"] if "via" in hit and hit["title"] == "Ilse Brandt")
    text, matches = shown(reached)
    assert text == "Ilse Brandt spent her youth in Lundby. She trained as a painter."
    assert matches == ["Ilse", "Brandt"]


async def test_a_hit_that_only_its_vector_found_is_shown_whole_as_the_answer_may_be_anywhere_in_it(caller) -> None:
    content = "The yard is wet today. **Nobody** works.\n\nSundays belong to the viola."
    await caller.add(content)
    hit = (await caller.search("unrelated", mode="semantic", detail="compact"))["results"][0]
    whole = {"text": content.replace("*", ""), "matches": []}
    assert hit["snippet"] == whole
    found = await caller.call("search_documents", query="unrelated", mode="semantic", snippets=True)
    assert found["results"][0]["content"] == whole["text"]
