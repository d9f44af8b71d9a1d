"""Attacks with pictures and scans, and with a recogniser that ends."""

from __future__ import annotations

import asyncio
import importlib.util
import io
import struct
import time
import zlib

import psutil
from PIL import Image, ImageDraw
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from benchmarks.attacks import pages, texts
from benchmarks.attacks.target import DOCUMENTS, Target, timed
from benchmarks.service import Service

PAGES = 1_000
FRAMES = 1_001
SCAN = "scan.pdf"
WORKER = "app.recognition.worker"
KILL_S = 60.0


async def bombs(target: Target) -> str:
    """Sends pictures that unpack to much or are damaged; measures the CPU time and the answer."""
    image = Image.new("RGB", (2_000, 2_000), "white")
    ImageDraw.Draw(image).rectangle((100, 100, 900, 200), fill="black")
    jpeg = _saved(image, "JPEG")
    files = {
        "size.png": _png(60_000, 60_000, b""),
        "deep.png": _png(9_990, 9_990, bytes(8 * 9_990 + 1) * 9_990),
        "frames.tif": _saved(
            image.resize((8, 8)), "TIFF", save_all=True, append_images=[Image.new("L", (8, 8))] * FRAMES
        ),
        "half.jpg": jpeg[: len(jpeg) // 2],
        "noise.jpg": jpeg[:600] + bytes(range(256)) * 4_000,
    }
    return await texts.form(target, files)


async def scan_of_one_picture(target: Target) -> str:
    """Sends a PDF of 1,000 pages that show one picture; measures the CPU time and the answer."""
    picture, raw = ImageReader(pages.clean(1)[0].picture), io.BytesIO()
    canvas = Canvas(raw)
    for _ in range(PAGES):
        canvas.drawImage(picture, 0, 0, 595, 842)
        canvas.showPage()
    canvas.save()
    return await texts.form(target, {SCAN: raw.getvalue()})


async def killed_recogniser(target: Target) -> str:
    """Kills the recogniser in the middle of a scan; reports the answer, and what is stored."""
    if importlib.util.find_spec("rapidocr") is None:
        return "n/a (without the extra ocr)"
    async with target.serving() as service, target.client(service, "ana", 2 * KILL_S) as client:
        raw = pages.pdf(pages.clean(3))
        sent = asyncio.create_task(timed(client, "POST", DOCUMENTS, files=[("files", (SCAN, raw))]))
        kills = await asyncio.to_thread(_kill, service)
        answer = await sent
        stored = (await client.get(DOCUMENTS, params={"uri": SCAN})).json()["documents"]
    chunks = stored[0]["chunk_count"] if stored else 0
    return f"{answer.outcome} after {kills} kill, {chunks} chunks stored"


def _kill(service: Service) -> int:
    """Kills the recogniser of a service once it computes; returns how often."""
    deadline = time.monotonic() + KILL_S
    while time.monotonic() < deadline:
        for child in psutil.Process(service.process.pid).children(recursive=True):
            if _computes(child):
                child.kill()
                return 1
        time.sleep(0.1)
    return 0


def _computes(child: psutil.Process) -> bool:
    """Whether a process is a recogniser that has computed for a while."""
    try:
        return WORKER in child.cmdline() and child.cpu_times().user > 3
    except psutil.Error:
        return False


def _saved(image: Image.Image, format: str, **options: object) -> bytes:
    target = io.BytesIO()
    image.save(target, format, **options)
    return target.getvalue()


def _png(width: int, height: int, rows: bytes) -> bytes:
    """A PNG of this size with four channels of 16 bits."""
    header = struct.pack(">IIBBBBB", width, height, 16, 6, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
