"""Opens the recogniser of an installation that has its library, unless it is switched off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.recognition import process
from app.recognition.process import Recogniser, RecognitionLimits
from app.settings import Settings, usable_cores

MOST_THREADS = 4
"""Threads beyond which recognising a page hardly gets faster."""


def is_wanted(settings: Settings) -> bool:
    """Whether text in pictures is read."""
    return settings.ocr == "auto" and process.is_installed()


@asynccontextmanager
async def open_recogniser(settings: Settings) -> AsyncIterator[Recogniser | None]:
    """Yields the recogniser, whose process leaves half of the cores to the service; None without OCR."""
    if not is_wanted(settings):
        yield None
        return
    async with Recogniser(RecognitionLimits(threads=max(1, min(MOST_THREADS, usable_cores() // 2)))) as recogniser:
        yield recogniser
