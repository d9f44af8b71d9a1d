"""A name of a query is unknown if no document has it; other unknown words are none."""

import pytest

from app.query.search_types import Term
from app.relevance import unknown_names

MANY_WORDS = "Which five wooden boats did Ada paint over the long winter in Ostrava harbour with lead and tar?"
KNOWN_WORDS = "five wooden boat ada paint long winter harbour lead tar"


def find_unknown(query: str, known: str, missing: str, config: str = "english", best: str = "") -> list[str]:
    """The unknown names of a query with these lexemes."""
    terms = [Term(lexeme, 3, 1.0) for lexeme in known.split()] + [Term(lexeme, 0, 4.0) for lexeme in missing.split()]
    return unknown_names.find(query, terms, config=config, known_words=["valkey"], best=best)


@pytest.mark.parametrize(
    ("query", "known", "missing", "names"),
    [
        ("What is the default port of Redis?", "default port", "redi", ["redis"]),
        ("what is the default port of redis", "default port", "redi", ["redis"]),
        ("how do i change the default port of redis", "chang default port", "redi", []),
        ("i cant hear anything", "hear anyth", "cant", []),
        ("Why does error E9999 occur?", "error occur", "e9999", ["e9999"]),
        ("Where did Ada Quillfeather study?", "studi ada", "quillfeath", []),
        ("Where did Ada Quillfeather study?", "studi", "ada quillfeath", ["ada quillfeather"]),
        ("Describe the port", "port", "describ", []),
        ("THE PORT OF REDIS", "port", "redi", ["redis"]),
        (MANY_WORDS, KNOWN_WORDS, "ostrava", []),
        ("Who fixed the Bendigos sync?", "bendigo sync fix", "bendigos", []),
        ("¿Cuándo abrió el puerto?", "puert abri", "cuand", []),
        ("Which river flows through Bremen?", "river flow", "bremen", ["bremen"]),
        ("Which river flows through Bremen?", "", "river flow bremen", []),
        ("Which client talks to Valkey?", "client talk", "valkey", []),
    ],
)
def test_names_that_no_document_has_are_found(query: str, known: str, missing: str, names: list[str]) -> None:
    """Not if most other words are unknown too, nor if a word is known otherwise."""
    assert find_unknown(query, known, missing) == names


@pytest.mark.parametrize(
    ("query", "known", "missing", "names"),
    [
        ("What does flush_pending_wal do?", "flush pend wal", "flushpendingw", ["flush pending wal"]),
        ("What does flush_pending_wal do?", "flush flushpendingw pend", "wal", []),
        ("What does parseHeader do?", "pars header", "parsehead", ["parseheader"]),
        ("What does parseHeader do?", "parsehead pars", "header", []),
        ("max_retry_ms", "max retri", "maxretrym ms", ["max retry ms"]),
        ("Why does ERR_TLS_9931 occur?", "err tls occur", "9931", ["err tls 9931"]),
        ("How does client.search work?", "client work", "client.search search", []),
        ("How do TCP/IP and e-mail differ?", "ip differ", "tcp tcp/ip e-mail e mail", []),
        ("What changed in v2.4.1?", "chang", "v2.4.1 2.4.1", []),
        ("型番XR-900の電源", "型番 xr の電 電源", "900", ["xr 900"]),
    ],
)
def test_an_identifier_is_unknown_if_no_document_has_it_as_a_whole(query, known, missing, names) -> None:
    assert find_unknown(query, known, missing) == names


@pytest.mark.parametrize("written", ["flush-pending-wal", "Flush pending WAL.", "flushPendingWal()"])
def test_the_best_passage_may_write_an_identifier_in_another_way(written: str) -> None:
    query = "What does flush_pending_wal do?"
    assert find_unknown(query, "flush pend wal", "flushpendingw", best=f"See {written}") == []
    assert find_unknown(query, "flush pend wal", "flushpendingw", best="WAL: flush pending") != []


def test_capitals_say_nothing_in_german() -> None:
    assert find_unknown("Wie hoch ist der Mietpreis?", "hoch", "mietpreis", "german") == []
    assert find_unknown("Wann tritt der Fehler E9999 auf?", "tritt fehl", "e9999", "german") == ["e9999"]


def test_a_word_is_known_if_documents_of_one_language_have_it() -> None:
    stored = [Term("libr", 1, 1.4, places=(5,)), Term("nin", 1, 1.4, places=(2,)), Term("devuelv", 1, 1.4, places=(3,))]
    other = [
        Term("libros", 0, 2.5, places=(5,)),
        Term("nino", 0, 2.5, places=(2,)),
        Term("devuelve", 0, 2.5, places=(3,)),
    ]
    assert unknown_names.find("el nino devuelve los libros", [*other, *stored], config="spanish") == []
    assert unknown_names.find("el nino devuelve los libros", [*other, *stored[::2]], config="spanish") == ["nino"]
