"""Finds the snippet of each hit: Postgres analyses the words, then the one to three best sentences are chosen.

A window of consecutive sentences scores the sum of the weights of the query's lexemes in it, each once. A phrase counts
the weights of its words once more. Each sentence after the first costs a share of the weight of all lexemes. A window
that is short, such as the term above a definition, or that ends with a question or a colon, is shown with the text
around it, a row of a table below the names of its columns. A passage without a match is kept whole, because any of its
sentences may be the answer (docs/decisions/0026-snippets.md).
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from uuid import UUID

from app.concurrency import offload
from app.database.transactions import retry_read
from app.documents.store import chunk_reads
from app.documents.store.chunk_reads import TextKind
from app.query.search_types import Answer, Hit, MatchedSpan, Snippet
from app.search.state import SearchContext, SearchState, Step
from app.text.queries import parsed_query
from app.text.structure import conversations, markdown_to_text, sentences, structure
from app.text.words import languages, tsvector_text, word_spans
from app.text.words.word_spans import WordSpan

COST = 40
"""Cost of a code point of a passage in units of `offload.run`."""
DEFAULT_KIND = TextKind("english", markdown=True)
"""The kind of a chunk that was replaced or deleted after it was read."""
MAX_SENTENCES = 3
MAX_LENGTH = 400
"""Most code points of a snippet. A longer sentence is cut at white space around its best matches."""
BEFORE_FIRST_MATCH = 60
"""Code points of a cut sentence before its first match."""
SENTENCE_COST = 0.1
"""Cost of each sentence after the first, as a share of the weight of all lexemes of the query."""
SHORT = 120
"""A window with fewer code points is shown with what follows, such as the value below the name of a field."""
_RULE = re.compile(r"[\s|:=+-]*|\s*(?:`{3,}|~{3,}).*")
_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+", re.MULTILINE)
_QUESTION_MARKS = ("?", "？", "؟")
_ANNOUNCING = (*_QUESTION_MARKS, ":", "：")
_BLANK_QUOTED = re.compile(r"\n[ \t]*+>[> \t]*+$", re.MULTILINE)

Span = tuple[int, int]
Lexemes = Mapping[str, frozenset[str]]
"""The lexemes of words, by the word as written."""
Phrase = Sequence[tuple[str, frozenset[str]]]
"""Words, case-folded, with their lexemes."""


async def finish(search: SearchState, answer: Answer) -> Answer:
    """Adds the snippets to the hits of the answer and to the hits in their `more`. Raises DatabaseUnavailable."""
    hits, parsed = {one.candidate.chunk_id: one for hit in answer.hits for one in (hit, *hit.more)}, search.parsed
    with search.context.timed("snippets"):
        texts = [hit.candidate.content for hit in hits.values()]
        size = COST * sum(map(len, texts))
        words = await offload.run(size, _words, texts)
        sought = await offload.run(size, _words, [parsed.words, *_phrases(parsed), *map(_name, hits.values())])
        terms = [lexeme for term in search.result.terms for lexeme in term.parts]
        kinds, lexemes = await _analyse(list(hits), words, sought, terms, search.context)
        by_id = await offload.run(size, _choose, hits, search, kinds, lexemes)
    return replace(answer, hits=tuple(_with_snippets(hit, by_id) for hit in answer.hits))


def _with_snippets(hit: Hit, by_id: Mapping[UUID, Snippet]) -> Hit:
    more = tuple(_with_snippets(other, by_id) for other in hit.more)
    return hit._replace(snippet=by_id[hit.candidate.chunk_id], more=more)


def _name(hit: Hit) -> str:
    """The name by which a later hop reached a hit."""
    return hit.via.name if hit.via else ""


def _phrases(parsed: parsed_query.ParsedQuery) -> list[str]:
    """The phrases that a query wants, including phrases in groups."""
    operands = (one for group in parsed.groups for one in parsed_query.operands(group, wanted=True))
    return [*parsed.phrases, *(one.text for one in operands if one.is_phrase)]


def _words(texts: Iterable[str]) -> list[str]:
    """The distinct words of the texts, except in scripts without spaces, where words need no analysis."""
    return list(dict.fromkeys(span.text for text in texts for span in word_spans.of(text) if not span.unspaced))


@retry_read
async def _analyse(
    chunk_ids: Sequence[UUID], words: Sequence[str], sought: Sequence[str], terms: Sequence[str], context: SearchContext
) -> tuple[dict[UUID, TextKind], dict[str, Lexemes]]:
    """The kind of each chunk and, by text-search configuration of these chunks, the lexemes of the words."""
    by_config: dict[str, Lexemes] = {}
    async with context.services.db.reading(context.user_id) as reading:
        kinds = dict.fromkeys(chunk_ids, DEFAULT_KIND) | await chunk_reads.kinds(reading, chunk_ids)
        for config in {one.config for one in kinds.values()}:
            indexed = await offload.run(COST * len(words), _index, (*words, *sought), config)
            by_config[config] = await chunk_reads.lexemes_of_words(
                reading, config, indexed, sought=[indexed[word] for word in sought], lexemes=terms
            )
    return kinds, by_config


def _index(words: Iterable[str], config: str) -> dict[str, str]:
    is_whole = config != languages.TRUNCATED
    return {
        word: word.lower() if is_whole and _is_plain(word) else tsvector_text.index_text(word, config) for word in words
    }


def _is_plain(word: str) -> bool:
    """Whether indexing only puts the word into lower case."""
    return word.isascii() and word.isalpha() and (len(word) == 1 or word[1:].islower())


def _choose(
    hits: Mapping[UUID, Hit], found: SearchState, kinds: Mapping[UUID, TextKind], by_config: Mapping[str, Lexemes]
) -> dict[UUID, Snippet]:
    chosen = {}
    for chunk_id, hit in hits.items():
        lexemes = by_config[kinds[chunk_id].config]
        sought = _seek(_name(hit), found, lexemes)
        chosen[chunk_id] = choose(hit.candidate.content, sought, lexemes, markdown=kinds[chunk_id].markdown)
    return chosen


def _seek(name: str, found: SearchState, lexemes: Lexemes) -> Sought:
    weights: dict[str, float] = {}
    for term in found.result.terms:
        weights |= {lexeme: max(term.idf, weights.get(lexeme, 0.0)) for lexeme in term.parts}
    highest = max(weights.values(), default=1.0)
    names = (lexeme for span in word_spans.of(name) for lexeme in lexemes_of(span, lexemes))
    return Sought(
        weights=weights,
        names=dict.fromkeys(names, highest),
        phrases=[phrase(text, lexemes) for text in _phrases(found.parsed)],
    )


@dataclass(frozen=True, slots=True)
class Sought:
    """The lexemes that a query looks for, in one text-search configuration.

    `weights` has the weights of the query's lexemes. `names` has the weights of the lexemes in the name through which a
    hop reached the passage.
    """

    weights: Mapping[str, float]
    names: Mapping[str, float]
    phrases: Sequence[Phrase]

    @property
    def total(self) -> float:
        """The weight of all lexemes."""
        return sum({**self.weights, **self.names}.values())


def lexemes_of(span: WordSpan, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Returns the lexemes of a word from `known`. In scripts without spaces the word itself is its lexeme."""
    if span.unspaced:
        return frozenset((unicodedata.normalize("NFKC", span.text),))
    return known.get(span.text, frozenset())


def phrase(text: str, known: Lexemes) -> Phrase:
    """Returns the words of a phrase, case-folded, each with its lexemes. A stop word has none."""
    return [(span.text.casefold(), lexemes_of(span, known)) for span in word_spans.of(text) if span.in_sequence]


def choose(text: str, sought: Sought, lexemes: Mapping[str, frozenset[str]], *, markdown: bool = True) -> Snippet:
    """Returns the best snippet of a passage; without a match, the whole passage.

    `lexemes` maps words to their lexemes in the passage's configuration; a missing word matches nothing. With
    `markdown`, the marks of Markdown are removed from the snippet's text.
    """
    spans = word_spans.of(text)
    found = [lexemes_of(span, lexemes) for span in spans]
    every = [*_word_matches(spans, found, sought), *_phrase_matches(spans, found, sought)]
    every.sort(key=lambda one: (one.start, -one.end))
    matches = _Matches(every, [one.start for one in every])
    start, end = _best_window(text, matches, sought) or next(sentences.trim(text, 0, len(text)), (0, len(text)))
    marks, shown, spans_shown = markdown_to_text.marks(text, markdown=markdown), "", []
    for begin, finish in (*_names_above(text, start), (start, end)):
        part, at = markdown_to_text.part(text, marks, begin, finish), len(shown)
        merged = _merge(text, matches.within(begin, finish))
        spans_shown += [MatchedSpan(*one, at + part.place(one[0]), at + part.place(one[1])) for one in merged]
        shown += part.text + "\n"
    return Snippet(shown[:-1], start, end, tuple(one for one in spans_shown if one.text_end > one.text_start))


@dataclass(frozen=True, slots=True)
class _Weighted:
    """A match with its weights by lexeme. A phrase has a key of its own."""

    start: int
    end: int
    weights: Mapping[str, float]


def _own_lexemes(spans: Sequence[WordSpan], found: Sequence[frozenset[str]]) -> Iterator[frozenset[str]]:
    """The lexemes of each span. A compound does not repeat the lexemes of the words in it."""
    of_words: dict[int, set[str]] = {}
    for span, lexemes in zip(spans, found, strict=True):
        if not span.is_compound:
            of_words.setdefault(span.token, set()).update(lexemes)
    for span, lexemes in zip(spans, found, strict=True):
        yield lexemes - of_words.get(span.token, set()) if span.is_compound else lexemes


def _word_matches(spans: Sequence[WordSpan], found: Sequence[frozenset[str]], sought: Sought) -> Iterator[_Weighted]:
    every = {**sought.names, **sought.weights}
    for span, lexemes in zip(spans, _own_lexemes(spans, found), strict=True):
        if weights := {name: every[name] for name in lexemes if name in every}:
            yield _Weighted(span.start, span.end, weights)


def _phrase_matches(spans: Sequence[WordSpan], found: Sequence[frozenset[str]], sought: Sought) -> Iterator[_Weighted]:
    """The runs of consecutive words that match a phrase.

    As in the text index, any word matches a stop word inside the phrase, and stop words at its ends may be missing. A
    run with the same stop words is preferred.
    """
    words = [(span, lexemes) for span, lexemes in zip(spans, found, strict=True) if span.in_sequence]
    for number, whole in enumerate(sought.phrases):
        weight = sum(max((sought.weights.get(name, 0.0) for name in lexemes), default=0.0) for _word, lexemes in whole)
        for exact, wanted in ((True, whole), (False, _without_outer_stop_words(whole))):
            if not wanted or (len(wanted) == 1 and len(whole) > 1):
                continue
            for first in range(len(words) - len(wanted) + 1):
                run = words[first : first + len(wanted)]
                if all(_is_word(*one, *word, exact=exact) for one, word in zip(run, wanted, strict=True)):
                    weights = {f"\n{number}": weight * (2 if exact else 1)}
                    yield _Weighted(run[0][0].start, run[-1][0].end, weights)


def _without_outer_stop_words(whole: Phrase) -> Phrase:
    having = [index for index, (_word, lexemes) in enumerate(whole) if lexemes]
    return whole[having[0] : having[-1] + 1] if having else []


def _is_word(span: WordSpan, lexemes: frozenset[str], word: str, wanted: frozenset[str], *, exact: bool) -> bool:
    if wanted:
        return not wanted.isdisjoint(lexemes)
    return not exact or span.text.casefold() == word


@dataclass(frozen=True, slots=True)
class _Matches:
    """The matches of a passage in the order of their offsets."""

    every: Sequence[_Weighted]
    starts: Sequence[int]

    def within(self, start: int, end: int) -> list[_Weighted]:
        """The matches inside the span."""
        first, last = bisect_left(self.starts, start), bisect_left(self.starts, end)
        return [one for one in self.every[first:last] if one.end <= end]

    def weights(self, start: int, end: int) -> dict[str, float]:
        """The weights of the different lexemes and phrases in the span."""
        weights: dict[str, float] = {}
        for one in self.within(start, end):
            weights |= {name: max(weight, weights.get(name, 0.0)) for name, weight in one.weights.items()}
        return weights


def _best_window(text: str, matches: _Matches, sought: Sought) -> Span | None:
    """The window with the highest score; of equal windows the shortest, then the first. None without a match.

    The column names of a table are chosen, with the first row, only if no sentence or row matches. A heading is chosen,
    with the text after it, only if nothing else matches, because a hit has its headings anyway.
    """
    for find, is_heading in ((_blocks, False), (_columns, False), (_headings, True)):
        windows = [window for block in find(text) for window in _windows(block, matches, sought)]
        if windows:
            _score, _sentences, start, end = max(windows, key=lambda one: (one[0], -one[1], -one[2]))
            if is_heading or end - start < SHORT or (end - start < MAX_LENGTH and _announces(text, start, end)):
                start, end = _extend(text, start, end)
            return _cut(text, (start, end), matches)
    return None


def _announces(text: str, start: int, end: int) -> bool:
    """Whether a window asks or announces what follows in the next sentence or turn."""
    said = text[start:end]
    return said.endswith(_ANNOUNCING) or (any(map(said.count, _QUESTION_MARKS)) and conversations.is_conversation(text))


def _extend(text: str, start: int, end: int) -> Span:
    """Extends a window by what follows in its section: sentences, or one table or block of code.

    If not even the first of these fits, it is cut. A window in a table is unchanged. In a conversation, code, or fields
    such as `role: Head of Payroll`, a block that fits is shown whole; the text after it is shown only if the window is
    at its end.
    """
    blocks = [block for block in structure.blocks(text) if block.end > start]
    if not blocks or blocks[0].kind == "table":
        return start, end
    is_conversation = conversations.is_conversation(text)
    if (is_conversation or blocks[0].kind == "fence") and blocks[0].end - blocks[0].start <= MAX_LENGTH:
        start, is_last = min(start, blocks[0].start), blocks[0].end <= end
        if not is_last:
            return start, blocks[0].end
    section = blocks if blocks[0].kind == "heading" else itertools.takewhile(_is_no_heading, blocks)
    units = (_units(text, block, is_conversation=is_conversation) for block in section if _is_no_heading(block))
    after = (span for span in itertools.chain.from_iterable(units) if span[1] > end)
    ends = [finish for _begin, finish in itertools.islice(after, MAX_SENTENCES - 1)]
    if ends and ends[0] - start > MAX_LENGTH:
        return start, max(end, _trim(text, start, start + MAX_LENGTH, (start, ends[0]))[1])
    return start, max((finish for finish in ends if finish - start <= MAX_LENGTH), default=end)


def _is_no_heading(block: structure.Block) -> bool:
    return block.kind != "heading"


def _units(text: str, block: structure.Block, *, is_conversation: bool) -> Iterable[Span]:
    if block.kind in ("table", "fence"):
        return [(block.start, block.end)]
    return _turns(text, block) if is_conversation else sentences.spans(text, block.start, block.end)


def _windows(block: Sequence[Span], matches: _Matches, sought: Sought) -> Iterator[tuple[float, int, int, int]]:
    """The score, the number of sentences and the span of each window of a block that has a match."""
    for first, (start, _end) in enumerate(block):
        for extra, (_start, end) in enumerate(block[first : first + MAX_SENTENCES]):
            if extra and end - start > MAX_LENGTH:
                break
            if weights := matches.weights(start, end):
                yield sum(weights.values()) - SENTENCE_COST * sought.total * extra, extra, start, end


def _blocks(text: str) -> Iterator[list[Span]]:
    """The sentences of paragraphs and lists, the rows of tables, and the lines of fences without their marks."""
    is_conversation = conversations.is_conversation(text)
    for block in itertools.chain.from_iterable(_quoted(text, one) for one in structure.blocks(text)):
        if block.kind in ("table", "fence"):
            lines = list(sentences.lines(text, block.start, block.end))
            first = 2 if _has_columns(text, lines) else 0
            spans = [span for span in lines[first:] if not _RULE.fullmatch(text, *span)]
        elif is_conversation and block.kind == "paragraph":
            spans = list(_turns(text, block))
        elif block.kind != "heading":
            items = sentences.trim(text, block.start, block.end) if block.kind == "paragraph" else _items(text, block)
            spans = [span for item in items for span in sentences.spans(text, *item)]
        else:
            continue
        if spans:
            yield spans


def _has_columns(text: str, lines: Sequence[Span]) -> bool:
    """Whether the first of the lines of a table has the names of its columns, and rows follow."""
    return len(lines) > 2 and text.startswith("|", lines[0][0]) and _RULE.fullmatch(text, *lines[1]) is not None


def _columns(text: str) -> Iterator[list[Span]]:
    """The names of the columns of each table, with its first row."""
    for block in structure.blocks(text):
        lines = list(sentences.lines(text, block.start, block.end)) if block.kind == "table" else []
        if _has_columns(text, lines):
            yield [(lines[0][0], lines[2][1])]


def _names_above(text: str, start: int) -> Iterator[Span]:
    """The names of the columns, if the text at `start` is a row below them and they are not too long."""
    for block in structure.blocks(text) if "|" in text else ():
        if block.kind == "table" and block.start < start < block.end:
            lines = list(sentences.lines(text, block.start, block.end))
            if _has_columns(text, lines) and lines[0][1] - lines[0][0] <= MAX_LENGTH:
                yield lines[0]


def _turns(text: str, block: structure.Block) -> Iterator[Span]:
    """The turns of a conversation, each with the lines below it that fit. Longer lines are split into sentences."""
    begin = finish = -1
    for start, end in conversations.turns(text, block.start, block.end):
        begins = any(map(conversations.begins_turn, text[start:end].split("\n")))
        if begin >= 0 and (begins or end - begin > MAX_LENGTH):
            yield begin, finish
            begin = -1
        if end - start > MAX_LENGTH:
            yield from sentences.spans(text, start, end)
        else:
            begin, finish = (start if begin < 0 else begin), end
    if begin >= 0:
        yield begin, finish


def _quoted(text: str, block: structure.Block) -> Iterator[structure.Block]:
    """The block, or the paragraphs of a quotation, which are separated by lines that have only `>`."""
    marks = _BLANK_QUOTED.finditer(text, block.start, block.end) if block.kind == "paragraph" else ()
    edges = [block.start, *itertools.chain.from_iterable(mark.span() for mark in marks), block.end]
    return (replace(block, start=start, end=end) for start, end in zip(edges[::2], edges[1::2], strict=True))


def _items(text: str, block: structure.Block) -> Iterator[Span]:
    """The items of a list without their marks."""
    marks = list(_ITEM.finditer(text, block.start, block.end))
    ends = [mark.start() for mark in marks[1:]] + [block.end]
    for mark, end in zip(marks, ends, strict=True):
        yield from sentences.trim(text, mark.end(), end)


def _headings(text: str) -> Iterator[list[Span]]:
    return ([(block.start, block.end)] for block in structure.blocks(text) if block.kind == "heading")


def _cut(text: str, span: Span, matches: _Matches) -> Span:
    """The span; if it is too long, its part around the best matches."""
    start, end = span
    if end - start <= MAX_LENGTH:
        return span
    last = end - MAX_LENGTH
    begins = (max(start, min(one.start - BEFORE_FIRST_MATCH, last)) for one in matches.within(start, end))
    begin = max(begins, key=lambda at: sum(matches.weights(at, at + MAX_LENGTH).values()), default=start)
    return _trim(text, begin, begin + MAX_LENGTH, span)


def _trim(text: str, start: int, end: int, whole: Span) -> Span:
    """Removes cut words from the ends of a part of a span, if there is white space near the ends."""
    if start > whole[0] and (space := text.find(" ", start, start + BEFORE_FIRST_MATCH // 2)) >= 0:
        start = space + 1
    if end < whole[1] and (space := text.rfind(" ", end - BEFORE_FIRST_MATCH // 2, end)) >= 0:
        end = space
    return start, end


def _merge(text: str, matches: Iterable[_Weighted]) -> list[Span]:
    """The offsets of the matches without overlaps. A match inside another one is dropped. Overlapping matches, and
    parts of a compound that one character joins, become one match.
    """
    merged: list[Span] = []
    for one in matches:
        start, end = merged[-1] if merged else (-2, -2)
        if one.start > end + 1 or text[end : one.start].isspace():
            merged.append((one.start, one.end))
        elif one.end > end:
            merged[-1] = (start, one.end)
    return merged


STEP = Step(uses=attrgetter("query.is_compact"), finish=finish)
