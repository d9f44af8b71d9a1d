"""Decodes the bytes of a text in their encoding."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from app.errors import BadRequest

_SAMPLE = 65_536
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(rb"(?:encoding|charset|coding)[ \t]*[:=][ \t]*[\"']?([A-Za-z][\w.:-]{1,40})", re.I)
"""Declarations of an encoding in XML, HTML, translation files and the cookies of editors."""
_HEAD = 2_048
"""Bytes at the beginning of a text in which its encoding is declared."""
_WINDOWS = "cp1252"
_LATIN = (_WINDOWS, "cp1250", "iso8859-2", "cp1254", "cp1257", "iso8859-16", "iso8859-13", "cp1258")
_BEFORE_WINDOWS = ("mac-roman", "cp850", "cp852")
"""Encodings of the Macintosh and of DOS. Their letters are signs in those of Windows, such as quotes and fractions."""
_EARLY = re.compile(
    rb"(?<=[A-Za-z])(?:[\x80-\x84\x86-\x91\x93\x94\x98-\x9f\xa1-\xac\xae-\xb6\xb8-\xbf](?=[a-z])"
    rb"|[\x82\x88\x8a\x8d\x8f\x98\x9d](?=[\s.,]))"
)
"""Such letters in words. Left out are signs that stand there in Windows: apostrophes, dashes, points, and spaces."""
_CAPITAL_INSIDE = re.compile(f"[a-z][{''.join(filter(str.isupper, bytes(range(0x80, 0x100)).decode('cp852')))}]")
"""A capital within a word, where DOS 850 has a small letter."""
EARLY = 0.1
"""A text may be in an encoding before Windows if more than this share of what is not ASCII are such letters."""
_OTHER_SCRIPTS = (
    *("cp1251", "koi8-u", "cp866", "cp1253", "cp1255", "cp1256", "cp874"),
    *("cp932", "euc-jp", "gb18030", "big5", "cp949"),
)
FOREIGN = 0.4
"""A text that is not in Unicode may be in a script other than Latin if more than this share of letters is not ASCII."""
_WORD = re.compile(rb"[\x80-\xff][@-\xff]")
"""Two letters of another script, unlike a sign in an amount."""
_TWO_SCRIPTS = re.compile("[A-Za-z][\u0370-\u0e7f]|[\u0370-\u0e7f][A-Za-z]")
TWO_SCRIPTS = 0.1
"""A guess is wrong if more than this share of letters is next to a letter of another script."""
_SUPERSETS = {
    "ascii": "utf-8",
    "iso8859-1": _WINDOWS,
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
"""Declared encodings, and the encodings that are used in their place, as in browsers (WHATWG's Encoding)."""
_UNKNOWN_NAMES = dict(iso_8859_8_i="iso8859_8", windows_31j="cp932", windows_874="cp874", x_sjis="cp932", x_gbk="gbk")
"""Names of encodings in mails and on pages that Python does not know, and those that it knows."""
codecs.register(lambda name: codecs.lookup(_UNKNOWN_NAMES[name]) if name in _UNKNOWN_NAMES else None)
_JAPANESE = re.compile(rb"\x1b\$[@B]")
"""Begins Japanese in ISO 2022, whose bytes are all ASCII."""
_CURRENCIES = {"cp932": "¥", "cp949": "₩"}
"""What fonts of Japan and Korea show for a backslash, and what their keyboards write before an amount."""
_AMOUNT = re.compile(r"(?<![\w:/\\.])\\(?=[1-9]\d{0,2}(?:,\d{3})+(?!\d)|[1-9]\d{2,8}(?!\d))")
_NOT_DECLARED = re.compile(r"utf-?_?(?:16|32|7)|.*escape|idna|punycode|undefined", re.I)
"""Encodings in which the declaration would not be ASCII, and codecs that are no encodings of files."""
_ESCAPED = re.compile("[\udc80-\udcff]")
"""Bytes that are not UTF-8, as `surrogateescape` decodes them."""
_AS_WINDOWS = {chr(0xDC00 + byte): bytes([byte]).decode(_WINDOWS, "replace") for byte in range(0x80, 0x100)}
MIXED = 0.1
"""A text is in UTF-8 if at most this share of its characters beyond ASCII is not."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded text, and warnings on guesses."""

    text: str
    warnings: tuple[str, ...] = ()


def is_text(head: bytes) -> bool:
    """Whether a file with these first bytes is a text that `decode` reads."""
    try:
        decode(head)
    except BadRequest:
        return False
    return True


def decode(raw: bytes, declared: str | None = None) -> Decoded:
    """Decodes bytes by their BOM, or else in the `declared` encoding if they fit, or else as UTF-8.

    Many zeros at only even or only odd offsets indicate UTF-16. Other bytes are decoded in the encoding that the text
    itself declares, or else as UTF-8 mixed with Windows-1252 or in the most probable encoding, with a warning.

    Raises BadRequest (field `content`) if the bytes are not text.
    """
    for bom, encoding in _BOMS:
        if raw.startswith(bom):
            return _replacing(raw[len(bom) :], encoding, None if encoding == "utf-8" else f"read as {encoding.upper()}")
    if declared and (found := _decode(raw, _named(declared))) is not None:
        return Decoded(found)
    wide = _wide_encoding(raw[:_SAMPLE])
    if wide:
        return _replacing(raw, wide, f"read as {wide.upper()} without a byte order mark")
    if _JAPANESE.search(raw) and (found := _decode(raw, "iso2022_jp_ext")) is not None:
        return Decoded(found, ("read as ISO-2022-JP",))
    text = _decode(raw, "utf-8")
    if text is None:
        return _by_code_page(raw)
    if _control_share(text[:_SAMPLE]) > 0.34:
        raise _binary()
    return Decoded(text)


def guess(raw: bytes) -> str:
    """The most probable encoding of a text that is not in UTF-8; Windows-1252 if nothing else is more probable."""
    first = next((place.start() for place in re.finditer(rb"[\x80-\xff]", raw)), 0)
    sample = raw[max(0, first - _HEAD) : first + _SAMPLE]
    foreign = len(re.findall(rb"[\x80-\xff]", sample))
    latin = _LATIN if len(_EARLY.findall(sample)) <= EARLY * foreign else (*_LATIN, *_BEFORE_WINDOWS)
    if foreign > FOREIGN * (foreign + len(re.findall(b"[A-Za-z]", sample))) and _WORD.search(sample):
        encoding = _detected(sample, (*latin, *_OTHER_SCRIPTS))
        words = _decode(sample, encoding) or ""
        if len(_TWO_SCRIPTS.findall(words)) <= TWO_SCRIPTS * len(words):
            return encoding
    encoding = _detected(sample, latin)
    if encoding == "cp852" and _CAPITAL_INSIDE.search(sample.decode("cp852")):
        encoding = "cp850"
    same = _decode(sample, encoding) == _decode(sample, _WINDOWS)
    return _WINDOWS if same else encoding


def _detected(sample: bytes, candidates: tuple[str, ...]) -> str:
    import chardet  # loads models of all languages, and is rarely needed

    found = chardet.detect(
        sample, include_encodings=candidates, no_match_encoding=_WINDOWS, compat_names=False, prefer_superset=False
    )
    return found["encoding"] or _WINDOWS


def _replacing(raw: bytes, encoding: str, note: str | None) -> Decoded:
    text = raw.decode(encoding, "replace")
    lost = "undecodable bytes were replaced" if "\ufffd" in text else None
    return Decoded(text, tuple(filter(None, (note, lost))))


def _wide_encoding(sample: bytes) -> str | None:
    """UTF-16 with its byte order if zeros (the high bytes of ASCII) are at nearly only even or odd offsets."""
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
    # The header of BMP and of other binary files has zeros at once. A log may have one anywhere.
    if b"\0" in raw[:10] or _control_share(re.sub("[\x80-\x9f]+", "", text[:_SAMPLE])) > 0.05:
        raise _binary()
    declared = _DECLARED.search(raw[:_HEAD])
    if declared and (found := _decode(raw, _named(declared[1].decode()))) is not None:
        return Decoded(found)
    if (mixed := _mostly_utf8(raw)) is not None:
        return Decoded(mixed, ("not wholly UTF-8: other bytes read as Windows-1252",))
    encoding = guess(raw)
    guessed = _decode(raw, encoding)
    if guessed is None:
        return Decoded(text, ("not UTF-8: read as Latin-1",))
    return Decoded(guessed, (f"not UTF-8: read as {encoding.replace('cp125', 'Windows-125')}",))


def _mostly_utf8(raw: bytes) -> str | None:
    """Decodes UTF-8 with some bytes in Windows-1252, as in logs of several programs; None if it is something else."""
    # Not by an error handler of its own: codecs have one of a name for all threads, and files are decoded in several.
    text = raw.decode("utf-8", "surrogateescape")
    others = len(_ESCAPED.findall(text))
    letters = len(text) - len(text.encode("ascii", "ignore"))
    return _ESCAPED.sub(lambda byte: _AS_WINDOWS[byte[0]], text) if others <= MIXED * letters else None


def _named(declared: str) -> str:
    """The encoding that a declaration names; empty if there is no such encoding."""
    try:
        name = codecs.lookup(declared).name
    except (LookupError, ValueError):
        return ""
    return "" if _NOT_DECLARED.fullmatch(name) else _SUPERSETS.get(name, name)


def _decode(raw: bytes, encoding: str) -> str | None:
    """Decodes bytes in an encoding; None if they do not fit, or if it is not an encoding of text."""
    if not encoding:
        return None
    try:
        text = raw.decode(encoding)
    except (LookupError, ValueError):
        return None
    return _AMOUNT.sub(_CURRENCIES[encoding], text) if encoding in _CURRENCIES else text


def _control_share(sample: str) -> float:
    return len(re.findall("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]", sample)) / max(1, len(sample))


def _binary() -> BadRequest:
    return BadRequest(
        "content is binary, not text: send plain text, Markdown or HTML, or upload PDF and DOCX files as such.",
        field="content",
    )
