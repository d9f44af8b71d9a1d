"""Reads transcripts and subtitles in WebVTT and SubRip (SRT): paragraphs that begin with their time and speaker."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.errors import UnreadableFile
from app.parsing.types import ExtractedDocument, InputFile, LeftOut
from app.text.structure import conversations
from app.text.words import characters

MOST_REPEATED = 10
"""Most lines of a cue that are compared with the end of the previous one; subtitles show two or three."""
PARAGRAPH_S, LONGEST_S = 30.0, 60.0
"""After the first number of seconds a paragraph ends with its next sentence; after the second, in any case."""
_TIMES = re.compile(r"\s*(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?\s*-->\s*[\d:.,]+")
_SPEAKER = re.compile(r"<v(?:\.[^<>\s]*+)?\s++([^<>]*+)>")
_TAGS = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
_NOTE = re.compile(r"^NOTE\b(.*(?:\n.+)*)", re.M)
_SENTENCE_ENDS = (".", "!", "?", "…", '"', "”", "»", *characters.FULL_STOPS)


@dataclass(slots=True)
class Cue:
    """The lines that are said from a second on, and the speaker if marked."""

    start_s: float
    lines: list[str]
    speaker: str = ""


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The transcript, with the title of a WebVTT header. Raises UnreadableFile if no line has times."""
    lines = file.raw.decode().removeprefix("\ufeff").splitlines()
    is_vtt = bool(lines) and lines[0].startswith("WEBVTT")
    cues = [one for cue in _cues(lines, is_vtt=is_vtt) for one in _plain(cue)]
    if not cues:
        raise UnreadableFile("damaged", "The transcript has no line with times, such as 00:01:05.000 --> 00:01:07.000.")
    repeated: list[str] = []
    text = "\n\n".join(_paragraphs(_without_repetitions(cues, repeated)))
    if not text:
        raise UnreadableFile("no_text", "The transcript contains no text.")
    title = lines[0].removeprefix("WEBVTT").strip(" \t-") if is_vtt else ""
    left_out = [LeftOut("lines that are shown again as they scroll", "\n".join(repeated))] if repeated else []
    notes = "\n\n".join(_NOTE.findall("\n".join(lines))) if is_vtt else ""
    left_out += [LeftOut("notes", notes)] if notes else []
    yield ExtractedDocument(text, title=title, markdown=False, left_out=tuple(left_out))


def content(raw: bytes) -> Iterator[tuple[str, str]]:
    """The lines that are neither times nor the names of cues nor styles, without tags."""
    text = "\n".join(raw.decode().removeprefix("\ufeff").splitlines())
    text = re.sub(
        r"(?:^.*\n)?^.*-->.*$|\A.*\n(?:.+\n)*(?=\n)|^(?:STYLE|REGION)\n(?:.+\n)*|^NOTE\b", "\n", text, flags=re.M
    )
    yield "", html.unescape(_TAGS.sub("", text))


def _cues(lines: Sequence[str], *, is_vtt: bool) -> Iterator[Cue]:
    """The cues. Omits text outside of cues, such as comments, styles and numbers.

    An empty line ends a cue of WebVTT; a line with a space does not. In SubRip a cue may contain blank lines; the
    number of the next cue ends it.
    """
    cue: Cue | None = None
    for line in lines:
        if (times := _TIMES.match(line)) is not None:
            if cue is not None:
                if not is_vtt and cue.lines and cue.lines[-1].isdecimal():
                    cue.lines.pop()
                yield cue
            hours, minutes, seconds, fraction = (int(part or 0) for part in times.groups())
            cue = Cue(3_600 * hours + 60 * minutes + seconds + fraction / 1_000, [])
        elif cue is not None and (line or not is_vtt):
            cue.lines.append(line.strip())
        elif cue is not None:
            yield cue
            cue = None
    if cue is not None:
        yield cue


def _plain(cue: Cue) -> Iterator[Cue]:
    """Removes the markup of a cue, and divides it by the speakers in its voice tags."""
    first, *voices = _SPEAKER.split("\n".join(cue.lines))
    for speaker, text in [("", first), *zip(voices[::2], voices[1::2], strict=True)]:
        lines = [" ".join(html.unescape(_TAGS.sub("", line)).split()) for line in text.split("\n")]
        if any(lines) or not (voices or speaker):
            yield Cue(cue.start_s, list(filter(None, lines)), html.unescape(speaker).strip())


def _without_repetitions(cues: Sequence[Cue], repeated: list[str]) -> Iterator[Cue]:
    """Removes the lines at the beginning of a cue that end the previous cue, as in scrolling subtitles."""
    shown: list[str] = []
    for cue in cues:
        most = min(len(cue.lines), MOST_REPEATED)
        count = next((n for n in range(most, 0, -1) if shown[-n:] == cue.lines[:n]), 0)
        shown = cue.lines
        repeated += cue.lines[:count]
        if len(cue.lines) > count:
            yield Cue(cue.start_s, cue.lines[count:], cue.speaker)


def _paragraphs(cues: Iterator[Cue]) -> Iterator[str]:
    """Paragraphs of about half a minute, each with its start time and a line for each speaker."""
    began, parts = 0.0, list[str]()
    speaker = ""
    for cue in cues:
        length = cue.start_s - began
        ended = bool(parts) and parts[-1].endswith(_SENTENCE_ENDS)
        if parts and (length >= LONGEST_S or (length >= PARAGRAPH_S and ended) or length < 0):
            yield _paragraph(began, parts)
            parts = []
        if not parts:
            began, speaker = cue.start_s, ""
        text = " ".join(cue.lines)
        begins_turn = conversations.begins_turn(text)
        if cue.speaker and cue.speaker != speaker:
            speaker, begins_turn = cue.speaker, True
            text = f"{speaker}: {text}"
        parts.append(f"\n{text}" if parts and begins_turn else text)
    if parts:
        yield _paragraph(began, parts)


def _paragraph(start_s: float, parts: Sequence[str]) -> str:
    minutes, seconds = divmod(int(start_s), 60)
    text = " ".join(parts).replace(" \n", "\n")
    return f"[{minutes // 60:02}:{minutes % 60:02}:{seconds:02}] {text}"
