"""reStructuredText becomes Markdown without losing any of its words."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.structure import structure, text_formats

TEXT = """====
Lime
====

:Author: Ana Veit
:Status: draft

Mix it with sand. For example::

   # three parts
   mix(lime)

Preparing
---------

.. code-block:: python
   :linenos:

   # a comment
   stir()

.. note:: Never cement.

Drying
~~~~~~

It dries slowly.

Removing
--------

Use a chisel.
"""


def test_headings_literal_blocks_and_fields_are_converted() -> None:
    text, fields = text_formats.rst_to_markdown(TEXT)
    headings = [(block.level, block.title) for block in structure.blocks(text) if block.kind == "heading"]
    assert headings == [(1, "Lime"), (2, "Preparing"), (3, "Drying"), (2, "Removing")]
    assert "```\n# three parts\nmix(lime)\n```" in text
    assert "```\n# a comment\nstir()\n```" in text
    assert ".. note:: Never cement." in text
    assert fields == {"author": "Ana Veit", "status": "draft"}


LINES = [
    "Lime", "====", "----", "~~~~~~~~", "", "", "  indented", "   # no heading", "text::", ".. code:: x", "```",
]  # fmt: skip


@given(st.lists(st.sampled_from(LINES), max_size=30))
def test_no_word_is_lost(lines: list[str]) -> None:
    text, _fields = text_formats.rst_to_markdown("\n".join(lines))
    for word in ("Lime", "indented", "no heading", "text::", ".. code:: x"):
        assert text.count(word) == "\n".join(lines).count(word)


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        (r'{"\u540d": "\u6570\u636e"}', '{"名": "数据"}'),
        (r'{ "price" : 1.10,  "n": -40, "e": 1e3 }', '{ "price" : 1.10,  "n": -40, "e": 1e3 }'),
        (r'["caf\u00e9 \ud83d\ude00", "a\\u00e9", "a\"b", "x\u0022\u005cy"]',
         r'["café 😀", "a\\u00e9", "a\"b", "x\"\\y"]'),
        (r'"one\nline\ttwo\/three"', '"one\nline\ttwo/three"'),
        (r'"\u12 \q', r'"\u12 \q'),
    ],
)  # fmt: skip
def test_codes_in_json_become_characters_and_all_else_stays_as_written(text: str, decoded: str) -> None:
    assert text_formats.decode_json(text) == decoded


VALUE = st.text(st.characters(exclude_characters="\r\b\f"))


@given(st.recursive(VALUE | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(VALUE, inner)))
def test_decoded_json_is_the_same_value(value: object) -> None:
    assert json.loads(text_formats.decode_json(json.dumps(value)), strict=False) == value


def test_references_in_xml_become_characters_without_new_markup() -> None:
    text = "<a b='R&amp;D'>caf&#233; &#xE9; &eacute; &lt;b&gt; &#60; &amp;lt; &unknown; AT&T;</a>"
    assert text_formats.decode_xml(text) == "<a b='R&D'>café é é &lt;b&gt; &#60; &lt; &unknown; AT&T;</a>"
