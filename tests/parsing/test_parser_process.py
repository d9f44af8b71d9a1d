"""Files are parsed in a process of their own, whose limits a hostile file cannot exceed."""

import asyncio
import os
import resource
import sys
from collections.abc import AsyncIterator
from dataclasses import replace

import child_processes
import made_files
import psutil
import pytest

from app.concurrency import limited_process
from app.errors import UnreadableFile
from app.parsing import formats
from app.parsing.process import ParseLimits, Parser, ParseShare
from app.parsing.types import ExtractedDocument

LIMITS = ParseLimits(memory_bytes=512_000_000, cpu_s=1, wall_s=30.0)
NOTE = made_files.pdf([["Lime mortar."]])
SLOW = made_files.pdf_of_streams(b"BT /F1 12 Tf 50 700 Td (Lime.) Tj ET " * 500, pages=5_000, filters="[]")


@pytest.fixture
async def parser() -> AsyncIterator[Parser]:
    async with Parser(LIMITS) as started:
        yield started


async def _read(parser: Parser, raw: bytes, name: str = "") -> list[ExtractedDocument]:
    return [document async for document in parser.documents(raw, formats.sniff(raw, name), name=name)]


async def _refused(parser: Parser, raw: bytes) -> str:
    with pytest.raises(UnreadableFile) as refused:
        await _read(parser, raw)
    return refused.value.code


def _children() -> list[psutil.Process]:
    return child_processes.running("app.parsing.worker")


async def test_one_process_reads_one_file_after_the_other_and_ends_with_the_parser() -> None:
    async with Parser(LIMITS) as parser:
        assert [document.text for document in await _read(parser, NOTE)] == ["Lime mortar."]
        (process,) = _children()
        assert await _refused(parser, made_files.image_only_pdf()) == "no_text"
        assert [document.text for document in await _read(parser, NOTE)] == ["Lime mortar."]
        assert _children() == [process]
    assert _children() == []


@pytest.mark.parametrize("megabytes", [50, 2_000])
async def test_a_decompression_bomb_is_refused_without_memory_of_the_service(parser: Parser, megabytes: int) -> None:
    raw = made_files.pdf_of_streams(made_files.flate_bomb(megabytes))
    before = psutil.Process().memory_info().rss
    assert await _refused(parser, raw) in ("parse_limit", "no_text")
    assert psutil.Process().memory_info().rss - before < 50_000_000
    assert [document.text for document in await _read(parser, NOTE)] == ["Lime mortar."]


async def test_a_library_that_ends_the_process_does_not_end_more(parser: Parser) -> None:
    """A record of this spreadsheet claims a size of hundreds of gigabytes, for which its library aborts."""
    raw = bytearray(made_files.OLD_SHEETS)
    raw[1_579] = 127
    assert await _refused(parser, bytes(raw)) == "parse_limit"
    assert [document.text for document in await _read(parser, NOTE)] == ["Lime mortar."]


async def test_a_file_that_takes_too_much_processor_time_is_refused(parser: Parser) -> None:
    assert await _refused(parser, SLOW) == "parse_limit"
    assert [document.text for document in await _read(parser, NOTE)] == ["Lime mortar."]


async def test_a_file_is_read_where_the_system_allows_less(parser: Parser) -> None:
    await _read(parser, NOTE)
    (process,) = _children()
    hard = {psutil.RLIMIT_AS: 400_000_000, psutil.RLIMIT_CPU: 60}
    for kind, most in hard.items():
        process.rlimit(kind, (most, most))
    assert [document.text for document in await _read(parser, NOTE)] == ["Lime mortar."]
    assert process.rlimit(psutil.RLIMIT_AS) == (400_000_000, 400_000_000)
    assert process.rlimit(psutil.RLIMIT_CPU)[0] < hard[psutil.RLIMIT_CPU]


async def test_the_memory_for_a_sheet_does_not_grow_with_its_elements() -> None:
    row = "<table:table-row><table:table-cell {}</table:table-cell></table:table-row>".format
    port, lindau = (row(f'office:value-type="string"><text:p>{text}</text:p>') for text in ("port", "Lindau"))
    rows = f"{port}{row('>' + '<text:p/>' * 10_000) * 90}{lindau}"
    body = f'<office:spreadsheet><table:table table:name="A">{rows}</table:table></office:spreadsheet>'
    async with Parser(replace(LIMITS, memory_bytes=140_000_000, cpu_s=30)) as parser:
        (document,) = await _read(parser, made_files.opendocument(body, kind="spreadsheet"), "a.ods")
    assert document.text == "port: Lindau"


def test_memory_is_not_limited_on_macos_which_refuses_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    monkeypatch.setattr(sys, "platform", "darwin")
    limited_process.limit(memory=1 << 46)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


async def test_the_files_of_a_request_share_its_time() -> None:
    share = ParseShare(seconds=1.0)
    async with Parser(replace(LIMITS, cpu_s=60), share) as parser:
        for _ in range(100):
            with pytest.raises(UnreadableFile, match="took 1 seconds, which is its limit: send the remaining files"):
                await _read(parser, SLOW)
        assert not _children()
    assert share.used_s < 2.0


async def test_a_process_that_does_not_respond_is_ended() -> None:
    share = ParseShare()
    async with Parser(LIMITS, share) as parser:
        await _read(parser, NOTE)
        (process,) = _children()
        process.suspend()
        async with Parser(replace(LIMITS, wall_s=0.2)) as impatient:
            assert await _refused(impatient, SLOW) == "parse_limit"
        assert _children() == [process]
        share.seconds = share.used_s + 0.2
        assert await _refused(parser, NOTE) == "parse_limit"
        assert _children() == []
        share.seconds = 30.0
        assert [document.text for document in await _read(parser, NOTE)] == ["Lime mortar."]


async def test_a_process_that_cannot_be_started_is_no_fault_of_the_file(parser, monkeypatch) -> None:
    monkeypatch.setattr(parser._process, "_program", ("/nonexistent",))
    with pytest.raises(FileNotFoundError):
        await _read(parser, NOTE)


async def test_more_text_than_allowed_is_refused() -> None:
    async with Parser(replace(LIMITS, text_bytes=10_000)) as parser:
        assert await _refused(parser, made_files.pdf([["Lime mortar. " * 5] * 50] * 5)) == "parse_limit"


async def test_a_record_that_only_the_process_can_decode_is_refused(parser: Parser) -> None:
    """The service decodes what the process writes with less of the stack left: many functions have called it."""
    levels = sys.getrecursionlimit() - 30
    raw = b'[{"text": "Lime", "a": %s%s}]' % (b"[" * levels, b"]" * levels)
    with pytest.raises(UnreadableFile, match="save it in a simpler form"):
        [document async for document in parser.documents(raw, formats.JSON_LIST)]


async def test_a_cancelled_reading_leaves_no_process() -> None:
    async with Parser(LIMITS) as parser:
        await _read(parser, NOTE)
        reading = asyncio.ensure_future(_read(parser, SLOW))
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    assert _children() == []


async def test_the_process_inherits_no_keys_and_no_files(parser: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPWELL_EMBEDDER_API_KEY", "secret")
    inheritable = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(inheritable, True)
    try:
        await _read(parser, NOTE)
        (process,) = _children()
        assert process.nice() > psutil.Process().nice()
        assert not any("STEPWELL" in name for name in process.environ())
        assert [file for file in process.open_files() if "/libffi.so" not in file.path] == []  # it may map itself
        assert process.net_connections() == []
        assert process.num_fds() <= 6
    finally:
        os.close(inheritable)
