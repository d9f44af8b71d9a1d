"""A search in a language that the model does not read is as good as one by words alone."""

import pytest
from harness import Tenant, uris

from app.database import filters
from app.database.filter_types import Filters
from app.database.transactions import Database
from app.models.local.onnx_embedder import OnnxEmbedder
from app.query.search_types import HybridRequest, Weights
from app.search import hybrid_request

GREEK = {
    "limani": "Το λιμάνι κλείνει όταν η ομίχλη σκεπάζει τον φάρο, και τα πλοία περιμένουν έξω από τον κόλπο.",
    "faros": "Ο φάρος ανάβει μία ώρα πριν από τη δύση του ήλιου, και ο φύλακας σημειώνει τον καιρό.",
    "plio": "Το πλοίο της γραμμής αναχωρεί κάθε πρωί στις επτά, και επιστρέφει το βράδυ από το νησί.",
    "agora": "Η αγορά του νησιού είναι ανοιχτή κάθε Τρίτη, και οι ψαράδες πουλούν εκεί τα ψάρια τους.",
    "nero": "Το νερό του νησιού έρχεται από μια παλιά πηγή, και το καλοκαίρι δεν φτάνει για όλους.",
}
SPANISH = {
    "puerto": "El puerto cierra cuando la niebla cubre el faro, y los barcos esperan fuera de la bahía.",
    "faro": "El faro se enciende una hora antes de la puesta del sol, y el guardián anota el tiempo.",
    "barco": "El barco de línea sale cada mañana a las siete, y regresa por la noche desde la isla.",
    "mercado": "El mercado de la isla abre todos los martes, y los pescadores venden allí sus peces.",
    "agua": "El agua de la isla viene de una fuente antigua, y en verano no alcanza para todos.",
}
ENGLISH = {
    "harbour": "The harbour of Gannet closes when fog hides the lighthouse, and the ships wait outside of the bay.",
    "lighthouse": "The lighthouse of Gannet is lit an hour before sunset, and its keeper writes down the weather.",
    "market": "The market of the island is open every Tuesday, and the fishermen sell their fish there.",
}
CASES = [
    ("greek", "Πότε κλείνει το λιμάνι;"),
    ("greek", "φύλακας καιρό φάρος ήλιου"),
    ("spanish", "¿Cuándo cierra el puerto por la niebla?"),
    ("spanish", "pescadores venden peces martes"),
]


@pytest.fixture(scope="module")
async def islands(database: Database, offline_embedder: OnnxEmbedder) -> dict[str, Tenant]:
    """A user with the Greek texts, and one with the Spanish ones."""
    users = {name: Tenant(database, embedder=offline_embedder) for name in ("greek", "spanish")}
    for name, texts in (("greek", GREEK), ("spanish", SPANISH)):
        await users[name].add_all(texts)
    return users


@pytest.mark.parametrize(("language", "query"), CASES)
@pytest.mark.parametrize("how", [{}, {"mode": "hybrid"}])
async def test_words_alone_order_what_the_model_does_not_read(islands, language, query, how) -> None:
    found = await islands[language].ask(query, explain=True, **how)
    by_words = await islands[language].ask(query, mode="lexical")
    assert uris(found)[: len(by_words.hits)] == uris(by_words)
    unread = hybrid_request.UNREAD["rrf" if how else "convex"]
    assert found.explain["weights"] == {"vector": unread.vector, "text": unread.text}


async def test_english_beside_another_language_keeps_its_weights(minilm_tenant: Tenant) -> None:
    await minilm_tenant.add_all(SPANISH | {"harbour": "The harbour closes when fog hides the lighthouse."})
    found = await minilm_tenant.ask("When does the harbour close?", explain=True)
    assert uris(found)[0] == "harbour"
    assert found.explain["weights"] == {"vector": 0.4, "text": 0.6}


async def test_words_that_one_language_ignores_count_little_in_the_others(tenant: Tenant) -> None:
    """So one document in French does not change what is found among many in English."""
    english = {
        f"note{n}": f"Market {n} of the island is open on Tuesday, when fishermen sell by weight." for n in range(9)
    }
    french = "Le vieux guide cite les mots anglais the, when, of et by, que personne sur cette île ne comprend bien."
    await tenant.add_all(english | {"keeper": ENGLISH["lighthouse"], "guide": french})
    found = await tenant.ask("When should the keeper be shown by the guild of all?", mode="lexical", explain=True)
    assert uris(found)[0] == "keeper"
    idf = {term["lexeme"]: term["idf"] for term in found.explain["terms"]}
    assert max(idf["the"], idf["of"], idf["by"], idf["when"]) < 0.2 < 2 < min(idf["keeper"], idf["guild"])
    assert "should" not in idf  # no chunk has it, and nobody misses it


async def test_documents_that_a_caller_does_not_see_choose_no_weights(minilm_tenant: Tenant) -> None:
    await minilm_tenant.add_all({f"hidden/{uri}": text for uri, text in SPANISH.items()})
    await minilm_tenant.add("The harbour closes when fog hides the lighthouse.", "harbour")
    query, unread = "pescadores venden peces martes", hybrid_request.UNREAD["convex"].vector
    hidden = Filters(uri_prefix="hidden")
    whole = [await minilm_tenant.ask(text, explain=True, filters=hidden) for text in (query, f"+{query}")]
    assert [answer.explain and answer.explain["weights"]["vector"] for answer in whole] == [unread, unread]
    minilm_tenant.db = minilm_tenant.db.restricted(filters.restriction(Filters(negated=hidden)))
    seen = await minilm_tenant.ask(query, explain=True)
    assert seen.explain["weights"]["vector"] > unread


@pytest.mark.parametrize(
    ("texts", "queries", "least"),
    [
        (SPANISH, ("When does the harbour close?", "Why do cats purr?"), 0.25),
        (ENGLISH, ("¿Cuándo cierra el puerto de Gannet?", "¿Por qué ronronean los gatos de Gannet?"), 0.1),
    ],
)
async def test_a_cosine_says_little_where_the_model_does_not_read_the_documents_or_the_query(
    minilm_tenant: Tenant, texts: dict[str, str], queries: tuple[str, str], least: float
) -> None:
    await minilm_tenant.add_all(texts)
    found = [await minilm_tenant.ask(query, explain=True) for query in queries]
    known = [answer.explain and answer.explain["relevance"] for answer in found]
    assert [(one["other_language"], one["language_read"]) for one in known] == [(True, False)] * 2
    assert all(least < one["answered"] < 0.7 for one in known)


@pytest.mark.parametrize(
    ("query", "codes", "read", "foreign"),
    [
        ("latarnia", {"en"}, ["english", "simple"], Weights(0.4, 0.6)),
        ("Who is Jürgen Müller?", {"en"}, ["english"], Weights(0.4, 0.6)),
        ("lighthouse", {"en", "es"}, ["english", "simple", "spanish"], hybrid_request.FOREIGN["convex"]),
    ],
)
def test_only_a_model_of_several_languages_is_trusted_across_them(query, codes, read, foreign) -> None:
    request = HybridRequest("user", None, None, Weights(0.4, 0.6), "convex", limit=5)
    chosen = hybrid_request.with_languages(request, query, frozenset(codes)).by_language
    assert (sorted(chosen.read_configs), chosen.foreign) == (read, foreign)
    assert hybrid_request.with_languages(request, query, frozenset()) is request, "its languages are not known"


@pytest.mark.parametrize("query", ["wieża", "Phép toán đơn", "Wo ist der Schlüssel für das Lager?", "灯台"])
def test_a_query_in_another_language_is_known_by_its_words_and_their_letters(query: str) -> None:
    request = HybridRequest("user", None, None, Weights(0.4, 0.6), "convex", limit=5)
    chosen = hybrid_request.with_languages(request, query, frozenset({"en"}))
    assert (chosen.weights, chosen.by_language) == (hybrid_request.UNREAD["convex"], None)
    assert hybrid_request.with_languages(request, query, frozenset({"en", "ja", "de", "pl", "vi"})).by_language


@pytest.mark.parametrize(
    ("query", "code"), [("What’s Ana’s plan?", "en"), ("“lime” — “mortar” 🚀", "en"), ("Größe für Öl", "de")]
)
def test_marks_beyond_ascii_and_letters_of_the_models_own_language_are_not_foreign(query: str, code: str) -> None:
    request = HybridRequest("user", None, None, Weights(0.4, 0.6), "convex", limit=5)
    assert hybrid_request.with_languages(request, query, frozenset({code})).by_language is not None
