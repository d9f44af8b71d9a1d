"""Rewrites documents and queries into the text that Postgres indexes.

The default parser of `to_tsvector` splits 'E-1042' into 'e' and '-1042', parses 'josh.ai' and 'end.Start' as hosts and
drops '<T>'. Documents and queries are rewritten in the same way, so that their words match.
"""

from __future__ import annotations

import itertools
import re
import unicodedata

from app.text.words import characters, cleaning, languages, word_spans

MAX_LEXEME_BYTES = 2_000  # Postgres ignores lexemes from 2,047 bytes on, with a notice each
_MAX_COMPOUND = 200  # code points; of a longer compound only the parts are kept
_MAX_CAMEL = 64  # a longer word of mixed case is data, not a name

_FOLDED_CONFIGS = frozenset({"english", languages.UNSTEMMED, languages.TRUNCATED})
_FOLDED_LETTER = re.compile(f"[{''.join(characters.LETTERS)}{''.join(characters.LETTERS).replace('ı', '').upper()}]")
_LIGATURE = re.compile("[œŒ]")
_FRENCH_LIGATURE = re.compile("[œŒæÆ]")  # in other languages æ is a letter; German's stemmer expands ß
_ACCENT = re.compile("[\u0300-\u036f]+")
_UNSEEN = re.compile(f"[{characters.INVISIBLE}{characters.JOINER}{characters.SURROGATE}]+")

_JUNK = re.compile(rf"[^\w{characters.MARK}.@/ -]+")  # not the space, by which it is replaced
_ASCII_JUNK = {code: " " for code in range(128) if _JUNK.match(chr(code))}
_LONE_GLUE = re.compile(r"[._@/-](?:[._@/-]+|(?<![^\s._@/-][._@/-])|(?![^\s._@/-]))")
_SIGN = re.compile(r"-(?=\d)|(?<=\d)-")
_HYPHEN = re.compile("[\u2010\u2011\u2043\ufe63\uff0d]")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})++(?![\d,]*\d)")
_COMMA_IN_NUMBER = re.compile(r",\d")  # much cheaper to rule out, as is the next one
_DOTTED_LETTER = re.compile(r"\.[A-Za-z]\.")
_ACRONYM = re.compile(r"(?<![\w.@/-])(?:[A-Za-z]\.){2,}+(?:[A-Za-z](?![\w@/-]))?(?!\w)")
_SHARP = re.compile(r"(?<!\w)([A-Za-z])(\+\+|#)(?![\w#+])")
_JOINED_INITIALS = re.compile(r"""(?<![^\s"'“(])([A-Za-z]{1,3})&([A-Za-z]{1,3})(?![^\s"'’”).,;:!?])""")
# Several languages ignore a single letter, but after another word it names something: vitamin A.
_LABEL = re.compile(r"(?<=[a-z] )[AEOUY](?![\w'’&.-])")
_LABELLED = re.compile(r"(?<![^\W\d_])([^\W\d_]++) ([AEOUY])(?![\w'’&.-])")
# A word of Persian or Urdu whose parts a joiner keeps apart: others write them as one word, or with a space.
_PARTED_WORD = re.compile("(?<![\u0620-\u06ff])[\u0620-\u06ff]++(?:\u200c[\u0620-\u06ff]++)++")
# A nasal without a vowel before a consonant of its own class is written as anusvara too: हिन्दी and हिंदी.
_HALF_NASAL = re.compile(
    "(?:\u0919\u094d(?=[\u0915-\u0918])|\u091e\u094d(?=[\u091a-\u091d])|\u0923\u094d(?=[\u091f-\u0922])"
    "|\u0928\u094d(?=[\u0924-\u0927])|\u092e\u094d(?=[\u092a-\u092d]))|\u0901"
)
_ANUSVARA = "\u0902"
# The end of a long line inside a word or between words without a space.
_WRAPPED = re.compile(rf"(?<=[^\n]{{12}}[{characters.UNSPACED}])\n(?=[{characters.UNSPACED}])")
_UNSPACED_RUN = re.compile(rf"[{characters.UNSPACED}]+")
_COMPOUND = re.compile(
    r"(?<!\S)(?:[^\s._@/-]++(?:[._@/-][^\s._@/-]++)++"  # glued by punctuation
    r"|(?=[A-Za-z0-9]*?[a-z][A-Z])[A-Za-z0-9]++(?!\S)"  # getUserName
    r"|[A-Z]{2,}+[a-z][A-Za-z0-9]*+(?!\S))"  # HTTPServer
)
_SEPARATOR = re.compile(r"[.@/]")
_NUMBER = re.compile(r"v?\d+(?:\.\d+)+")
_CAMEL_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LONG = re.compile(rf"\S{{{MAX_LEXEME_BYTES // 4},}}+")
_ENDING = re.compile(r"([^ -@\[-`{-~]{6})[^ -@\[-`{-~]+")  # the same as in fragments/text_for.sql


def index_text(text: str, config: str) -> str:
    """Rewrites a document or query so that `to_tsvector(config, …)` parses it into the words that people search for.

    Lower-case, NFKC; accents folded where no stemmer but the English one needs them, ligatures expanded where they are
    no letters of the language. Words of inflected languages without a good stemmer end after six letters. Punctuation
    becomes space, hyphens between letters stay. Compounds are followed by their parts ("josh.ai josh ai"), mixed case
    and snake case become one word and its parts. Decimals and versions stay whole, thousands lose their commas and
    acronyms their dots. "AT&T" is preceded by "atandt" and "vitamin A" followed by "vitamina", because they contain
    stop words; "C++" becomes "c cplusplus". Letters and digits with several spellings have one (`characters.unify`),
    and a Persian word with a joiner inside is followed by its parts. Scripts without spaces become overlapping pairs,
    beside which the database indexes single characters. Words over 2,000 bytes are dropped. Takes linear time.
    """
    if not text.isascii():
        text = _UNSPACED_RUN.sub(_pairs, _WRAPPED.sub("", _normalise(text, config)))
    if _COMMA_IN_NUMBER.search(text):
        text = _THOUSANDS.sub(lambda match: match[0].replace(",", ""), text)
    if _DOTTED_LETTER.search(text):
        text = _ACRONYM.sub(lambda match: match[0].replace(".", "") + " ", text)
    if "&" in text:
        text = _JOINED_INITIALS.sub(lambda match: f"{match[1]}and{match[2]} ".lower() + f"{match[1]} {match[2]}", text)
    if _LABEL.search(text):
        text = _LABELLED.sub(_label, text)
    if "#" in text or "++" in text:
        text = _SHARP.sub(lambda match: f"{match[1]} {match[1]}{'sharp' if match[2] == '#' else 'plusplus'} ", text)
    text = text.translate(_ASCII_JUNK) if text.isascii() else _JUNK.sub(" ", text)
    text = _LONE_GLUE.sub(" ", _SIGN.sub(" ", text) if "-" in text else text)
    text = _COMPOUND.sub(_expand, text)
    text = text.casefold() if config in _FOLDED_CONFIGS else text.lower().replace("i\u0307", "i")
    if config == languages.TRUNCATED:
        text = _ENDING.sub(r"\1", text)
    return " ".join(_LONG.sub(_unless_too_long, text).split())


def _label(match: re.Match[str]) -> str:
    """Returns a word and the letter after it. Unless the word is in capitals, both follow again as one word."""
    word, letter = match[1], match[2]
    return f"{word} {letter} {word}{letter.lower()}" if word[-1].islower() else match[0]


def _normalise(text: str, config: str) -> str:
    text = _PARTED_WORD.sub(lambda word: word[0].replace("\u200c", "") + " " + word[0].replace("\u200c", " "), text)
    text = _HALF_NASAL.sub(_ANUSVARA, _HYPHEN.sub("-", _UNSEEN.sub("", text)))
    text = characters.unify(unicodedata.normalize("NFKC", cleaning.cap_marks(text)))
    if config not in _FOLDED_CONFIGS:
        return (_FRENCH_LIGATURE if config == "french" else _LIGATURE).sub(_folded_letter, text)
    bare = _ACCENT.sub("", unicodedata.normalize("NFD", text))
    return _FOLDED_LETTER.sub(_folded_letter, unicodedata.normalize("NFC", bare))


def _folded_letter(match: re.Match[str]) -> str:
    """Returns the ASCII form of a letter; a capital before a small letter is "Oe", because "OEuvre" is two words."""
    letter = match[0]
    if letter in characters.LETTERS:
        return characters.LETTERS[letter]
    folded = characters.LETTERS[letter.lower()]
    return folded.capitalize() if match.string[match.end() : match.end() + 1].islower() else folded.upper()


def _pairs(match: re.Match[str]) -> str:
    """Returns overlapping pairs of characters with their marks, separated by spaces."""
    units = word_spans.UNIT.findall(match[0])
    if len(units) < 2:
        return f" {match[0]} "
    return f" {' '.join(first + second for first, second in itertools.pairwise(units))} "


def _expand(match: re.Match[str]) -> str:
    compound = match[0]
    if _NUMBER.fullmatch(compound):
        return f"{compound} {compound[1:]}" if compound[0] == "v" else compound
    segments = _SEPARATOR.split(compound)
    parts = " ".join(map(_identifier, segments))
    if len(segments) == 1 or len(compound) > _MAX_COMPOUND or all(map(str.isdigit, segments)):
        return parts
    return f"{compound} {parts}"


def _identifier(word: str) -> str:
    """Rewrites `getUserName` and `get_user_name` to "getusername get user name"; hyphens are left to Postgres.

    Mixed case inside a word makes it one ("getUserName", "HTTPServer"; not "Server", "NASA", "B2").
    """
    if len(word) > _MAX_CAMEL:
        return word.replace("_", " ")
    if "_" in word:
        pieces = word.split("_")
        parts = " ".join(_identifier(piece) for piece in pieces)
        return parts if any("-" in piece or not piece.isalpha() for piece in pieces) else f"{''.join(pieces)} {parts}"
    if not word.isascii() or not word.isalnum() or word[1:] == word[1:].lower() or word == word.upper():
        return word
    return " ".join([word, *(part for part in _CAMEL_PART.findall(word) if len(part) > 1)])


def _unless_too_long(match: re.Match[str]) -> str:
    return match[0] if len(match[0].encode("utf-8", "ignore")) <= MAX_LEXEME_BYTES else " "
