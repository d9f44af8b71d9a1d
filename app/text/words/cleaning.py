"""Decodes bytes, repairs text that was decoded wrongly before, and removes invisible characters and artefacts."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from app.concurrency import interruption
from app.errors import BadRequest
from app.text.words import characters

VERSION = 2
"""Version of the rules of cleaning and cutting; a reindex applies them to documents with another one.

2: mojibake is repaired, chunks are measured by the tokens of the embedding model.
"""
MAX_MARKS = 30  # length of a run of combining marks, as in Unicode's stream-safe text format (UAX #15)
PIECE = 100_000
"""Code points that are cleaned at once, because a substitution holds the interpreter lock."""
REPAIRED = 20_000
"""Code points of a longer line that are repaired at once."""
LAYERS, ROUNDS = 8, 4
"""Wrong decodings one over the other that are undone, and how often that is repeated after something was removed. What
then still changes is no mojibake, and stays as it is."""
MOJIBAKE = 8
"""Code points beside others than ASCII in which mojibake is looked for; ftfy's longest pattern has seven."""
_SAMPLE = 65_536
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
FOREIGN = 0.4
"""Share of letters beyond ASCII from which a text without a Unicode encoding is in another script than Latin."""
_OTHER_SCRIPTS = (
    *("cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "cp874"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949"),
)
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_LINE_BREAK = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_VISIBLE = re.compile(f"[^{characters.BLANK}]")
_CONTROL = re.compile(f"[{characters.CONTROL}]+")
_SURROGATE = re.compile(f"[{characters.SURROGATE}]+")
_INVISIBLE = re.compile(f"[{characters.INVISIBLE}]+")
_STRAY_JOINER = re.compile(
    rf"\ufe0f(?<![{characters.EMOJI}]\ufe0f)(?!\u20e3)"
    rf"|[\u200c\u200d](?:(?![{characters.EMOJI}{characters.JOINED_SCRIPTS}])"
    rf"|(?<![{characters.EMOJI}{characters.JOINED_SCRIPTS}][\u200c\u200d])(?<![{characters.EMOJI}]\ufe0f\u200d))"
)
_HIGH_RUN = re.compile(f"[\u0300-\U0010ffff]{{{MAX_MARKS + 1}}}")  # much cheaper to rule out than a run of marks
_MARKS = re.compile(f"([{characters.REORDERED_MARK}]{{{MAX_MARKS}}})[{characters.REORDERED_MARK}]++")
_LIGATURE = re.compile("[\ufb00-\ufb06]")
_TRAILING_SPACE = re.compile(r"(?<![^\S\n])[^\S\n]++$", re.MULTILINE)
_NOT_ASCII = re.compile(r"[^\x00-\x7f](?:[\x00-\x7f]{0,16}[^\x00-\x7f])*+")
_BOUNDARY = re.compile(r"\n(?!\n)|[A-Za-z](?=[A-Za-z])")
_BLANK_LINES = re.compile(r"(?<!\n)\n{4,}+")
_REMOVED = (
    (_SURROGATE, "broken surrogates removed"),
    (_CONTROL, "control characters removed"),
    (_INVISIBLE, "invisible characters removed"),
)
_STRAY_NOTE, _MARKS_NOTE = "stray joiners removed", "long runs of combining marks shortened"
_REPAIR_NOTE = "characters that had been decoded in a wrong encoding repaired"
_NOTES = (*(note for _pattern, note in _REMOVED), _STRAY_NOTE, _MARKS_NOTE, _REPAIR_NOTE)
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_NOT_PROSE = re.compile(r"(?: {4}|\t| {0,3}(?:[-*+>|#]|\d{1,9}[.)]\s|```|~~~))")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded text, and warnings on guesses."""

    text: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A cleaned text, and warnings on what was removed."""

    text: str
    warnings: tuple[str, ...] = ()


def is_blank(text: str) -> bool:
    """Returns whether `text` consists of white space, control, zero-width and format characters only."""
    return not any(_VISIBLE.search(text, start, start + PIECE) for start in range(0, len(text), PIECE))


def is_text(head: bytes) -> bool:
    """Returns whether the first bytes of a file are those of a text that `decode` reads."""
    lead = next((place for place in range(1, min(4, len(head)) + 1) if head[-place] & 0xC0 != 0x80), 0)
    if lead and head[-lead] >= 0xC0:  # the bytes may end inside a character
        head = head[:-lead]
    try:
        decode(head)
    except BadRequest:
        return False
    return True


def decode(raw: bytes) -> Decoded:
    """Decodes bytes by their BOM, else as UTF-16 if zero bytes indicate it, else as UTF-8.

    Other bytes are decoded as Windows-1252, or as an encoding of another script if most letters are not ASCII.

    Raises BadRequest (field `content`) if the bytes are not text.
    """
    for bom, encoding in _BOMS:
        if raw.startswith(bom):
            return _by_bom(raw[len(bom) :], encoding)
    wide = _wide_encoding(raw[:_SAMPLE])
    if wide:
        return _replacing(raw, wide, f"read as {wide.upper()} without a byte order mark")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return _by_code_page(raw)
    if _control_share(text[:_SAMPLE]) > 0.34:
        raise _binary()
    return Decoded(text)


def _by_bom(body: bytes, encoding: str) -> Decoded:
    if encoding == "utf-8":
        return _replacing(body, encoding, None)
    return _replacing(body, encoding, f"read as {encoding.upper()}")


def _replacing(raw: bytes, encoding: str, note: str | None) -> Decoded:
    notes = (note,) if note else ()
    try:
        return Decoded(raw.decode(encoding), notes)
    except UnicodeDecodeError:
        return Decoded(raw.decode(encoding, "replace"), (*notes, "undecodable bytes were replaced"))


def _wide_encoding(sample: bytes) -> str | None:
    """Returns UTF-16 with its byte order if zero bytes (the high bytes of ASCII) occur on one side only."""
    half = len(sample) // 2
    if half < 2 or len(sample) % 2:
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd >= 0.25 * half and even <= 0.02 * half:
        return "utf-16-le"
    if even >= 0.25 * half and odd <= 0.02 * half:
        return "utf-16-be"
    return None


def _by_code_page(raw: bytes) -> Decoded:
    text = raw.decode("latin-1")
    if _control_share(re.sub("[\x80-\x9f]+", "", text[:_SAMPLE])) > 0.05:
        raise _binary()
    if _foreign_share(text[:_SAMPLE]) > FOREIGN and (encoding := _guessed(raw[:_SAMPLE])):
        return Decoded(raw.decode(encoding, "replace"), (f"not UTF-8: read as {encoding}",))
    try:
        return Decoded(raw.decode("cp1252"), ("not UTF-8: read as Windows-1252",))
    except UnicodeDecodeError:
        return Decoded(text, ("not UTF-8: read as Latin-1",))


def _foreign_share(sample: str) -> float:
    """Returns the share of letters beyond ASCII; it is low in the languages that are written in Windows-1252."""
    foreign = len(re.findall("[\x80-\xff]", sample))
    return foreign / max(1, foreign + len(re.findall("[A-Za-z]", sample)))


def _guessed(sample: bytes) -> str | None:
    """Returns the most probable encoding of a text in another script, None if no encoding fits."""
    from charset_normalizer import from_bytes  # takes a tenth of a second to import and first use, and is rarely needed

    found = from_bytes(sample, cp_isolation=list(_OTHER_SCRIPTS)).best()
    return found.encoding if found is not None else None


def _control_share(sample: str) -> float:
    return len(re.findall("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]", sample)) / max(1, len(sample))


def _binary() -> BadRequest:
    return BadRequest(
        "content is binary, not text: send plain text, Markdown or HTML, or upload PDF and DOCX files as such.",
        field="content",
    )


def clean(text: str) -> Cleaned:
    """Removes invisible characters and artefacts of scanners and editors, and repairs mojibake; idempotent.

    A wrong decoding of a line ("cafÃ©" for "café") is undone. Line ends become LF;
    NUL, controls, surrogates, BOM, bidi, zero-width and tag characters are removed (joiners remain inside emoji and
    in scripts that need them); ligatures are expanded; the text is NFC, and runs of combining marks are cut to 30;
    words hyphenated at a line end are joined in prose; spaces at line ends are removed; at most two blank lines
    remain in a row. Takes linear time.
    """
    if text.isascii() and text.isprintable():  # a line without anything to remove inside
        return Cleaned(text.rstrip())
    noted: list[str] = []
    while (cleaned := _repaired_and_cleaned(text, noted)) is None and (once := _once(text, noted)) != text:
        text = once
    found = text if cleaned is None else cleaned
    return Cleaned(found, tuple(note for note in _NOTES if note in noted))


def _repaired_and_cleaned(text: str, noted: list[str]) -> str | None:
    """Returns the text that neither repairing nor cleaning changes any more, None if there is none after ROUNDS."""
    before = _with_line_feeds(text)
    notes: list[str] = []
    cleaned = _once(_repaired(before, notes), notes)
    for _ in range(ROUNDS):
        # What was removed may have separated characters that are to be repaired.
        if cleaned == before or (repaired := _repaired(cleaned, notes)) == cleaned:
            noted += notes
            return cleaned
        before, cleaned = cleaned, _once(repaired, notes)
    return None


def _once(text: str, noted: list[str]) -> str:
    text = _with_line_feeds(text)
    cleaned = "".join([_cleaned(piece, noted) for piece in _pieces(text, _between_lines)])
    cleaned = _without_line_end_hyphens(cleaned)
    shortened = (_BLANK_LINES.sub("\n\n\n", piece) for piece in _pieces(cleaned, _between_lines))
    return "".join(shortened).strip("\n")


def _with_line_feeds(text: str) -> str:
    return "".join(_LINE_BREAK.sub("\n", piece) for piece in _pieces(text, _unbroken))


def _repaired(text: str, noted: list[str]) -> str:
    """Returns the text with the lines repaired that look as if UTF-8 had been decoded in a wrong encoding."""
    if text.isascii():
        return text
    from ftfy.badness import is_bad  # takes a while to import, and few texts need it

    def fixed(piece: str) -> str:
        # A piece that is not bad is not repaired. What is bad is some characters long, not all of them ASCII.
        found = _NOT_ASCII.finditer(piece)
        suspect = any(is_bad(piece[max(0, one.start() - MOJIBAKE) : one.end() + MOJIBAKE]) for one in found)
        return _decoded_again(piece) if suspect else piece

    lines = [
        line if line.isascii() else "".join(map(fixed, _pieces(line, _between_lines, REPAIRED)))
        for line in text.split("\n")
    ]
    repaired = "\n".join(lines)
    if repaired != text:
        noted.append(_REPAIR_NOTE)
    return repaired


def _decoded_again(piece: str) -> str:
    """Returns a piece as ftfy's `fix_encoding` does, unless that takes more than LAYERS steps: it has no limit."""
    from ftfy import TextFixerConfig, _fix_encoding_one_step_and_explain

    config, fixed = TextFixerConfig(), piece
    for _ in range(LAYERS + 1):
        before, fixed = fixed, _fix_encoding_one_step_and_explain(fixed, config).text
        if fixed == before:
            return fixed
    return piece


def _pieces(text: str, boundary: Callable[[str, int], int], size: int | None = None) -> Iterator[str]:
    """Yields the text in pieces of about `size` (PIECE) code points, so that no match or substitution takes long.

    `boundary` returns the next offset at which the text may be cut.
    """
    size = size or PIECE
    start = 0
    interruption.point()
    while len(text) - start > size:
        interruption.point()
        end = boundary(text, start + size)
        yield text[start:end]
        start = end
    yield text[start:]


def _unbroken(text: str, start: int) -> int:
    """Returns the first offset from `start` on that is not inside a line break of two characters."""
    return start + 1 if text[start - 1 : start + 1] == "\r\n" else start


def _between_lines(text: str, start: int) -> int:
    """Returns the first offset from `start` on after a run of line breaks or inside a word of ASCII letters."""
    found = _BOUNDARY.search(text, start)
    return found.end() if found else len(text)


def _cleaned(text: str, noted: list[str]) -> str:
    """Returns a piece without invisible characters, composed, and without white space at line ends."""
    joined = any(joiner in text for joiner in "\u200c\u200d\ufe0f")
    for pattern, note in _REMOVED:
        text = _without(pattern, text, note, noted)
    text = _composed(_LIGATURE.sub(lambda match: _LIGATURES[ord(match[0])], text), noted)
    if joined:
        # Composed before, because NFC turns some symbols into letters, and after: a joiner may separate what composes.
        text = _composed(_without(_STRAY_JOINER, text, _STRAY_NOTE, noted), noted)
    return _TRAILING_SPACE.sub("", text)


def _without(pattern: re.Pattern[str], text: str, what: str, warnings: list[str]) -> str:
    kept = pattern.sub("", text)
    if len(kept) < len(text):
        warnings.append(what)
    return kept


def _composed(text: str, warnings: list[str]) -> str:
    """Returns the text in NFC, with runs of combining marks cut before and after: composing can lengthen a run."""
    shorter = capped_marks(text)
    if len(shorter) < len(text):
        warnings.append(_MARKS_NOTE)
    composed = unicodedata.normalize("NFC", shorter)
    again = capped_marks(composed)
    return composed if again == composed else unicodedata.normalize("NFC", again)


def capped_marks(text: str) -> str:
    """Cuts each run of combining marks to 30: normalising a longer run takes quadratic time."""
    return _MARKS.sub(r"\1", text) if _HIGH_RUN.search(text) else text


def _without_line_end_hyphens(text: str) -> str:
    """Joins words hyphenated at a line end, outside code, lists, tables, quotes and headings."""
    if "-\n" not in text:
        return text
    kept: list[str] = []
    fenced = prose = joinable = False
    for line in text.split("\n"):
        if joinable and line[:1].islower():
            kept[-1] = kept[-1][:-1]
            kept.append(line)
        else:
            kept.append("\n" + line)
            fenced ^= _FENCE.match(line) is not None
            prose = not fenced and _NOT_PROSE.match(line) is None
        joinable = prose and line[-1:] == "-" and line[-2:-1].islower()
    return "".join(kept)[1:]
