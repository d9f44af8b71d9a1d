"""Documents and queries are rewritten into the same words.

Expected texts were checked against `to_tsvector` of Postgres 18.4 (encoding UTF-8, locale C.UTF-8).
"""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.words import languages, tsvector_text


def index(text: str, config: str = "english") -> str:
    return tsvector_text.index_text(text, config)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("E-1042", "e 1042"),
        ("2024-05-13", "2024 05 13"),
        ("-5 +5 covid-19 10-20", "5 5 covid 19 10 20"),
        ("ask josh.ai.", "ask josh.ai josh ai"),
        ("foo/bar.txt", "foo/bar.txt foo bar txt"),
        ("http://host/path", "http host/path host path"),
        ("mail a@b.com!", "mail a@b.com a b com"),
        ("the end.Start", "the end.start end start"),
        ("3.14 1.2.3 v2.3.1", "3.14 1.2.3 v2.3.1 2.3.1"),
        ("1,000,000 of 1,5", "1000000 of 1 5"),
        ("snake_case_name", "snakecasename snake case name"),
        ("getUserName HTTPServer LiHua", "getusername get user name httpserver http server lihua li hua"),
        ("NASA B2B Server", "nasa b2b server"),
        ("state-of-the-art", "state-of-the-art"),
        ("“quoted” text—dash don’t", "quoted text dash don t"),
        ("U.S. Army, J.R.R. Tolkien", "us army jrr tolkien"),
        ("C++ and C# in .NET", "c cplusplus and c csharp in net"),
        ("<T> x<y> ?a=b&c=d", "t x y a b c d"),
        ("AT&T (R&D), q&a", "atandt at t randd r d qanda q a"),
        ("Vitamin A is fat-soluble", "vitamin a vitamina is fat-soluble"),
        ("IN A YEAR A plan B", "in a year a plan b"),
        ("10:30 and/or 1/2", "10 30 and/or and or 1 2"),
        ("wait...what -- __init__", "wait what init"),
        ("😀🎉", ""),
        ("?!.,-/@_", ""),
    ],
)
def test_words_are_separated_as_people_search_for_them(text, expected):
    assert index(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("café", "cafe"),
        ("हिन्दी", "हिंदी"),
        ("שָׁלוֹם", "שלום"),
        ("المحتـــرم", "المحترم"),
        ("ज़मानत", "जमानत"),
        ("کتاب رایگان", "كتاب رايگان"),
        ("شهریهٔ", "شهریه"),
        ("٢٠٢٥ ۱۴۰۴ १५ ๒๕๖๘ ০১৭১", "2025 1404 15 2568 0171"),
        ("۳۵۰٬۰۰۰ ٣٫٥", "350,000 3.5"),
        ("naïve", unicodedata.normalize("NFD", "NAÏVE")),
        ("ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("STRASSE", "straße"),
        ("ﬁnal", "final"),
        ("İstanbul", "istanbul"),
        ("Łódź Ørsted", "lodz orsted"),
        ("foo‐bar", "foo-bar"),
        ("soft\xadware zero\u200bwidth", "software zerowidth"),
        ("get_user_name", "getUserName"),
        ("1,000", "1000"),
        ("U.S.A.", "USA"),
    ],
)
def test_spellings_of_one_word_agree(one, other):
    assert index(one) == index(other)
    assert index(one, "simple") == index(other, "simple")


@pytest.mark.parametrize("config", ["english", "simple", "french"])
@pytest.mark.parametrize(
    ("ligature", "letters"),
    [("cœur", "coeur"), ("Œuvre complète", "Oeuvre complète"), ("ŒUVRE", "OEUVRE"), ("ex æquo", "ex aequo")],
)
def test_ligatures_equal_their_letters(config, ligature, letters):
    assert index(ligature, config) == index(letters, config)


def test_letters_and_accents_of_the_language_are_kept():
    assert index("æble Œuvre", "danish") == "æble oeuvre"
    assert index("Straße", "english") == "strasse"
    assert index("Straße Größe Café", "german") == "straße größe café"
    assert index(unicodedata.normalize("NFD", "L’ÉTÉ"), "french") == "l été"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("日本語", "日本 本語"),
        ("iPhone用ケース。", "iphone phone 用ケ ケー ース"),
        ("猫", "猫"),
        ("한국어 책", "한국 국어 책"),
        ("ภาษาไทย", "ภา าษ ษา าไ ไท ทย"),
        ("ที่ดี", "ที่ดี"),
        ("मराठी", "मराठी"),
    ],
)
def test_scripts_without_spaces_become_overlapping_pairs(text, expected):
    assert index(text) == expected


def test_words_of_inflected_languages_without_a_stemmer_end_after_six_letters():
    assert index("Miejscowościach Żółwiowi kot", languages.TRUNCATED) == "miejsc zolwio kot"
    assert index("biało-czerwoni B2-12345678 договорами", languages.TRUNCATED) == "bialo-czerwo b2 12345678 догово"


def test_the_parts_of_a_persian_word_are_found_together_and_apart():
    assert index("ثبت\u200cنام") == index("ثبتنام ثبت نام")
    assert index("म\u200cन") == index("मन")


def test_a_word_that_a_line_end_divides_is_found_where_scripts_have_no_spaces():
    assert index("粗大ごみの収集は予約制で、手数\n料は六百円です。") == index(
        "粗大ごみの収集は予約制で、手数料は六百円です。"
    )
    assert index("都市：成都\n電話") == "都市 成都 電話"


def test_words_too_long_for_postgres_are_dropped_and_their_parts_kept():
    assert index("a" * 3_000) == ""
    assert index("é" * 1_500, "german") == ""
    assert index("before " + "a" * 3_000 + " after") == "before after"
    assert index("/".join(["part"] * 600)) == " ".join(["part"] * 600)


@given(
    st.text(alphabet=st.characters(codec=None)),
    st.sampled_from(["english", "simple", "german", "turkish", languages.TRUNCATED]),
)
def test_any_text_becomes_words_that_can_be_sent_whatever_its_composition(text, config):
    result = tsvector_text.index_text(text, config)
    result.encode("utf-8")
    assert result == " ".join(result.split())
    assert not set(result) & set("\x00<>&'\"“”—:*!|()+")
    assert index(unicodedata.normalize("NFC", text)) == index(unicodedata.normalize("NFD", text))


WRITTEN = (
    *("alpha", "josh.ai", "E-1042", "U.S.", "getName,", "(日本語)", "3.14", "café"),
    *("x_y", "a/b.txt", "a@b.com", "end.Start"),
)


@given(st.lists(st.sampled_from(WRITTEN)))
def test_each_word_is_rewritten_alone(words):
    assert index(" ".join(words)).split() == [part for word in words for part in index(word).split()]
