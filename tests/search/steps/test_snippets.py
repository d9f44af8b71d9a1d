"""The snippet of a passage has the sentences that match a query best, with the offsets of what matches."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.query.search_types import Snippet
from app.search.steps import snippets
from app.search.steps.snippets import Sought
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


def marked(snippet: Snippet) -> str:
    """The text of a snippet with its matches in quotation marks."""
    text = snippet.text
    for match in reversed(snippet.matches):
        text = f"{text[: match.text_start]}«{text[match.text_start : match.text_end]}»{text[match.text_end :]}"
    return text


LAW = "Below the landing cement is allowed, says nobody. No cement below the landing."
SAND = "Find the colour of sand. Some know a colour for sand. Sand of a colour."
CELLO = "Nobody plays here. Ines Brandauer plays the cello. Ines was there."
BLOCKS = (
    "- One level.\n- Lime that\n  is wrapped. More.\n\n| a | b |\n|---|---|\n| lime | ash |\n\n```\nmake ash\n```\n"
)
DATES = "| Date | Topic |\n| --- | --- |\n| 3 May | lime |\n| 4 May | ash |\n| 5 May | sand |\n| 9 June | exam |\n"
QUOTED = "Yes.\n\n> Best regards\n> Ana\n>\n> Lime slakes slowly in winter frost.\n> > \n> > When?"
MARKS = "Sand. Set **`lime_limit`** to [the _slaked_ value](https://lime.example/a_b), not to *burnt* lime."
CHAT = "Ana: Rain\nBo: I see. Bring lime, and ash\n[12:05] Ana: Now?\n12/03/2025, 18:22 - Bo: The clay waits. Come"
PLAN = "\n".join(["12:04 <@bo> The clay waits", *["12:05 < kim> Wait. Rain falls here"] * 12])
ASKED = f"12:01 < ana> Which lime? For walls\n12:02 <@bo> Ash. Only ash\n12:03 < ana> Fine\n{PLAN}"
CODE = "def __init__(self, *lime): # **kept**"
JAPANESE = "犬が走る。黒い猫が東京都で寝る。鳥も飛ぶ。"
RECORD = "name: Ingrid Moen\nrole: Head of Payroll\nroom: A 2.17\nextension: 7024\nnote: on Monday the office is closed"
CONSOLE = "First wait.\n\n**Linux**\n\n```\nmake lime\n```\n\nThen rest."
CASES: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "most words": (LIME, "masons lime frost", {}, "«Lime» sets slowly, e.g. in «frost». The «masons» wait."),
    "words of a record": (RECORD, "monday", {"markdown": False}, RECORD.split("\n")[4].replace("Monday", "«Monday»")),
    "code below": (CONSOLE, "linux", {}, "«Linux»\n\nmake lime\n\nThen rest."),
    "abbreviations": (LIME, "Callow", {}, "We met Dr. «Callow» at 10 a.m. in the yard."),
    "other forms": (LIME, "masonry frosts", {}, "Lime sets slowly, e.g. in «frost». The «masons» wait."),
    "a phrase": (LAW, "no cement below", {"phrases": ["no cement below"]}, "«No cement below» the landing."),
    "a stop word": (SAND, "colour sand", {"phrases": ["colour the sand"]}, "Find the «colour of sand»."),
    "the same stop word": (SAND, "colour sand", {"phrases": ["colour for sand"]}, "Some know a «colour for sand»."),
    "the name of a hop": (CELLO, "who plays", {"name": "Ines Brandauer"}, "«Ines» «Brandauer» «plays» the cello."),
    "a heading that repeats": ("# Mortar\n\nMortar of lime.", "mortar", {}, "«Mortar» of lime."),
    "a heading alone": ("# How to mix the mortar\n\nOnly lime.", "mortar", {}, "How to mix the «mortar»\n\nOnly lime."),
    "an entry": ("Fnord n.\n\nA word. It is old.", "fnord", {}, "«Fnord» n.\n\nA word. It is old."),
    "a sentence": ("Fnord is a word that nobody sees. It is old.", "fnord", {}, "«Fnord» is a word that nobody sees."),
    "an item": (BLOCKS, "wrapped", {}, "Lime that is «wrapped»."),
    "a row": (BLOCKS, "ash lime", {}, "a, b\n«lime», «ash»"),
    "a row below the names of columns": (DATES, "date exam", {}, "«Date», Topic\n9 June, «exam»"),
    "a row below long names": (f"| Date | {'x' * 400} |\n|---|---|\n| 3 May | lime |\n", "lime", {}, "3 May, «lime»"),
    "the names of columns alone": (DATES, "date", {}, "«Date», Topic\n3 May, lime"),
    "a line of code": (BLOCKS, "make", {}, "«make» ash"),
    "a short line of code": ("```sh\nset lime\nmake ash\n```", "lime", {}, "set «lime»\nmake ash"),
    "a quotation": (QUOTED, "lime", {"markdown": False}, "> «Lime» slakes slowly in winter frost."),
    "a script without spaces": (JAPANESE, "東京都", {}, "黒い猫が«東京都»で寝る。"),
    "a character": (JAPANESE, "猫", {}, "黒い«猫»が東京都で寝る。"),
    "marks": (MARKS, "slaked lime limit", {}, "Set «lime_limit» to the «slaked» value, not to burnt «lime»."),
    "a turn": (CHAT, "ash", {}, "Bo: I see. Bring lime, and «ash»"),
    "a turn behind a time": (CHAT, "come", {}, "12/03/2025, 18:22 - Bo: The clay waits. «Come»"),
    "a sentence of a long turn": (f"{CHAT}\nAna: {'Wait. ' * 80}Sand.", "sand", {}, "«Sand»."),
    "a turn of several lines": (
        "Bo: Rain\nAna: Mix lime\nand ash\nKim: Yes\nBo: No",
        "lime",
        {},
        "Ana: Mix «lime»\nand ash",
    ),
    "the turns below a question": (
        ASKED,
        "which lime",
        {},
        "12:01 < ana> «Which» «lime»? For walls\n12:02 <@bo> Ash. Only ash\n12:03 < ana> Fine",
    ),
    "the last turn of a paragraph": (
        "Bo: Yes\nAna: Which lime?\n\nBo: Ash\nKim: No",
        "lime",
        {},
        "Bo: Yes\nAna: Which «lime»?\n\nBo: Ash\nKim: No",
    ),
    "a question": (
        "Who burns lime in winter? Ana and Bo. Ash is cheap. So is clay.",
        "burns lime",
        {},
        "Who «burns» «lime» in winter? Ana and Bo. Ash is cheap.",
    ),
    "what a colon announces": (
        "title: Tides of the lime works\nauthors:\n- Ana Keller\n- Bo Lind\n\nyear: 2012",
        "authors tides",
        {"markdown": False},
        "title: «Tides» of the lime works\n«authors»:\n- Ana Keller\n- Bo Lind\n\nyear: 2012",
    ),
    "code": (CODE, "lime", {"markdown": False}, "def __init__(self, *«lime»): # **kept**"),
}


@pytest.mark.parametrize(("text", "query", "given", "shown"), CASES.values(), ids=CASES)
def test_the_best_sentences_are_shown_with_their_matches(
    monkeypatch: pytest.MonkeyPatch, text: str, query: str, given: Any, shown: str
) -> None:
    monkeypatch.setattr(snippets, "SHORT", 10)
    options = dict(given)
    assert marked(choose(text, query, *options.pop("phrases", ()), **options)) == shown


FORM = "Policy number Renewal date\nHC-77 1 May 2026\nExcess Class\n£250 Social\nNobody else drives."
LONG = f"Lime sets {'very ' * 30}slowly."


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        (FORM, "renewal", FORM.replace("Renewal", "«Renewal»")),
        (RECORD, "head payroll", RECORD.replace("Head of Payroll", "«Head» of «Payroll»")),
        (f"Bo: Yes\nAna: Which lime?\nBo: {'Ash. ' * 78}", "lime", f"Ana: Which «lime»?\nBo: {'Ash. ' * 75}".rstrip()),
        (f"Lime:\n\n```\n{'ash ' * 100}\n```", "lime", f"«Lime»:\n\n```\n{'ash ' * 97}".rstrip()),
        (f"{LONG} Ash is cheap.", "lime", LONG.replace("Lime", "«Lime»")),
        ("Ash is cheap.\n\n# Lime\n\nIt sets.", "ash", "«Ash» is cheap."),
    ],
)
def test_what_is_short_is_shown_with_what_follows(text: str, query: str, shown: str) -> None:
    assert marked(choose(text, query, markdown=False)) == shown


def test_a_long_sentence_is_cut_at_white_space_around_its_matches() -> None:
    snippet = choose(f"{'sand ' * 200}lime and ash {'clay ' * 200}", "lime ash")
    assert len(snippet.text) <= snippets.MAX_LENGTH
    assert snippet.text.startswith("sand sand")
    assert snippet.text.endswith(" clay")
    assert "«lime» and «ash»" in marked(snippet)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# Head\n\nFirst. Second.\n\n- **Third**.\n", "Head\n\nFirst. Second.\n\nThird."),
        ("# Only a heading", "Only a heading"),
        ("Ask [[Ana Keller|Ana]] of ![[Harbour]], ==today==.", "Ask Ana of Harbour, today."),
        ("> [!warning]- Frost\n> Cover it.", "Frost\nCover it."),
        ("x[[0]] == y[[1]](2)", "x[[0]] == y[[1]](2)"),
        ("---", "---"),
        ("", ""),
        (
            f"{'Chalk sets slowly and cracks if it dries. ' * 2}It\nis fed.",
            f"{'Chalk sets slowly and cracks if it dries. ' * 2}It is fed.",
        ),
        ("Chalk, ash,\nslow as time", "Chalk, ash,\nslow as time"),
        ("# Head\nFed\n- chalk\n  putty\n- ash", "Head\nFed\nchalk putty\nash"),
    ],
)
def test_a_passage_without_a_match_is_kept_whole(text: str, shown: str) -> None:
    snippet = choose(text, "lime")
    assert (snippet.text, snippet.matches) == (shown, ())
    assert text[snippet.start : snippet.end] == text.strip()


PIECES = [
    "lime", "Ash.", "*lime*", "**", "`", "[ash](", ")", "|-|", "# ", "\n", "\n\n", "- ", "| a |", "黒い猫", "。",
    "[[a_b|", "ash]]", "==", "e\u0301", "a_b", "\u200b", "👩\u200d🚒",
]  # fmt: skip


def words_of(text: str) -> list[str]:
    return [span.text for span in word_spans.of(text)]


@given(st.lists(st.sampled_from(PIECES)), st.lists(st.sampled_from(["lime", "ash", "猫", "a_b", "é"]), min_size=1))
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
    assert (raw.start, raw.end) == (snippet.start, snippet.end)
    assert raw.text.split() == text[raw.start : raw.end].split()
    has_match = any(snippets.lexemes_of(span, {}) or lexemes(span.text) for span in word_spans.of(text))
    assert has_match or not snippet.matches
