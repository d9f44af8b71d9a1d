"""Attacks with files that take long to read."""

from __future__ import annotations

import asyncio
import io
import signal
import time
import zipfile
from collections.abc import Mapping

import httpx
import psutil

from benchmarks.attacks.target import DOCUMENTS, Target, milliseconds, note, timed
from benchmarks.service import Service

WRITES = 12
WRITE_LIMIT_S = 15.0
ALL_WRITES_LIMIT_S = 25.0
ANSWER_LIMIT_S = 90.0
"""Seconds that the attacker waits, whose files take long together; others do not wait for them."""
FROM = b"From a@b.c Fri Jul  8 12:08:34 2011\n"
OPTIONS = ".. code::\n" + "   :a:\n" * 900_000 + "   x\n"
SLOW_FILES = {
    "groups.rtf": b"{\\rtf1 " + b"{a}" * 1_000_000 + b"}",
    "characters.rtf": b"{\\rtf1 " + b"\\u1234?" * 500_000 + b"}",
    "nested.ipynb": b"[" * 3_000_000,
    "pictures.ipynb": b'{"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "%s"}]}'
    % (b"![](data:" * 300_000),
    "tags.vtt": b"WEBVTT\n\n00:01.000 --> 00:02.000\n" + b"<v " * 1_000_000,
    "cues.srt": b"1\n00:00:01,000 --> 00:00:02,000\na\n\n" * 80_000,
    "messages.mbox": FROM + (b"Subject: a\n\n" + FROM) * 60_000,
    "headers.mbox": FROM + b"Subject: a\nTo: " + b'"a" ' * 700_000 + b"\n\na",
    "contents.mbox": (FROM + b"Subject: a\nContent-Type: text/plain;" + b" ;" * 16_000 + b"\n\na\n\n") * 90,
    "definitions.py": b"".join(b" " * (number % 40) + b"def a(b):\n" for number in range(100_000)),
    "fields.csv": b",".join(b"c%d" % number for number in range(1_000)) + b"\n" + (b"abc," * 1_000 + b"\n") * 750,
    "compound.xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(22) + b"\t" + bytes(3_000_000),
}
"""Files of about 3 MB that are cheap to send, by name."""
CHAPTERS = 3_000
COLUMNS = 100_000
FILES_OF_ARCHIVE = 990


async def dropped_conversions(target: Target) -> str:
    """Sends two texts of options and leaves after three seconds; measures another user's writes, and the exit."""
    async with target.serving() as service, target.client(service, "ben", WRITE_LIMIT_S) as other:
        alone = await _writes(other, "alone")
        async with target.client(service, "ana", 3.0) as client:
            files = {"files": ("a.rst", OPTIONS.encode())}
            sent = [asyncio.create_task(timed(client, "POST", DOCUMENTS, files=files)) for _ in range(2)]
            await asyncio.sleep(1.0)
            beside = await _writes(other, "beside")
            await asyncio.gather(*sent)
        took = await service.stop(signal.SIGTERM, timeout_s=30.0)
    return f"other writes {beside} ({alone} alone), ended in {f'{took:.1f} s' if took < 30 else 'more than 30 s'}"


async def books(target: Target) -> str:
    """Sends a form of small books; measures the CPU time and the answer."""
    return await form(target, {f"{number}.epub": _book(number) for number in range(100)})


async def columns(target: Target) -> str:
    """Sends forms of wide tables; measures the CPU time, the answer and another user's writes."""
    header = ",".join(f"c{number}" for number in range(COLUMNS))
    return await form(target, {f"{number}.csv": f"{header}\n{number}\n".encode() for number in range(20)}, forms=2)


async def documents(target: Target) -> str:
    """Sends a form of files of other formats, each made to take long; measures the CPU time and the answer."""
    texts = {"text": "<text:p>a<text:span>b</text:span></text:p>", "presentation": '<draw:page draw:name="a"/>'}
    made = {f"{kind}.odf": _opendocument(kind, element) for kind, element in texts.items()}
    return await form(target, {**SLOW_FILES, **made})


async def archives(target: Target) -> str:
    """Sends archives of many small files; measures the CPU time and the answer."""
    return await form(target, {f"{number}.zip": _archive(number) for number in range(20)})


async def form(target: Target, files: Mapping[str, bytes], *, forms: int = 1) -> str:
    """Sends files; returns the answers, their time, the CPU time and how long another user's writes take."""
    async with (
        target.serving() as service,
        target.client(service, "ana", ANSWER_LIMIT_S) as client,
        target.client(service, "ben", WRITE_LIMIT_S) as other,
    ):
        parts = [("files", (name, raw)) for name, raw in files.items()]
        alone, before = await _writes(other, "alone"), _cpu_s(service)
        began = time.monotonic()
        sent = [asyncio.create_task(timed(client, "POST", DOCUMENTS, files=parts)) for _ in range(forms)]
        await asyncio.sleep(1.0)
        beside = await _writes(other, "beside")
        answers = {(await one).outcome for one in sent}
        used = _cpu_s(service) - before
    took = time.monotonic() - began
    return f"{', '.join(sorted(answers))} in {took:.1f} s, {used:.1f} s of CPU, other writes {beside} ({alone} alone)"


async def _writes(client: httpx.AsyncClient, name: str) -> str:
    """Stores documents of 32 kB one after the other; returns the second longest time, about the 95th percentile."""
    seconds: list[float] = []
    deadline = time.monotonic() + ALL_WRITES_LIMIT_S
    while len(seconds) < WRITES and time.monotonic() < deadline:
        content = f"{name} {len(seconds)}. {note(len(seconds))}" * 160
        response = await timed(client, "POST", DOCUMENTS, json={"content": content, "uri": f"{name}{len(seconds)}"})
        if not response.ok:
            return response.outcome
        seconds.append(response.seconds)
    return milliseconds(sorted(seconds)[-2:][0])


def _cpu_s(service: Service) -> float:
    """The CPU time of the service and of the processes that it has started, those that have ended included."""
    found = [psutil.Process(service.process.pid), *psutil.Process(service.process.pid).children(recursive=True)]
    return sum(sum(one.cpu_times()[:4]) for one in found if "postgres" not in one.name())


def _opendocument(kind: str, element: str) -> bytes:
    """A text or presentation in OpenDocument format of 3 MB of one element."""
    names = "".join(f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text"))
    names += ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
    body = f"<office:{kind}>{element * (3_000_000 // len(element))}</office:{kind}>"
    content = f"<office:document-content{names}><office:body>{body}</office:body></office:document-content>"
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}", zipfile.ZIP_STORED)
        made.writestr("content.xml", content)
    return target.getvalue()


def _archive(number: int) -> bytes:
    """An archive of small tables, which have more rows together than a file of a form may have documents."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for place in range(FILES_OF_ARCHIVE):
            made.writestr(f"{number}/{place}.csv", "a\n" + f"{number} {place}\n" * 2)
    return target.getvalue()


def _book(number: int) -> bytes:
    """An EPUB whose spine names its only chapter again and again."""
    spine = '<itemref idref="c"/>' * CHAPTERS
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><manifest><item id="c" href="c.xhtml"/></manifest>'
        f"<spine>{spine}</spine></package>"
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="content.opf"/></rootfiles></container>'
    )
    chapter = f"<html><body><p>Chapter {number} on lime. {'<b>a</b>' * 500}</p></body></html>"
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for name, content in (
            ("mimetype", "application/epub+zip"),
            ("META-INF/container.xml", container),
            ("content.opf", package),
            ("c.xhtml", chapter),
        ):
            made.writestr(name, content)
    return target.getvalue()
