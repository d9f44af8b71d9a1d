"""Finds the snippet of each hit: Postgres analyses the words, `sentences` chooses the sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from uuid import UUID

from app.concurrency import offload
from app.database.transactions import retry_read
from app.documents.store import chunk_reads
from app.documents.store.chunk_reads import TextKind
from app.query.types import Answer, Hit, Snippet
from app.search.state import SearchContext, SearchState, Step
from app.search.steps.snippets import sentences as snippets
from app.search.steps.snippets.sentences import Lexemes
from app.text.queries import conditions
from app.text.words import tsvector_text, word_spans

COST = 40
"""Cost of a code point of a passage in units of `offload.run`."""
DEFAULT_KIND = TextKind("english", markdown=True)
"""The kind of a chunk that was replaced or deleted after it was read."""


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


def _phrases(parsed: conditions.ParsedQuery) -> list[str]:
    """The phrases that a query wants, including phrases in groups."""
    operands = (one for group in parsed.groups for one in conditions.operands(group, wanted=True))
    return [*parsed.phrases, *(one.text for one in operands if one.is_phrase)]


def _words(texts: Iterable[str]) -> list[str]:
    """The different words of the texts; scripts without spaces need no analysis."""
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
    """Each word as it is indexed."""
    return {word: word.lower() if _is_plain(word) else tsvector_text.index_text(word, config) for word in words}


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
        chosen[chunk_id] = snippets.choose(hit.candidate.content, sought, lexemes, markdown=kinds[chunk_id].markdown)
    return chosen


def _seek(name: str, found: SearchState, lexemes: Lexemes) -> snippets.Sought:
    weights: dict[str, float] = {}
    for term in found.result.terms:
        weights |= {lexeme: max(term.idf, weights.get(lexeme, 0.0)) for lexeme in term.parts}
    highest = max(weights.values(), default=1.0)
    names = (lexeme for span in word_spans.of(name) for lexeme in snippets.lexemes_of(span, lexemes))
    return snippets.Sought(
        weights=weights,
        names=dict.fromkeys(names, highest),
        phrases=[snippets.phrase(text, lexemes) for text in _phrases(found.parsed)],
    )


STEP = Step(uses=attrgetter("query.is_compact"), finish=finish)
