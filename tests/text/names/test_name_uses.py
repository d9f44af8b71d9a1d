"""How a query uses a name: its case, its neighbours, and whether it is part of an identifier or an address."""

from __future__ import annotations

import pytest

from app.text.names import name_uses, names, query_words
from app.text.names.name_uses import NameUse


def use(text: str, name: str, kind: str = "person") -> NameUse:
    query, words = query_words.read(text), tuple(names.words(name))
    starts = [start for start in range(len(query.words)) if query.words[start : start + len(words)] == words]
    read = name_uses.QueryText(text, query, {start + n for start in starts for n in range(len(words))})
    return name_uses.best([read.use(start, start + len(words), form="word", kind=kind) for start in starts])


@pytest.mark.parametrize(
    ("text", "name", "case"),
    [
        ("What does Ines do?", "Ines", "capital"),
        ("what does ines do", "ines", "unknown"),
        ("Falcon progress", "falcon", "unknown"),
        ("Falcon", "falcon", "capital"),
        ("Which price did Ben pay?", "price", "small"),
        ("the amber light in Cork", "amber light", "small"),
        ("Where Is The Best Way To Pay", "best", "uniform"),
        ("INES CALDER WORK", "ines calder", "uniform"),
        ("THE SPARROW UNDER THE EAVES NESTS", "sparrow", "uniform"),
    ],
)
def test_case_is_evidence_unless_most_words_are_capitalised(text: str, name: str, case: str) -> None:
    assert use(text, name).case == case


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ERR_STREAM_PREMATURE_CLOSE", "stream"),
        ("/opt/anchor/settings.yaml", "anchor"),
        ("anchor-sync.log", "anchor"),
        ("Node.js memory", "node"),
        ("https://example.org/falcon", "falcon"),
        ("stream() returns nothing", "stream"),
    ],
)
def test_a_part_of_an_identifier_a_path_or_a_url_is_no_name(text: str, name: str) -> None:
    assert use(text, name).in_identifier


@pytest.mark.parametrize(
    ("text", "name", "neighbour"),
    [
        ("what did John Kennedy say", "john", True),
        ("John Kennedy said what", "john", True),
        ("what did John say", "john", False),
        ("Ask John, Kennedy is away", "john", False),
        ("What did John and Mary say", "john", False),
        ("what did John do in May", "john", False),
    ],
)
def test_a_capitalised_word_beside_a_name_makes_it_somebody_elses(text: str, name: str, neighbour: bool) -> None:
    assert use(text, name).has_neighbour is neighbour


def test_a_word_that_opens_the_query_is_a_neighbour_if_it_is_a_known_first_or_last_name() -> None:
    text = "Ask Kennedy about the ships"
    reads = [name_uses.QueryText(text, query_words.read(text), {1}, parts) for parts in ({0}, ())]
    assert [read.use(1, 2, form="part", kind="person").has_neighbour for read in reads] == [True, False]


@pytest.mark.parametrize(
    ("text", "is_address"),
    [
        *((f"{opening} how do I claim a train journey back?", True) for opening in ("Hi Jonas,", "Hi Jonas")),
        ("Guten Morgen Jonas, wie reiche ich eine Reise ein?", True),
        ("Jonas, a quick question: how do I claim a journey?", True),
        *((f"How do I claim a journey? {end}", True) for end in ("Best wishes, Jonas", "- Jonas")),
        *((text, False) for text in ("What does Jonas do?", "Jonas, what has he done?", "Tell me what Jonas did")),
        ("Hi Jonas", False),
    ],
)
def test_a_greeting_or_signature_is_an_address(text: str, is_address: bool) -> None:
    assert use(text, "Jonas").is_address is is_address


def test_a_person_after_a_preposition_of_place_may_be_a_place() -> None:
    assert use("hotels in Paris", "paris").is_place
    assert not use("hotels of Paris", "paris").is_place
    assert not use("work in Falcon", "falcon", "project").is_place


def test_the_share_of_lower_case_occurrences_is_counted_in_texts() -> None:
    texts = ["The white raven sat there.", "White Raven is late. white  raven", "nothing"]
    assert name_uses.small_share(texts, NameUse("full", ("white", "raven"))) == pytest.approx(2 / 3)
    assert name_uses.small_share(texts, NameUse("word", ("falcon",))) == 0.0


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
    assert name_uses.small_share(texts, use(text, "ledger", "team")) == share


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
    ],
)
def test_a_lexeme_belongs_to_words_that_differ_in_their_ending(lexeme: str, word: str, same: bool) -> None:
    assert name_uses.is_lexeme_of(lexeme, word) is same
