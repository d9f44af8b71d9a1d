"""Names that a query contains by accident do not change its answer; every form of a name refers to its person."""

import linking
import pytest
from harness import Tenant, uris
from linking import asked

from app.database.transactions import Database
from app.documents.types import Upload

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
async def test_a_query_that_contains_a_name_by_accident_is_answered_as_without_entities(accidents, text) -> None:
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
async def test_a_last_name_in_another_name_or_beside_names_in_lower_case_is_nobodys(accidents, text) -> None:
    answer = await asked(accidents, text, mode="force")
    assert "Ann Price" not in [match.name for match in answer.entities]
    assert "Ann Price" in [
        match.name for match in (await asked(accidents, "What did Price order?", mode="force")).entities
    ]


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
