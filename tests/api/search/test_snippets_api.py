"""Tests of `snippets`: the best sentences of each hit, with the matches that Postgres' configurations make."""

from __future__ import annotations

from typing import Any

import pytest
from api_caller import Caller
from example_app import assert_problem

SEARCH, MULTIHOP = "/api/rag/search", "/api/rag/search/multihop"


async def snippet_of(caller: Caller, query: str, **fields: Any) -> tuple[str, list[tuple[str, str]]]:
    """The snippet of the first hit, and the text and the kind of each match."""
    hit = (await caller.search(query, snippets=True, **fields))["results"][0]
    return shown(hit, hit["content"])


def shown(hit: dict[str, Any], content: str) -> tuple[str, list[tuple[str, str]]]:
    """The snippet of a hit, whose offsets must be those of the content, and those of its matches in both."""
    snippet, text = hit["snippet"], hit["snippet"]["text"]
    assert content[snippet["start"] : snippet["end"]].replace("`", "") == text
    matches = [(content[one["start"] : one["end"]], one["kind"]) for one in snippet["matches"]]
    assert [text[one["text_start"] : one["text_end"]] for one in snippet["matches"]] == [match for match, _ in matches]
    return text, matches


async def test_a_snippet_marks_words_other_forms_and_phrases(caller: Caller) -> None:
    await caller.add("# Lime\n\nThe yard is wet. The masons were slaking lime below the third landing. It rained.")
    text, matches = await snippet_of(caller, 'mason lime "below the third landing"')
    assert text == "The masons were slaking lime below the third landing."
    assert matches == [("masons", "stem"), ("lime", "term"), ("below the third landing", "phrase")]


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
async def test_words_match_as_the_language_of_the_document_is_indexed(
    caller: Caller, language: str, content: str, query: str, match: str
) -> None:
    await caller.add(content, language=language)
    text, matches = await snippet_of(caller, query)
    assert content.replace("`", "").endswith(text)
    assert match in [matched for matched, _kind in matches]


async def test_each_document_is_matched_by_its_own_language(caller: Caller) -> None:
    await caller.add("The bettings were high.", uri="en", language="en")
    await caller.add("Die Betten waren hoch.", uri="de", language="de")
    answer = await caller.search("Betten", snippets=True, limit=10)
    matches = {hit["uri"]: shown(hit, hit["content"])[1] for hit in answer["results"]}
    assert matches["de"] == [("Betten", "term")]
    assert matches["en"] == []


async def test_a_later_hop_marks_the_name_by_which_it_was_reached(caller: Caller) -> None:
    await caller.add("Silent Harbour is a film whose director is Ilse Brandt.", title="Silent Harbour")
    await caller.add("It rained. Ilse Brandt spent her youth in Lundby. She trained as a painter.", title="Ilse Brandt")
    for number in range(8):
        await caller.add(
            f"Where the director of the harbour was born, {number}.", f"n-{number}", title=f"note {number}"
        )
    body = {"query": "Where was the director of Silent Harbour born?", "snippets": True, "detail": "preview"}
    answer = (await caller.client.post(MULTIHOP, json=body)).json()
    reached = next(hit for hit in answer["results"] if hit["via"] and hit["title"] == "Ilse Brandt")
    text, matches = shown(reached, reached["content"])
    assert text == "Ilse Brandt spent her youth in Lundby."
    assert matches == [("Ilse", "hop"), ("Brandt", "hop")]


async def test_offsets_are_those_of_the_whole_passage_even_where_the_answer_has_its_beginning(caller: Caller) -> None:
    content = f"{'It rained again. ' * 20}Then 🧱 lime arrived. It was late."
    await caller.add(content)
    hit = (await caller.search("lime", snippets=True, detail="preview"))["results"][0]
    assert len(hit["content"]) == 240
    assert shown(hit, content) == ("Then 🧱 lime arrived.", [("lime", "term")])


async def test_compact_and_grouped_hits_have_snippets_and_others_have_none(caller: Caller) -> None:
    for part in range(3):
        await caller.add(
            "\n\n".join(f"## Part {n}\n\n{'Lime mortar sets. ' * 60}" for n in range(2)), uri=f"note-{part}"
        )
    compact = await caller.search(
        "lime", snippets=True, detail="compact", group_by="document", rerank="cosine", mmr=True
    )
    hits = [one for hit in compact["results"] for one in (hit, *hit["more"])]
    assert len(hits) > 3
    assert {shown(hit, hit["content"])[0] for hit in hits} == {"Lime mortar sets."}
    assert "snippet" not in (await caller.search("lime"))["results"][0]
    assert "snippet" not in (await caller.search("lime", detail="compact", snippets=False))["results"][0]


async def test_snippets_may_differ_between_pages(caller: Caller) -> None:
    for number in range(4):
        await caller.add(f"Lime {number}.", uri=f"note-{number}")
    first = await caller.search("lime", limit=2)
    second = await caller.search("lime", limit=2, cursor=first["next_cursor"], snippets=True)
    assert [hit["snippet"]["matches"][0]["kind"] for hit in second["results"]] == ["term", "term"]


async def test_a_hit_that_only_its_vector_found_is_shown_whole_as_the_answer_may_be_anywhere_in_it(
    caller: Caller,
) -> None:
    content = "The yard is wet today. **Nobody** works.\n\nSundays belong to the viola."
    await caller.add(content)
    hit = (await caller.search("unrelated", mode="semantic", snippets=True))["results"][0]
    whole = {"text": content.replace("*", ""), "start": 0, "end": len(content), "matches": []}
    assert hit["snippet"] == whole
    call = {"query": "unrelated", "mode": "semantic", "snippets": True}
    found = (await caller.client.post("/api/rag/tools/search_documents", json=call)).json()
    assert found["results"][0]["content"] == whole["text"]


@pytest.mark.parametrize("path", [SEARCH, MULTIHOP])
async def test_answers_of_ids_have_no_snippets(caller: Caller, path: str) -> None:
    response = await caller.client.post(path, json={"query": "lime", "detail": "ids", "snippets": True})
    problem = assert_problem(response, 422, "no_snippets", "snippets")
    assert "set detail to compact, full or preview" in problem["detail"]
