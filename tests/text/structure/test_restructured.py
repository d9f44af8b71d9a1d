"""reStructuredText becomes Markdown without losing any of its words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.text.structure import restructured, structure

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
    text, fields = restructured.to_markdown(TEXT)
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
    text, _fields = restructured.to_markdown("\n".join(lines))
    for word in ("Lime", "indented", "no heading", "text::", ".. code:: x"):
        assert text.count(word) == "\n".join(lines).count(word)
