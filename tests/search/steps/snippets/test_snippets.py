"""The snippet of a passage has the sentences that match a query best, with the offsets of what matches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.query.types import Snippet
from app.search.steps.snippets import sentences as snippets
from app.search.steps.snippets.sentences import Sought
from app.text.words import word_spans

LIME = (
    "# Lime mortar\n\n"
    "We met Dr. Callow at 10 a.m. in the yard. Lime sets slowly, e.g. in frost. The masons wait.\n\n"
    "Above the landing cement is allowed; below the landing nobody uses it. No cement below the third landing, ever.\n"
)


def choose(text: str, query: str, *phrases: str, name: str = "", markdown: bool = True) -> Snippet:
    """The snippet for words of equal weight, whose lexemes are their first five letters in lower case."""
    known = {span.text: lexemes(span.text) for span in word_spans.of(f"{text} {query} {name} {' '.join(phrases)}")}
    weights = {lexeme: 1.0 for span in word_spans.of(query) for lexeme in snippets.lexemes_of(span, known)}
    names = {lexeme: 1.0 for span in word_spans.of(name) for lexeme in snippets.lexemes_of(span, known)}
    sought = Sought(weights, names, [snippets.phrase(p, known) for p in phrases])
    return snippets.choose(text, sought, known, markdown=markdown)


def lexemes(word: str) -> frozenset[str]:
    """Those of a word; a stop word has none."""
    stop = {"the", "no", "below", "is", "in", "at", "we", "ever", "it", "uses", "nobody"}
    return frozenset() if word.casefold() in stop else frozenset((word.casefold()[:5],))


def marked(text: str, snippet: Snippet) -> list[str]:
    """The text of each match."""
    return [text[one.start : one.end] for one in snippet.matches]


def test_the_sentence_with_the_most_words_of_the_query_is_chosen() -> None:
    snippet = choose(LIME, "masons lime frost")
    assert snippet.text == "Lime sets slowly, e.g. in frost. The masons wait."
    assert marked(LIME, snippet) == ["Lime", "frost", "masons"]


def test_abbreviations_end_no_sentence() -> None:
    assert choose(LIME, "Callow").text == "We met Dr. Callow at 10 a.m. in the yard."


def test_another_form_of_a_word_is_matched() -> None:
    assert marked(LIME, choose(LIME, "slowlier Callows")) == ["Callow", "slowly"]


def test_a_phrase_is_preferred_to_its_words_and_is_one_match() -> None:
    snippet = choose(LIME, "no cement below landing", "no cement below")
    assert snippet.text == "No cement below the third landing, ever."
    assert marked(LIME, snippet) == ["No cement below", "landing"]


def test_any_word_stands_for_a_stop_word_inside_a_phrase_as_in_the_index() -> None:
    text = "Nobody knows the colour of sand. Some know a colour for sand. Sand of a colour."
    assert marked(text, choose(text, "colour sand", "colour the sand")) == ["colour of sand"]


def test_the_name_of_a_hop_is_matched_beside_the_query() -> None:
    text = "Nobody plays here. Ines Brandauer plays the cello on Sundays. Ines was there."
    snippet = choose(text, "instrument plays", name="Ines Brandauer")
    assert snippet.text == "Ines Brandauer plays the cello on Sundays."
    assert marked(text, snippet) == ["Ines", "Brandauer", "plays"]


def test_headings_are_shown_only_if_nothing_else_matches_and_with_what_follows() -> None:
    assert choose("# Mortar\n\nMortar of lime.", "mortar").text == "Mortar of lime."
    assert choose("# How to mix the mortar\n\nOnly lime.", "mortar").text == "How to mix the mortar\n\nOnly lime."


def test_a_sentence_that_says_no_more_than_the_query_is_shown_with_what_follows_it() -> None:
    snippet = choose("Fnord n.\n\nA word that is read and not seen. It is old.", "fnord")
    assert snippet.text == "Fnord n.\n\nA word that is read and not seen. It is old."
    assert choose("Fnord is a word that nobody sees. It is old.", "fnord").text == "Fnord is a word that nobody sees."


def test_lists_tables_and_code_are_split_into_items_and_lines() -> None:
    items, table, code = (
        "- One level.\n- Lime that\n  is wrapped. More.",
        "| a | b |\n|---|---|\n| lime | ash |",
        "make ash",
    )
    text = f"{items}\n\n{table}\n\n```sh\n{code}\n```\n"
    assert choose(text, "wrapped").text == "Lime that\n  is wrapped."
    assert choose(text, "ash lime").text == "lime, ash"
    assert choose(text, "make").text == "make ash"


def test_a_snippet_of_a_quotation_ends_at_its_blank_lines() -> None:
    text = "Yes.\n\n> Best regards\n> Ana\n>\n> Lime slakes slowly in winter frost.\n> > \n> > When?"
    assert choose(text, "lime", markdown=False).text == "> Lime slakes slowly in winter frost."


def test_scripts_without_spaces_are_split_at_their_own_full_stops_and_matched_by_characters() -> None:
    text = "犬が走る。黒い猫が東京都で寝る。鳥も飛ぶ。"
    snippet = choose(text, "東京都")
    assert snippet.text == "黒い猫が東京都で寝る。"
    assert marked(text, snippet) == ["東京都"]
    assert marked(text, choose(text, "猫")) == ["猫"]


def test_a_long_sentence_is_cut_at_white_space_around_its_matches() -> None:
    text = f"{'sand ' * 200}lime and ash {'clay ' * 200}"
    snippet = choose(text, "lime ash")
    assert len(snippet.text) <= snippets.MAX_LENGTH
    assert snippet.text.startswith("sand sand")
    assert snippet.text.endswith(" clay")
    assert marked(text, snippet) == ["lime", "ash"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# Head\n\nFirst. Second.\n\n- **Third**.\n", "Head\n\nFirst. Second.\n\nThird."),
        ("# Only a heading", "Only a heading"),
        ("---", "---"),
        ("", ""),
    ],
)
def test_a_passage_without_a_match_is_kept_whole(text: str, shown: str) -> None:
    snippet = choose(text, "lime")
    assert (snippet.text, snippet.matches) == (shown, ())
    assert text[snippet.start : snippet.end] == text.strip()


def test_the_text_is_without_marks_and_offsets_are_those_of_the_passage() -> None:
    text = "Sand. Set **`lime_limit`** to [the _slaked_ value](https://lime.example/a_b), not to *burnt* lime."
    snippet = choose(text, "slaked lime limit")
    assert snippet.text == "Set lime_limit to the slaked value, not to burnt lime."
    assert text[snippet.start : snippet.end].startswith("Set **`lime_limit`**")
    shown = [snippet.text[one.text_start : one.text_end] for one in snippet.matches]
    assert shown == [text[one.start : one.end] for one in snippet.matches] == ["lime_limit", "slaked", "lime"]


def test_the_marks_of_a_text_that_is_no_markdown_are_words() -> None:
    text = "def __init__(self, *lime): # **kept**"
    assert choose(text, "lime", markdown=False).text == text


PIECES = [
    "lime", "Ash.", "*lime*", "**", "`", "[ash](", ")", "|-|", "# ", "\n", "\n\n", "- ", "| a |", "黒い猫", "。",
    "e\u0301", "a_b", "\u200b", "👩\u200d🚒",
]  # fmt: skip


def words_of(text: str) -> list[str]:
    return [span.text for span in word_spans.of(text)]


@given(
    st.lists(st.sampled_from(PIECES)),
    st.lists(st.sampled_from(["lime", "ash", "猫", "a_b", "é"]), min_size=1),
)
def test_every_snippet_and_match_is_where_its_offsets_say(parts: list[str], query: list[str]) -> None:
    text = " ".join(parts)
    snippet = choose(text, " ".join(query), " ".join(query))
    assert 0 <= snippet.start <= snippet.end <= len(text)
    ends = [(snippet.start, 0)]
    for match in snippet.matches:
        assert ends[-1] <= (match.start, match.text_start) < (match.end, match.text_end)
        assert (match.end, match.text_end) <= (snippet.end, len(snippet.text))
        shown, written = snippet.text[match.text_start : match.text_end], text[match.start : match.end]
        # Marks of Markdown may stand between the words of a phrase.
        # A phrase may reach into the address of a link, which is not shown.
        assert shown == written or (len(words_of(written)) > 1 and set(words_of(shown)) <= set(words_of(written)))
        ends.append((match.end, match.text_end))
    raw = choose(text, " ".join(query), " ".join(query), markdown=False)
    assert (raw.text, raw.start, raw.end) == (text[raw.start : raw.end], snippet.start, snippet.end)
    has_match = any(snippets.lexemes_of(span, {}) or lexemes(span.text) for span in word_spans.of(text))
    assert has_match or not snippet.matches
