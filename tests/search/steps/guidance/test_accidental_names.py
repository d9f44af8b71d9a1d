"""Names that a query contains by accident do not change its answer; every form of a name refers to its person."""

from __future__ import annotations

import linking
import pytest
from harness import Tenant, uris
from linking import asked

from app.database.transactions import Database
from app.documents.types import Upload
from app.entities.types import EntityDraft

ACCIDENTS = {
    "page": "# Travel\n\nTo claim a train journey back, file the ticket within ten days.",
    "jonas-1": "# Lunch\n\nJonas Weber brings soup on Mondays.",
    "jonas-2": "# Train\n\nJonas Weber missed a train and told everybody about the journey.",
    "jonas-3": "# Keys\n\nThe spare key is with Jonas Weber.",
    "stream": "# Stream\n\nA stream is a sequence of bytes. Close a stream after use.",
    "error": "# Errors\n\nERR_STREAM_PREMATURE_CLOSE means that the peer closed the connection early.",
    "vx": "# Releases\n\nVX-900 firmware 2.1 fixes the drift of the gyroscope.",
    "price": "# Tickets\n\nThe price of a ticket is printed on the back.",
    "lab": "# Laboratory\n\nAnn Price calibrates the balance.",
    "lab-2": "# Balance\n\nAnn Price ordered weights and a price list for tickets.",
    "kennedy": "# Letters\n\nJohn Kennedy wrote that ships need harbours.",
    "manager": "# Claims\n\nIf a manager rejects a claim, ask the works council.",
    "ines": "# Optics\n\nInes Calder polished the lens.",
    "ines-2": "# Plan\n\nNext week: mirrors.",
}


@pytest.fixture(scope="module")
async def accidents(database: Database) -> Tenant:
    tenant = Tenant(database)
    await tenant.add_all(ACCIDENTS)
    logs = {f"log-{n}": f"Log {n}: Ana Kovac and Jonas Weber cleaned tank {n}." for n in range(8)}
    await tenant.add_all(logs)
    await linking.add_entities(
        tenant,
        linking.person("Jonas Weber", aliases=("Jonas",)),
        linking.person("Ana Kovac"),
        linking.person("Ann Price"),
        linking.person("John Smith", aliases=("John",), role="manager"),
        linking.person("Ines Calder"),
    )
    return tenant


@pytest.mark.parametrize(
    "text",
    [
        "Hi Jonas, how do I claim a train journey back?",
        "How do I claim a train journey back? Thanks, Jonas Weber",
        "ERR_STREAM_PREMATURE_CLOSE",
        "VX-900 firmware Ana Kovac",
        "what did John Kennedy write about ships",
        "Ann Calder on harbours",
        "my manager rejected my claim",
    ],
)
async def test_a_query_that_contains_a_name_by_accident_is_answered_as_without_entities(
    accidents: Tenant, text: str
) -> None:
    flat = await asked(accidents, text, mode="off", boost=False)
    default = await asked(accidents, text)
    assert (default.search_mode, uris(default)) == ("flat", uris(flat))
    assert [hit.candidate.score for hit in default.hits] == [hit.candidate.score for hit in flat.hits]


async def test_an_ordinary_word_that_is_somebodys_last_name_leaves_the_best_hits_in_place(accidents: Tenant) -> None:
    flat = await asked(accidents, "price of a ticket", mode="off", boost=False)
    assert uris(await asked(accidents, "price of a ticket"))[:3] == uris(flat)[:3]


@pytest.mark.parametrize(
    "text",
    ["what has ines been working on", "What has Calder been working on?", "INES CALDER WORK", "work of ines calder"],
)
async def test_lower_case_and_last_names_and_capitals_refer_to_their_person(accidents: Tenant, text: str) -> None:
    answer = await asked(accidents, text)
    assert [match.name for match in answer.entities] == ["Ines Calder"]
    assert uris(answer)[0] == "ines"


@pytest.mark.parametrize("text", ["What did Tom Price order?", "the price that Jonas Weber paid"])
async def test_a_last_name_in_another_name_or_beside_names_in_lower_case_is_nobodys(
    accidents: Tenant, text: str
) -> None:
    answer = await asked(accidents, text, mode="force")
    assert "Ann Price" not in [match.name for match in answer.entities]
    assert "Ann Price" in [
        match.name for match in (await asked(accidents, "What did Price order?", mode="force")).entities
    ]


async def test_the_best_unguided_hits_stay_among_the_first_ten_unless_the_name_is_in_full(accidents: Tenant) -> None:
    text = "Jonas and the drift of the gyroscope, the price of a ticket, the works council and a rejected claim"
    flat = await asked(accidents, text, limit=20, mode="off", boost=False)
    guided = await asked(accidents, text, limit=20, alpha=0.0)
    assert set(uris(flat)[:3]) <= set(uris(guided)[:10])
    scores = [hit.candidate.score for hit in guided.hits]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("text", ['Jonas Weber "spare key"', "Jonas Weber +key"])
async def test_no_linked_hit_without_the_required_words_precedes_one_with_them(accidents: Tenant, text: str) -> None:
    assert uris(await asked(accidents, text))[0] == "jonas-3"
    assert uris(await asked(accidents, text, mode="force"))[0] == "jonas-3"


async def test_an_author_who_is_called_like_the_subject_of_other_texts_does_not_guide(tenant: Tenant) -> None:
    await tenant.add("Toad Hall is a residential hall of a university in Canberra.", "hall", title="Toad Hall")
    await tenant.add("Canberra is a city with several universities and residential halls.", "city", title="Canberra")
    notes = ("soup", "keys", "gloves", "bicycles", "candles", "paint")
    metadata = {"author": "Toad Hall", "tags": ["city"]}
    await tenant.add_all(Upload(f"The {word} are in the cellar.", uri=word, metadata=metadata) for word in notes)
    text = "Toad Hall is a residential hall of a university in which city?"
    flat = await asked(tenant, text, mode="off", boost=False)
    default = await asked(tenant, text)
    assert (default.search_mode, uris(default)) == ("flat", uris(flat))
    assert set(uris(await asked(tenant, "What did Toad Hall note?"))[:5]) & set(notes), "a question about the author"


async def test_an_author_whose_texts_answer_the_query_guides_it(tenant: Tenant) -> None:
    await tenant.add("Lime mortar sets slowly in the cold.", "mortar", metadata={"author": "Clara Wendt"})
    await tenant.add("The mortar for the pier is mixed with lime.", "pier")
    answer = await asked(tenant, "What did Clara Wendt write about lime mortar?")
    assert (answer.search_mode, uris(answer)[0]) == ("two_pass", "mortar")


LEDGER = {
    "team": "# Ledger\n\nLedger owns payments in every currency. Ledger meets on Monday. Ledger hires.",
    "retro": "# Retro\n\nLedger shipped currency export. Ledger was tired. Ledger thanks Ines.",
    "budget": "# Budget\n\nLedger spends on multi-region servers. Ledger asks for a currency licence.",
    "monday": "# Monday\n\nRounding in the multi-currency ledger happens at settlement. Rates come hourly.",
    "friday": "# Friday\n\nThe multi-currency ledger has a table of balances. Lunch was late.",
}


async def test_an_ordinary_word_that_is_a_teams_name_does_not_guide_inside_a_phrase(tenant: Tenant) -> None:
    await tenant.add_all({**LEDGER, **{f"memo-{n}": f"# Memo {n}\n\nThe printer needs toner {n}." for n in range(8)}})
    await linking.add_entities(tenant, EntityDraft("team", "Ledger"))
    for text in ("multi-currency ledger", "status of the multi-currency ledger"):
        flat = await asked(tenant, text, mode="off", boost=False)
        default = await asked(tenant, text)
        assert uris(default) == uris(flat), text
        assert {*uris(default)[:2]} == {"monday", "friday"}, text
    assert (await asked(tenant, "what does ledger own")).fallback_reason is None
