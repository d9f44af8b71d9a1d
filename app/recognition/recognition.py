"""Opens the recogniser, and recognises the pictures in a user's files, each once: the lines are kept for the next time.

Kept lines are encrypted with a key that is computed from the picture, so that after a document is deleted, only someone
who has the picture can read its text.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import astuple
from functools import partial
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from app import errors
from app.concurrency import offload
from app.database.transactions import Database
from app.parsing.process import Recognise, Unrecognised
from app.parsing.types import Picture, RecognisedLine
from app.recognition import process
from app.recognition import store as recognised_pictures
from app.recognition.process import Recogniser, RecognitionFailed, RecognitionLimits
from app.services import Services
from app.settings import Settings, usable_cores

log = logging.getLogger(__name__)
MOST_THREADS = 4
"""Threads beyond which recognising a page hardly gets faster."""
NONCE_BYTES = 12
FAILED = (
    "A page or picture could not be recognised within the limits of memory and time: save it in a lower resolution."
)


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


def recogniser(user_id: str, services: Services) -> Recognise | None:
    """What recognises the pictures of a user's files; None without OCR."""
    opened = services.opened(Recogniser)
    # Also for a caller who does not see all documents: a row is no document, and tells nothing without its picture.
    return None if opened is None else partial(_lines, user_id, services.db.whole, opened)


async def _lines(user_id: str, db: Database, recogniser: Recogniser, picture: Picture) -> Sequence[RecognisedLine]:
    """The lines on a picture, kept ones or new ones, also where the database fails. Raises Unrecognised."""
    key = await offload.run(len(picture.pixels), PictureKey, picture)
    try:
        async with db.writing(user_id) as writing:
            kept = await recognised_pictures.use(writing, key.row)
        if kept is not None:
            return key.decrypted(kept)
    except (errors.StepwellError, InvalidTag, ValueError, zlib.error) as error:
        log.warning("recognised lines are not read: %s", type(error).__name__, extra={"action": "picture_lines"})

    try:
        lines = await recogniser.lines(picture, user_id)
    except RecognitionFailed as error:
        raise Unrecognised(FAILED) from error

    try:
        async with db.writing(user_id) as writing:
            await recognised_pictures.add(writing, key.row, key.encrypted(lines))
    except errors.StepwellError as error:
        log.warning("recognised lines are not kept: %s", error.code, extra={"action": "picture_lines"})
    return lines


class PictureKey:
    """The key of a picture's row and the key of its encryption. Neither can be computed from the other."""

    def __init__(self, picture: Picture) -> None:
        digest = hashlib.sha512(f"{process.VERSION}\n{picture.width}\n".encode() + picture.pixels).digest()
        self.row = UUID(bytes=digest[:16])
        self._cipher = AESGCM(digest[32:])

    def encrypted(self, lines: Sequence[RecognisedLine]) -> bytes:
        """Lines as they are kept."""
        nonce = os.urandom(NONCE_BYTES)
        plain = zlib.compress(json.dumps([astuple(line) for line in lines]).encode())
        return nonce + self._cipher.encrypt(nonce, plain, None)

    def decrypted(self, kept: bytes) -> list[RecognisedLine]:
        """Kept lines. Raises InvalidTag, ValueError."""
        plain = self._cipher.decrypt(kept[:NONCE_BYTES], kept[NONCE_BYTES:], None)
        return [process.as_line(*one) for one in json.loads(zlib.decompress(plain))]
