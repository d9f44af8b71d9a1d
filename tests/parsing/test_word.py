"""DOCX becomes Markdown: headings, paragraphs, lists and tables in their order."""

from __future__ import annotations

import made_files
from reading import Read, refusal


def test_structure_and_properties_are_kept(read: Read) -> None:
    raw = made_files.word(
        "# Lime",
        "Below the third landing we use lime_mortar, 2 * 3 times.",
        "## Mix",
        "- one part lime",
        "- three parts sand",
        table=[["part", "kg"], ["lime", "20"]],
        title="Masonry",
        author="Ana Veit",
    )
    (document,) = read(raw, "a.docx")
    assert document.text == (
        "# Lime\n\nBelow the third landing we use lime_mortar, 2 * 3 times.\n\n## Mix\n\n"
        "- one part lime\n- three parts sand\n\n| part | kg |\n| --- | --- |\n| lime | 20 |"
    )
    assert (document.title, document.metadata) == ("Masonry", {"author": "Ana Veit"})
    assert document.created_at is not None


def test_the_title_of_a_document_is_its_first_heading(read: Read) -> None:
    (document,) = read(made_files.word("####### Masonry", "# Lime", "It dries slowly."), "a.docx")
    assert document.text == "# Masonry\n\n# Lime\n\nIt dries slowly."


def test_a_document_without_text_is_refused(read: Read) -> None:
    assert refusal(read, made_files.word(), "a.docx") == "no_text"
