"""How a query uses a name: its case, its neighbours, and whether it is part of an identifier or an address."""

import pytest

from app.text.names import name_uses_in_queries, names, names_in_queries
from app.text.names.name_uses_in_queries import NameUse


def use(text: str, name: str, kind: str = "person") -> NameUse:
    query, words = names_in_queries.read(text), tuple(names.words(name))
    starts = [start for start in range(len(query.words)) if query.words[start : start + len(words)] == words]
    read = name_uses_in_queries.QueryText(text, query, {start + n for start in starts for n in range(len(words))})
    return name_uses_in_queries.best([read.use(start, start + len(words), form="word", kind=kind) for start in starts])


@pytest.mark.parametrize(
    ("text", "name", "aspect", "value"),
    [
        ("What does Ines do?", "Ines", "case", "capital"),
        ("what does ines do", "ines", "case", "unknown"),
        ("Falcon progress", "falcon", "case", "unknown"),
        ("Falcon", "falcon", "case", "capital"),
        ("Which price did Ben pay?", "price", "case", "small"),
        ("the amber light in Cork", "amber light", "case", "small"),
        ("Where Is The Best Way To Pay", "best", "case", "uniform"),
        ("INES CALDER WORK", "ines calder", "case", "uniform"),
        ("THE SPARROW UNDER THE EAVES NESTS", "sparrow", "case", "uniform"),
        ("ERR_STREAM_PREMATURE_CLOSE", "stream", "in_identifier", True),
        ("/opt/anchor/settings.yaml", "anchor", "in_identifier", True),
        ("anchor-sync.log", "anchor", "in_identifier", True),
        ("Node.js memory", "node", "in_identifier", True),
        ("https://example.org/falcon", "falcon", "in_identifier", True),
        ("stream() returns nothing", "stream", "in_identifier", True),
        ("what did John Kennedy say", "john", "has_neighbour", True),
        ("John Kennedy said what", "john", "has_neighbour", True),
        ("what did John say", "john", "has_neighbour", False),
        ("Ask John, Kennedy is away", "john", "has_neighbour", False),
        ("What did John and Mary say", "john", "has_neighbour", False),
        ("what did John do in May", "john", "has_neighbour", False),
        ("Hi Jonas, how do I claim a train journey back?", "jonas", "is_address", True),
        ("Hi Jonas how do I claim a train journey back?", "jonas", "is_address", True),
        ("Guten Morgen Jonas, wie reiche ich eine Reise ein?", "jonas", "is_address", True),
        ("Jonas, a quick question: how do I claim a journey?", "jonas", "is_address", True),
        ("How do I claim a journey? Best wishes, Jonas", "jonas", "is_address", True),
        ("How do I claim a journey? - Jonas", "jonas", "is_address", True),
        ("What does Jonas do?", "jonas", "is_address", False),
        ("Who told Jonas, the mason, about the lime?", "jonas", "is_address", False),
        ("Jonas, what has he done?", "jonas", "is_address", False),
        ("Tell me what Jonas did", "jonas", "is_address", False),
        ("Hi Jonas", "jonas", "is_address", False),
    ],
)
def test_what_surrounds_a_name_tells_how_it_is_used(text: str, name: str, aspect: str, value: object) -> None:
    assert getattr(use(text, name), aspect) == value


def test_a_word_that_opens_the_query_is_a_neighbour_if_it_is_a_known_first_or_last_name() -> None:
    text = "Ask Kennedy about the ships"
    reads = [name_uses_in_queries.QueryText(text, names_in_queries.read(text), {1}, parts) for parts in ({0}, ())]
    assert [read.use(1, 2, form="part", kind="person").has_neighbour for read in reads] == [True, False]


def test_a_person_after_a_preposition_of_place_may_be_a_place() -> None:
    assert use("hotels in Paris", "paris").is_place
    assert not use("hotels of Paris", "paris").is_place
    assert not use("work in Falcon", "falcon", "project").is_place


def test_the_share_of_lower_case_occurrences_is_counted_in_texts() -> None:
    texts = ["The white raven sat there.", "White Raven is late. white  raven", "nothing"]
    assert name_uses_in_queries.small_share(texts, NameUse("full", ("white", "raven"))) == pytest.approx(2 / 3)
    assert name_uses_in_queries.small_share(texts, NameUse("word", ("falcon",))) == 0.0


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("how does the multi-currency ledger round", 1.0),
        ("ledger retro", 0.0),
        ("the ledger", 0.5),
        ("the ledger team", 0.5),
        ("Ask Ines about ledger", 0.5),
        ("ledger of bread", 0.5),
    ],
)
def test_a_name_in_a_phrase_of_the_query_is_counted_where_texts_contain_the_phrase(text: str, share: float) -> None:
    texts = ["The multi-currency ledger rounds.", "Ledger retro: Ledger shipped.", "A currency ledger."]
    assert name_uses_in_queries.small_share(texts, use(text, "ledger", "team")) == share


@pytest.mark.parametrize(
    ("lexeme", "word", "same"),
    [
        ("ine", "ines", True),
        ("work", "working", True),
        ("stori", "stories", True),
        ("an", "ana", False),
        ("harbour", "haven", False),
        ("analysi", "ana", False),
        ("bread", "s", False),
        ("中太", "田中太郎", True),
        ("田山", "田中太郎", False),
    ],
)
def test_a_lexeme_belongs_to_words_that_differ_in_their_ending(lexeme: str, word: str, same: bool) -> None:
    assert name_uses_in_queries.is_lexeme_of(lexeme, word) is same
