"""Pictures are recognised by a process of its own, which is replaced when it fails and shared by the users."""

import asyncio
import sys
from pathlib import Path

import child_processes
import psutil
import pytest
from rapidfuzz.distance import Levenshtein

from app.parsing.types import Picture
from app.recognition import process
from app.recognition.process import Recogniser, RecognitionFailed, RecognitionLimits
from benchmarks.attacks import pages

STAND_IN = Path(__file__).with_name("stand_in.py")


def _picture(width: int) -> Picture:
    return Picture(width, 5, bytes(width * 5))


def _recogniser(folder: Path, **limits: float) -> Recogniser:
    program = (sys.executable, str(STAND_IN), str(folder / "first"))
    return Recogniser(RecognitionLimits(**limits), program=program)


async def _process_of(recogniser: Recogniser) -> str:
    """Names the process that answers."""
    ((line),) = await recogniser.lines(_picture(9), "ana")
    return line.text


def _children() -> list[psutil.Process]:
    return child_processes.running(str(STAND_IN))


async def test_a_process_that_ends_is_replaced_and_a_picture_that_ends_two_is_refused(tmp_path: Path) -> None:
    async with _recogniser(tmp_path) as recogniser:
        assert (await recogniser.lines(_picture(3), "ana"))[0].text.startswith("3 × 5")
        with pytest.raises(RecognitionFailed):
            await recogniser.lines(_picture(1), "ana")
        first = await _process_of(recogniser)
        assert await _process_of(recogniser) == first, "one process recognises one picture after the other"
        _children()[0].kill()
        assert await _process_of(recogniser) != first
    assert _children() == []


async def test_a_picture_that_takes_too_long_or_whose_caller_is_cancelled_ends_the_process(tmp_path: Path) -> None:
    async with _recogniser(tmp_path, picture_s=0.5) as recogniser:
        with pytest.raises(RecognitionFailed):
            await recogniser.lines(_picture(2), "ana")
        assert _children() == []
    async with _recogniser(tmp_path) as recogniser:
        first = await _process_of(recogniser)
        endless = asyncio.create_task(recogniser.lines(_picture(2), "ana"))
        waiting = [asyncio.create_task(recogniser.lines(_picture(4), "ana")) for _ in range(2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        endless.cancel()
        assert (await waiting[1])[0].text.startswith("4 × 5")
        assert await _process_of(recogniser) != first


async def test_users_are_served_in_turn_and_an_idle_process_ends(tmp_path: Path) -> None:
    done: list[str] = []

    async def recognise(recogniser: Recogniser, user: str) -> None:
        await recogniser.lines(_picture(9), user)
        done.append(user)

    async with _recogniser(tmp_path, idle_s=0.01) as recogniser:
        await asyncio.gather(*(recognise(recogniser, user) for user in ("ana", "ana", "ana", "ana", "bob")))
        assert done.index("bob") <= 2
        (child,) = _children()
        async with asyncio.timeout(10):
            while psutil.pid_exists(child.pid):  # noqa: ASYNC110 - waiting would take its status
                await asyncio.sleep(0.01)


@pytest.mark.skipif(not process.is_installed(), reason='needs the extra: pip install ".[ocr]"')
async def test_text_is_recognised_with_its_place_also_skewed_sideways_and_upside_down() -> None:
    page = pages.clean(1)[0]
    part = page.picture.crop((160, 150, 1500, 330))
    wanted = page.text[:200]
    async with Recogniser() as recogniser:
        for turn in (2, 90, 180, 270):
            turned = part.rotate(turn, expand=True, fillcolor=255)
            lines = await recogniser.lines(Picture(turned.width, turned.height, turned.tobytes()), "ana")
            found = " ".join(line.text for line in sorted(lines, key=lambda line: line.corners[1]))
            assert Levenshtein.normalized_distance(found[:200], wanted) < 0.03
            assert all(0 <= x <= max(turned.size) for line in lines for x in line.corners[::2])
        label = part.crop((0, 0, part.width, 80)).rotate(90, expand=True, fillcolor=255)
        lines = await recogniser.lines(Picture(label.width, label.height, label.tobytes()), "ana")
        assert lines
        assert all(x <= label.width for line in lines for x in line.corners[::2])  # not turned
        white = Picture(part.width, part.height, b"\xff" * part.width * part.height)
        assert await recogniser.lines(white, "ana") == []
