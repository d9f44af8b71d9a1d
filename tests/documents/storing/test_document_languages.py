"""Documents are indexed in the language that they name, else in the one that is set, else in the detected one."""

from typing import Any

from harness import Tenant, uris

from app.database import sql
from app.database.filter_types import DocumentFilter
from app.documents import document_patches
from app.documents import operations as documents
from app.documents.files import file_reading
from app.documents.files.file_reading import NamedFile
from app.documents.storing import document_drafts
from app.documents.types import Upload
from app.search import hybrid_request
from app.services import ChunkingOptions
from app.text.words import languages, tsvector_text

GERMAN = "Die Kündigungsfristen der Mietverträge stehen in der Anlage, und der Vermieter hat sie unterschrieben."
WEITER = " Sie gelten auch für den Keller, den der Mieter nur mit einem Schlüssel des Hauses öffnen kann."
RUSSIAN = "Сроки уведомления о расторжении договора указаны в приложении, и хозяин дома его подписал."
JAPANESE = "解約の予告期間は三か月です。書面で通知してください。"
POLISH = "Okresy wypowiedzenia umów są podane w załączniku, a właściciel domu je podpisał."
ENGLISH = "The notice periods of the leases are in the appendix, and the landlord has signed it."


async def _languages(tenant: Tenant) -> dict[str | None, str]:
    listed = await documents.page(tenant.user_id, db=tenant.db, limit=50, after=None)
    return {document.uri: document.language for document in listed}


async def test_each_document_is_indexed_in_its_own_language_and_found_by_inflected_words(tenant: Tenant) -> None:
    texts = {"de": GERMAN, "ru": RUSSIAN, "ja": JAPANESE, "pl": POLISH, "en": ENGLISH}
    await tenant.many([Upload(text, uri=uri) for uri, text in texts.items()])
    named = "---\nlang: en\n---\n" + GERMAN
    await tenant.many(
        [
            Upload(named, uri="named"),
            Upload(GERMAN + " Ja.", uri="explicit", language="fr"),
            Upload("Kalk", uri="short"),
        ]
    )
    assert await _languages(tenant) == {
        "de": "german",
        "ru": "russian",
        "ja": "simple",
        "pl": "stepwell.truncated",
        "en": "english",
        "named": "english",
        "explicit": "french",
        "short": "english",
    }
    for query, uri in {
        "Kündigungsfrist": "de",
        "Kuendigungsfrist": "de",
        "KÜNDIGUNGSFRIST Mietvertrag": "de",
        "договорами": "ru",
        "予告期間": "ja",
        "załączniki właścicielowi": "pl",
        '"okresu wypowiedzeniem"': "pl",
        "załączników*": "pl",
        "landlords": "en",
    }.items():
        assert uri in uris(await tenant.ask(query, mode="lexical", limit=3)), query

    only = DocumentFilter("explicit")
    (document,) = await documents.page(tenant.user_id, db=tenant.db, limit=1, after=None, only=only)
    document_id = document.document_id
    services: Any = tenant.services()
    patch = {"language": None}
    await document_patches.apply(document_id, patch, tenant.user_id, services)
    assert (await _languages(tenant))["explicit"] == "german"


async def test_a_passage_in_another_language_than_its_document_is_found_by_inflected_words(tenant: Tenant) -> None:
    manual = "\n\n".join(
        f"## {n}\n\n{text} {text}" for n, text in enumerate((ENGLISH, ENGLISH, ENGLISH, GERMAN + WEITER))
    )
    await tenant.many([Upload(manual, uri="manual", language="en")])
    assert await _languages(tenant) == {"manual": "english"}
    found = await tenant.ask("Kündigungsfrist Mietvertrag unterschreiben", mode="lexical", limit=3)
    assert [hit.candidate.heading_path for hit in found.hits] == [("3",)]
    assert (await documents.stats(tenant.user_id, db=tenant.db)).languages == {"english": 1, "german": 1}
    await tenant.assert_sound()


async def test_a_language_that_is_set_is_not_detected(tenant: Tenant) -> None:
    tenant.chunking_options = ChunkingOptions(language="Dutch")
    await tenant.many([Upload(GERMAN, uri="de"), Upload(ENGLISH, uri="en", language="en")])
    assert await _languages(tenant) == {"de": "dutch", "en": "english"}


async def test_the_rows_of_a_table_without_prose_have_one_language() -> None:
    header = "Country,Capital,Area (km²),Continent\n"
    rows = ["El Salvador,San Salvador,21040,NA", "São Tomé and Príncipe,São Tomé,1001,AF", "Bhutan,Thimphu,47000,AS"]
    rows.append("Королевство Бутан в восточных Гималаях,Тхимпху,47000,AS")
    german = "Land,Hauptstadt,Bemerkung\n" + "Peru,Lima,ist nicht das Land\n" * 2 + "Kuba,Havanna,und auch\n"
    prose = f'Ort,Grund\nUlm,"{GERMAN}"\nBath,"{ENGLISH}"\n'
    found = []
    for table, language in ((header + "\n".join(rows), None), (german, "fr"), (german, None), (prose, None)):
        async with file_reading.opened(file_reading.ParseLimits()) as reader:
            uploads = [one async for one in reader.uploads(NamedFile(table.encode(), "a.csv"))]
        found.append([document_drafts.clean(upload, language=language).config for upload in uploads])
    assert found == [["english"] * 3 + ["russian"], ["french"] * 3, ["german"] * 3, ["german", "english"]]


async def test_a_query_is_cut_off_like_the_texts(tenant: Tenant) -> None:
    texts = [
        "Żółwiowi miejscowości",
        "договорами-поставки",
        "get_user_name3 B2-12345678",
        "miejscowości w [Łodzi] ~km^2",
    ]
    written = {text: hybrid_request.index_text(text).folded for text in texts}
    statement = sql.inline(
        "SELECT {{text_for 'stepwell.truncated', t.word, ''}} FROM unnest(:words::text[]) AS t (word)"
    )
    async with tenant.db.reading(tenant.user_id) as reading:
        found = await reading.scalars(statement, {"words": list(written.values())})
    assert list(found) == [tsvector_text.index_text(text, languages.TRUNCATED) for text in texts]
