"""ODT and ODP become Markdown with their properties."""

from __future__ import annotations

from datetime import UTC, datetime

import made_files
import pytest
from lxml import etree
from reading import Read, refusal

TEXT = """<office:text><text:tracked-changes><text:p>Deleted.</text:p></text:tracked-changes>
<text:table-of-content><text:p>Lime 1</text:p></text:table-of-content><text:h text:outline-level="2">Lime</text:h>
<text:p>Lime<text:s text:c="999999999"/>dries<text:line-break/>slowly<office:annotation><text:p>Why?</text:p>
</office:annotation><text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>In caves.</text:p>
</text:note-body></text:note>.</text:p><text:list><text:list-item><text:p>pipes</text:p><text:list><text:list-item>
<text:p><text:span>clay</text:span> ones</text:p></text:list-item></text:list></text:list-item></text:list>
<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>port</text:p></table:table-cell>
<table:table-cell table:number-columns-repeated="999999999"><text:p>high</text:p></table:table-cell></table:table-row>
</table:table-header-rows><table:table-row table:number-rows-repeated="999999999"><table:table-cell>
<text:p>Lindau</text:p><text:p>east</text:p></table:table-cell><table:table-cell><text:p>3.5</text:p></table:table-cell></table:table-row>
</table:table></office:text>"""
SLIDES = """<office:presentation><draw:page><draw:frame><draw:text-box><text:p>Twice a day</text:p></draw:text-box>
</draw:frame><draw:frame presentation:class="title"><draw:text-box><text:p>Tides</text:p></draw:text-box></draw:frame>
<presentation:notes><draw:frame><draw:text-box><text:p>Ask.</text:p></draw:text-box></draw:frame></presentation:notes>
</draw:page><draw:page><draw:frame><draw:text-box><text:p>Ports</text:p></draw:text-box></draw:frame></draw:page>
</office:presentation>"""


def test_a_text_has_headings_paragraphs_lists_tables_and_notes(read: Read) -> None:
    (document,) = read(made_files.opendocument(TEXT), "a.odt")
    assert document.text == (
        "## Lime\n\nLime dries\nslowly (In caves.).\n\n- pipes\n\n  - clay ones\n\n"
        "| port | high |\n| --- | --- |\n| Lindau east | 3.5 |"
    )
    assert (document.title, document.metadata, document.language) == ("Mortar", {"author": "Ana Veit"}, "de")
    assert document.created_at == datetime(2021, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert document.page_starts == ()


def test_each_slide_is_a_page_with_its_title_first(read: Read) -> None:
    (document,) = read(made_files.opendocument(SLIDES, kind="presentation"), "a.odp")
    assert document.text == "## Tides\n\nTwice a day\n\nAsk.\n\nPorts"
    assert document.page_starts == (0, document.text.index("Ports"))


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (made_files.opendocument(TEXT, encrypted=True), "encrypted"),
        (made_files.opendocument("<office:text><draw:frame/></office:text>"), "no_text"),
        (made_files.opendocument(TEXT)[:-30], "damaged"),
    ],
    ids=["encrypted", "picture", "truncated"],
)
def test_a_document_that_cannot_be_read_is_refused(read: Read, raw: bytes, code: str) -> None:
    assert refusal(read, raw, "a.odt") == code


def test_elements_within_each_other_are_not_followed(read: Read) -> None:
    nested = made_files.opendocument("<text:list>" * 5_000 + "</text:list>" * 5_000)
    with pytest.raises(etree.XMLSyntaxError, match="depth"):
        read(nested, "a.odt")
