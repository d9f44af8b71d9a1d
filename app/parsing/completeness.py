"""Compares the words and numbers of a file with those of its documents, so that no parser loses text silently.

Beside `read`, a parser has a function `content`. It finds all text of a file in another way, part by part. The
`left_out` of a document has what `read` leaves out on purpose. Everything else must be in the texts, titles and
metadata of the documents, as often as in the file. The order does not matter.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from app.parsing.types import ExtractedDocument, LeftOut

Content = Callable[[bytes], Iterable[tuple[str, str]]]
"""Returns the parts of a file: where each is, such as `page 3` or `sheet Prices`, and its text."""
LOST = "Not in the stored text"
"""The beginning of a warning about text that was lost without a reason."""
RECORDS = 2_000
"""Number of texts of records that are counted together."""
MOST_PLACES, LONGEST_PLACE, MOST_EXAMPLES = 5, 200, 3
UNKNOWN = "The text that was read could not be compared with the content of the file."
_EACH = "\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # scripts without spaces, of which each character counts
_TOKEN = re.compile(rf"(?:(?<!\w)[-\u2212])?\d++(?:[.,:/]\d++)*+|[{_EACH}]|[^\W\d_{_EACH}]++")
_SOFT_HYPHEN = "\u00ad"
_LINE_END = re.compile(r"[-\u2010][^\S\n]*\n\s*")
_DIVIDED = re.compile(
    r"(?<![^\W\d_])(?:[^\W\d_]++-){0,8}[^\W\d_]++[-\u2010][^\S\n]*+\n\s*+[^\W\d_]++(?:-[^\W\d_]++){0,8}+"
)


def check(documents: Iterable[ExtractedDocument], content: Content, raw: bytes) -> Iterator[ExtractedDocument]:
    """Adds to the last document of a file the warnings about left-out and lost text."""
    guard = Guard()
    last: ExtractedDocument | None = None
    for document in documents:
        if last is not None:
            yield last
        guard.add(document)
        last = document
    if last is not None:
        yield replace(last, warnings=(*last.warnings, *guard.warnings(content, raw)))


class Guard:
    """Counts the lines and words of the documents of one file. Only lines that differ are compared closely."""

    def __init__(self) -> None:
        self._stored: Counter[str] = Counter()
        self._pages: list[str] = []
        self._metadata: list[str] = []
        self._left_out: list[LeftOut] = []
        self._records: list[str] = []

    def add(self, document: ExtractedDocument) -> None:
        """Count a document."""
        self._left_out += document.left_out
        text = document.text
        if not document.fragment:
            bounds = [*document.page_starts, len(text)] if document.page_starts else [0, len(text)]
            self._pages += [text[start:end] for start, end in itertools.pairwise(bounds)]
            self._metadata.append(f"{document.metadata}")
            self._stored[document.title.strip()] += 1
            return
        fields = [f"{name}: {value}" for name, value in document.metadata.items()]
        if not document.markdown:  # its fields are lines of its text
            lines, whole = set(text.split("\n")), f"\n{text}\n"
            shown = (line in lines or ("\n" in line and f"\n{line}\n" in whole) for line in fields)
            self._records += [text, *itertools.compress(fields, (not one for one in shown))]
        else:
            self._records += [text, *fields, document.title]
        if len(self._records) >= RECORDS:  # counted together, since each one takes long by itself
            self._count_records()

    def _count_records(self) -> None:
        """Count the names and the values of the fields as lines."""
        self._stored.update(_lines(["\n".join(self._records).replace(": ", "\n")]))
        self._records.clear()

    def warnings(self, content: Content, raw: bytes) -> tuple[str, ...]:
        """A sentence for each reason to leave text out, and for each part of the file with lost text."""
        self._count_records()
        try:
            losses = self._losses(list(content(raw)))
        except Exception:  # whatever a library raises
            losses = [UNKNOWN]
        by_reason: defaultdict[str, list[LeftOut]] = defaultdict(list)
        for one in self._left_out:
            by_reason[one.reason].append(one)
        return (*itertools.starmap(_reason, by_reason.items()), *losses)

    def _losses(self, parts: Sequence[tuple[str, str]]) -> list[str]:
        stored = self._stored
        stored.update(_lines((*self._pages, *(left.text for left in self._left_out))))
        wanted = Counter(_lines(text for _, text in parts))
        if not any(count > stored[line] for line, count in wanted.items() - stored.items()):
            return []
        expected, found = (Counter(_join(lines).split()) for lines in (wanted - stored, stored - wanted))
        without, beyond = (Counter(_tokens(_join(words))) for words in (expected - found, found - expected))
        missing, surplus = without - beyond, beyond - without
        if not missing:
            return []
        pages = [Counter(_tokens(page)) for page in self._pages]
        in_pages = Counter(itertools.chain.from_iterable(page.elements() for page in pages))
        missing -= Counter(_tokens("\n".join(self._metadata))) - in_pages
        for _, text in parts if missing else ():
            _explain_joined(text, missing, surplus)
        if not any(missing.values()):
            return []
        losses = _by_part([Counter(_tokens(text)) for _, text in parts], pages, +missing)
        return [_loss(parts[number][0], losses[number]) for number in sorted(losses) if losses[number]]


def _by_part(
    counts: Sequence[Counter[str]], pages: Sequence[Counter[str]], missing: Counter[str]
) -> dict[int, Counter[str]]:
    """The missing words by part of the file: a part whose page lacks the word, or else the last part with the word."""
    last_first = reversed(list(enumerate(counts)))
    same = pages if len(pages) == len(counts) else ()
    without = ((number, counts[number] - page) for number, page in enumerate(same))
    found: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for number, count in itertools.chain(without, last_first):
        lost = count & missing
        missing = missing - lost
        found[number] += lost
    return found


def _reason(reason: str, found: Sequence[LeftOut]) -> str:
    """A sentence that says how much is left out for a reason, and where."""
    lines = sum(bool(line.strip()) for one in found for line in one.text.split("\n"))
    amount = f"{lines:,} line{'s' * (lines > 1)}" if lines else ""
    places = list(dict.fromkeys(one.where[:LONGEST_PLACE] for one in found if one.where))
    more = f"and {len(places) - MOST_PLACES:,} more" if len(places) > MOST_PLACES else ""
    return f"Left out as {reason}: {', '.join(filter(None, [amount, *places[:MOST_PLACES], more])) or len(found)}."


def _loss(where: str, lost: Counter[str]) -> str:
    count = lost.total()
    examples = ", ".join(f"“{word}”" for word in itertools.islice(lost, MOST_EXAMPLES))
    what = "1 word or number" if count == 1 else f"{count:,} words and numbers"
    place = f" of {where}" if where else ""
    return f"{LOST}: {what}{place}, such as {examples}."


def _lines(texts: Iterable[str]) -> Iterator[str]:
    return map(str.strip, "\n".join(texts).split("\n"))


def _join(counted: Counter[str]) -> str:
    return "\n".join(counted.elements())


def _tokens(text: str) -> list[str]:
    """The words and numbers of a text in one form."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.replace(_SOFT_HYPHEN, ""))
    return _TOKEN.findall(text.casefold())


def _explain_joined(text: str, missing: Counter[str], surplus: Counter[str]) -> None:
    """Remove from `missing` the parts of words that were joined at a hyphen at the end of a line."""
    for divided in _DIVIDED.finditer(text):
        parts, joined = Counter(_tokens(divided[0])), Counter(_tokens(_LINE_END.sub("", divided[0])))
        lost, found = parts - joined, joined - parts
        if all(missing[word] >= lost[word] for word in lost) and all(surplus[word] >= found[word] for word in found):
            missing.subtract(lost)  # not -=, which looks at every word
            surplus.subtract(found)
