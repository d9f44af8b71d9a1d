"""Names are found in texts and headings, and equal names have equal keys."""

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.text.names import names


def _found(text: str) -> list[str]:
    return [name.text for name in names.find(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The editor is Jan Philip Solovej.", ["Jan Philip Solovej"]),
        ("He studied at the University of Copenhagen.", ["University of Copenhagen", "University", "Copenhagen"]),
        ("It ended with World War II in Europe.", ["World War II", "Europe"]),
        ("She met Dr. J. R. Smith in New York.", ["Dr. J. R. Smith", "New York"]),
        ("He met Franklin D.Roosevelt and J.R.R.Tolkien at 2.4GHz.", ["Franklin D.Roosevelt", "J.R.R.Tolkien"]),
        ("It was built by IBM and Vincent van Gogh.", ["IBM", "Vincent van Gogh", "Vincent", "Gogh"]),
        ("Then came Ford's plant.", ["Ford"]),
        ("Er besuchte das Schloss Neuschwanstein.", ["Schloss Neuschwanstein"]),
        ("Gannet reports hourly. Every minute the old Gannet woke.", ["Gannet"]),
        ("Perhaps nothing here is a name. It rained. Buses were late.", []),
        ("On Monday in January it rained.", []),
        ("all lower case, as in some languages. この文には大文字がない。", []),
        ("設定はRedisとXR-500で行う。", ["Redis", "XR-500"]),
        ("- Item one\n- Thing two", []),
        ("¿Qué firmó Odinga? Y entonces, ¿Cuándo volvió?", ["Odinga"]),
        ("Er schrieb: „Gestern kam der Brief.“", ["Brief"]),
        ("", []),
    ],
)
def test_capitalised_phrases_are_names_and_a_lone_sentence_start_is_none(text: str, expected: list[str]) -> None:
    assert _found(text) == expected


@pytest.mark.parametrize("text", ["", "The", "of", "!?", "a", "one two three four five six seven eight nine"])
def test_what_names_nothing_has_no_key(text: str) -> None:
    assert names.key(text) is None


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
@example("0\U00011630A0")
@example("0.0A0")
@settings(max_examples=40)
def test_every_name_that_is_found_is_one_of_the_texts_sequences(text: str) -> None:
    found = names.sequences(text)
    assert all(name.key in found for name in names.find(text))


@pytest.mark.parametrize(
    ("text", "name", "count"),
    [
        ("President Ana Silva met Ana Silva", "ana silva", 2),
        ("They met ana silva", "ana silva", 0),
        ("Getting started is easy", "getting started", 0),
        ("Getting Started is easy", "getting started", 1),
        ("see Getting started", "getting started", 1),
        ("the Institute of Physics", "institute of physics", 1),
        ("at Ávila Beach", "avila beach", 1),
        ("Lundby is a town of the Lundby Club in lundby", "lundby", 2),
        ("the Tests Suite", "tests", 0),
        ("on capital punishment in Norway", "capital punishment in norway", 1),
        ("\u05d4\u05d2\u05e9\u05e8 \u05d4\u05d9\u05e9\u05df", "\u05d4\u05d9\u05e9\u05df", 1),
    ],
)
def test_a_title_is_found_where_a_text_writes_it_as_a_name(text: str, name: str, count: int) -> None:
    written = names.WrittenWords(text)
    single, pairs = written.openings()
    known = {" ".join(name.split(" ")[:2])}
    assert (written.sequences_after(known & (single | pairs)))[name] == count


@pytest.mark.parametrize(
    ("heading", "key"),
    [
        ("Silent Harbour", "silent harbour"),
        ("3.2 Refund policy", "refund policy"),
        ("12) Refund policy", "refund policy"),
        ("Ilse Brandt (painter)", "ilse brandt"),
        ("2001 Space Odyssey", "2001 space odyssey"),
        *((text, None) for text in ("2025-10-09", "Monday 3 March", "7.", "And then")),
        ("What we would do otherwise if all of this came again", None),
    ],
)
def test_a_heading_names_its_section_without_its_number_unless_it_is_a_date(heading: str, key: str | None) -> None:
    found = names.section_name(heading)
    assert (found and found.key) == key


def test_the_words_of_words_are_the_same_and_decomposed_letters_have_the_words_of_composed_ones() -> None:
    every = [chr(code) for code in range(0x32000) if not 0xD800 <= code < 0xE000]
    for character in every:
        found = names.words(f"a{character}b")
        assert names.words(" ".join(found)) == found, character
        if unicodedata.is_normalized("NFC", character) and character != "\u06c0":
            assert names.words(unicodedata.normalize("NFD", f"a{character}b")) == found, character
