"""Reads scanned PDFs as an upload is read, and compares their text with what was printed."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import psutil
from rapidfuzz.distance import Levenshtein

from app.parsing import formats
from app.parsing.process import ParseLimits, Parser
from app.recognition.process import Recogniser, RecognitionLimits
from app.shapes import ExtractedDocument, Picture, RecognisedLine
from benchmarks.ocr import pages
from benchmarks.ocr.pages import Page


@dataclass(frozen=True, slots=True)
class Figures:
    """The pages of one kind: wrong characters of those printed, seconds of CPU and of time, and memory in bytes."""

    kind: str
    pages: int
    characters: int
    wrong: int
    cpu_s: float
    took_s: float
    memory_bytes: int

    @property
    def error_rate(self) -> float:
        """The character error rate: the edit distance by the characters that were printed."""
        return self.wrong / self.characters


async def kinds(count: int, threads: int) -> AsyncIterator[Figures]:
    """The figures of each kind of pages; the time of starting the processes is not counted."""
    async with Recogniser(RecognitionLimits(threads=threads)) as recogniser:

        async def recognise(picture: Picture) -> Sequence[RecognisedLine]:
            return await recogniser.lines(picture, "benchmark")

        async with Parser(ParseLimits(), recognise=recognise) as parser:
            await _text(parser, pages.pdf(pages.clean(1)))
            for kind, make in pages.KINDS.items():
                yield await _figures(kind, make(count), parser)


async def _figures(kind: str, printed: Sequence[Page], parser: Parser) -> Figures:
    raw = pages.pdf(printed)
    cpu_s, began = _used()[0], time.monotonic()
    found = _normal(await _text(parser, raw))
    took_s = time.monotonic() - began
    used_s, memory = _used()
    wanted = _normal(" ".join(page.text for page in printed))
    wrong = Levenshtein.distance(found, wanted)
    return Figures(kind, len(printed), len(wanted), wrong, used_s - cpu_s, took_s, memory)


async def _text(parser: Parser, raw: bytes) -> str:
    """The text of a PDF. Raises UnreadableFile."""
    found = [one async for one in parser.documents(raw, formats.sniff(raw, "scan.pdf"), name="scan.pdf")]
    return "\n\n".join(one.text for one in found if isinstance(one, ExtractedDocument))


def _normal(text: str) -> str:
    """A text without marks of Markdown and with single blanks."""
    return " ".join(text.replace("#", " ").replace("\\", " ").split())


def _used() -> tuple[float, int]:
    """Seconds of CPU of the processes that parse and recognise, and the memory of the largest."""
    children = psutil.Process().children()
    times = [child.cpu_times() for child in children]
    return sum(one.user + one.system for one in times), max(child.memory_info().rss for child in children)
