"""Headings, fences, tables, lists and sentences are found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.passages import tokens
from app.text.structure import sentences, structure


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in structure.blocks(text)]


def test_each_kind_of_block_is_recognised():
    text = "# Head\npara\nmore\n\n- a\n- b\n\n  still b\n| x | y |\n|---|---|\n\n```\n# code\n\n```\nlast"
    assert kinds(text) == [
        ("heading", "# Head"),
        ("paragraph", "para\nmore"),
        ("list", "- a\n- b\n\n  still b"),
        ("table", "| x | y |\n|---|---|"),
        ("fence", "```\n# code\n\n```"),
        ("paragraph", "last"),
    ]


@pytest.mark.parametrize("line", ["#hashtag", "####### seven", "#", "# #", "    # code", "# " + "x" * 400])
def test_what_only_looks_like_a_heading_is_text(line):
    assert all(kind != "heading" for kind, _ in kinds(line))


def test_an_underlined_line_is_a_heading_and_a_rule_under_a_paragraph_is_not():
    assert [(block.level, block.title) for block in structure.blocks("Title\n---\nx") if block.kind == "heading"] == [
        (2, "Title")
    ]
    assert all(kind != "heading" for kind, _ in kinds("one\ntwo\n---\nx"))
    assert all(kind != "heading" for kind, _ in kinds("- item\n---\nx"))


@given(st.text(alphabet=" \n\t#-=|`~ab1.*>", max_size=300), st.booleans())
def test_blocks_tile_every_visible_character_in_order(text, markdown):
    blocks = structure.blocks(text, markdown=markdown)
    left = list(text)
    end = 0
    for block in blocks:
        assert end <= block.start < block.end
        end = block.end
        left[block.start : block.end] = [" "] * (block.end - block.start)
    assert "".join(left).strip() == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One here. Two there! Three?", ["One here.", "Two there!", "Three?"]),
        ("Dr. Silva met J. R. Ewing in the U.S. embassy. Then left.", None),
        ("He said “stop.” Then ran.", ["He said “stop.”", "Then ran."]),
        ("version 2.0 is out. see notes", ["version 2.0 is out. see notes"]),
        ("a wing in a slipstream . the next one .", ["a wing in a slipstream .", "the next one ."]),
        ("これは文。次の文！終わり", ["これは文。", "次の文！", "終わり"]),
        ("wait... What", ["wait...", "What"]),
    ],
)
def test_sentences_end_where_a_reader_pauses(text, expected):
    expected = expected or ["Dr. Silva met J. R. Ewing in the U.S. embassy.", "Then left."]
    assert [text[start:end] for start, end in sentences.spans(text, 0, len(text))] == expected


@pytest.mark.parametrize(
    ("text", "pieces"),
    [("", 0), ("hello world", 2), ("don't stop.", 5), ("日本語", 3), ("20240513", 3), ("internationalisation", 4)],
)
def test_word_pieces_are_estimated_from_the_shape_of_words(text, pieces):
    assert tokens.count(text) == pieces
