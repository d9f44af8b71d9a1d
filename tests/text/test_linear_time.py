"""The CPU time of text processing grows linearly with the text, whatever its shape."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from uuid import UUID

import pytest

from app.text.names import headings, name_uses, names, query_words, tags
from app.text.names.gazetteer import Gazetteer
from app.text.passages import chunking
from app.text.queries import analysis, identifiers, literal_matches, snippets, terms
from app.text.queries.snippets import Sought
from app.text.structure import markdown, pages, restructured, sentences, structure
from app.text.words import cleaning, lexical

SIZE = 3_000
"""Code points of the smaller text; the larger one has four times as many."""
MOST = 8.0
"""Largest ratio of CPU times: 4 is linear, 16 quadratic."""
LEAST_S = 0.003
"""CPU time below which a ratio is noise; no text of this size may take so little if its cost were quadratic."""

SHAPES = {
    "one word": "a",
    "spaces": " ",
    "blank lines": "\n",
    "prose": "Ana Silva of Porto met the Harbour Board. It rained? ",
    "headings": "# a\n## b\n### c\n#### d\n##### e\n###### f\n",
    "deeper and deeper quotes": "> ",
    "deeper and deeper lists": "- ",
    "items": "1. a\n- b\n",
    "table": "| a | b |\n",
    "underlined": "a\n---\n",
    "backticks": "`",
    "fences": "```\n~~~\n",
    "brackets": "[",
    "links": "[a](b",
    "parentheses": " (a)",
    "emphasis": "*a* _b_ ",
    "turns of a conversation": "[12:30] Ana: hello\n",
    "hyphens": "well-\nknown A–B-",
    "numbers": "1.1,234,",
    "initials": "U.S.A.B. ",
    "compounds": "a/b.c@d_e-",
    "mixed case": "getUserNameHTTP",
    "no spaces": "漢字。",
    "combining marks": "a\u0301\u0301\u0328",
    "mojibake": "Ã©tÃ© é â€™",
    "joiners": "👩\u200d👩\u200b\u200d",
    "operators": 'NOT a AND "b" -c ',
    "quotes": '"',
    "apostrophes": "A's l'",
    "literal blocks": "a::\n\n  b\n",
    "underlines": "====\n----\n",
    "colons": ":",
}


def nested_list(size: int) -> str:
    """Items that are indented deeper and deeper; the deepest by a few hundred spaces."""
    lines = [f"{' ' * (depth % 300)}- a" for depth in range(size // 150)]
    return "\n".join(lines)


GAZETTEER = Gazetteer.build(
    [(name, UUID(int=1)) for name in ("a", "a a", "a a a a b", "Ana Silva", "Harbour Board", "aB", "U.S.", "12")]
)
SOUGHT = Sought(
    {"a": 1.0, "漢字": 1.0},
    {"b": 1.0},
    [[("a", frozenset("a")), ("of", frozenset()), ("b", frozenset("b"))]],
    frozenset("a"),
)
WORK: dict[str, Callable[[str], object]] = {
    "cleaning": cleaning.clean,
    "pages": lambda text: pages.clean(text, range(0, len(text), 100)),
    "reStructuredText": restructured.to_markdown,
    "bytes in another script": lambda text: cleaning.decode(text.encode("latin-1", "replace") + b"\xe9" * len(text)),
    "structure": structure.blocks,
    "title": structure.title,
    "chunking": chunking.split,
    "chunking of plain text": lambda text: chunking.split(text, markdown=False),
    "frontmatter": lambda text: markdown.parse(f"---\n{text}\n---\n{text}"),
    "frontmatter that is not closed": lambda text: markdown.parse(f"---\n{text}"),
    "sentences": lambda text: list(sentences.spans(text, 0, len(text))),
    "index text": lambda text: lexical.index_text(text, "english"),
    "index text with accents": lambda text: lexical.index_text(text, "german"),
    "names": names.find,
    "places of words": names.word_offsets,
    "sections": lambda text: headings.sections(("a",), text),
    "name of a heading": headings.name,
    "name of a title": names.title_name,
    "metadata": lambda text: tags.from_metadata({"tags": [text, *text.split()]}, ["tags"]),
    "query": analysis.parse,
    "words of a query": lambda text: (
        name_uses.read(text, query := query_words.read(text)),
        query_words.longest_names(query, {"a"}),
    ),
    "terms": lambda text: terms.statistical([text], "a", chunks={}, total=10),
    "literal matches": lambda text: literal_matches.reasons(analysis.parse(text[:2_000]), title="a b", content=text),
    "gazetteer": GAZETTEER.find,
    "identifiers": identifiers.whole,
    "snippets": lambda text: snippets.choose(text, SOUGHT, {"a": frozenset("a"), "b": frozenset("b")}),
}


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    """A garbage collection goes through all objects of the process, and would be counted with the work."""
    gc.disable()
    yield
    gc.enable()


def cpu_s(work: Callable[[str], object], text: str) -> float:
    began = time.thread_time()
    work(text)
    return time.thread_time() - began


def shaped(shape: str, size: int) -> str:
    return nested_list(size) if shape == "nested list" else (SHAPES[shape] * size)[:size]


@pytest.mark.parametrize("name", WORK)
def test_four_times_the_text_takes_about_four_times_as_long(name: str) -> None:
    work = WORK[name]
    work("Warm up.")
    slow = {}
    for shape in (*SHAPES, "nested list"):
        small, large = shaped(shape, SIZE), shaped(shape, 4 * SIZE)
        if (longest := cpu_s(work, large)) < LEAST_S:
            continue
        ratios = [longest / cpu_s(work, small)]
        while ratios[-1] > MOST and len(ratios) < 3:
            ratios.append(cpu_s(work, large) / cpu_s(work, small))
        slow[shape] = min(ratios)
    assert not {shape: ratio for shape, ratio in slow.items() if ratio > MOST}
