"""From which real passages do the made-up vectors start?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from app import errors, samples
from app.proof import beir
from app.text import chunking, markdown, sentences

MOST_PASSAGES = 3_000
FEWEST_PASSAGES = 30
SENTENCES_A_WINDOW = 2
TARGET_TOKENS, OVERLAP_TOKENS = 160, 24
EVERY_TENTH = 10
"""Of ten passages nine are mixed into the corpus, and one is asked for."""


def load(folder: Path | None) -> list[str]:
    """Different real passages in random (but always the same) order: of the sample notes, or of `folder`.

    The folder is an evaluation set in BEIR layout, or holds .txt and .md files. Raises BadRequest where it holds fewer
    than 30 passages.
    """
    found = _of_notes() if folder is None else _of_folder(folder)
    passages = sorted({passage for passage in found if len(passage) >= 40})
    if len(passages) < FEWEST_PASSAGES:
        raise errors.BadRequest(f"The folder holds fewer than {FEWEST_PASSAGES} passages.", field="passages")
    order = np.random.default_rng(0).permutation(len(passages))[:MOST_PASSAGES]
    return [passages[place] for place in order]


def mixed(passages: Sequence[str]) -> list[str]:
    """The passages whose vectors are mixed."""
    return [passage for place, passage in enumerate(passages) if place % EVERY_TENTH]


def asked(passages: Sequence[str]) -> list[str]:
    """The passages that are held back, as queries."""
    return list(passages[::EVERY_TENTH])


def _of_notes() -> Iterator[str]:
    """The sample notes are few: their chunks, and windows of two sentences."""
    for path in sorted(samples.NOTES.rglob("*.md")):
        body = markdown.parse(path.read_text(encoding="utf-8")).body
        yield from _chunks(body)
        spans = list(sentences.spans(body, 0, len(body)))
        for first in range(0, len(spans) - 1, SENTENCES_A_WINDOW):
            yield body[spans[first][0] : spans[first + 1][1]]


def _of_folder(folder: Path) -> Iterable[str]:
    if (folder / "corpus.jsonl").is_file():
        texts = [document.content for document in beir.load(folder).documents]
    else:
        paths = sorted(path for path in folder.rglob("*") if path.suffix in {".txt", ".md"})
        texts = [path.read_text(encoding="utf-8") for path in paths]
    for text in texts:
        yield from _chunks(text)


def _chunks(text: str) -> Iterator[str]:
    passages = chunking.split(text, markdown=False, target_tokens=TARGET_TOKENS, overlap_tokens=OVERLAP_TOKENS)
    yield from (passage.content for passage in passages)
