"""Defines the types of a search: HybridRequest → Candidate → Hit → Answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from app import enums, limits
from app.database.filter_types import Filters
from app.enums import MatchedBy, Origin
from app.query import hop_signal_weights
from app.text.names.name_uses_in_queries import NameUse
from app.text.queries.parsed_query import Condition, ConditionPlan, IndexText


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of the legs; a leg of weight 0 is not run."""

    vector: float = 1.0
    text: float = 1.0


@dataclass(frozen=True, slots=True)
class LanguageWeights:
    """The weights that replace the weights of a request for some languages of the query and of the documents.

    A query is in the language whose documents contain the largest share of its words. Words that a language ignores
    count as contained. `unread` apply if the model does not read the language: its text-search configuration is not in
    `read_configs`. `foreign` apply if the share is below `least_share`.
    """

    read_configs: frozenset[str]
    least_share: float
    unread: Weights
    foreign: Weights


@dataclass(frozen=True, slots=True)
class AddedPhrase:
    """Several lexemes in one text-search configuration, and the tsquery that finds them in their order."""

    config: str
    lexemes: tuple[str, ...]
    query: str

    @property
    def name(self) -> str:
        """The lexemes, separated by spaces."""
        return " ".join(self.lexemes)


@dataclass(frozen=True, slots=True)
class AddedTerm:
    """A term that a step adds to the text leg, in the forms in which the user's chunks contain it.

    `origin` names the step. `word` is the word or phrase of the query that the term is added for, `text` the term as it
    is shown. `weight` is the number of occurrences in the query that it counts as, less than 1. `idf` is the largest
    idf that it may have; None if its own idf counts. `alternative_to` are the lexemes of the query that it is an
    alternative to; a term that replaces its word has none. `corrects` are the misspelt lexemes, which no chunk
    contains. `is_shown` tells whether the caller may read the term.
    """

    origin: str
    word: str
    text: str = ""
    lexemes: tuple[str, ...] = ()
    phrases: tuple[AddedPhrase, ...] = ()
    weight: float = 0.5
    idf: float | None = None
    alternative_to: tuple[str, ...] = ()
    corrects: tuple[str, ...] = ()
    is_shown: bool = True

    @property
    def forms(self) -> tuple[str, ...]:
        """Its forms as terms of the query."""
        return (*self.lexemes, *(phrase.name for phrase in self.phrases))


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """The words of the text leg, any of which may match, and the conditions of both legs.

    The terms of `added` may match too, with a smaller weight than the words. A chunk must contain the words and phrases
    of `strict` and none of `excluded`, and meet each of `groups`.
    """

    words: IndexText
    strict: tuple[IndexText, ...] = ()
    excluded: tuple[IndexText, ...] = ()
    groups: tuple[Condition, ...] = ()
    added: tuple[AddedTerm, ...] = ()

    @property
    def has_conditions(self) -> bool:
        """Whether a hit must or must not contain anything."""
        return bool(self.strict or self.excluded or self.groups)


@dataclass(frozen=True, slots=True)
class HybridRequest:
    """The parameters of the hybrid statement. A leg without a vector or without words is not run."""

    user_id: str
    vector: enums.Vector | None
    lexical: LexicalQuery | None
    weights: Weights
    fusion: enums.FusionUsed
    limit: int
    k: int = 60
    candidates: int = 100
    filters: Filters = field(default_factory=Filters)
    exclude_chunk_ids: tuple[UUID, ...] = ()
    min_vector_score: float | None = None
    min_rrf_score: float | None = None
    with_content: bool = True
    by_language: LanguageWeights | None = None


class Candidate(NamedTuple):
    """A chunk returned by the hybrid statement, with all components of its score.

    `vector_score` is the score of the vector leg, None if the leg did not find the chunk. `cosine`, the similarity to
    the query's vector, and `text_score`, the BM25 score, are known for every chunk if the leg ran. `vector_scaled` and
    `text_scaled` (0 to 1) are the scores that a convex fusion adds, 0 if the leg did not find the chunk. `config` is
    the text-search configuration of its language, if a search has found it. The fields before `score` are stored. They
    have no default, because each statement that reads candidates must read them. It is a tuple, because a search makes
    one for each row, and a frozen dataclass takes five times as long to make.
    """

    chunk_id: UUID
    document_id: UUID
    source_id: UUID | None
    title: str
    uri: str | None
    content: str
    chunk_index: int
    start_offset: int
    end_offset: int
    heading_path: tuple[str, ...]
    metadata: enums.Json
    page: int | None
    score: float
    rrf_score: float | None = None
    convex_score: float | None = None
    vector_score: float | None = None
    text_score: float | None = None
    vector_rank: int | None = None
    text_rank: int | None = None
    cosine: float | None = None
    vector_scaled: float = 0.0
    text_scaled: float = 0.0
    config: str = ""

    def with_score(self, score: float) -> Candidate:
        """The candidate with another score. `_replace` takes three times as long, for each candidate of a search."""
        values = list(self)
        values[_SCORE] = score
        return Candidate._make(values)


_SCORE = Candidate._fields.index("score")
STORED = Candidate._fields[:_SCORE]
"""The fields of a candidate that are stored, and the same in every search."""


@dataclass(frozen=True, slots=True)
class Term:
    """A lexeme of the query: df and idf in the user's chunks, and number of occurrences in the query.

    `is_expansion`: it begins with a prefix of the query. `is_added`: the query does not contain it, but a word that it
    was added for; it has less than one occurrence. `is_alternative`: it was added beside lexemes of the query. The
    lexemes of a phrase are separated by spaces. `places` are its positions in the query if documents have several
    languages: a word has a form in each.
    """

    lexeme: str
    df: int
    idf: float
    times: float = 1
    is_expansion: bool = False
    is_added: bool = False
    is_alternative: bool = False
    places: tuple[int, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The lexemes as chunks contain them."""
        return tuple(self.lexeme.split(" "))


def absent_terms(terms: Sequence[Term]) -> list[Term]:
    """Returns the terms of words that no chunk contains in the form of any language."""
    stored = {place for one in terms if one.df for place in one.places}
    return [one for one in terms if not one.df and not (one.places and stored.issuperset(one.places))]


@dataclass(frozen=True, slots=True)
class HybridResult:
    """The result of the hybrid statement: candidates in order, terms, corpus sizes and the vector plan.

    `best_cosine` is the largest cosine in the vector leg, even of a chunk that is not a candidate; None without one.
    `weights` are the weights of the legs that ran, chosen by the language of the query.
    """

    candidates: tuple[Candidate, ...]
    terms: tuple[Term, ...]
    corpus_chunks: int
    scope_chunks: int
    vector_plan: enums.VectorPlan
    vector_found: int
    text_found: int
    approximate: bool
    condition_plan: ConditionPlan = "none"
    best_cosine: float | None = None
    weights: Weights = Weights()


@dataclass(frozen=True, slots=True)
class ChunkLink:
    """A link to a chunk: the signal that it raises, and the name through which it leads there.

    It starts at a source chunk; if that is None, at the query or a search. `chunks` is the number of chunks that
    contain the name, `steps` the number of links from the source. `heading`: the name is the chunk's section, not its
    document.
    """

    signal: str
    name: str
    source_chunk_id: UUID | None = None
    chunks: int | None = None
    steps: int | None = None
    heading: bool = False

    @property
    def label(self) -> str:
        """What the name is, for people."""
        signal = hop_signal_weights.LINKS[self.signal]
        return signal.heading_label if self.heading and signal.heading_label else signal.label


@dataclass(frozen=True, slots=True)
class Hop:
    """One hop: its query, the added terms and how they were found, the model's questions, the number of new chunks.

    `terms` and `questions` are None in hop 1.
    """

    hop: int
    query: str
    result_count: int
    terms: tuple[str, ...] | None = None
    term_method: enums.ExtractorUsed | None = None
    error: str | None = None
    best_similarity: float | None = None
    questions: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class MatchedSpan:
    """What a query matches in a passage: `passage[start:end]`, shown as `snippet[text_start:text_end]`, in code points.

    It is a word of the query or another form of it, a phrase, or a word of the name by which a later hop reached the
    passage.
    """

    start: int
    end: int
    text_start: int
    text_end: int


@dataclass(frozen=True, slots=True)
class Snippet:
    """The best sentences of a passage, `passage[start:end]`, with the matches in them, without overlaps.

    `text` is plain: it has no marks of Markdown. Rows of a table are below the names of its columns.
    """

    text: str
    start: int
    end: int
    matches: tuple[MatchedSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityMatch:
    """An entity matched by a query: score (0 to 1), kind of match, and the key of its name if the query contains it.

    `use` is how the query refers to it, `aboutness` (0 to 1) the probability that the query is about it; None until it
    is computed. `teams` are the names of the entities that contain it, only of namesakes: other entities of the same
    type and name that the query matches too. `fit` (0.5 to 1) is how well the rest of the query fits it, relative to
    the namesake that it fits best; the score is multiplied by it.
    """

    entity_id: UUID
    name: str
    type: str
    origin: Origin
    score: float
    matched_by: MatchedBy
    key: str | None = None
    use: NameUse = field(default_factory=lambda: NameUse("topic"))
    aboutness: float | None = None
    role: str | None = None
    teams: tuple[str, ...] = ()
    fit: float = 1.0


@dataclass(frozen=True, slots=True)
class Link:
    """A document linked to entities of the query: the best of them, the score of the link (0 to 1) and its strength."""

    document_id: UUID
    entity_id: UUID
    score: float
    strength: float


class HitGuidance(NamedTuple):
    """The link that was blended with a hit's own score, `doc_score` (see `blending`); without an entity it is 0."""

    entity_id: UUID | None
    score: float
    strength: float
    doc_score: float


@dataclass(frozen=True, slots=True)
class Boost:
    """The boost of a hit that mentions entities of the query: the mentions, and the ranks gained."""

    mentions: int
    moved: int


class Hit(NamedTuple):
    """A result: the candidate, its confidence, and the components of its rank.

    `relevance` is a score, 0 to 1; None for a search by a vector without a text. `explain` has the steps that changed
    its score, in their order, each with the score before and after it. `more` has further hits of the same document if
    the results are grouped, `duplicates` the passages that repeat it if they are collapsed. `source` is the name of the
    source of its document.
    """

    candidate: Candidate
    confidence: enums.Confidence
    strategies: tuple[str, ...]
    relevance: float | None = None
    explain: enums.Json | None = None
    hop: int | None = None
    combined_score: float | None = None
    via: ChunkLink | None = None
    guidance: HitGuidance | None = None
    boost: Boost | None = None
    snippet: Snippet | None = None
    more: tuple[Hit, ...] = ()
    duplicates: tuple[Candidate, ...] = ()
    source: str | None = None

    @property
    def duplicate_documents(self) -> tuple[Candidate, ...]:
        """A passage of each other document with duplicates, the best ones first, at most MAX_NAMED_DUPLICATES."""
        found: dict[UUID, Candidate] = {}
        for one in self.duplicates:
            if one.document_id != self.candidate.document_id:
                found.setdefault(one.document_id, one)
        return tuple(found.values())[: limits.MAX_NAMED_DUPLICATES]

    def rescored(
        self,
        step: str,
        score: float,
        *,
        guidance: HitGuidance | None = None,
        boost: Boost | None = None,
        **values: object,
    ) -> Hit:
        """The hit with another score, and in `explain` the step that made it, with the values that it was made of."""
        values |= {"score_before": self.candidate.score, "score": score}
        explain = {**self.explain, step: values} if self.explain else {step: values}
        fields = list(self)  # as in `Candidate.with_score`
        fields[0], fields[_EXPLAIN] = self.candidate.with_score(score), explain
        fields[_GUIDANCE], fields[_BOOST] = guidance or self.guidance, boost or self.boost
        return Hit._make(fields)


_EXPLAIN, _GUIDANCE, _BOOST = map(Hit._fields.index, ("explain", "guidance", "boost"))


@dataclass(frozen=True, slots=True)
class MissedFilter:
    """A condition that no document meets: on metadata, a folder or the time of creation; with what is nearest to it.

    `present` are the commonest values of the key, or the commonest keys if no document has it. `of_type` is the type of
    the nearest value, if the condition has another type; for a range, the type of the values, if the bounds have
    another.
    """

    key: str
    has_key: bool
    present: tuple[str, ...]
    nearest_key: str | None = None
    nearest_value: Any = None
    same_letters: bool = False
    of_type: str | None = None
    nearest_moment: datetime | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of every kind of search.

    `answerable` is the score, 0 to 1, of whether any hit answers the query, None without `relevance`. `depth` says
    whether there was one search or several hops, and `depth_reason` why. `missed` are the conditions on metadata or a
    folder that no document meets, in an answer without hits. `excluded` are the words and phrases that the query
    excludes. `guided` says whether entities have guided a search with forced guidance, None for other searches. `terms`
    are the lexemes of the query in the first search.
    """

    hits: tuple[Hit, ...]
    confidence: enums.Confidence | None
    strategies_matched: tuple[str, ...]
    query_type: enums.QueryType | None
    mode: enums.Mode
    fusion: enums.FusionUsed | None
    search_mode: enums.SearchKind
    fallback_reason: str | None
    approximate: bool
    degraded: tuple[enums.Degraded, ...]
    relaxed: tuple[str, ...]
    timings: Mapping[str, float]
    detail: enums.Detail = "full"
    next_cursor: str | None = None
    explain: enums.Json | None = None
    hops: tuple[Hop, ...] | None = None
    total_results: int | None = None
    entities: tuple[EntityMatch, ...] = ()
    answerable: float | None = None
    depth: enums.DepthUsed | None = None
    depth_reason: enums.DepthReason | None = None
    missed: tuple[MissedFilter, ...] = ()
    excluded: tuple[str, ...] = ()
    guided: bool | None = None
    terms: tuple[Term, ...] = ()

    @property
    def took_ms(self) -> float:
        """Duration of the search in milliseconds."""
        return self.timings.get("total", 0.0)
