"""Passages cover the text, keep its structure and stay within their limits."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text import chunking
from app.text.structure import structure
from app.text.words import tokens

LINES = (
    "# Top", "## Sub", "### Deep", "## Sub ##", "Setext", "======", "---", "", "", "- item one", "  more",
    "1. first", "| a | b |", "|---|---|", "| 1 | 2 |", "```", "~~~", "# not a heading in code", "Bob: hi there",
    "12:30", "A sentence. Another one! A third?", "word " * 60, "x" * 700, "日本語の文。" * 30, "#", "# ", "    code",
    "\t",
)  # fmt: skip
MARKDOWN = st.lists(st.sampled_from(LINES), max_size=60).map("\n".join)
ANY_TEXT = st.one_of(MARKDOWN, st.text(max_size=400), st.text(alphabet=" \n\t.#-|`ab", max_size=400))


def uncovered(text: str, passages, *, kind: str = "markdown") -> str:
    """The visible characters that no passage holds and no heading on a path carries, without lines that are rules."""
    left = list(text)
    for passage in passages:
        left[passage.start : passage.end] = " " * (passage.end - passage.start)
    carried = {title for passage in passages for title in passage.heading_path}
    for block in structure.blocks(text, markdown=kind == "markdown") if kind != "code" else ():
        if block.kind == "heading" and block.title in carried:
            left[block.start : block.end] = " " * (block.end - block.start)
    return re.sub(r"^[ \t]*([-*_])([ \t]*\1){2,}[ \t]*$", "", "".join(left), flags=re.MULTILINE).strip()


@given(ANY_TEXT, st.sampled_from(["markdown", "plain", "code"]))
def test_every_visible_character_is_in_a_passage_or_a_carried_heading(text, kind):
    passages = chunking.split(text, kind=kind, target_tokens=40, overlap_tokens=8, max_tokens=60)
    assert uncovered(text, passages, kind=kind) == ""


def without_header(text: str, passage) -> str:
    """A passage's content without the caption and header rows that it repeats, which the text has before it."""
    length = passage.end - passage.start
    header = passage.content[:-length]
    assert not header or (header.endswith("\n") and header in text[: passage.start + 1] and header.count("\n") <= 5)
    return passage.content[-length:]


@given(ANY_TEXT)
def test_content_is_the_slice_that_the_offsets_name_within_its_limits_and_in_reading_order(text):
    passages = chunking.split(text, target_tokens=40, overlap_tokens=8, max_tokens=60)
    for passage in passages:
        assert without_header(text, passage) == text[passage.start : passage.end]
        assert passage.content == passage.content.strip() != ""
        assert tokens.count(passage.content) <= 60
        assert len(passage.content) <= chunking.MAX_CHARACTERS
    starts = [passage.start for passage in passages]
    assert starts == sorted(set(starts))


CELLS = st.lists(
    st.lists(st.sampled_from(["a", "12", "some words", "x" * 60, ""]), min_size=2, max_size=2), max_size=40
)


@given(CELLS, st.booleans())
def test_every_cell_of_a_cut_table_is_in_a_passage_under_its_header(rows, prose_around):
    lines = ["| name | value |", "|---|---|", *(f"| {number} {a} | {b} |" for number, (a, b) in enumerate(rows))]
    text = "\n".join(lines)
    if prose_around:
        text = f"Before it. {prose(60)}\n\n{text}\n\nAfter it. {prose(60)}"
    passages = chunking.split(text, target_tokens=40, overlap_tokens=8, max_tokens=60)
    assert uncovered(text, passages) == ""
    for passage in passages:
        assert without_header(text, passage) == text[passage.start : passage.end]
        assert tokens.count(passage.content) <= 60
        if re.search(r"^\| \d", passage.content, re.MULTILINE):
            assert "| name | value |\n|---|---|\n" in passage.content


def every_letter_twice(text: str) -> list[int]:
    """Tokens of a model that writes each letter in two bytes."""
    return [offset for offset, letter in enumerate(text) if not letter.isspace() for _ in range(2)]


@given(ANY_TEXT)
def test_sizes_are_measured_by_the_tokens_that_are_given(text):
    passages = chunking.split(text, target_tokens=80, overlap_tokens=8, max_tokens=120, starts=every_letter_twice)
    assert uncovered(text, passages) == ""
    assert all(len(every_letter_twice(passage.content)) <= 120 for passage in passages)


@pytest.mark.parametrize("text", ["\uf041" * 9_000, "Lime.\n\n" + "\uf041 " * 9_000, "\uf0b7lime " + "oak " * 300])
def test_characters_that_are_no_tokens_of_the_model_are_in_passages_too(text: str) -> None:
    def of_letters(text: str) -> list[int]:
        return [word.start() for word in re.finditer("[a-z]+", text)]

    passages = chunking.split(text, starts=of_letters)
    assert uncovered(text, passages) == ""
    assert all(len(passage.content) <= chunking.MAX_CHARACTERS for passage in passages)


def test_a_section_joined_with_a_tiny_subsection_keeps_within_the_limit_with_its_own_heading() -> None:
    for words in range(1, 24):
        text = f"## Of the masons\n{'lime ' * words}\n### Tide\n- item\n### Rest\n{'oak ' * 40}"
        for found in chunking.split(text, target_tokens=24, overlap_tokens=0, max_tokens=24):
            assert tokens.count(found.content) + sum(map(tokens.count, found.heading_path)) <= 24, found


@pytest.mark.parametrize(
    "hostile",
    [
        *("x" * 300_000, "QUJD" * 750, "a" + " " * 100_000 + "b", "." * 100_000, "日" * 50_000, "a\n" * 20_000),
        *("| " * 50_000, "# h\n" * 10_000, "```\n" + "code();" * 20_000, "[" * 100_000),
        " ".join(f"word{number}" for number in range(30_000)),
    ],
)
def test_hostile_texts_are_cut_into_passages_that_can_be_indexed(hostile):
    passages = chunking.split(hostile)
    assert passages
    assert all(len(passage.content) <= chunking.MAX_CHARACTERS for passage in passages)
    assert all(tokens.count(passage.content) <= 230 for passage in passages)


def prose(words: int) -> str:
    """Sentences of ten words each."""
    return " ".join(["One two three four five six seven eight nine ten."] * (words // 10))


def test_a_section_a_little_over_the_target_stays_whole_and_a_longer_one_is_cut_evenly_between_sentences():
    text = prose(180)
    assert 160 < tokens.count(text) <= 200
    assert [passage.content for passage in chunking.split(text)] == [text]
    passages = chunking.split(prose(400))
    sizes = [tokens.count(passage.content) for passage in passages]
    assert len(passages) == 3
    assert max(sizes) - min(sizes) <= 2 * 11 + 24
    assert all(passage.content.endswith(".") for passage in passages)


def test_neighbours_of_a_cut_section_share_whole_sentences_within_the_overlap():
    passages = chunking.split(prose(400))
    for before, after in itertools.pairwise(passages):
        shared = passages[0].content[: before.end - after.start]
        assert 0 < tokens.count(shared) <= 24
        assert after.content.startswith("One")
    apart = chunking.split(prose(400), overlap_tokens=0)
    assert all(before.end <= after.start for before, after in itertools.pairwise(apart))


def test_a_chat_with_times_before_the_names_is_cut_between_messages():
    said = {"Ana": "We meet at the river at noon and wait there. Bring bread.", "Bo": "And salt, and two cups."}
    lines = [f"12/03/2025, 18:{n} - {name}: {text}" for n in range(10, 60) for name, text in said.items()]
    passages = chunking.split("\n".join(lines), overlap_tokens=0)
    assert len(passages) > 5
    assert all(passage.content.startswith("12/03/2025") for passage in passages)


def test_a_text_that_grows_keeps_its_passages_but_the_last_ones():
    days = [
        f"On day {day} the tide was {day * 7 % 13} feet high, and we {'waited ' * (day % 9)}." for day in range(200)
    ]
    passages: list[str] = []
    for count in range(1, 201):
        before, passages = passages, [one.content for one in chunking.split("\n\n".join(days[:count]))]
        kept = max(0, len(before) - chunking.EQUAL - 1)
        assert passages[:kept] == before[:kept]
    assert len(passages) > 10


def test_headings_are_carried_by_the_path_and_not_repeated_in_content():
    text = f"# Guide\n\n{prose(100)}\n\n## Install\n\n{prose(100)}\n\n### Linux\n\n{prose(100)}"
    passages = chunking.split(text)
    assert [passage.heading_path for passage in passages] == [
        ("Guide",),
        ("Guide", "Install"),
        ("Guide", "Install", "Linux"),
    ]
    assert not any("#" in passage.content for passage in passages)


@pytest.mark.parametrize("rule", ["---", "* * *", "___\n\n---"])
def test_a_rule_below_a_heading_is_no_passage_of_its_own(rule):
    text = f"# Guide\n\n{rule}\n\n## Start\n\n{'Turn the key. ' * 60}\n\n## End\n\n{'Turn it back. ' * 60}"
    passages = chunking.split(text)
    assert all("Turn" in passage.content for passage in passages)
    assert {passage.heading_path for passage in passages} == {("Guide", "Start"), ("Guide", "End")}


def test_tiny_sections_join_under_their_common_ancestor_and_keep_their_headings():
    text = "# Guide\n\n" + "\n\n".join(f"## Step {step}\n\nDo {step} things." for step in range(80))
    passages = chunking.split(text)
    assert 2 < len(passages) < 20
    assert {passage.heading_path for passage in passages} == {("Guide",)}
    assert "## Step 0\n\nDo 0 things.\n\n## Step 1" in passages[0].content


HEADER = "| name | value |\n|---|---|\n"


def table_of(rows: int, header: str = HEADER) -> str:
    return header + "\n".join(f"| row {row} | {row} |" for row in range(rows))


@pytest.mark.parametrize("header", [HEADER, HEADER.replace("---", "-" * 60)])
def test_a_table_that_fits_is_kept_whole_and_a_longer_one_is_cut_between_rows_with_its_header(header):
    whole = chunking.split(f"{prose(120)}\n\n{table_of(20)}\n\n{prose(120)}")
    assert any(table_of(20) in passage.content for passage in whole)
    table = table_of(200, header)
    passages = chunking.split(table)
    assert len(passages) > 5
    assert all(passage.content.startswith(f"{header}| row ") and passage.content.endswith("|") for passage in passages)
    assert all(passage.content.count(header) == 1 and passage.content.count("row") > 15 for passage in passages[:-1])
    assert all(tokens.count(chunking.RULE.sub("", passage.content)) <= 200 for passage in passages)
    assert header + "\n".join(passage.content.removeprefix(header) for passage in passages) == table


@pytest.mark.parametrize("caption", ["Table 3: the harbours", "The harbours and their depths:"])
def test_every_passage_of_a_cut_table_has_the_caption_above_its_header(caption):
    text = f"{prose(150)}\n\n{caption}\n\n{table_of(200)}"
    of_table = [passage for passage in chunking.split(text) if "| row " in passage.content]
    assert len(of_table) > 5
    assert all(f"{caption}\n\n{HEADER}" in passage.content for passage in of_table)
    assert all(tokens.count(passage.content) <= 200 for passage in of_table)
    without = chunking.split(text.replace(caption, "Prose above it."))
    assert sum("Prose above it." in passage.content for passage in without) == 1


def test_a_header_of_more_than_half_a_passage_is_not_repeated():
    header = f"| {' | '.join(f'column {number}' for number in range(40))} |\n|{'---|' * 40}\n"
    passages = chunking.split(table_of(200, header))
    assert sum("column 0" in passage.content for passage in passages) == 1


def test_a_list_is_cut_between_items_and_a_chat_between_messages_with_their_times():
    text = "\n".join(f"- item {item} with some words\n  and its continuation" for item in range(60))
    assert all(passage.content.startswith("- item") for passage in chunking.split(text))
    text = "\n".join(f"Time: 20240513_08:{minute:02}\nAna: we meet at the river. Bring bread" for minute in range(60))
    passages = chunking.split(text, overlap_tokens=0)
    assert len(passages) > 3
    assert all(passage.content.startswith("Time:") and passage.content.endswith("bread") for passage in passages)


def test_a_long_heading_path_reduces_the_size_of_the_content():
    text = f"# {'long heading words ' * 8}\n\n{prose(600)}"
    for passage in chunking.split(text):
        assert tokens.count(passage.heading_path[0]) + tokens.count(passage.content) <= 230


@pytest.mark.parametrize(("target", "overlap", "maximum"), [(0, 0, 1), (10, 10, 20), (30, 5, 20), (10, -1, 20)])
def test_sizes_that_contradict_each_other_are_refused(target, overlap, maximum):
    with pytest.raises(ValueError, match="need 1 <="):
        chunking.split("x", target_tokens=target, overlap_tokens=overlap, max_tokens=maximum)
