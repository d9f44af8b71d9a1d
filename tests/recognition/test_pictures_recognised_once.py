"""The lines of a picture are kept, so that it is recognised once. Only someone who has the picture can read them."""

import asyncio
import contextlib
import dataclasses
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import pytest
import sqlalchemy as sa
from harness import Tenant, new_user
from PIL import Image, ImageDraw

from app.database import filters
from app.database.filter_types import Filters
from app.database.transactions import Database
from app.documents import operations as documents
from app.documents.files import file_reading
from app.documents.files.file_reading import NamedFile, ParseLimits
from app.documents.storing import ingest
from app.documents.types import Upload
from app.errors import UnreadableFile
from app.parsing.types import Picture, RecognisedLine
from app.recognition import recognition as picture_lines
from app.recognition import store
from app.recognition.process import Recogniser, RecognitionFailed
from app.services import Services


@dataclasses.dataclass(slots=True)
class Lines:
    """Stands for the process that recognises: counts the pictures, and fails with the one of this number."""

    fails_at: int = 0
    count: int = 0

    async def lines(self, picture: Picture, user_id: str) -> list[RecognisedLine]:
        self.count += 1
        if self.count == self.fails_at:
            raise RecognitionFailed
        ink = picture.pixels.count(0)
        return [RecognisedLine(f"The mason mixes {ink} buckets.", 0.9, (10, 10, 300, 10, 300, 40, 10, 40))]


def _services(tenant: Tenant, lines: Lines) -> Services:
    return tenant.services(states={Recogniser: lines})


def _scan(pages: int) -> bytes:
    images = [Image.new("L", (600, 300), 255) for _ in range(pages)]
    for number, image in enumerate(images):
        ImageDraw.Draw(image).rectangle((50, 50, 100 + number, 100), fill=0)
    target = io.BytesIO()
    images[0].save(target, "TIFF", save_all=True, append_images=images[1:])
    return target.getvalue()


@contextlib.asynccontextmanager
async def _opened(user_id: str, services: Services) -> AsyncIterator[Callable[[bytes], Awaitable[list[Any]]]]:
    """Reads the scans of a user, all in one process."""
    recognise = picture_lines.recogniser(user_id, services)
    async with file_reading.opened(ParseLimits(), recognise=recognise) as reader:

        async def read(raw: bytes) -> list[Any]:
            return [one async for one in reader.uploads(NamedFile(raw, "scan.tif", uri="scan.tif"))]

        yield read


async def _kept(database: Database, user_id: str) -> list[bytes]:
    async with database.reading(user_id) as reading:
        return [lines for (lines,) in await reading.execute(sa.select(store.recognised_pictures.c.lines))]


async def test_a_page_is_recognised_once_for_its_user_and_a_hit_names_it(database, tenant, monkeypatch) -> None:
    lines = Lines()
    services = _services(tenant, lines)
    async with _opened(tenant.user_id, services) as read:
        (upload,) = await read(_scan(3))
        assert lines.count == 3
        stored = await ingest.store_one(cast("Upload", upload), tenant.user_id, services)
        chunks = await documents.chunks(stored.document_id, tenant.user_id, db=tenant.db, limit=10, offset=0)
        assert [chunk.page for chunk in chunks] == [2], "three pages make one passage"
        assert next(one.content for one in await read(_scan(4))).count("buckets") == 4
        assert lines.count == 4, "the pages that were recognised before are kept"
        async with _opened(new_user(), services) as read_others:
            await read_others(_scan(1))
        assert lines.count == 5, "each user has pictures of his own"
        await documents.delete(stored.document_id, tenant.user_id, db=tenant.db)
        kept = await _kept(database, tenant.user_id)
        assert len(kept) == 4
        assert not any(b"mason" in one for one in kept), "the text of a deleted document is not readable"
        monkeypatch.setattr(store, "MOST", 2)
        await read(_scan(5))
        assert len(await _kept(database, tenant.user_id)) == 2


async def test_a_key_with_filters_recognises_a_page_once_too(tenant: Tenant, caplog: pytest.LogCaptureFixture) -> None:
    lines = Lines()
    services = _services(tenant, lines).restricted(filters.restriction(Filters(metadata={"team": "tide"})))
    async with _opened(tenant.user_id, services) as read:
        for pages in (3, 4):
            await read(_scan(pages))
    assert lines.count == 4
    assert caplog.records == []


async def test_pages_before_one_that_fails_are_kept_and_nothing_is_stored(database: Database, tenant: Tenant) -> None:
    lines = Lines(fails_at=3)
    services = _services(tenant, lines)
    async with _opened(tenant.user_id, services) as read:
        with pytest.raises(UnreadableFile, match="could not be recognised"):
            await read(_scan(4))
        assert await documents.page(tenant.user_id, db=tenant.db, limit=10, after=None) == []
        (upload,) = await read(_scan(4))
    assert (upload.content.count("buckets"), lines.count) == (4, 5)


@dataclasses.dataclass(slots=True)
class Hanging(Lines):
    """Recognises the first page, and is busy with the second one until it is cancelled."""

    reached: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)
    is_cancelled: bool = False

    async def lines(self, picture: Picture, user_id: str) -> list[RecognisedLine]:
        if self.count == 1 and not self.is_cancelled:
            self.reached.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.is_cancelled = True
        return await Lines.lines(self, picture, user_id)


async def test_reading_a_scan_that_is_cancelled_stops_and_the_next_one_continues_with_the_pages(tenant: Tenant) -> None:
    hanging = Hanging()
    async with _opened(tenant.user_id, _services(tenant, hanging)) as read:
        reading = asyncio.create_task(read(_scan(3)))
        await hanging.reached.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    assert hanging.is_cancelled
    lines = Lines()
    async with _opened(tenant.user_id, _services(tenant, lines)) as read:
        (upload,) = await read(_scan(3))
    assert (upload.content.count("buckets"), lines.count) == (3, 2)
