"""A typing error is looked for in words that may have one, and corrected by one change."""

from dataclasses import replace

import harness
import pytest
from harness import Tenant, counted_statements, uris

from app.database import filters
from app.database.filter_types import Filters
from app.documents.types import Upload
from app.search.steps import corrections

bakery = harness.stored(
    {
        "contract": "The croissant delivery contract.",
        "boiler": "Cormorant boiler price list.",
        "codes": "Part KX-4471 replaces part KX-4417; see delivery_plan.py and version 1.20.3.",
        "other": "Price of the plan, by part and version.",
    }
)


def test_identifiers_names_of_files_numbers_and_quoted_words_are_meant_as_they_are_written() -> None:
    query = 'Which croissnat, "literl" KX-4471 v1.20.3 delivry.py getUserNmae err_tide_4012 NASDAQ 20255 hous Brandaur?'
    assert corrections.may_be_misspelt(query, ("literl",)) == ["croissnat", "brandaur", "which", "hous"]
    assert corrections.may_be_misspelt("CROISSNAT DELIVRY") == ["croissnat", "delivry"]
    assert corrections.may_be_misspelt("東京都漆喰石工職人 известко мо\u0301ртер هندسه המדרסה") == [
        "известко",
        "המדרסה",
        "هندسه",
    ]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *(("croissnat", "croissant"), ("delivry", "delivery"), ("cormorannt", "cormorant"), ("boyler", "boiler")),
        *(("известко", "известка"), ("mörtl", "mörtel"), ("oiler", "boiler")),
        *(("çağrıı", "çağrı"), ("żółtty", "żółty"), ("їжакк", "їжак"), ("هندسه", "هندسة"), ("המדרסה", "המדרשה")),
    ],
)
def test_a_word_is_among_the_edits_of_a_word_that_differs_by_one_typing_error(written: str, meant: str) -> None:
    edits = corrections.edits(written)
    assert meant in edits
    assert written not in edits
    assert not [one for one in edits if one[0] != written[0] and one[1:] == written[1:]]
    assert len(edits) == len(set(edits)) < 120 * (len(written) + 1)


@pytest.mark.parametrize("mode", ["auto", "hybrid", "lexical"])
@pytest.mark.parametrize(
    ("query", "uri", "corrections"),
    [
        ("croissnat delivry contract", "contract", {"croissnat": ["croissant"], "delivry": ["deliveri"]}),
        ("Cormorannt boyler price", "boiler", {"cormorannt": ["cormor"], "boyler": ["boiler"]}),
    ],
)
async def test_typing_errors_are_corrected_although_something_is_found(bakery, mode, query, uri, corrections) -> None:
    answer = await bakery.ask(query, mode=mode, explain=True)
    assert (uris(answer)[0], answer.relaxed) == (uri, ("similar_words",))
    assert answer.explain["corrections"] == corrections
    counted = {term["lexeme"]: term["times"] for term in answer.explain["terms"]}
    assert {counted[lexeme] for lexemes in corrections.values() for lexeme in lexemes} == {0.5}
    again = await bakery.ask(query, mode=mode, limit=1)
    assert uris(await bakery.ask(query, mode=mode, limit=1, cursor=again.next_cursor)) == [uris(answer)[1]] or not (
        again.next_cursor
    )


@pytest.mark.parametrize(
    "query", ["KX-4472 part", "1.20.4 version", "delivry_plan.py plan", '"croissnat" contract', "+croissnat contract"]
)
async def test_identifiers_and_what_is_required_are_not_corrected(bakery: Tenant, query: str) -> None:
    answer = await bakery.ask(query, explain=True)
    assert "similar_words" not in answer.relaxed
    assert answer.explain["corrections"] == {}


@pytest.mark.parametrize(
    ("query", "uri", "written"),
    [
        ("KX4471", "codes", {"KX4471": ["KX 4471"]}),
        ("which part replaces kx4417?", "codes", {"kx4417": ["kx 4417"]}),
        ("KX4471 OR A-27", "codes", {"KX4471": ["KX 4471"], "A-27": ["A27"]}),
        ("alarm A 27", "alarm", {"A 27": ["A27"]}),
        ("what is J45909", "lists", {"J45909": ["j45.909"]}),
        ("N02 BE01", "lists", {"N02 BE01": ["N02BE01"]}),
        ("B20.15", "lists", {"B20.15": ["B2015"]}),
    ],
)
async def test_a_code_that_is_unknown_is_searched_as_passages_write_it(bakery, query, uri, written) -> None:
    await bakery.add("Alarm A27: the water freezes. Room 28.", "alarm")
    await bakery.add("J45.909 asthma, N02BE01 paracetamol, B2015 a bin.", "lists")
    answer = await bakery.ask(query, explain=True)
    assert (uris(answer)[0], answer.relaxed, answer.explain["corrections"]) == (uri, ("similar_words",), written)
    assert answer.hits[0].relevance > 0.05


@pytest.mark.parametrize("query", ["KX4472", "A28", "KX447", '"KX4471"', "+KX4471", "4471KX", "J4590", "J45 909"])
async def test_a_code_that_no_passage_writes_otherwise_is_not_corrected(bakery: Tenant, query: str) -> None:
    await bakery.add("Alarm A27: the water freezes. Room 28. J45.909 asthma.", "alarm")
    assert (await bakery.ask(query, explain=True)).explain["corrections"] == {}


async def test_a_number_that_is_not_stored_takes_no_further_statement(bakery: Tenant) -> None:
    counts = []
    for query in ("boiler price", "boiler price 987", "the price of part 987 in 1893"):
        with counted_statements(bakery) as run:
            await bakery.ask(query)
        counts.append(len(run))
    assert counts[0] == counts[1] == counts[2]


async def test_a_prefix_is_corrected_only_if_no_passage_meets_it(bakery: Tenant) -> None:
    await bakery.add_all({"lights": "The floodlight of the yard.", "floor": "The floor of the yard."})
    assert (await bakery.ask("flood* yard")).relaxed == ()
    assert (await bakery.ask("flooor* yard")).relaxed == ("constraints_dropped", "similar_words")


async def test_a_word_with_many_neighbours_is_not_corrected(bakery: Tenant) -> None:
    await bakery.add("infect inject insert inspect", "neighbours")
    answer = await bakery.ask("insect contract", explain=True)
    assert answer.explain["corrections"] == {}


async def test_no_correction_of_a_word_counts_more_than_the_commonest_one(tenant: Tenant) -> None:
    shoes = [Upload(f"running shoes {number}", uri=f"{number}") for number in range(9)]
    await tenant.many([*shoes, Upload("pruning shears", uri="shears")])
    answer = await tenant.ask("runing", mode="lexical", explain=True)
    idf = {term["lexeme"]: term["idf"] for term in answer.explain["terms"]}
    assert idf["prune"] == pytest.approx(idf["run"])


async def test_a_stop_word_of_one_language_is_not_corrected_where_documents_have_others(tenant: Tenant) -> None:
    french = Upload("Le contrat de livraison attend au fournil.", language="fr")
    await tenant.add_all([french, Upload("The croissant contract."), Upload("They ate a bite and befogged the gain.")])
    answer = await tenant.ask("croissnat contract before noon again, baskets, apricots", explain=True)
    assert answer.explain["corrections"] == {"croissnat": ["croissant"]}


async def test_a_caller_who_sees_a_part_corrects_words_but_no_query_on_something_else(bakery: Tenant) -> None:
    await bakery.add("Harpsichords arrive at the harbour by ferry.", "hidden")
    seen = filters.restriction(Filters(negated=Filters(uri_prefix="hidden")))
    caller = replace(bakery, db=bakery.db.restricted(seen))
    with counted_statements(caller) as run:
        assert (await caller.ask("croissnat delivry contract")).relaxed == ("similar_words",)
    assert sum("edited AS" in text for text in run) == 1
    assert not any("names_to_match" in text for text in run), "the user has no names to find the visible ones of"
    with counted_statements(caller) as run:
        assert (await caller.ask("harpsichord harbour ferry contract")).relaxed == ()
    assert not any("edited AS" in text for text in run)


async def test_a_relative_of_an_inflected_word_is_no_correction_of_it(bakery: Tenant) -> None:
    await bakery.add("The supplier of the account.", "supplier")
    assert (await bakery.ask("who supplies croissant")).relaxed == ()
    assert (await bakery.ask("plna version")).relaxed == (), "short words may lack accents only"
    assert (await bakery.ask("accoun croissant")).relaxed == ("similar_words",), "the last letter may be missing"


@pytest.mark.parametrize(
    ("language", "text", "query"),
    [
        ("fr", "Les élèves de l'école préparent une représentation.", "representation eleves ecole"),
        ("pt", "A estação da região não está em construção.", "estacao regiao construcao"),
        ("pt", "Como fazer pão sem fermento.", "fazer pao"),
        ("ro", "Primăria închide în fiecare sâmbătă.", "primaria inchide sambata"),
        ("da", "Læreren maler skolens mur.", "laereren mur"),
        ("da", "Skolen får en gråere mur.", "graere mur"),
        ("no", "Været på fjellet snur.", "vaeret fjellet"),
    ],
)
async def test_words_without_their_accents_count_like_the_words(tenant: Tenant, language, text, query) -> None:
    await tenant.add(text, uri="meant", language=language)
    await tenant.add("Une autre note, eine andere Notiz, başka bir not.", uri="other", language=language)
    answer = await tenant.ask(query, mode="lexical", explain=True)
    assert (uris(answer), answer.relaxed) == (["meant"], ("similar_words",))
    assert all(len(known) == 1 for known in answer.explain["corrections"].values())
    assert {term["times"] for term in answer.explain["terms"] if term["df"]} <= {0.99, 1}


async def test_words_are_corrected_whose_stems_begin_within_them(tenant: Tenant) -> None:
    await tenant.add("تدفع الفاتورة الكهربائية خلال شهر", uri="meant")
    answer = await tenant.ask("الفاتوره الكهربائيه", mode="lexical")
    assert (uris(answer), answer.relaxed) == (["meant"], ("similar_words",))


def test_a_word_has_a_limited_number_of_spellings_however_many_languages_the_documents_have() -> None:
    word, languages = "internationalisation", ("french", "italian", "portuguese", "catalan", "spanish")
    for some in (languages[:1], languages):
        assert 300 < len(corrections.spellings([word], some)[word]) <= corrections.MAX_RESPELLED
    assert corrections.spellings(["acao"], ["portuguese"])["acao"][-1] == "âçâõ"
    assert corrections.spellings([word], ["english", "german"]) == {}
