"""Known names are found in any spelling of case and punctuation, and only there."""

import unicodedata
from uuid import UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.names import gazetteer, names
from app.text.names.gazetteer import Gazetteer

HERE = UUID(int=7)
MIXED = "東京大学アン김가กี้ A"


def _id(name: str) -> UUID:
    return uuid5(HERE, name)


def _of(*known: str) -> Gazetteer:
    return Gazetteer.build((name, _id(name)) for name in known)


def _stands(known: Gazetteer, text: str) -> list[str]:
    return [found.key for found in known.find(text)]


@pytest.mark.parametrize(
    ("name", "text", "is_found"),
    [
        ("Cliff Clarke", "We met CLIFF   clarke, twice.", True),
        ("Cliff Clarke", "ask cliffclarke about it", True),
        ("Josh AI", "bought from Josh.ai", True),
        ("Josh.ai", "the josh ai people", True),
        ("José Ñandú", "Jose Nandu wrote", True),
        ("Muller", "Herr Müller kam", True),
        ("Søren Łoś", "by Soren Los", True),
        ("Iğdır", "IĞDIR VALİSİ", True),
        ("Ana", "Ana's plan", True),
        ("C++ guild", "the C guild meets", True),
        ("IT", "the IT department", True),
        ("The Who", "we heard The Who play", True),
        ("Школа № 5 города", "Новая школа № 5 города открыта", True),
        ("Acme™ Tools", "bought from Acme™ tools", True),
        ("Ana Silva", "We met 𝗔𝗻𝗮 𝗦𝗶𝗹𝘃𝗮 there", True),
        ("दुसऱ्या बंदर", "तो दुसऱ्या बंदर येथे होता", True),
        *(("Ana", "Anatomy and banana", False), ("York", "New Yorkers", False), ("IT", "it is what it is", False)),
        *(("X", "the x axis", False), ("The Who", "the who and the what", False), ("Al Ba", "alba", False)),
    ],
)
def test_a_name_is_found_in_any_spelling_but_not_in_words_or_as_a_function_word(name, text, is_found) -> None:
    assert [found.entity_ids for found in _of(name).find(text)] == [(_id(name),)] * is_found


@pytest.mark.parametrize(
    ("name", "text", "is_found"),
    [
        ("田中太郎", "報告書は田中太郎さんが作成した。", True),
        ("王小明", "仓库钥匙在王小明那里。", True),
        ("アン", "昨日アンが来た", True),
        ("Redis", "Redisの設定を変える", True),
        ("型番XR-500", "この型番XR-500の電源", True),
        ("김민수", "펌프는 김민수에게서 샀다", True),
        ("김민수", "김민수씨의 열쇠", True),
        ("สมชาย ใจดี", "จัดทำโดยสมชาย ใจดี", True),
        ("کریمی ۱۲", "خانهٔ كريمي 12 است", True),
        *(("मीना", "मीनू आई", False), ("ราม", "รามี มา", False), ("カス", "ガスの料金", False)),
        *(("アン", "アンケートの結果", False), ("김민수", "김민수진의 열쇠", False), ("민수", "김민수의 열쇠", False)),
        *(("王", "由王小明编写", False), ("กล", "กล้องใหม่", False)),
    ],
)
def test_a_name_is_found_inside_a_run_of_characters_unless_it_is_part_of_a_word(name, text, is_found) -> None:
    assert [found.entity_ids for found in _of(name).find(text)] == [(_id(name),)] * is_found


def test_the_longest_name_in_a_run_is_found_and_all_that_may_be_in_it_are_nominated() -> None:
    known = _of("東京", "東京大学", "大学")
    assert _stands(known, "昨日東京大学で") == ["東京大学"]
    assert known.find_all("昨日東京大学で") == {"東京", "東京大学", "大学"}
    assert _stands(known.patched({"東京大学": []}), "昨日東京大学で") == ["東京", "大学"]


@given(st.lists(st.text(MIXED, min_size=1, max_size=3), max_size=4), st.text(MIXED, max_size=20))
def test_spaces_around_names_change_nothing_else_in_a_text(known: list[str], text: str) -> None:
    spaced = _of(*known).space_out(text)
    assert spaced.replace(" ", "") == unicodedata.normalize("NFKC", text).replace(" ", "")
    assert _of(*known).space_out(spaced) == spaced


def test_several_entities_may_share_a_name() -> None:
    known = Gazetteer.build([("Ana", _id("1")), ("ANA", _id("2")), ("Ana", _id("1"))])
    (found,) = known.find("ana")
    assert found.entity_ids == (_id("1"), _id("2"))
    assert known.match_whole("Ána") == found.entity_ids
    [*_, found] = _of("Cliff Clarke", "Cliffclarke").find("Yesterday (or so) cliff-clarke left cliffclarke.")
    assert set(found.entity_ids) == {_id("Cliff Clarke"), _id("Cliffclarke")}
    assert (found.start, found.end) == (6, 7)


@pytest.mark.parametrize("name", ["", "  ", "!?", "—", "\u200b", "ﷺ" * 60])
def test_a_name_without_letters_or_digits_has_no_key(name: str) -> None:
    assert gazetteer.key(name) is None
    assert len(_of(name)) == 0


def test_a_patched_gazetteer_equals_a_rebuilt_one_and_leaves_the_old_one_unchanged() -> None:
    old = _of("New York", "Ana Silva", "IT")
    new = old.patched({"new york": [], "york": [("York", _id("York"))], "it": [], "ana silva": [("Ána Silva", HERE)]})
    text = "New York, IT, anasilva"
    assert [(f.key, f.entity_ids) for f in new.find(text)] == [("york", (_id("York"),)), ("ana silva", (HERE,))]
    assert _stands(old, text) == ["new york", "it", "ana silva"]
    assert "new york" not in new
    gone = _of("Harbour Light", "HarbourLight").patched({"harbour light": []})
    assert gone.find("the harbourlight") == _of("HarbourLight").find("the harbourlight"), "the other name is no match"


_TEXTS = st.text(st.sampled_from("aAbéßﬁİ½™ҰǺ .-_'山 "), max_size=30)


@given(_TEXTS)
def test_the_places_of_words_are_those_of_the_folded_words(text: str) -> None:
    places = names.word_offsets(text)
    assert len(places) == len(names.words(text))
    assert all(0 <= start < end <= len(text) for start, end in places)
    assert places == sorted(places)


_WORDS = st.lists(st.sampled_from(["New", "York", "City", "Ana", "it"]), min_size=1, max_size=4)


@given(st.lists(_WORDS, max_size=6), st.lists(st.sampled_from(["new", "york", "city", "ana", "IT", "x"]), max_size=20))
def test_leftmost_longest_is_what_trying_everything_gives(known: list[list[str]], told: list[str]) -> None:
    keys = {" ".join(words).casefold() for words in known if names.is_distinctive([w.casefold() for w in words])}
    expected, place = [], 0
    folded = [word.casefold() for word in told]
    while place < len(folded):
        ends = [e for e in range(len(folded), place, -1) if " ".join(folded[place:e]) in keys]
        if ends:
            expected.append((place, ends[0]))
        place = ends[0] if ends else place + 1
    telling = _of(*(" ".join(words) for words in known if " ".join(words).casefold() in keys))
    assert [(found.start, found.end) for found in telling.find(" ".join(told))] == expected


def test_a_joined_name_matches_its_parts() -> None:
    known = Gazetteer.build([("LiHua", _id("a")), ("ChaeSong-hwa", _id("b")), ("ANA", _id("c"))])
    assert [(f.entity_ids, f.key) for f in known.find("Hi Li Hua, did Chae Song-hwa call lihua? A N A")] == [
        ((_id("a"),), "lihua"),
        ((_id("b"),), "chaesong hwa"),
        ((_id("a"),), "lihua"),
    ]
    gone = known.patched({"lihua": []})
    assert gone.find("Hi Li Hua") == []


def test_all_names_that_may_be_in_a_text_are_those_that_occur_in_it_and_those_that_others_hide() -> None:
    stored = ["Tide", "Tide Alpha", "Alpha Works", "LiHua", "C++", "Other"]
    known = Gazetteer.build([(name, UUID(int=number)) for number, name in enumerate(stored)])
    text = "tide alpha works on C++ with li hua"
    assert {match.key for match in known.find(text)} <= known.find_all(text)
    assert known.find_all(text) == {"tide", "tide alpha", "alpha works", "c++", "lihua"}


SYMBOLS = ("C++", "C#", "C", "K&V", ".NET", "net", "AT&T", "I/O", "R", "IT", "24/7")


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("C++", "c++"),
        ("C#", "c#"),
        ("K & V", "k&v"),
        (".NET", ".net"),
        ("24/7", "24/7"),
        ("€5", "€5"),
        ("C", "c"),
        ("UTF-8", "utf 8"),
        ("A.I.", "a i"),
        ("*IT*", "it"),
        ("Josh.ai", "josh ai"),
        ("C++ guild", "c guild"),
        ("Kestrel & Vane", "kestrel vane"),
    ],
)
def test_the_key_of_a_short_name_has_its_symbols(name: str, key: str) -> None:
    assert gazetteer.key(name) == key
    assert gazetteer.key(key) == key


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("class LruCache<K, V>", []),
        ("K&V, K & V and k&v's", ["k&v", "k&v", "k&v"]),
        ("C++ and C# are not C", ["c++", "c#", "c"]),
        ("(C++11), **C++**/C#.", ["c++", "c++", "c#"]),
        ("C+ and C+++ and a C#section", []),
        ("the net of .NET", ["net", ".net"]),
        ("example.net", ["net"]),
        ("AT&T at t", ["at&t"]),
        ("R, not R&D", ["r"]),
        ("the IT/OT team, i/o", ["it", "i/o"]),
        ("24/7, 24 of 7", ["24/7"]),
    ],
)
def test_a_short_name_is_found_with_its_symbols(text: str, keys: list[str]) -> None:
    assert _stands(_of(*SYMBOLS), text) == keys
