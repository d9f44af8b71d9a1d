"""Cleaning keeps visible text and removes the rest, for any bytes."""

import base64
import itertools
import random
import unicodedata

import pytest
from ftfy import fix_encoding
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.text.words import cleaning

ANY_TEXT = st.text(alphabet=st.characters(codec=None))
NASTY = st.text(
    alphabet=st.sampled_from(
        "aZéß \t\n\r\x00\x07\x0b\x0c\x1b\x85\xa0\xad-#*`|1.\ud800\udfff\u0301\u0323\u0344\u0958\u1100\u1161\u200b\u200c"
        "\u200d\u202e\u2028\u2060\u2764\ufe0f\ufb01\ufeff\U0001f600\U0001f468\U000e0041"
    )
)
# Symbols that NFC replaces by letters or brackets, marks that compose, and what decides whether a joiner is kept.
COMPOSING = st.text(
    alphabet=st.sampled_from(
        "=<-\n\u0338\u0301\u0340\u0345\u0374\u0627\u0653\u0915\u093c\u0958\u09be\u09c7\u17b4\u1e9b\u200b\u200c"
        "\u200d\u20e3\u2126\u212a\u212b\u2190\u2329\u232a\u2adc\u2764\u3164\ufe0f\uf900\U0001f468\U0001d15e"
    )
)


# What UTF-8 looks like in Windows-1252, with what cleaning removes or composes in between.
MISREAD = st.text(alphabet=st.sampled_from("AÃÂâ€™œ©¼ŸÐ¿ï»¨é\n -\x00\x80\x85\x9d\xa0\u0302\u0303\u200b\u2028\u20ac漢"))


@given(st.one_of(ANY_TEXT, NASTY, COMPOSING, MISREAD))
@example("A\u0303©")
@example("Ã\x00©")
@example("\u2126\ufe0f")
@example("\u09be\u200c\u2329")
def test_cleaning_twice_changes_nothing(text):
    once = cleaning.clean(text)
    again = cleaning.clean(once.text)
    assert again.text == once.text
    assert again.warnings == ()


@given(st.one_of(ANY_TEXT, NASTY))
def test_a_cleaned_text_can_always_be_stored(text):
    cleaned = cleaning.clean(text).text
    cleaned.encode("utf-8")
    assert not set("\x00\r\x0b\x0c\ufeff\u200b\u202e") & set(cleaned)
    assert "\n\n\n\n" not in cleaned
    assert unicodedata.is_normalized("NFC", cleaned)


REPAIRED = "characters that had been decoded in a wrong encoding repaired"


@pytest.mark.parametrize(
    "text",
    ["François, café", "don’t “stop” – 5 € °C", "Straße über Øre", "привет", "日本語", "à la", "plain, then naïve"],
)
@pytest.mark.parametrize("rounds", [1, 2])
def test_utf8_that_was_decoded_as_windows_1252_is_repaired_line_by_line(text, rounds):
    misread = text
    for _ in range(rounds):
        misread = "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in misread.encode())
    cleaned = cleaning.clean(f"Ana’s notes, naïve\n{misread}\n")
    assert cleaned.text == f"Ana’s notes, naïve\n{text}"
    assert cleaned.warnings == (REPAIRED,)


MISREAD = ("Ã", "©", "â€™", "Â", " ", "a", "é", "“", "œ", "ГўВЂВ", "à", "²", "plain words here, ")


@settings(max_examples=200)
@given(st.lists(st.sampled_from(MISREAD)))
def test_mojibake_is_found_wherever_it_is(parts):
    """ftfy is asked only about what is near characters that are not ASCII."""
    text = f"Ana {''.join(parts)} end"
    assert cleaning._repair(text, []) == (text if text.isascii() else fix_encoding(text))


@pytest.mark.parametrize("text", [f"Ã{'ƒ' * 40}", f"Ã{'ƒ' * 40}\u00adƒ cafÃ© \u200b", "Ã" * 40 + "ƒ" * 40])
def test_what_would_be_repaired_again_and_again_stays(text):
    cleaned = cleaning.clean(text).text
    assert cleaned.count("ƒ") >= 40
    assert cleaning.clean(cleaned).text == cleaned


@pytest.mark.parametrize(
    ("dirty", "expected"),
    [
        ("a\r\nb\rc", "a\nb\nc"),
        ("\ufeffhead\x00line\x07", "headline"),
        ("e\u0301", "é"),
        ("ﬁnd the oﬃce ﬂoor", "find the office floor"),
        ("co\xadoperate", "cooperate"),
        ("line one  \nline two\t", "line one\nline two"),
        ("a\n\n\n\n\n\nb", "a\n\n\nb"),
        ("pay\u202eload \u2066x\u2069", "payload x"),
        ("hid\U000e0041\U000e0042den", "hidden"),
        ("zero\u200bwidth\u2060", "zerowidth"),
        ("broken \ud83d half", "broken  half"),
        ("page one\x0cpage two", "page one\npage two"),
        ("N\bNA\bA_\bM_\bE and _\bB\bB", "NAME and B"),
    ],
)
def test_what_scanners_and_editors_leave_behind_is_removed(dirty, expected):
    assert cleaning.clean(dirty).text == expected


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("a high-\nway", "a highway"),
        ("the Hafen-\nbehörde", "the Hafenbehörde"),
        ("is of-\nten seen", "is often seen"),
        ("the the-\nory of", "the theory of"),
        ("the buck-\net is", "the bucket is"),
        ("un-\nrelated and in-\ndependent", "unrelated and independent"),
        ("the well-\nness and self-\nishness", "the wellness and selfishness"),
        ("gre\u2010\nping of files", "greping of files"),
        ("    named input files for a pat‐\n    tern", "    named input files for a pattern"),
        ("    -o, --output takes  op‐\n    tions", "    -o, --output takes  options"),
        ('    (MQTT) equals  "pub‐\n    lish"', '    (MQTT) equals  "publish"'),
        ("the high\u00ad\nway, the har¬\nbour, die Hafen⸗\nbehörde", "the highway, the harbour, die Hafenbehörde"),
        ("the har\u200d¬ \nbour of the har⸗ \nbour", "the harbour of the harbour"),
        ("sous la cite\u0301\u00ad\nrne, cite\u0301\u00ac\nrne", "sous la citérne, citérne"),
        ("the state-of-the-\nart pier", "the state-of-the-art pier"),
        ("the state-\nof-the-art pier", "the state-of-the-art pier"),
        ("her mother-in-\nlaw", "her mother-in-law"),
        ("a well-\nknown port", "a well-known port"),
        ("a tide-\nbased fee", "a tide-based fee"),
        ("x-\nray", "x-ray"),
        ("a low-water mark, the low-\nwater mark", "a low-water mark, the low-water mark"),
        ("a Low-Water mark, the Low-\nwater mark", "a Low-Water mark, the Low-water mark"),
        ("a highland, the high-\nland", "a highland, the highland"),
        ("a post-war time, the post-\nwar time", "a post-war time, the post-war time"),
        ("a Husb-\nand: husband", "a Husband: husband"),
    ],
)
def test_a_word_that_is_divided_at_the_end_of_a_line_is_joined_and_a_compound_keeps_its_hyphen(text, joined):
    assert cleaning.clean(text).text == joined


@pytest.mark.parametrize(
    "kept",
    [
        *("SÃO PAULO, VOCÊ NÃO É", "IRMÃ “BOA”", "C’EST ÀÉ", "ÂNGELA’S “ÅNGSTRÖM”", "Ελλάδα – «ναι»", "™ © ® € £ ±"),
        *("👨‍👩‍👧 ❤️ 1️⃣", "می‌خواهم", "क्‍ष", "naïve café", "日本語", "\tindented\n    code"),
        *("Vor-\nund Nachteile", "Hafen-\noder Liegegebühr", "Pre-\nand post-war", "pré-\net post-opératoire"),
        *("pre-\nto post-war", "    let foo-\n    bar", "- foo-\nbar", "```\nlet foo-\nbar\n```", "    foo-\nbar"),
        *("# foo-\nbar", "A-\nb", "foo-\nBar", "10-\n20", "foo -\nbar"),
        *("```\nthe pat‐\ntern\n```", "> the pat‐\n> tern", "    -o, --out-\n    put takes"),
    ],
)
def test_letters_joiners_suspended_hyphens_and_those_outside_prose_are_left_alone(kept):
    assert cleaning.clean(kept) == cleaning.Cleaned(kept)


def test_ten_thousand_stacked_accents_are_cut_to_thirty():
    cleaned = cleaning.clean("z" + "\u0301\u0323" * 5_000 + " end")
    assert len(cleaned.text) <= len("z end") + cleaning.MAX_MARKS
    assert "long runs of combining marks shortened" in cleaned.warnings


def test_what_cannot_be_seen_is_blank():
    blank = ("", "  \n\t", "\u200b\u2060\ufeff", "\x00\x07", "\u3164\u2800\u00ad", "\ud800", "\U000e0041")
    assert all(map(cleaning.is_blank, blank))
    assert not any(map(cleaning.is_blank, ("a", "...", "😀", "日", " \u200b! ", "0")))


@pytest.mark.parametrize("piece", [1, 2, 3, 5, 8])
def test_a_text_cleaned_in_pieces_equals_one_cleaned_at_once(piece, monkeypatch):
    parts = ["e\u0301", "\u0301" * 40, "a \t", "\r\n", "\r", "\n\n\n", "\x00", "\n", "wor-\nd", "👩\u200d👩"]
    parts += ["\u200d", "ﬁ", "```\n"]
    texts = [first + second + third for first in parts for second in parts for third in parts]
    whole = [cleaning.clean(text) for text in texts]
    monkeypatch.setattr(cleaning, "PIECE", piece)
    assert [cleaning.clean(text) for text in texts] == whole


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("\x1b[31mERROR\x1b[0m failed \x1b]0;title\x07 done", "ERROR failed  done"),
        ("\x1b]8;;http://a.b/\x1b\\a link\x1b]8;;\x1b\\ \x1b[1;38;5;9mred\x1b[K", "a link red"),
        ("Tide ![high tide](data:image/png;base64,iVBORw0KGgo=) rises", "Tide high tide rises"),
        (f"[image1]: <data:image/png;base64,{'iVBO' * 30}>\nend", "[image1]:\nend"),
        (f'<img src="data:image/jpeg;base64,{"iVBO" * 30}" alt="pier">', '<img src="" alt="pier">'),
        (f"a data:font/woff;base64,{'iVBO' * 60}\n{'iVBO' * 15}\niVBO== b", "a  b"),
        ("a data:image/svg+xml,%3Csvg%3E b", "a  b"),
        ("data:text/plain;base64,SGVsbG8= says hello", "data:text/plain;base64,SGVsbG8= says hello"),
        ("metadata:image/png,x and data: 5, 6", "metadata:image/png,x and data: 5, 6"),
    ],
)
def test_sequences_of_terminals_and_files_in_links_are_removed(text, kept):
    cleaned = cleaning.clean(text)
    assert cleaned.text == kept
    assert bool(cleaned.warnings) == (text != kept)


PICTURE = base64.b64encode(random.Random(1).randbytes(3_000)).decode()
LINES = "\n".join(PICTURE[start : start + 76] for start in range(0, 3_952, 76)) + "\niVBORw0KGgo="


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f'{{"name": "pier", "picture": "{PICTURE}"}}', '{"name": "pier", "picture": ""}'),
        (f"<binary>\n{LINES}\n</binary> Next", "<binary>\n\n</binary> Next"),
        (f"{PICTURE[:900]} is a key", f"{PICTURE[:900]} is a key"),
        (f"{'GATTACA' * 300} is a gene", f"{'GATTACA' * 300} is a gene"),
        ("0f" * 2_000, "0f" * 2_000),
    ],
)
def test_files_in_base64_are_removed_and_other_long_words_are_not(text: str, kept: str) -> None:
    cleaned = cleaning.clean(text)
    assert (cleaned.text, bool(cleaned.warnings)) == (kept, text != kept)
    assert cleaning.clean(cleaned.text).text == kept


def of(*texts: str) -> tuple[str, list[str]]:
    """The cleaned text of pages, and its part on each page."""
    starts = [sum(len(text) + 2 for text in texts[:number]) for number in range(len(texts))]
    cleaned = cleaning.clean_pages("\n\n".join(texts), starts)
    bounds = [*cleaned.starts, len(cleaned.text)]
    return cleaned.text, [cleaned.text[a:b].strip() for a, b in itertools.pairwise(bounds)]


def test_a_word_and_a_sentence_continue_over_the_break() -> None:
    text, parts = of("It is a har-", "bour of the lake", "where boats lie.", "## Tides", "They come.")
    assert text == "It is a harbour of the lake\nwhere boats lie.\n\n## Tides\n\nThey come."
    assert parts == ["It is a har", "bour of the lake", "where boats lie.", "## Tides", "They come."]


def test_an_empty_page_counts() -> None:
    assert of("", "One.", "", "Two.")[1] == ["", "One.", "", "Two."]
    assert of("har-", "", "bour")[1] == ["har", "", "bour"]


LINES = ["Header", "Page 3", "word", "Text.", "", "har-", "# Top", "| a |", "Footer 7"]
PAGE = st.lists(st.sampled_from(LINES), max_size=6)


@given(st.lists(PAGE.map("\n".join), max_size=8))
def test_no_word_is_lost_and_offsets_ascend_within_the_text(texts: list[str]) -> None:
    text, _parts = of(*texts)
    starts = cleaning.clean_pages(
        "\n\n".join(texts), [sum(len(t) + 2 for t in texts[:n]) for n in range(len(texts))]
    ).starts
    assert list(starts) == sorted(starts)
    assert all(0 <= start <= len(text) for start in starts)
    for word in ("Header", "word", "Text.", "# Top", "| a |", "Page 3", "Footer 7"):
        assert (word in text) == any(word in cleaning.clean(page).text for page in texts)
