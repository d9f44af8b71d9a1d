"""Repairs wrongly decoded text, removes invisible characters and artefacts, and joins divided words and pages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from app.concurrency import offload
from app.text.words import characters

VERSION = 11
"""Version of the rules of cleaning, cutting and indexed words. A reindex applies them to documents of another one.

2: mojibake is repaired, chunks are measured by the tokens of the embedding model.
3: compounds keep their hyphens at line ends, plain text is cut at its headings, colours of terminals and files in links
are removed.
4: files in base64 are removed.
5: AsciiDoc, LaTeX, Org and manual pages are cut at their headings, plain text at numbered ones, Markdown at `<h1>`.
6: definitions in code are found behind tabs, beside macros of C++ and with a space before their parameters.
7: words that scans divide at line ends are joined; names of columns above a rule are no heading.
8: letters and digits of other scripts have one spelling, and Hindi, Urdu and Arabic are cut at the ends of sentences.
9: words of languages that inflect by endings and have no good stemmer are cut off; a letter with a dot below that is
one character has the spelling of its letter, as with the dot as a mark.
10: words that typesetters divide at line ends are joined outside of prose too.
11: a passage that is clearly in another language than its document is indexed in that one.
"""
MAX_MARKS = 30  # length of a run of combining marks, as in Unicode's stream-safe text format (UAX #15)
PIECE = 100_000
"""Number of code points that are cleaned at once, because a substitution holds the interpreter lock."""
REPAIRED = 20_000
"""A longer line is repaired in pieces of this many code points."""
LAYERS, ROUNDS = 8, 4
"""Most nested wrong decodings that are undone, and most repetitions after something was removed. Text that still
changes after that is not mojibake and is kept."""
MOJIBAKE = 8
"""Mojibake is searched within this many code points of one beyond ASCII. ftfy's longest pattern has seven."""
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_LINE_BREAK = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_VISIBLE = re.compile(f"[^{characters.BLANK}]")
_CONTROL = re.compile(f"[{characters.CONTROL}]+")
_OVERSTRIKE = re.compile("[^\\n\b]\b")
"""A character that is overwritten by the next one, as in manual pages for bold and underlined text."""
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
_SPACE = re.compile(r"\s")
_BLANK_LINES = re.compile(r"(?<!\n)\n{4,}+")
_TERMINAL = re.compile(
    r"\x1b\[[0-?]{0,64}+[ -/]{0,4}+[@-~]|\x1b[\]PX^_][^\x07\x1b\n]{0,4096}+(?:\x07|\x1b\\)"
    r"|\x1b[()*+=>][0-9A-B]?"
)
"""Control sequences and strings of terminals (ECMA-48), such as colours and titles."""
_FILE_IN_LINK = re.compile(
    r"<?(?<![A-Za-z])data:(?P<type>[\w.+-]{1,40}/[\w.+-]{1,80})?+(?P<base64>;[\w=.;+-]{1,200}+)?,[^\s\"'<>()\[\]\\]*+"
    r"(?:\s{1,2}[A-Za-z0-9+/]{60,}+)*+(?:\s{1,2}[A-Za-z0-9+/]{1,76}={1,2})?>?"
)
SHORT_LINK = 200
"""A link with a file in base64 is kept up to this many characters, unless it is a picture: a text may be about it."""
_BASE64 = re.compile(
    r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{60,}+(?:\n[A-Za-z0-9+/]{60,}+)*+(?:\n[A-Za-z0-9+/]{1,76}={1,2})?+={0,2}"
)
_IN_BASE64 = (re.compile("[a-z]"), re.compile("[A-Z]"), re.compile("[0-9]"))
SHORTEST_FILE = 1_000
"""At least this many characters of base64 are a file. Fewer may be an identifier, key or signature to search for."""
_IMAGE_WITHOUT_LINK = re.compile(r"!\[([^\[\]\n]{0,1000}+)\]\(\s?(?:\"[^\"\n]{0,1000}+\")?\)")
_REMOVED = (
    (_SURROGATE, "broken surrogates removed"),
    (_CONTROL, "control characters removed"),
    (_INVISIBLE, "invisible characters removed"),
)
_STRAY_NOTE, _MARKS_NOTE = "stray joiners removed", "long runs of combining marks shortened"
_TERMINAL_NOTE, _LINK_NOTE = "control sequences of terminals removed", "files in links (data: URIs) removed"
_BASE64_NOTE = "files in base64 removed"
_REPAIR_NOTE = "characters that had been decoded in a wrong encoding repaired"
_NOTES = (
    _TERMINAL_NOTE,
    _LINK_NOTE,
    _BASE64_NOTE,
    *(note for _pattern, note in _REMOVED),
    _STRAY_NOTE,
    _MARKS_NOTE,
    _REPAIR_NOTE,
)
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_TYPESET_HYPHEN = "\u2010"
"""What typesetters write, and no program: a line that ends with it is text, whatever it begins with."""
_HYPHENS = ("-", _TYPESET_HYPHEN)
_AFTER_LETTER = rf"(?=\n)(?:(?<=[^\W\d_].)|(?<=[{characters.ACCENT}].))"
_SOFT_HYPHEN = re.compile(f"\u00ad{_AFTER_LETTER}")
_LINE_END_MARK = re.compile(f"[\u00ac\u2e17]{_AFTER_LETTER}")
"""What programs for scans write as the hyphen at the end of a line: a soft hyphen, a not sign, a double hyphen."""
_INDENTED_PROSE = re.compile(r"[ \t]+(?:[^\W\d_][^\s=<>{}]*+[ \t]++){4}")
_NOT_PROSE = re.compile(r"(?: {4}|\t| {0,3}(?:[-*+>|#]|\d{1,9}[.)]\s|```|~~~))")
_STRUCTURE = re.compile(r"\s*(?:#{1,6}\s|\||```|~~~|[-*+]\s|\d{1,9}[.)]\s)")
_SENTENCE_END = re.compile(r"[.!?:;。！？…][\"'”’)\]]*$")
LONGEST_WORD = 100
"""Code points before and after the end of a line in which the divided word is searched."""
_WORD_END = re.compile(r"(?:[^\W\d_]+[-\u2010])*([^\W\d_]+)[-\u2010]$")
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_CONJUNCTIONS = re.compile("und|oder|bzw|sowie|beziehungsweise|bis|and|or|nor|plus")
"""A hyphen before these words stands for the end of the word after them: Vor- und Nachteile."""
_SHORT_CONJUNCTIONS = re.compile("to|et|ou|y|e|o|en|of|og|och|i|ja|a")
"""Conjunctions that are syllables too. Only a prefix ends with such a hyphen before them: pre- et post-."""
_PREFIXES = re.compile(
    "pre|post|pré|pro|anti|sub|inter|intra|micro|macro|mikro|makro|hypo|hyper|under|over|upper|lower|vor|"
    "nach|ein|aus|auf|ab|an|mono|poly|multi|short|long|low|high|left|right|in|out|up|down|top|bottom|one|"
    "two|three|on|off"
)
_FUNCTION_WORDS = re.compile("of|the|to|in|and|by|on|up|at|for|with|as|or|de|la|le|du|der|die|das|und")
"""Parts of compounds such as state-of-the-art. A line may end before or after such a part."""
_SECOND_PARTS = re.compile("known|based|called|oriented|specific|term|level|driven|free|like|sized|aware")
_FIRST_PARTS = ("well", "self")
_NOT_SECOND_PARTS = ("ness", "ish", "less", "hood", "ing", "fare", "be")
_BOUND = re.compile("un|in|re|de|non|co|mis|pre|be|dis|over|under")
"""Prefixes that are written without a hyphen."""


@dataclass(frozen=True)
class Words:
    """The words of a text. They show whether a word is divided at the end of a line."""

    text: str

    @cached_property
    def known(self) -> frozenset[str]:
        """The words in lower case, compounds with their hyphens."""
        return frozenset(found[0].casefold().replace("\u2010", "-") for found in _WORD.finditer(self.text))


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A cleaned text, and warnings on what was removed."""

    text: str
    warnings: tuple[str, ...] = ()


def is_blank(text: str) -> bool:
    """Returns whether `text` consists of white space, control, zero-width and format characters only."""
    return not any(_VISIBLE.search(text, start, start + PIECE) for start in range(0, len(text), PIECE))


def clean(text: str, *, words: Words | None = None) -> Cleaned:
    """Removes invisible characters and artefacts of scanners and editors, and repairs mojibake. Idempotent.

    A wrong decoding of a line ("cafÃ©" for "café") is undone. Control sequences of terminals, and most files in links
    (`data:`) and in base64, are removed, and so are NUL, controls, surrogates, BOM, bidi, zero-width and tag characters
    (joiners remain inside emoji and in scripts that need them). Line ends become LF, ligatures are expanded, and the
    text becomes NFC. Runs of combining marks are cut to 30. In prose, words divided at a line end are joined; if the
    text is a part of a document, `words` are those of the whole. Spaces at line ends are removed. At most two blank
    lines remain in a row. Takes linear time.
    """
    is_line = len(text) < SHORTEST_FILE and text.isascii() and text.isprintable()
    if is_line and "data:" not in text:  # without anything to remove inside
        return Cleaned(text.rstrip())
    noted: list[str] = []
    words = words or Words(text)
    while (cleaned := _repaired_and_cleaned(text, noted, words)) is None and (
        once := _once(text, noted, words)
    ) != text:
        text = once
    found = text if cleaned is None else cleaned
    return Cleaned(found, tuple(note for note in _NOTES if note in noted))


def _repaired_and_cleaned(text: str, noted: list[str], words: Words) -> str | None:
    """Repairs and cleans until nothing changes. None if the text still changes after ROUNDS."""
    before = _with_line_feeds(text)
    notes: list[str] = []
    cleaned = _once(_repair(before, notes), notes, words)
    for _ in range(ROUNDS):
        # Removed text may have separated characters that must be repaired.
        if cleaned == before or (repaired := _repair(cleaned, notes)) == cleaned:
            noted += notes
            return cleaned
        before, cleaned = cleaned, _once(repaired, notes, words)
    return None


def _once(text: str, noted: list[str], words: Words) -> str:
    text = _SOFT_HYPHEN.sub("-", _with_line_feeds(text))
    if "\x1b" in text:
        text = _without(_TERMINAL, text, _TERMINAL_NOTE, noted)
    if "data:" in text:
        without = _without(_FILE_IN_LINK, text, _LINK_NOTE, noted, _keep_link)
        text = _IMAGE_WITHOUT_LINK.sub(r"\1", without) if without != text else text
    if len(text) >= SHORTEST_FILE:
        pieces = _pieces(text, _between_words)
        text = "".join(_without(_BASE64, piece, _BASE64_NOTE, noted, _keep_word) for piece in pieces)
    if "\b" in text:
        text = "".join(_OVERSTRIKE.sub("", piece) for piece in _pieces(text, _between_lines))
    cleaned = "".join([_clean(piece, noted) for piece in _pieces(text, _between_lines)])
    cleaned = _without_line_end_hyphens(_LINE_END_MARK.sub("-", cleaned), words)
    shortened = (_BLANK_LINES.sub("\n\n\n", piece) for piece in _pieces(cleaned, _between_lines))
    return "".join(shortened).strip("\n")


def _keep_link(link: re.Match[str]) -> str:
    """Returns a link that contains a file, as in exported Markdown; empty for a picture or a long file in base64."""
    is_picture = (link["type"] or "").startswith("image/")
    return "" if is_picture or (link["base64"] is not None and len(link[0]) > SHORT_LINK) else link[0]


def _keep_word(run: re.Match[str]) -> str:
    """Returns a run of base64; empty for a file. A file is long and has letters of both cases and digits."""
    is_file = len(run[0]) >= SHORTEST_FILE and all(kind.search(run[0]) for kind in _IN_BASE64)
    return "" if is_file else run[0]


def _with_line_feeds(text: str) -> str:
    return "".join(_LINE_BREAK.sub("\n", piece) for piece in _pieces(text, _unbroken))


def _repair(text: str, noted: list[str]) -> str:
    """Repairs lines that look like UTF-8 decoded in a wrong encoding."""
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
    """Repairs a piece like ftfy's `fix_encoding`, but in at most LAYERS steps: ftfy has no limit."""
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
    offload.check_stopped()
    while len(text) - start > size:
        offload.check_stopped()
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


def _between_words(text: str, start: int) -> int:
    """Returns the first offset after white space, from `start` on."""
    found = _SPACE.search(text, start)
    return found.end() if found else len(text)


def _clean(text: str, noted: list[str]) -> str:
    """Returns a piece without invisible characters, composed, and without white space at line ends."""
    joined = any(joiner in text for joiner in "\u200c\u200d\ufe0f")
    for pattern, note in _REMOVED:
        text = _without(pattern, text, note, noted)
    text = _compose(_LIGATURE.sub(lambda match: _LIGATURES[ord(match[0])], text), noted)
    if joined:
        # Compose before, because NFC turns some symbols into letters, and after, because a joiner may separate marks.
        text = _compose(_without(_STRAY_JOINER, text, _STRAY_NOTE, noted), noted)
    return _TRAILING_SPACE.sub("", text)


def _without(
    pattern: re.Pattern[str], text: str, what: str, warnings: list[str], keep: str | Callable[[re.Match[str]], str] = ""
) -> str:
    """Removes the matches of a pattern, except the part to keep, and notes whether this changes the text."""
    kept = pattern.sub(keep, text)
    if len(kept) < len(text):
        warnings.append(what)
    return kept


def _compose(text: str, warnings: list[str]) -> str:
    """Returns the text in NFC, with runs of combining marks cut before and after: composing can lengthen a run."""
    shorter = cap_marks(text)
    if len(shorter) < len(text):
        warnings.append(_MARKS_NOTE)
    composed = unicodedata.normalize("NFC", shorter)
    again = cap_marks(composed)
    return composed if again == composed else unicodedata.normalize("NFC", again)


def cap_marks(text: str) -> str:
    """Cuts each run of combining marks to 30: normalising a longer run takes quadratic time."""
    return _MARKS.sub(r"\1", text) if _HIGH_RUN.search(text) else text


def _without_line_end_hyphens(text: str, words: Words) -> str:
    """Joins words that are divided at the end of a line, outside code, lists, tables, quotes and headings."""
    if "-\n" not in text and "\u2010\n" not in text:
        return text
    kept: list[str] = []
    above, fenced, prose = "", False, False
    for line in text.split("\n"):
        below = line.lstrip(" \t")
        # A line that continues the one above has the same indent.
        continues = below[:1].islower() and line[: -len(below)] == above[: -len(above.lstrip(" \t"))]
        joined = _join_lines(above, below, words) if above and continues else None
        if joined is not None:
            kept += [kept.pop()[: len(joined) - len(above) or None], below]
        else:
            kept.append("\n" + line)
            fenced ^= _FENCE.match(line) is not None
            prose = not fenced and (_NOT_PROSE.match(line) is None or _INDENTED_PROSE.match(line) is not None)
        divided = (line.endswith(_TYPESET_HYPHEN) and not fenced) or (prose and line.endswith(_HYPHENS))
        above = line if divided and line[-2:-1].islower() else ""
    return "".join(kept)[1:]


def _join_lines(above: str, below: str, words: Words) -> str | None:
    """The line `above`, without or with its hyphen, if it continues with `below`; None if the two stay apart.

    They stay apart if the second part is a separate word, and the first part stands for a longer word.
    """
    end, begin = _WORD_END.search(above[-LONGEST_WORD:]), _WORD.match(below[:LONGEST_WORD])
    if end is None or begin is None:
        return None
    chain, left, right = end[0][:-1].casefold(), end[1].casefold(), begin[0].casefold()
    if left + right in words.known:
        return above[:-1]
    if _CONJUNCTIONS.fullmatch(right) or (_PREFIXES.fullmatch(left) and _SHORT_CONJUNCTIONS.fullmatch(right)):
        return None
    is_known = f"{chain}-{right}" in words.known
    return above if is_known or _is_compound(chain, left, right) else above[:-1]


def _is_compound(chain: str, left: str, right: str) -> bool:
    """Whether the hyphen at the end of the line belongs to the word, as far as the word's parts show.

    `chain` is the text before the hyphen with all its hyphens, `left` its last part, and `right` the rest.
    """
    first = right.partition("-")[0]
    if len(left) == 1 or (chain != left and _FUNCTION_WORDS.fullmatch(left)):
        return True
    if right != first and _FUNCTION_WORDS.fullmatch(first):
        return True
    if left in _FIRST_PARTS:
        return not right.startswith(_NOT_SECOND_PARTS)
    return bool(_SECOND_PARTS.fullmatch(right) and not _BOUND.fullmatch(left))


@dataclass(frozen=True, slots=True)
class CleanedPages:
    """A cleaned text, the offset of each of its pages, and warnings on what was removed."""

    text: str
    starts: tuple[int, ...]
    warnings: tuple[str, ...] = ()


def clean_pages(text: str, starts: Sequence[int]) -> CleanedPages:
    """Cleans a text whose pages begin at the given offsets. Takes linear time."""
    bounds = [*starts, len(text)]
    words = Words(text)
    cleaned = [clean(text[begin:end].strip("\n"), words=words) for begin, end in pairwise(bounds)]
    warnings = dict.fromkeys(warning for page in cleaned for warning in page.warnings)
    joined, offsets = _join_pages([page.text for page in cleaned], words)
    return CleanedPages(joined, tuple(offsets), tuple(warnings))


def _join_pages(pages: Sequence[str], words: Words) -> tuple[str, list[int]]:
    """Returns the pages as one text, and the offset of each."""
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    previous = ""
    for page in pages:
        if previous and page:
            previous, separator = _separate(previous, page, words)
            length += len(previous) - len(parts[-1]) + len(separator)
            parts[-1:] = [previous, separator]
            place = len(starts)
            while place and starts[place - 1] > length:  # blank pages, after a hyphen before them was removed
                place -= 1
                starts[place] = length
        starts.append(length)
        if page:
            parts.append(page)
            length += len(page)
            previous = page
    return "".join(parts), starts


def _separate(above: str, below: str, words: Words) -> tuple[str, str]:
    """Returns the page above, without the hyphen of a word that continues below, and the separator of the pages."""
    first, last = below.partition("\n")[0], above.rpartition("\n")[2]
    prose = not (_STRUCTURE.match(first) or _STRUCTURE.match(last))
    if prose and first[:1].islower():
        joined = _join_lines(last, first, words) if last[-2:-1].islower() else None
        if joined is not None:
            return above[: len(above) - len(last)] + joined, ""
        if not _SENTENCE_END.search(last):
            return above, "\n"
    return above, "\n\n"
