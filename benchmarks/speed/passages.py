"""Loads the texts of real passages, from the sample notes or a folder, for synthetic vectors and queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from app import errors, samples
from app.evaluation import beir
from app.text import chunking
from app.text.structure import frontmatter, sentences

MAX_PASSAGES = 3_000
MIN_PASSAGES = 30
SENTENCES_A_WINDOW = 2
TARGET_TOKENS, OVERLAP_TOKENS = 160, 24
EVERY_TENTH = 10
"""Of ten passages nine are mixed into the corpus and one is held out as a query."""


def load(folder: Path | None) -> list[str]:
    """Returns distinct passages of the sample notes or of `folder`, shuffled with a fixed seed.

    The folder is an evaluation set in BEIR layout or contains .txt and .md files. Raises BadRequest if there are fewer
    than 30 passages.
    """
    found = _of_notes() if folder is None else _of_folder(folder)
    passages = sorted({passage for passage in found if len(passage) >= 40})
    if len(passages) < MIN_PASSAGES:
        raise errors.BadRequest(f"The folder holds fewer than {MIN_PASSAGES} passages.", field="passages")
    order = np.random.default_rng(0).permutation(len(passages))[:MAX_PASSAGES]
    return [passages[place] for place in order]


def mixed(passages: Sequence[str]) -> list[str]:
    """Returns the passages whose vectors are mixed."""
    return [passage for place, passage in enumerate(passages) if place % EVERY_TENTH]


def held_out(passages: Sequence[str]) -> list[str]:
    """Returns the passages that serve as queries."""
    return list(passages[::EVERY_TENTH])


def _of_notes() -> Iterator[str]:
    """Yields the chunks of the sample notes and, since these are few, windows of two sentences."""
    for path in sorted(samples.NOTES.rglob("*.md")):
        body = frontmatter.parse(path.read_text(encoding="utf-8")).body
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
    passages = chunking.split(text, kind="plain", target_tokens=TARGET_TOKENS, overlap_tokens=OVERLAP_TOKENS)
    yield from (passage.content for passage in passages)
